//! Lines of a file as the model sees them: numbered, in its own words where they are cut.

use std::fmt::Write;

use super::slice::{End, Lines};
use crate::document::text::TextEncoding;

/// Characters of a line that are shown.
pub(super) const MAX_LINE_CHARS: usize = 2_000;
/// Characters of a whole result, with its notices.
pub(super) const MAX_CHARS: usize = 30_000;
/// Characters kept free for the notices.
const NOTICE_ROOM: usize = 600;

/// Numbered lines, and where they end.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Shown {
    /// Lines as `{number}\t{line}\n`, then notices.
    pub(super) text: String,
    /// How many lines are shown.
    pub(super) lines: usize,
    /// The file ends with the last one.
    pub(super) at_end: bool,
}

/// Shows lines of the file `path` that begin with number `first`; `encoding` is that of the lines.
pub(super) fn numbered(path: &str, lines: &Lines, first: usize, encoding: TextEncoding) -> Shown {
    let mut text = String::with_capacity(lines.bytes().len() + 8 * lines.len());
    let (mut shown, mut chars, mut cut) = (0, 0, Vec::new());
    for (line, whole) in lines.iter() {
        let line = encoding.show(line);
        let line = if whole { line.strip_suffix('\r').unwrap_or(&line) } else { &line };
        let kept = line.char_indices().nth(MAX_LINE_CHARS).map_or(line.len(), |(at, _)| at);
        let is_cut = kept < line.len() || !whole;
        let number = first + shown;
        let before = text.len();
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            "{number}\t{}{}",
            line.get(..kept).unwrap_or_default(),
            if is_cut { " [line cut]" } else { "" }
        );
        chars += text.get(before..).unwrap_or_default().chars().count();
        if chars > MAX_CHARS - NOTICE_ROOM && shown > 0 {
            text.truncate(before);
            break;
        }
        shown += 1;
        cut.extend(is_cut.then_some(number));
    }
    let all = shown == lines.len();
    let at_end = all && lines.end == End::OfFile;
    cut_notice(&mut text, path, &cut);
    let next = first + shown;
    if all && lines.end == End::LongLine {
        let _ =
            writeln!(text, "[line {} is longer than 64 MiB; what follows it was not looked at]", next - 1);
    } else if !at_end {
        let _ = writeln!(text, "[more lines follow: use offset {next}]");
    } else if first > 1 {
        text.push_str("[end of file]\n");
    } else if shown == 0 {
        text.push_str("(the file is empty)");
    }
    text.truncate(text.trim_end_matches('\n').len());
    Shown { text, lines: shown, at_end }
}

/// Says how many lines were cut, and how to see the rest of the first.
fn cut_notice(text: &mut String, path: &str, cut: &[usize]) {
    let Some(line) = cut.first() else { return };
    let lines = if cut.len() == 1 { "1 line".to_owned() } else { format!("{} lines", cut.len()) };
    // A name may be as long as a file system takes.
    let path = if path.len() <= 200 { path } else { "FILE" };
    let (quoted, from) = (path.replace('\'', r"'\''"), MAX_LINE_CHARS + 1);
    let _ = writeln!(
        text,
        "[{lines} cut at {MAX_LINE_CHARS} characters; for the rest: sed -n {line}p '{quoted}' | cut -c{from}-]"
    );
}
