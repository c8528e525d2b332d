//! What may begin where text goes on.

use std::sync::Arc;

use robota_core::ToolSpec;

use super::{CALLS, Marks};

/// What stands at the beginning of some text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Ordinary text.
    Text,
    /// More has to come before it can be said.
    Unclear,
    /// Something that has to be read otherwise.
    Begins(Begin),
}

/// What has to be read otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Begin {
    /// Thinking, after a mark of so many bytes.
    Thinking(usize),
    Call(Marks),
    Fence {
        mark: u8,
        length: usize,
    },
    /// A fence of `tool_code` with so many marks.
    Code {
        length: usize,
    },
    Envelope,
    /// A tag called like this tool.
    Tag(usize),
}

const THINKING: &str = "<|channel>";

/// Most marks of a fence, and most white space where little is usual: what is unclear must stay short.
const MAX_RUN: usize = 64;

/// Judges the beginning of `rest`, which is not empty. Looks at a bounded number of bytes.
pub(super) fn judge(rest: &str, line_start: bool, tools: &[Arc<ToolSpec>]) -> Verdict {
    match rest.as_bytes().first() {
        Some(b'<') => marker(rest, line_start, tools),
        Some(b'{') if line_start && !tools.is_empty() => envelope(rest),
        Some(mark @ (b'`' | b'~')) if line_start => fence(rest, *mark, !tools.is_empty()),
        _ => Verdict::Text,
    }
}

fn marker(rest: &str, line_start: bool, tools: &[Arc<ToolSpec>]) -> Verdict {
    if rest.starts_with(THINKING) {
        return Verdict::Begins(Begin::Thinking(THINKING.len()));
    }
    let mut unclear = THINKING.starts_with(rest);
    for marks in CALLS.into_iter().filter(|_| !tools.is_empty()) {
        if rest.starts_with(marks.0) {
            return Verdict::Begins(Begin::Call(marks));
        }
        unclear |= marks.0.starts_with(rest);
    }
    let after = rest.get(1..).filter(|_| line_start).unwrap_or_default();
    for (at, tool) in tools.iter().enumerate().filter(|_| line_start) {
        match after.strip_prefix(tool.name.as_str()).map(|rest| rest.bytes().next()) {
            Some(Some(b'>' | b'/' | b' ' | b'\t' | b'\r' | b'\n')) => return Verdict::Begins(Begin::Tag(at)),
            Some(None) => unclear = true,
            Some(Some(_)) => {}
            None => unclear |= tool.name.starts_with(after),
        }
    }
    if unclear { Verdict::Unclear } else { Verdict::Text }
}

/// A JSON object whose first key is one of those that a call has.
fn envelope(rest: &str) -> Verdict {
    const KEYS: [&str; 5] = ["\"command\"", "\"args\"", "\"name\"", "\"arguments\"", "\"parameters\""];
    let after = rest.get(1..).unwrap_or_default();
    let key = after.trim_start_matches([' ', '\t', '\r', '\n']);
    if after.len() - key.len() > MAX_RUN {
        Verdict::Text
    } else if KEYS.iter().any(|known| key.starts_with(known)) {
        Verdict::Begins(Begin::Envelope)
    } else if KEYS.iter().any(|known| known.starts_with(key)) {
        Verdict::Unclear
    } else {
        Verdict::Text
    }
}

fn fence(rest: &str, mark: u8, tools: bool) -> Verdict {
    const LANGUAGE: &str = "tool_code";
    let length = rest.bytes().take(MAX_RUN).take_while(|byte| *byte == mark).count();
    if length == rest.len() && length < MAX_RUN {
        return Verdict::Unclear;
    }
    if length < 3 {
        return Verdict::Text;
    }
    let info = rest.get(length..).unwrap_or_default();
    let ordinary = Verdict::Begins(Begin::Fence { mark, length });
    if mark != b'`' || !tools {
        return ordinary;
    }
    match info.strip_prefix(LANGUAGE).map(|rest| rest.bytes().next()) {
        Some(Some(b'\n' | b'\r' | b' ' | b'\t')) => Verdict::Begins(Begin::Code { length }),
        Some(None) => Verdict::Unclear,
        Some(Some(_)) => ordinary,
        None if LANGUAGE.starts_with(info) => Verdict::Unclear,
        None => ordinary,
    }
}
