//! Thinking and tool calls that Gemma wrote as text, because its server does not read them (facts sheet 9).
//!
//! Read as what they mean: thinking between `<|channel>` and `<channel|>`; calls between `<|tool_call>` and
//! `<tool_call|>`; and, at the beginning of a line, tags that are called like a declared tool, JSON objects of a tool
//! and its arguments alone, and fences of the language `tool_code`. Any other `<tag>`, brace and fence is ordinary text
//! and passes unchanged, as does everything within other fences. Work and memory are linear in the length of the answer:
//! what is held back is searched once, and what turns out to be text is not looked at again.

mod element;
mod grammar;
mod literal;
mod python;
mod scan;
mod tags;

use std::sync::Arc;

use robota_core::ToolSpec;
use serde_json::{Map, Value};

use super::markup::{Piece, possible_end, push, read_on};
use super::nesting::Nesting;
use scan::{Begin, Verdict};

const THINKING_END: &str = "<channel|>";
/// What stands around a call: Gemma's own marks, and those of others, which it takes over from a history written so.
const CALLS: [Marks; 2] = [("<|tool_call>", "<tool_call|>"), ("<tool_call>", "</tool_call>")];
const QUOTE: &str = "<|\"|>";
/// Names the channel of thinking; stands before the thinking.
const LABEL: &str = "thought\n";

/// Most bytes of a call that are held back; more are taken as text.
const MAX_CALL_BYTES: usize = 4 * 1024 * 1024;

/// What begins something, and what ends it.
type Marks = (&'static str, &'static str);

/// A call: the tool's name, and its arguments.
type Call = (String, Map<String, Value>);

/// Reads the text of one answer.
pub(super) struct Gemma {
    tools: Arc<[Arc<ToolSpec>]>,
    state: State,
    /// Text that cannot be judged yet.
    held: String,
    /// How much of `held` has been searched for the end of what is held.
    searched: usize,
    /// Nothing but white space so far on this line.
    line_start: bool,
    /// Calls so far.
    calls: usize,
    /// Bytes that were looked at, for the test that this is linear.
    #[cfg(test)]
    work: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Text,
    /// Right after `<|channel>`.
    Label,
    Thinking,
    /// After the thinking; white space before the text is dropped.
    Pause,
    /// Between the marks of a call; whether within a string.
    Call {
        quoted: bool,
        marks: Marks,
    },
    /// Within a fence that is ordinary text.
    Fence {
        mark: u8,
        length: usize,
    },
    /// Within a fence of `tool_code`, which is held from its beginning.
    Code {
        length: usize,
    },
    /// Within a JSON object.
    Envelope(Nesting),
    /// Within the opening tag of this tool.
    Tag(usize),
    /// Between the tags of this tool; where its content begins, and whether that may be arguments.
    Content {
        tool: usize,
        from: usize,
        begun: bool,
    },
}

impl Gemma {
    /// A reader that knows calls of `tools`.
    pub(super) fn new(tools: Arc<[Arc<ToolSpec>]>) -> Self {
        Self {
            tools,
            state: State::Text,
            held: String::new(),
            searched: 0,
            line_start: true,
            calls: 0,
            #[cfg(test)]
            work: 0,
        }
    }

    /// Takes more text.
    pub(super) fn push(&mut self, text: &str, out: &mut Vec<Piece>) {
        let held = std::mem::take(&mut self.held);
        self.held = read_on(held, text, |rest| self.step(rest, out));
    }

    /// The answer has ended: gives out what was held back.
    pub(super) fn finish(&mut self, out: &mut Vec<Piece>) {
        let held = std::mem::take(&mut self.held);
        let calls = match self.state {
            State::Thinking | State::Label => return push(out, Piece::Thinking, &held),
            State::Pause => return,
            // What ends a call is often forgotten at the end of an answer.
            State::Call { marks, .. } => self.call(&held, marks),
            State::Code { length } => self.code(held.get(length..).unwrap_or_default()),
            _ => None,
        };
        match calls {
            Some(calls) => self.give(calls, out),
            None => {
                if let State::Call { marks: (mark, _), .. } = self.state {
                    push(out, Piece::Text, mark);
                }
                push(out, Piece::Text, &held);
            }
        }
        self.state = State::Text;
    }

    /// Judges the beginning of `rest`. Gives how many bytes are done with, or `None` when more text is needed.
    fn step(&mut self, rest: &str, out: &mut Vec<Piece>) -> Option<usize> {
        match self.state {
            State::Text => self.text(rest, out),
            State::Label => {
                if LABEL.starts_with(rest) && rest.len() < LABEL.len() {
                    return None;
                }
                self.begin(State::Thinking);
                Some(if rest.starts_with(LABEL) { LABEL.len() } else { 0 })
            }
            State::Thinking => self.thinking(rest, out),
            State::Pause => {
                let text = rest.trim_start();
                if !text.is_empty() {
                    self.begin(State::Text);
                }
                (!rest.is_empty()).then(|| rest.len() - text.len())
            }
            State::Call { quoted, marks } => self.within_call(rest, quoted, marks, out),
            State::Fence { mark, length } => self.within_fence(rest, mark, length, out),
            State::Code { length } => self.within_code(rest, length, out),
            State::Envelope(nesting) => self.within_envelope(rest, nesting, out),
            State::Tag(tool) => self.within_tag(rest, tool, out),
            State::Content { tool, from, begun } => self.within_content(rest, (tool, from, begun), out),
        }
    }

