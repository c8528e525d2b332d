//! Write: creates a file or replaces it as a whole.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use robota_core::{Access, PathAccess, Tool, ToolClass, ToolContext, ToolOutcome, ToolResult, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::alone::alone_with;
use super::atomic::is_changed;
use super::changes::difference;
use super::decoded::Decoded;
use super::diff::unified;
use super::exact;
use super::matching::{Endings, to_crlf};
use super::seen::{Known, seen_content};
use super::target::{named_file, regular_file, unencodable};
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
        let path = named_file(&self.workspace, &input.file_path)?;
        let _alone = alone_with(path);
        let shown = self.workspace.display(path);
        let old = self.known_content(path)?;
        let new = NewContent::new(&input.content, old.as_ref(), &shown)?;
        let unchanged = old.as_ref().is_some_and(|old| old.is(&new.bytes));
        if !unchanged {
            let stat = self.workspace.replace(path, &new.bytes, old.as_ref().map(|old| &old.stat));
            let stat = stat.map_err(|error| self.not_replaced(path, &error))?;
            self.workspace.reads().record_content(path, stat, &new.bytes);
        }
        let (kind, done) = match old {
            Some(_) if unchanged => ("update", "unchanged, as it had this content:"),
            Some(_) => ("update", "replaced"),
            None => ("create", "created"),
        };
        let (bytes, lines) = (new.bytes.len(), new.text.lines().count());
        let before = old.as_ref().map_or("", Existing::text);
        let diff = unified(&shown, before, &new.text, &difference(before, &new.text));
        let kept = &new.kept;
        let text = format!("{done} {shown} ({bytes} bytes, {lines} lines{kept})");
        let facts = json!({
            "type": kind, "bytes": bytes, "lines": lines, "startLines": diff.start_lines, "diff": diff.text,
        });
        Ok(ToolOutcome::success(text).with_structured(facts))
    }

    /// The content to be replaced; the model must have seen it, unless there is none.
    fn known_content(&self, path: &Path) -> Result<Option<Existing>, Failure> {
        let Some(stat) = regular_file(&self.workspace, path)? else { return Ok(None) };
        let known = if stat.size == 0 {
            Known { content: Vec::new(), stat }
        } else {
            seen_content(&self.workspace, path)?
        };
        Ok(Some(Existing { decoded: Decoded::new(known.content), stat: known.stat }))
    }

    fn not_replaced(&self, path: &Path, error: &std::io::Error) -> Failure {
        // What another program has put there just now may be told.
        match self.known_content(path) {
            Err(failure) if is_changed(error) => failure,
            _ => exact::failure(&self.workspace, "write", path, error),
        }
    }
}

/// What is at the place already.
struct Existing {
    /// `None` when it is no text.
    decoded: Option<Decoded>,
    stat: super::stat::Stat,
}

impl Existing {
    fn is(&self, bytes: &[u8]) -> bool {
        self.decoded.as_ref().is_some_and(|decoded| decoded.is(bytes))
    }

    fn text(&self) -> &str {
        self.decoded.as_ref().map_or("", Decoded::text)
    }
}

/// The content as it goes to disk: in the encoding of the file it replaces, with its mark and its line endings, none
/// of which Read shows.
struct NewContent<'a> {
    text: Cow<'a, str>,
    bytes: Cow<'a, [u8]>,
    /// What was kept, for the model.
    kept: String,
}

impl<'a> NewContent<'a> {
    fn new(content: &'a str, old: Option<&Existing>, shown: &str) -> Result<Self, Failure> {
        let plain = Self { text: content.into(), bytes: content.as_bytes().into(), kept: String::new() };
        let Some(old) = old.and_then(|old| old.decoded.as_ref()) else { return Ok(plain) };
        let crlf = Endings::of(old.text()) == Endings::Crlf && Endings::of(content) == Endings::Lf;
        let encoding = old.special();
        if !crlf && encoding.is_none() {
            return Ok(plain);
        }
        let content = if encoding.is_some() { content.trim_start_matches('\u{FEFF}') } else { content };
        let text = if crlf { Cow::Owned(to_crlf(content)) } else { Cow::Borrowed(content) };
        let bytes = old.encode(&[old.mark(), &text].concat()).map(Cow::into_owned);
        let bytes = bytes.map_err(|error| unencodable(shown, &error))?.into();
        let kept = [crlf.then_some("CRLF line endings"), encoding].into_iter().flatten();
        let kept: String = kept.map(|kept| format!(", {kept} as before")).collect();
        Ok(Self { text, bytes, kept })
    }
}
