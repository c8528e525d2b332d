//! Thinking and tool calls that a model wrote as text, because its server does not read them
//! (protocols F4, quirk 8).
//!
//! `<think>…</think>` counts only at the very beginning of an answer, and `<tool_call>{…}</tool_call>`
//! only when it holds a call of a declared tool; any other `<tag>` is ordinary text. Work and memory
//! are linear in the length of the answer.

use serde::Deserialize;
use serde_json::value::RawValue;

const THINK: &str = "<think>";
const THINK_END: &str = "</think>";
const CALL: &str = "<tool_call>";
const CALL_END: &str = "</tool_call>";

/// Most bytes of a call that are held back; more are taken as text.
const MAX_CALL_BYTES: usize = 4 * 1024 * 1024;

/// What the text turns out to be.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece {
    Text(String),
    Thinking(String),
    /// `id` is empty where the model gave none.
    Call {
        id: String,
        name: String,
        arguments: String,
    },
}

/// Reads the text of one answer.
pub(super) struct Markup {
    tools: Vec<String>,
    state: State,
    /// Text that cannot be judged yet.
    held: String,
    /// How much of `held` is known not to hold the end of a call.
    searched: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Nothing but white space so far.
    Beginning,
    Thinking,
    /// After the thinking; white space before the text is dropped.
    Pause,
    Text,
    /// Within `<tool_call>`.
    Call,
}

/// Takes `text` behind what was `held`, as far as `step` gets with what is left each time, and gives back what has to
/// be held on.
pub(super) fn read_on(mut held: String, text: &str, mut step: impl FnMut(&str) -> Option<usize>) -> String {
    held.push_str(text);
    let mut at = 0;
    while let Some(taken) = step(held.get(at..).unwrap_or_default()) {
        at += taken;
    }
    held.drain(..at);
    held
}

impl Markup {
    /// A reader that knows calls of `tools`.
    pub(super) fn new(tools: Vec<String>) -> Self {
        Self { tools, state: State::Beginning, held: String::new(), searched: 0 }
    }

    /// Takes more text.
    pub(super) fn push(&mut self, text: &str, out: &mut Vec<Piece>) {
        let held = std::mem::take(&mut self.held);
        self.held = read_on(held, text, |rest| self.step(rest, out));
    }

    /// The answer has ended: gives out what was held back.
    pub(super) fn finish(&mut self, out: &mut Vec<Piece>) {
        let held = std::mem::take(&mut self.held);
        match self.state {
            State::Thinking => push(out, Piece::Thinking, &held),
            State::Beginning | State::Text => push(out, Piece::Text, &held),
            State::Pause => {}
            // The closing tag is often forgotten at the end of an answer.
            State::Call => match self.call(&held) {
                Some(call) => out.push(call),
                None => out.push(Piece::Text(format!("{CALL}{held}"))),
            },
        }
        self.state = State::Text;
    }

    /// Judges the beginning of `rest`. Gives how many bytes are done with, or `None` when more text is needed.
    fn step(&mut self, rest: &str, out: &mut Vec<Piece>) -> Option<usize> {
        match self.state {
            State::Beginning => {
                let begun = rest.trim_start();
                if THINK.starts_with(begun) && begun.len() < THINK.len() {
                    return None;
                }
                let thinks = begun.starts_with(THINK);
                self.state = if thinks { State::Thinking } else { State::Text };
                Some(if thinks { rest.len() - begun.len() + THINK.len() } else { 0 })
            }
            State::Thinking => self.until(rest, THINK_END, State::Pause, Piece::Thinking, out),
            State::Pause => {
                let text = rest.trim_start();
                if !text.is_empty() {
                    self.state = State::Text;
                }
                (!rest.is_empty()).then(|| rest.len() - text.len())
            }
            State::Text if self.tools.is_empty() => {
                push(out, Piece::Text, rest);
                (!rest.is_empty()).then_some(rest.len())
            }
            State::Text => self.until(rest, CALL, State::Call, Piece::Text, out),
            State::Call => self.within_call(rest, out),
        }
    }

    /// Gives out text as far as `tag`, or as far as the tag cannot begin.
    fn until(
        &mut self,
        rest: &str,
        tag: &str,
        then: State,
        piece: fn(String) -> Piece,
        out: &mut Vec<Piece>,
    ) -> Option<usize> {
        if let Some((text, _)) = rest.split_once(tag) {
            push(out, piece, text);
            self.state = then;
            self.searched = 0;
            return Some(text.len() + tag.len());
        }
        let text = rest.get(..rest.len() - possible_end(rest, tag)).unwrap_or_default();
        push(out, piece, text);
        (!text.is_empty()).then_some(text.len())
    }

