//! Read: a slice of a text file, or an image.

use std::io::{BufRead, BufReader, Read as _};
use std::path::Path;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use robota_core::{
    Access, Part, PathAccess, Tool, ToolClass, ToolContext, ToolOutcome, ToolResult, ToolSpec,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::reach::Content;
use super::seen::keep_for_later;
use super::slice::{MAX_LINE_CHARS, Slice, read_slice};
use super::stat::Stat;
use super::target::open_regular;
use crate::blocking;
use crate::failure::Failure;
use crate::input::{PathInput, WholeNumber};
use crate::workspace::Workspace;

const DEFAULT_LIMIT: usize = 2_000;
/// A NUL among the first bytes makes a file binary.
const BINARY_PROBE: usize = 8 * 1024;
/// The largest image, so that its base64 form stays under 5 MiB.
const MAX_IMAGE_BYTES: u64 = 3_932_160;
/// Larger files are known by their stamp only.
const MAX_HASHED_BYTES: u64 = 8 * 1024 * 1024;
const BUFFER: usize = 64 * 1024;

pub(crate) struct Read {
    pub(crate) workspace: Workspace,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ReadInput {
    #[serde(alias = "file_path", alias = "path", alias = "filename", alias = "file")]
    file_path: PathInput,
    /// First line, from 1.
    #[serde(default, alias = "start_line", alias = "startLine")]
    #[schemars(with = "WholeNumber")]
    offset: Option<WholeNumber>,
    /// Lines; default 2000.
    #[serde(default)]
    #[schemars(with = "WholeNumber")]
    limit: Option<WholeNumber>,
}

impl Tool for Read {
    type Input = ReadInput;

    fn describe(&self) -> ToolSpec {
        ToolSpec::new(
            "Read",
            ToolClass::Inspect,
            "Reads a text file as `number<TAB>line`, or shows a PNG, JPEG, GIF or WebP image. Use offset and limit \
             for parts of long files.",
        )
        .read_only()
        .with_spellings(&[
            ("file_path", &["filePath", "path", "filename", "file"]),
            ("offset", &["start_line", "startLine"]),
        ])
    }

    fn access(&self, input: &ReadInput) -> Vec<Access> {
        vec![Access::Path {
            kind: PathAccess::Read,
            requested: input.file_path.written().to_owned(),
            resolved: input.file_path.resolve(&self.workspace).to_owned(),
        }]
    }

    async fn run(self: Arc<Self>, input: ReadInput, context: ToolContext) -> ToolResult {
        blocking::look(&context, move |stop| self.read(&input, stop)).await
    }
}

impl Read {
    fn read(&self, input: &ReadInput, stop: &CancellationToken) -> Result<ToolOutcome, Failure> {
        let path = input.file_path.resolve(&self.workspace);
        let shown = self.workspace.display(path);
        let failed = |error| Failure::io("read", &shown, &error);
        let (file, stat) = open_regular(&self.workspace, path)?;
        let mut reader = BufReader::with_capacity(BUFFER, file);
        let start = reader.fill_buf().map_err(failed)?;
        if let Some(mime_type) = image_type(start) {
            return self.image(path, reader, stat, mime_type);
        }
        if start.iter().take(BINARY_PROBE).any(|byte| *byte == 0) {
            let message = format!("{shown} is a binary file of {} bytes", stat.size);
            return Err(Failure::new("binary", message));
        }
        let first = input.offset.map_or(1, |offset| offset.count().max(1));
        let limit = input.limit.map_or(DEFAULT_LIMIT, |limit| limit.count().max(1));
        let hashed = stat.size <= MAX_HASHED_BYTES;
        let slice = read_slice(&mut reader, (first, limit), hashed, stop).map_err(failed)?;
        if slice.shown == 0 && first > 1 {
            let message = format!("{shown} has only {} lines; there is no line {first}", slice.passed);
            return Err(Failure::new("beyond_end", message));
        }
        self.workspace.reads().record(path, stat, slice.hash);
        keep_for_later(&self.workspace, path, stat, reader.get_mut());
        Ok(text_outcome(slice, first))
    }

    fn image(
        &self,
        path: &Path,
        mut reader: BufReader<Content>,
        stat: Stat,
        mime_type: &str,
    ) -> Result<ToolOutcome, Failure> {
        let shown = self.workspace.display(path);
        let size = stat.size;
        if size > MAX_IMAGE_BYTES {
            let message =
                format!("{shown} is an image of {size} bytes; at most {MAX_IMAGE_BYTES} can be shown");
            return Err(Failure::new("too_large", message));
        }
        let mut content = Vec::with_capacity(usize::try_from(size).unwrap_or_default());
        let mut bounded = reader.by_ref().take(MAX_IMAGE_BYTES);
        bounded.read_to_end(&mut content).map_err(|error| Failure::io("read", &shown, &error))?;
        let part = Part::ImageInline { mime_type: mime_type.to_owned(), data: STANDARD.encode(&content) };
        let facts = json!({"type": "image", "mimeType": mime_type, "bytes": content.len()});
        let text = format!("{shown}: image ({mime_type}, {} bytes)", content.len());
        Ok(ToolOutcome::success(text).with_part(part).with_structured(facts))
    }
}

fn text_outcome(slice: Slice, first: usize) -> ToolOutcome {
    let Slice { mut text, shown, passed, cut_lines, at_end, .. } = slice;
    if shown == 0 {
        text.push_str("(the file is empty)");
    }
    if cut_lines > 0 {
        text.push_str(&format!("[{cut_lines} lines cut at {MAX_LINE_CHARS} characters]\n"));
    }
    if !at_end {
        text.push_str(&format!("[more lines follow: use offset {}]\n", passed + 1));
    } else if first > 1 {
        text.push_str("[end of file]\n");
    }
    text.truncate(text.trim_end_matches('\n').len());
    let facts = json!({"type": "text", "startLine": first, "lines": shown, "endOfFile": at_end});
    ToolOutcome::success(text).with_structured(facts)
}

/// The media type of an image that models take, by its first bytes.
fn image_type(start: &[u8]) -> Option<&'static str> {
    match start {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1A, b'\n', ..] => Some("image/png"),
        [0xFF, 0xD8, 0xFF, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}
