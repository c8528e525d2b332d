//! Edit: replaces exact texts in a file.

use std::path::Path;
use std::sync::Arc;

use robota_core::{Access, PathAccess, Tool, ToolClass, ToolContext, ToolOutcome, ToolResult, ToolSpec};
use serde_json::json;

use super::alone::alone_with;
use super::atomic::is_changed;
use super::decoded::Decoded;
use super::diff::unified;
use super::edit_input::EditInput;
use super::exact;
use super::missing::missing_path;
use super::rewrite::{Rewritten, rewrite};
use super::seen::{Known, seen_content};
use super::snippet::around_changes;
use super::target::{named_file, regular_file, unencodable};
use crate::blocking;
use crate::failure::Failure;
use crate::workspace::Workspace;

pub(crate) struct Edit {
    pub(crate) workspace: Workspace,
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
        let path = named_file(&self.workspace, &input.file_path)?;
        let _alone = alone_with(path);
        let shown = self.workspace.display(path);
        let (file, stat) = self.known_text(path)?;
        let made = rewrite(&shown, file.mark(), file.text(), &input.edits)?;
        let content = file.encode(&made.content).map_err(|error| unencodable(&shown, &error))?;
        let replaced = self.workspace.replace(path, &content, Some(&stat));
        let stat = replaced.map_err(|error| self.not_replaced(path, &error))?;
        self.workspace.reads().record_content(path, stat, &content);
        Ok(outcome(&shown, &file, &made, input.edits.len()))
    }

    /// The text of the file, which the model must have seen.
    fn known_text(&self, path: &Path) -> Result<(Decoded, super::stat::Stat), Failure> {
        if regular_file(&self.workspace, path)?.is_none() {
            return Err(missing_path(&self.workspace, path));
        }
        let Known { content, stat } = seen_content(&self.workspace, path)?;
        let text = Decoded::new(content).ok_or_else(|| {
            let shown = self.workspace.display(path);
            let message = format!("{shown} is binary or damaged text; change it with a program through Bash");
            Failure::new("not_text", message)
        })?;
        Ok((text, stat))
    }

    fn not_replaced(&self, path: &Path, error: &std::io::Error) -> Failure {
        // What another program has put there just now may be told.
        match seen_content(&self.workspace, path) {
            Err(failure) if is_changed(error) => failure,
            _ => exact::failure(&self.workspace, "write", path, error),
        }
    }
}

fn outcome(shown: &str, file: &Decoded, made: &Rewritten, edits: usize) -> ToolOutcome {
    let (old, new) = (file.text(), made.content.get(file.mark().len()..).unwrap_or_default());
    let diff = unified(shown, old, new, &made.changes);
    let times = match (edits, made.replacements) {
        (1, 1) => String::new(),
        (1, count) => format!(" ({count} replacements)"),
        (edits, count) if edits == count => format!(" ({edits} edits)"),
        (edits, count) => format!(" ({edits} edits, {count} replacements)"),
    };
    let facts = json!({
        "startLine": diff.start_lines.first(),
        "startLines": diff.start_lines,
        "replacements": made.replacements,
        "diff": diff.text,
    });
    let snippet = around_changes(new, &made.changes);
    ToolOutcome::success(format!("edited {shown}{times}\n{snippet}")).with_structured(facts)
}