    fn within_call(&mut self, rest: &str, out: &mut Vec<Piece>) -> Option<usize> {
        let unsearched = rest.get(self.searched..).unwrap_or_default();
        let Some(end) = unsearched.find(CALL_END).map(|at| at + self.searched) else {
            if rest.len() > MAX_CALL_BYTES {
                out.push(Piece::Text(format!("{CALL}{rest}")));
                self.state = State::Text;
                return Some(rest.len());
            }
            self.searched = rest.floor_char_boundary(rest.len().saturating_sub(CALL_END.len() - 1));
            return None;
        };
        let inner = rest.get(..end).unwrap_or_default();
        match self.call(inner) {
            Some(call) => out.push(call),
            None => out.push(Piece::Text(format!("{CALL}{inner}{CALL_END}"))),
        }
        self.state = State::Text;
        Some(end + CALL_END.len())
    }

    /// The call written in `text`, when it is one of a declared tool.
    fn call(&self, text: &str) -> Option<Piece> {
        #[derive(Deserialize)]
        struct Written<'a> {
            name: String,
            #[serde(borrow, alias = "parameters")]
            arguments: Option<&'a RawValue>,
        }
        let Written { name, arguments } = serde_json::from_str(text.trim()).ok()?;
        let arguments = arguments.map_or("{}", RawValue::get);
        // Arguments may themselves be a string of JSON.
        let arguments = serde_json::from_str::<String>(arguments).unwrap_or_else(|_| arguments.to_owned());
        self.tools.contains(&name).then_some(Piece::Call { id: String::new(), name, arguments })
    }
}

/// How many bytes at the end of `text` may be the beginning of `mark`.
pub(super) fn possible_end(text: &str, mark: &str) -> usize {
    let longest = text.len().min(mark.len() - 1);
    let fits = |length: &usize| text.ends_with(mark.get(..*length).unwrap_or(mark));
    (1..=longest).rev().find(fits).unwrap_or(0)
}

/// Appends a piece of text, unless it is empty.
pub(super) fn push(out: &mut Vec<Piece>, piece: fn(String) -> Piece, text: &str) {
    if !text.is_empty() {
        out.push(piece(text.to_owned()));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The pieces of an answer that arrives in `chunks`, neighbours of one kind joined.
    fn read(chunks: &[&str]) -> Vec<Piece> {
        let mut markup = Markup::new(vec!["Read".into()]);
        let mut pieces = Vec::new();
        for chunk in chunks {
            markup.push(chunk, &mut pieces);
        }
        markup.finish(&mut pieces);
        let mut joined: Vec<Piece> = Vec::new();
        for piece in pieces {
            match (joined.last_mut(), piece) {
                (Some(Piece::Text(text)), Piece::Text(more))
                | (Some(Piece::Thinking(text)), Piece::Thinking(more)) => text.push_str(&more),
                (_, piece) => joined.push(piece),
            }
        }
        joined
    }

    fn text(text: &str) -> Piece {
        Piece::Text(text.into())
    }

    #[test]
    fn thinking_and_calls_are_told_from_text() {
        let answer = "\n<think>which file?</think>\n\nI look. <tool_call>\n{\"name\": \"Read\", \"arguments\": {\"filePath\": \"a<b\"}}\n</tool_call>";
        let call = Piece::Call {
            id: String::new(),
            name: "Read".into(),
            arguments: "{\"filePath\": \"a<b\"}".into(),
        };
        assert_eq!(read(&[answer]), [Piece::Thinking("which file?".into()), text("I look. "), call]);
    }

    #[test]
    fn ordinary_tags_stay_text() {
        for answer in [
            "Vec<T> and <b>bold</b>, <tool_calls>",
            "the tag <think> opens </think>",
            "<tool_call>{\"name\": \"Unknown\", \"arguments\": {}}</tool_call> <tool_call>no json</tool_call>",
            "   ",
            "a <tool_ca",
        ] {
            assert_eq!(read(&[answer]), [text(answer)], "{answer}");
        }
    }

    #[test]
    fn a_call_without_its_closing_tag_and_with_string_arguments_is_a_call() {
        let call = |arguments: &str| Piece::Call {
            id: String::new(),
            name: "Read".into(),
            arguments: arguments.into(),
        };
        assert_eq!(read(&["<tool_call>{\"name\":\"Read\"}"]), [call("{}")]);
        assert_eq!(
            read(&[r#"<tool_call>{"name":"Read","arguments":"{\"a\":1}"}</tool_call>"#]),
            [call("{\"a\":1}")]
        );
    }

    proptest! {
        #[test]
        fn the_split_into_chunks_does_not_matter(cuts in proptest::collection::vec(0_usize..200, 0..12)) {
            let answer = " <think>äö</thi nk></think> <tool_call>{\"name\":\"Read\",\"arguments\":{\"q\":\"<ü>\"}}</tool_call> x <tool_call>ß</tool_call> <too";
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| answer.floor_char_boundary(cut)).collect();
            cuts.extend([0, answer.len()]);
            cuts.sort_unstable();
            let chunks: Vec<&str> = cuts.windows(2).map(|pair| &answer[pair[0]..pair[1]]).collect();
            prop_assert_eq!(read(&chunks), read(&[answer]));
        }
    }
}
