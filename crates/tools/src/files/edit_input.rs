//! What an edit asks for: one replacement, or several in one call.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::input::{Named, PathInput, Switch};

/// Replacements of one call.
const MAX_EDITS: usize = 200;

/// The arguments of Edit, checked for sense.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(try_from = "Written")]
#[schemars(with = "Written")]
pub(crate) struct EditInput {
    pub(super) file_path: PathInput,
    /// At least one.
    pub(super) edits: Vec<Replacement>,
}

/// The arguments as models write them.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Written {
    #[serde(alias = "file_path", alias = "path", alias = "filename", alias = "file")]
    file_path: PathInput,
    #[serde(default, alias = "old_string", alias = "oldText", alias = "old_text", alias = "old_str")]
    #[schemars(with = "String")]
    old_string: Option<String>,
    #[serde(default, alias = "new_string", alias = "newText", alias = "new_text", alias = "new_str")]
    #[schemars(with = "String")]
    new_string: Option<String>,
    /// Replace every occurrence.
    #[serde(default, alias = "replace_all")]
    replace_all: Switch,
    /// Instead: several, one after the other, all or none.
    #[serde(default)]
    #[schemars(with = "Vec<Replacement>")]
    edits: Option<Vec<Named<Replacement>>>,
}

// A text and what takes its place; a doc comment would be paid for in every request.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Replacement {
    #[serde(alias = "old_string", alias = "oldText", alias = "old_text", alias = "old_str")]
    pub(super) old_string: String,
    #[serde(alias = "new_string", alias = "newText", alias = "new_text", alias = "new_str")]
    pub(super) new_string: String,
    #[serde(default, alias = "replace_all")]
    pub(super) replace_all: Switch,
}

impl TryFrom<Written> for EditInput {
    type Error = String;

    fn try_from(written: Written) -> Result<Self, String> {
        let Written { file_path, old_string, new_string, replace_all, edits } = written;
        let edits: Vec<Replacement> = edits.into_iter().flatten().map(|Named(edit)| edit).collect();
        let is_blank = |text: &Option<String>| text.as_ref().is_none_or(String::is_empty);
        if !edits.is_empty() {
            // Some models fill in every argument there is.
            if !is_blank(&old_string) || !is_blank(&new_string) {
                return Err("give either `edits` or `oldString` and `newString`, not both".to_owned());
            }
            if edits.len() > MAX_EDITS {
                return Err(format!("at most {MAX_EDITS} edits fit in one call; these are {}", edits.len()));
            }
            return Ok(Self { file_path, edits });
        }
        let old_string = old_string.ok_or("missing field `oldString`")?;
        let new_string = new_string.ok_or("missing field `newString`")?;
        Ok(Self { file_path, edits: vec![Replacement { old_string, new_string, replace_all }] })
    }
}
