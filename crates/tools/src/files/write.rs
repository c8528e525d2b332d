//! Write: creates a file or replaces it as a whole.

use std::path::Path;
use std::sync::Arc;

use robota_core::{Access, PathAccess, Tool, ToolClass, ToolContext, ToolOutcome, ToolResult, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::diff::unified;
use super::exact;
use super::read_state::content_hash;
use super::seen::seen_content;
use super::target::regular_file;
use crate::blocking;
use crate::failure::Failure;
use crate::input::PathInput;
use crate::workspace::Workspace;

pub(crate) struct Write {
    pub(crate) workspace: Workspace,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WriteInput {
    #[serde(alias = "file_path", alias = "path", alias = "filename", alias = "file")]
    file_path: PathInput,
    #[serde(alias = "contents", alias = "text", alias = "file_text")]
    content: String,
}

impl Tool for Write {
    type Input = WriteInput;

    fn describe(&self) -> ToolSpec {
        ToolSpec::new(
            "Write",
            ToolClass::Modify,
            "Creates a file, with its folders, or replaces one that was read before. To change part of a file use \
             Edit.",
        )
        .with_spellings(&[
            ("file_path", &["filePath", "path", "filename", "file"]),
            ("content", &["contents", "text", "file_text"]),
        ])
    }

    fn access(&self, input: &WriteInput) -> Vec<Access> {
        vec![Access::Path {
            kind: PathAccess::Write,
            requested: input.file_path.written().to_owned(),
            resolved: input.file_path.resolve(&self.workspace).to_owned(),
        }]
    }

    async fn run(self: Arc<Self>, input: WriteInput, context: ToolContext) -> ToolResult {
        blocking::change(&context, move || self.write(&input)).await
    }
}

impl Write {
    fn write(&self, input: &WriteInput) -> Result<ToolOutcome, Failure> {
        let path = input.file_path.resolve(&self.workspace);
        let shown = self.workspace.display(path);
        let reads = self.workspace.reads();
        let _alone = reads.exclusive();
        let old = self.known_content(path)?;
        let content = input.content.as_bytes();
        let replaced = self.workspace.replace(path, content);
        let stat = replaced.map_err(|error| exact::failure(&self.workspace, "write", path, &error))?;
        reads.record(path, stat, Some(content_hash(content)));

        let (kind, done) = if old.is_some() { ("update", "replaced") } else { ("create", "created") };
        let (bytes, lines) = (content.len(), input.content.lines().count());
        let before = old.and_then(|old| String::from_utf8(old).ok()).unwrap_or_default();
        let diff = unified(&shown, &before, &input.content);
        let facts = json!({"type": kind, "bytes": bytes, "lines": lines, "diff": diff});
        Ok(ToolOutcome::success(format!("{done} {shown} ({bytes} bytes, {lines} lines)"))
            .with_structured(facts))
    }

    /// The content to be replaced; the model must have seen it, unless there is none.
    fn known_content(&self, path: &Path) -> Result<Option<Vec<u8>>, Failure> {
        let Some(stat) = regular_file(&self.workspace, path)? else { return Ok(None) };
        if stat.size == 0 {
            return Ok(Some(Vec::new()));
        }
        seen_content(&self.workspace, path).map(Some)
    }
}