    fn begin(&mut self, state: State) {
        self.state = state;
        self.searched = 0;
    }

    /// Counts bytes that are looked at.
    fn count(&mut self, bytes: usize) {
        #[cfg(test)]
        {
            self.work += bytes;
        }
        let _ = bytes;
    }

    /// Gives out text as far as something else may begin.
    fn text(&mut self, rest: &str, out: &mut Vec<Piece>) -> Option<usize> {
        for (at, byte) in rest.bytes().enumerate() {
            if matches!(byte, b' ' | b'\t' | b'\r' | b'\n') {
                self.line_start |= byte == b'\n';
                continue;
            }
            let verdict = match byte {
                b'<' | b'{' | b'`' | b'~' => {
                    scan::judge(rest.get(at..).unwrap_or_default(), self.line_start, &self.tools)
                }
                _ => Verdict::Text,
            };
            let state = match verdict {
                Verdict::Text => {
                    self.line_start = false;
                    continue;
                }
                Verdict::Unclear => {
                    self.count(at + 1);
                    push(out, Piece::Text, rest.get(..at).unwrap_or_default());
                    return (at > 0).then_some(at);
                }
                Verdict::Begins(state) => state,
            };
            self.count(at + 1);
            return Some(self.enter(state, rest, at, out));
        }
        self.count(rest.len());
        push(out, Piece::Text, rest);
        (!rest.is_empty()).then_some(rest.len())
    }

    /// Begins what stands at `at`. Gives how many bytes are done with.
    fn enter(&mut self, what: Begin, rest: &str, at: usize, out: &mut Vec<Piece>) -> usize {
        let (state, shown, skipped) = match what {
            Begin::Thinking(length) => (State::Label, 0, length),
            Begin::Call(marks) => (State::Call { quoted: false, marks }, 0, marks.0.len()),
            Begin::Fence { mark, length } => (State::Fence { mark, length }, length, 0),
            Begin::Code { length } => (State::Code { length }, 0, 0),
            Begin::Envelope => (State::Envelope(Nesting::default()), 0, 0),
            Begin::Tag(tool) => (State::Tag(tool), 0, 0),
        };
        push(out, Piece::Text, rest.get(..at + shown).unwrap_or_default());
        self.line_start = false;
        self.begin(state);
        at + shown + skipped
    }

    fn thinking(&mut self, rest: &str, out: &mut Vec<Piece>) -> Option<usize> {
        self.count(rest.len());
        if let Some((thought, _)) = rest.split_once(THINKING_END) {
            push(out, Piece::Thinking, thought);
            self.begin(State::Pause);
            self.line_start = true;
            return Some(thought.len() + THINKING_END.len());
        }
        let held = possible_end(rest, THINKING_END);
        let thought = rest.get(..rest.len() - held).unwrap_or_default();
        push(out, Piece::Thinking, thought);
        (!thought.is_empty()).then_some(thought.len())
    }

    fn within_call(
        &mut self,
        rest: &str,
        mut quoted: bool,
        marks: Marks,
        out: &mut Vec<Piece>,
    ) -> Option<usize> {
        let (mark, end_mark) = marks;
        let searchable = rest.get(..rest.floor_char_boundary(MAX_CALL_BYTES)).unwrap_or(rest);
        self.count(searchable.len().saturating_sub(self.searched));
        while let Some(found) = searchable.get(self.searched..).and_then(|rest| rest.find('<')) {
            let at = self.searched + found;
            let tail = searchable.get(at..).unwrap_or_default();
            self.searched = at;
            if tail.starts_with(QUOTE) {
                quoted = !quoted;
                self.searched = at + QUOTE.len();
            } else if tail.starts_with(end_mark) && !quoted {
                let calls = self.call(searchable.get(..at).unwrap_or_default(), marks);
                let end = at + end_mark.len();
                self.settle(calls, &format!("{mark}{}", searchable.get(..end).unwrap_or_default()), out);
                return Some(end);
            } else if QUOTE.starts_with(tail) || end_mark.starts_with(tail) {
                self.state = State::Call { quoted, marks };
                return self.too_long(rest, mark, out);
            } else {
                self.searched = at + 1;
            }
        }
        self.searched = searchable.len();
        self.state = State::Call { quoted, marks };
        self.too_long(rest, mark, out)
    }

