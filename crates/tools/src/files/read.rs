//! Read: lines of a text file, pages of a PDF, cells of a notebook, or an image.

use std::io::{self, BufRead, BufReader, Read as _, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use robota_core::{Access, PathAccess, Tool, ToolClass, ToolContext, ToolOutcome, ToolResult, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::line_index::LineIndex;
use super::passing::{Decoding, Hashing};
use super::reach::Content;
use super::read_state::ContentHash;
use super::seen::keep_for_later;
use super::shown::numbered;
use super::slice::{End, Lines, Place, Range, read_lines};
use super::stat::Stat;
use super::target::open_regular;
use crate::blocking;
use crate::document::image::{image_header, other_kind};
use crate::document::pdf::is_pdf;
use crate::document::text::{TextEncoding, detect};
use crate::failure::Failure;
use crate::input::{PathInput, WholeNumber};
use crate::workspace::Workspace;

const DEFAULT_LIMIT: usize = 2_000;
/// Larger files are known by their stamp only.
const MAX_HASHED_BYTES: u64 = 8 * 1024 * 1024;
/// Bytes passed by one call on the way to its first line.
const REACH: u64 = 8 * 1024 * 1024 * 1024;
const BUFFER: usize = 256 * 1024;

pub(crate) struct Read {
    pub(super) workspace: Workspace,
    /// Where paging on goes on.
    lines: LineIndex,
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
    /// Of a PDF, such as 3 or 1-5; at most 20.
    #[serde(default)]
    #[schemars(with = "String")]
    pages: Option<PagesInput>,
}

/// Pages as models write them.
#[derive(Deserialize)]
#[serde(untagged)]
enum PagesInput {
    Text(String),
    Number(WholeNumber),
}

impl Tool for Read {
    type Input = ReadInput;

    fn describe(&self) -> ToolSpec {
        ToolSpec::new(
            "Read",
            ToolClass::Inspect,
            "Reads a text file as `number<TAB>line`, a PDF as text, a notebook as cells, or shows a PNG, JPEG, GIF \
             or WebP image. Use offset and limit for parts of long files.",
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

/// A file that is being read.
pub(super) struct Opened<'a> {
    pub(super) path: &'a Path,
    /// The path for the model.
    pub(super) shown: String,
    pub(super) stat: Stat,
    pub(super) reader: BufReader<Content>,
    pub(super) stop: &'a CancellationToken,
}

impl Opened<'_> {
    /// The failure for an error of reading.
    pub(super) fn failed(&self, error: &io::Error) -> Failure {
        Failure::io("read", &self.shown, error)
    }
}

impl Read {
    pub(crate) fn new(workspace: Workspace) -> Self {
        Self { workspace, lines: LineIndex::default() }
    }

    fn read(&self, input: &ReadInput, stop: &CancellationToken) -> Result<ToolOutcome, Failure> {
        let path = input.file_path.resolve(&self.workspace);
        let shown = self.workspace.display(path);
        let (file, stat) = open_regular(&self.workspace, path)?;
        let reader = BufReader::with_capacity(BUFFER, file);
        let mut opened = Opened { path, shown, stat, reader, stop };
        if let Err(error) = opened.reader.fill_buf() {
            return Err(opened.failed(&error));
        }
        let start = opened.reader.buffer();
        if is_pdf(start) {
            let pages = input.pages.as_ref().map(PagesInput::range).transpose()?;
            return self.pdf(opened, pages);
        }
        if input.pages.is_some() {
            let message = format!("{} is not a PDF; pages is for PDF files only", opened.shown);
            return Err(Failure::new("invalid_argument", message));
        }
        if let Some(header) = image_header(start) {
            return self.image(opened, header);
        }
        let first = input.offset.map_or(1, |offset| offset.count().max(1));
        let limit = input.limit.map_or(DEFAULT_LIMIT, |limit| limit.count().max(1));
        let range = Range { first, limit, reach: REACH };
        if path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("ipynb"))
            && let Some(cells) = self.notebook(&mut opened, range)?
        {
            return Ok(cells);
        }
        self.text(opened, range)
    }

    fn text(&self, mut opened: Opened<'_>, range: Range) -> Result<ToolOutcome, Failure> {
        let start = opened.reader.buffer();
        let Some(encoding) = detect(start, start.len() as u64 == opened.stat.size) else {
            return Err(binary(&opened));
        };
        let (lines, hash) = match self.lines(&mut opened, range, encoding) {
            Ok(read) => read,
            Err(error) => return Err(opened.failed(&error)),
        };
        check_reached(&opened.shown, &lines, range.first)?;
        let of_lines = if encoding.is_utf16() { TextEncoding::UTF_8 } else { encoding_of(&lines, encoding) };
        let mut shown = numbered(&opened.shown, &lines, range.first, of_lines);
        let encoding = if encoding.is_utf16() { encoding } else { of_lines };
        if !encoding.is_utf8() {
            shown.text.push_str(&format!("\n[encoding: {}]", encoding.name()));
        }
        let whole = shown.at_end && range.first == 1;
        self.workspace.reads().record(opened.path, opened.stat, hash.filter(|_| whole));
        keep_for_later(&self.workspace, opened.path, opened.stat, opened.reader.get_mut());
        let facts = json!({
            "type": "text",
            "startLine": range.first,
            "lines": shown.lines,
            "endOfFile": shown.at_end,
            "encoding": encoding.name(),
        });
        Ok(ToolOutcome::success(shown.text).with_structured(facts))
    }

    /// The lines of `range`, and the digest of what went by when that began with the file.
    fn lines(
        &self,
        opened: &mut Opened<'_>,
        range: Range,
        encoding: TextEncoding,
    ) -> io::Result<(Lines, Option<ContentHash>)> {
        let Opened { path, stat, reader, stop, .. } = opened;
        let mut from = match encoding.is_utf16() {
            true => Place::default(),
            false => self.lines.before(path, *stat, range.first),
        };
        if from.offset > 0 && !stands_after_line_end(reader, from)? {
            from = Place::default();
            reader.seek(SeekFrom::Start(0))?;
        }
        let hashed = range.first == 1 && stat.size <= MAX_HASHED_BYTES;
        let mut reader = Hashing::new(reader, hashed);
        if from.offset == 0 {
            let mark = encoding.mark_bytes().len();
            reader.fill_buf()?;
            reader.consume(mark);
            from.offset = mark as u64;
        }
        if encoding.is_utf16() {
            let mut decoding = Decoding::new(&mut reader, encoding);
            let lines = read_lines(&mut decoding, from, range, stop, |_| {})?;
            return Ok((lines, reader.hash()));
        }
        let mut places = Vec::new();
        let lines = read_lines(&mut reader, from, range, stop, |place| places.push(place));
        self.lines.add(path, *stat, &places);
        Ok((lines?, reader.hash()))
    }
}

/// Goes to `place`, and tells whether it still is the beginning of a line.
fn stands_after_line_end(reader: &mut BufReader<Content>, place: Place) -> io::Result<bool> {
    reader.seek(SeekFrom::Start(place.offset - 1))?;
    let mut before = [0];
    Ok(reader.read(&mut before)? == 1 && before == *b"\n")
}

/// The encoding of lines of a file that begins as if it were in `expected`.
fn encoding_of(lines: &Lines, expected: TextEncoding) -> TextEncoding {
    if !expected.is_utf8() || std::str::from_utf8(lines.bytes()).is_ok() {
        return expected;
    }
    detect(lines.bytes(), false).filter(|found| !found.is_utf16()).unwrap_or(expected)
}

fn check_reached(shown: &str, lines: &Lines, first: usize) -> Result<(), Failure> {
    let passed = lines.next.passed;
    if lines.end == End::FarAway {
        let message = format!(
            "line {first} of {shown} lies more than 8 GiB further on; line {passed} was reached, and the same call \
             goes on from there"
        );
        return Err(Failure::new("too_far", message));
    }
    if lines.len() == 0 && first > 1 {
        let message = format!("{shown} has only {passed} lines; there is no line {first}");
        return Err(Failure::new("beyond_end", message));
    }
    Ok(())
}

fn binary(opened: &Opened<'_>) -> Failure {
    let (shown, size) = (&opened.shown, opened.stat.size);
    let message = match other_kind(opened.reader.buffer()) {
        Some(kind) => format!(
            "{shown} is {kind} of {size} bytes, which is not shown; make a PNG or JPEG of it with a program \
             through Bash"
        ),
        None => format!("{shown} is a binary file of {size} bytes"),
    };
    Failure::new("binary", message)
}

impl PagesInput {
    /// First and last page.
    fn range(&self) -> Result<(usize, usize), Failure> {
        let text = match self {
            Self::Number(number) => number.0.to_string(),
            Self::Text(text) => text.trim().to_owned(),
        };
        let number = |text: &str| text.trim().parse::<usize>().ok().filter(|number| *number > 0);
        let range = match text.split_once(['-', '–']) {
            Some((first, "")) => number(first).map(|first| (first, usize::MAX)),
            Some((first, last)) => number(first).zip(number(last)),
            None => number(&text).map(|page| (page, page)),
        };
        range.filter(|(first, last)| first <= last).ok_or_else(|| {
            let message = format!("pages is a page such as 3 or a range such as 1-5, not {text:?}");
            Failure::new("invalid_argument", message)
        })
    }
}
