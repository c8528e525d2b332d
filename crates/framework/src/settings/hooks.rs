//! The key `hooks`.

use robota_core::{HookOrigin, HookScope, HooksConfig};

use super::document::Node;
use super::{Layer, Scope, SettingsError, SettingsWarning};

/// Reads the hooks of a file. Errors and warnings point at the place in it.
pub(super) fn read(
    node: &Node<'_>,
    layer: &Layer,
) -> Result<(HooksConfig, Vec<SettingsWarning>), SettingsError> {
    let tree = node.tree()?;
    let scope = match layer.scope {
        Scope::User => HookScope::User,
        Scope::Project => HookScope::Project,
    };
    let origin = HookOrigin { place: layer.path.display().to_string(), scope };
    let (hooks, warnings) =
        HooksConfig::from_value(&tree, &origin).map_err(|error| node.at(&error.path).wrong(error.reason))?;
    let warnings = warnings.into_iter().map(|warning| {
        let place = node.at(&warning.path);
        SettingsWarning {
            file: layer.path.clone(),
            line: place.line(),
            key: place.key().to_owned(),
            message: format!("`{}`: {}", place.key(), warning.message),
        }
    });
    Ok((hooks, warnings.collect()))
}
