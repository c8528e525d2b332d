//! The setting `modelCatalog`: what is known of models besides the table that ships.

use robota_core::ModelEntry;

use super::SettingsError;
use super::document::Node;
use super::file::Reader;

impl Reader<'_> {
    /// `modelCatalog`: entries in the format of the shipped table.
    pub(super) fn model_catalog(&mut self, node: &Node<'_>) -> Result<(), SettingsError> {
        const EXPECTED: &str = "a model: an object with `id`, `context` and `output`, and of aliases, family, provider, input, \
             thinking, tools, structuredOutput and price what is known";
        for node in node.elements()? {
            let entry: ModelEntry = node.value(EXPECTED)?;
            let sound = !entry.id.trim().is_empty() && entry.output > 0 && entry.output <= entry.context;
            if !sound {
                return Err(node.invalid("a model whose `output` is above 0 and at most its `context`"));
            }
            self.settings.model_catalog.push(entry);
        }
        Ok(())
    }
}
