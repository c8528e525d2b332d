//! Edit: replaces an exact text in a file.

use std::path::Path;
use std::sync::Arc;

use robota_core::{Access, PathAccess, Tool, ToolClass, ToolContext, ToolOutcome, ToolResult, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::diff::unified;
use super::exact;
use super::matching::{Plan, apply, plan};
use super::missing::missing_path;
use super::near_miss::closest_place;
use super::read_state::content_hash;
use super::seen::seen_content;
use super::snippet::{around_changes, start_lines};
use super::target::regular_file;
use crate::blocking;
use crate::failure::Failure;
use crate::input::{PathInput, Switch};
use crate::workspace::Workspace;

const BYTE_ORDER_MARK: &str = "\u{FEFF}";
/// Lines named when a text is ambiguous.
const MAX_NAMED_LINES: usize = 5;

pub(crate) struct Edit {
    pub(crate) workspace: Workspace,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EditInput {
    #[serde(alias = "file_path", alias = "path", alias = "filename", alias = "file")]
    file_path: PathInput,
    #[serde(alias = "old_string", alias = "oldText", alias = "old_text", alias = "old_str")]
    old_string: String,
    #[serde(alias = "new_string", alias = "newText", alias = "new_text", alias = "new_str")]
    new_string: String,
    /// Replace every occurrence.
    #[serde(default, alias = "replace_all")]
    replace_all: Switch,
}

impl Tool for Edit {
    type Input = EditInput;

    fn describe(&self) -> ToolSpec {
        ToolSpec::new(
            "Edit",
            ToolClass::Modify,
            "Replaces oldString by newString in a file that was read before. oldString must be exactly the text of \
             the file, without line numbers, and occur once: include enough lines around it.",
        )
        .with_spellings(&[
            ("file_path", &["filePath", "path", "filename", "file"]),
            ("old_string", &["oldString", "oldText", "old_text", "old_str"]),
            ("new_string", &["newString", "newText", "new_text", "new_str"]),
            ("replace_all", &["replaceAll"]),
        ])
    }

    fn access(&self, input: &EditInput) -> Vec<Access> {
        vec![Access::Path {
            kind: PathAccess::Write,
            requested: input.file_path.written().to_owned(),
            resolved: input.file_path.resolve(&self.workspace).to_owned(),
        }]
    }

    async fn run(self: Arc<Self>, input: EditInput, context: ToolContext) -> ToolResult {
        blocking::change(&context, move || self.edit(&input)).await
    }
}

impl Edit {
    fn edit(&self, input: &EditInput) -> Result<ToolOutcome, Failure> {
        check_strings(input)?;
        let path = input.file_path.resolve(&self.workspace);
        let shown = self.workspace.display(path);
        let reads = self.workspace.reads();
        let _alone = reads.exclusive();
        let content = self.known_text(path)?;
        let (mark, text) = match content.strip_prefix(BYTE_ORDER_MARK) {
            Some(text) => (BYTE_ORDER_MARK, text),
            None => ("", content.as_str()),
        };
        let plan = plan(text, &input.old_string, &input.new_string);
        check_places(&shown, text, &plan, input)?;

        let new_text = apply(text, &plan);
        let new_content = [mark, &new_text].concat();
        let replaced = self.workspace.replace(path, new_content.as_bytes());
        let stat = replaced.map_err(|error| exact::failure(&self.workspace, "write", path, &error))?;
        reads.record(path, stat, Some(content_hash(new_content.as_bytes())));
        Ok(outcome(&shown, text, &new_text, &plan))
    }

    /// The text of the file, which the model must have seen.
    fn known_text(&self, path: &Path) -> Result<String, Failure> {
        let shown = self.workspace.display(path);
        if regular_file(&self.workspace, path)?.is_none() {
            return Err(missing_path(&self.workspace, path));
        }
        let content = seen_content(&self.workspace, path)?;
        String::from_utf8(content).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            let message =
                format!("{shown} is not UTF-8 text (byte {at}); change it with a program through Bash");
            Failure::new("not_utf8", message)
        })
    }
}

fn check_strings(input: &EditInput) -> Result<(), Failure> {
    if input.old_string.is_empty() {
        let message = "oldString is empty; give the text to replace, or use Write to create a file";
        return Err(Failure::new("invalid_argument", message));
    }
    if input.old_string == input.new_string {
        return Err(Failure::new(
            "invalid_argument",
            "oldString and newString are the same; nothing to change",
        ));
    }
    Ok(())
}

fn check_places(shown: &str, text: &str, plan: &Plan, input: &EditInput) -> Result<(), Failure> {
    match plan.places.len() {
        0 => {
            let hint = closest_place(text, &input.old_string).map(|place| format!("; {place}"));
            let hint = hint.unwrap_or_default();
            Err(Failure::new("no_match", format!("oldString does not occur in {shown}{hint}")))
        }
        1 => Ok(()),
        _ if input.replace_all.0 => Ok(()),
        count => {
            let line = |at: usize| text.get(..at).unwrap_or_default().matches('\n').count() + 1;
            let named = plan.places.iter().take(MAX_NAMED_LINES).map(|place| line(place.start).to_string());
            let named: Vec<String> = named.collect();
            let more = if count > MAX_NAMED_LINES { ", …" } else { "" };
            let message = format!(
                "oldString occurs {count} times in {shown} (lines {}{more}); include more lines around the one you \
                 mean, or set replaceAll",
                named.join(", ")
            );
            Err(Failure::new("ambiguous", message))
        }
    }
}

fn outcome(shown: &str, old_text: &str, new_text: &str, plan: &Plan) -> ToolOutcome {
    let starts = start_lines(old_text, plan);
    let count = starts.len();
    let times = if count == 1 { String::new() } else { format!(" ({count} replacements)") };
    let snippet = around_changes(new_text, &starts, plan);
    let facts = json!({
        "startLine": starts.first(),
        "startLines": starts,
        "replacements": count,
        "diff": unified(shown, old_text, new_text),
    });
    ToolOutcome::success(format!("edited {shown}{times}\n{snippet}")).with_structured(facts)
}