    /// The call between `marks`. Within Gemma's own, a tool that is not declared is called all the same, so that the
    /// model learns of it.
    fn call(&self, inner: &str, marks: Marks) -> Option<Vec<Call>> {
        let own = CALLS.first() == Some(&marks);
        let call = grammar::call(inner).filter(|(name, _)| own || self.is_tool(name));
        call.map(|call| vec![call])
    }

    fn within_fence(&mut self, rest: &str, mark: u8, length: usize, out: &mut Vec<Piece>) -> Option<usize> {
        for (at, byte) in rest.bytes().enumerate() {
            if self.line_start && byte == mark {
                let run = rest.bytes().skip(at).take(length).take_while(|byte| *byte == mark).count();
                if run == length {
                    self.count(at + length);
                    push(out, Piece::Text, rest.get(..at + length).unwrap_or_default());
                    self.line_start = false;
                    self.begin(State::Text);
                    return Some(at + length);
                }
                if at + run == rest.len() {
                    self.count(at + run);
                    push(out, Piece::Text, rest.get(..at).unwrap_or_default());
                    return (at > 0).then_some(at);
                }
            }
            match byte {
                b'\n' => self.line_start = true,
                b' ' | b'\t' | b'\r' => {}
                _ => self.line_start = false,
            }
        }
        self.count(rest.len());
        push(out, Piece::Text, rest);
        (!rest.is_empty()).then_some(rest.len())
    }

    fn within_code(&mut self, rest: &str, length: usize, out: &mut Vec<Piece>) -> Option<usize> {
        const END: &str = "\n```";
        self.count(rest.len().saturating_sub(self.searched));
        let searchable = rest.get(..rest.floor_char_boundary(MAX_CALL_BYTES)).unwrap_or(rest);
        let Some(found) = searchable.get(self.searched..).and_then(|rest| rest.find(END)) else {
            self.searched = searchable.floor_char_boundary(searchable.len().saturating_sub(END.len() - 1));
            return self.too_long(rest, "", out);
        };
        let at = self.searched + found;
        let end = at + END.len();
        let calls = self.code(searchable.get(length..at).unwrap_or_default());
        self.settle(calls, searchable.get(..end).unwrap_or_default(), out);
        Some(end)
    }

    /// The calls in a fence after its marks.
    fn code(&self, fenced: &str) -> Option<Vec<Call>> {
        let (_, code) = fenced.split_once('\n')?;
        python::calls(code, &self.tools)
    }

    fn within_envelope(&mut self, rest: &str, mut nesting: Nesting, out: &mut Vec<Piece>) -> Option<usize> {
        let searchable = rest.get(..rest.floor_char_boundary(MAX_CALL_BYTES)).unwrap_or(rest);
        let unread = searchable.get(self.searched..).unwrap_or_default();
        self.count(unread.len());
        let Some(closed) = nesting.read(unread) else {
            self.searched = searchable.len();
            self.state = State::Envelope(nesting);
            return self.too_long(rest, "", out);
        };
        let end = self.searched + closed;
        let object = searchable.get(..end).unwrap_or_default();
        let call = grammar::envelope(object).filter(|(name, _)| self.is_tool(name));
        self.settle(call.map(|call| vec![call]), object, out);
        Some(end)
    }

    /// When more is held than any call has, that much of it is text, after `dropped`.
    fn too_long(&mut self, rest: &str, dropped: &str, out: &mut Vec<Piece>) -> Option<usize> {
        if rest.len() <= MAX_CALL_BYTES {
            return None;
        }
        push(out, Piece::Text, dropped);
        let taken = rest.get(..rest.floor_char_boundary(MAX_CALL_BYTES)).unwrap_or(rest);
        Some(self.is_text(taken, out))
    }

    /// `text` was held, and is nothing but text.
    fn is_text(&mut self, text: &str, out: &mut Vec<Piece>) -> usize {
        push(out, Piece::Text, text);
        self.line_start = false;
        self.begin(State::Text);
        text.len()
    }

    /// What was held is complete: calls, or else the text `written`.
    fn settle(&mut self, calls: Option<Vec<Call>>, written: &str, out: &mut Vec<Piece>) {
        self.begin(State::Text);
        self.line_start = calls.is_some();
        match calls {
            Some(calls) => self.give(calls, out),
            None => push(out, Piece::Text, written),
        }
    }

    fn give(&mut self, calls: Vec<Call>, out: &mut Vec<Piece>) {
        for (name, arguments) in calls {
            self.calls += 1;
            let arguments = Value::Object(arguments).to_string();
            out.push(Piece::Call { id: format!("gemma_call_{}", self.calls), name, arguments });
        }
    }

    fn is_tool(&self, name: &str) -> bool {
        self.tools.iter().any(|tool| tool.name == name)
    }
}

#[cfg(test)]
mod tests;
