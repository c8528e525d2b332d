//! The arguments of a call, as the model wrote them: read, and where it slipped, mended.

use std::borrow::Cow;
use std::fmt;

use serde_json::error::Category;
use serde_json::{Map, Value};

/// How much of the text before a mistake is shown, in characters.
const SHOWN: usize = 24;

/// The arguments of a call as the text of a JSON object: as written, without the space around them, or mended.
///
/// What tools run with, what permissions judge and what requests carry on is this text; the history keeps what the
/// model wrote. Mended is only what can mean but one thing: a code fence around the object, an object that is written
/// into a string, commas before a closing bracket, line ends and other control characters within strings, Python's
/// `True`, `False` and `None`, and one closing brace too many. What is not closed is not closed here either: nobody
/// knows what else would have come. Takes time in proportion to the length of the text.
///
/// # Errors
///
/// When the text is no JSON object even then. Empty text is none.
pub fn read_arguments(written: &str) -> Result<Cow<'_, str>, MalformedArguments> {
    let text = written.trim();
    let Err(error) = object(text) else { return Ok(Cow::Borrowed(text)) };
    let inner = without_fence(text);
    let mended = if inner.starts_with('"') {
        // The string itself may have line ends in it.
        serde_json::from_str(&mended(inner)).map(|inner: String| mended(inner.trim()))
    } else {
        Ok(mended(inner))
    };
    match mended {
        Ok(mended) if object(&mended).is_ok() => Ok(Cow::Owned(mended)),
        _ => Err(MalformedArguments::new(written, &error)),
    }
}

/// Arguments that are no JSON object. The message is for the model.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MalformedArguments {
    /// Line of the mistake, from 1.
    pub line: usize,
    /// Its place in the line, in characters, from 1.
    pub column: usize,
    /// The text ends before the object does.
    pub cut: bool,
    /// What they are, where they are JSON of another kind.
    kind: Option<&'static str>,
    what: String,
    /// The text right before the mistake.
    before: String,
}

impl MalformedArguments {
    fn new(written: &str, error: &serde_json::Error) -> Self {
        let skipped = written.len() - written.trim_start().len();
        let (mut line, bytes) = (error.line(), error.column());
        let (space, text) = written.split_at_checked(skipped).unwrap_or(("", written));
        let begin = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum::<usize>();
        let end = text.floor_char_boundary(begin.saturating_add(bytes).min(text.len()));
        let before = text.get(..end).unwrap_or_default();
        // The place in what the model wrote, with the space before it.
        line += space.matches('\n').count();
        let in_line = before.rsplit('\n').next().unwrap_or_default().chars().count();
        let indent = if before.contains('\n') {
            0
        } else {
            space.rsplit('\n').next().map_or(0, |s| s.chars().count())
        };
        let shown = before.char_indices().rev().nth(SHOWN - 1).map_or(0, |(at, _)| at);
        Self {
            line: line.max(1),
            column: (in_line + indent).max(1),
            cut: error.classify() == Category::Eof,
            kind: other_kind(text),
            what: expected(error),
            before: before.get(shown..).unwrap_or_default().to_owned(),
        }
    }
}

impl fmt::Display for MalformedArguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { line, column, what, before, .. } = self;
        if let Some(kind) = self.kind {
            return write!(f, "they are {kind} and must be an object");
        }
        write!(f, "they are no JSON object: {what} at line {line} column {column}")?;
        if before.is_empty() { Ok(()) } else { write!(f, ", right after `{before}`") }
    }
}

impl std::error::Error for MalformedArguments {}

/// What `text` is, when it is JSON and no object.
fn other_kind(text: &str) -> Option<&'static str> {
    let text = text.trim();
    let kind = match text.chars().next()? {
        '[' => "a list",
        '"' => "a text",
        'n' | 't' | 'f' | '-' | '0'..='9' => "a single value",
        _ => return None,
    };
    serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok().then_some(kind)
}

/// What is wrong, without the place.
fn expected(error: &serde_json::Error) -> String {
    let said = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    let said = said.strip_suffix(&place).unwrap_or(&said);
    match said.strip_prefix("EOF while parsing ") {
        Some(open) => format!("the text ends within {open}"),
        None => said.to_owned(),
    }
}

/// Reads an object. As a value, because that also finds lone surrogates and numbers out of range.
fn object(text: &str) -> Result<(), serde_json::Error> {
    serde_json::from_str::<Map<String, Value>>(text).map(drop)
}

/// What stands in a Markdown code fence, when all of `text` is one.
fn without_fence(text: &str) -> &str {
    let inner = text.strip_prefix("```").and_then(|rest| rest.strip_suffix("```"));
    let Some(inner) = inner else { return text };
    let language = inner.len() - inner.trim_start_matches(|c: char| c.is_ascii_alphanumeric()).len();
    inner.get(language..).unwrap_or(inner).trim()
}

/// `text` with its slips mended, as far as it is JSON at all.
fn mended(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    let mut rest = text;
    let mut depth = 0_usize;
    // Where a comma stands that may turn out to be one too many.
    let mut comma: Option<usize> = None;
    while let Some(c) = rest.chars().next() {
        let taken = match c {
            '"' => push_string(rest, &mut out),
            c if c.is_alphabetic() => push_word(rest, &mut out),
            '}' | ']' => {
                if depth == 0 && c == '}' && rest.len() == 1 && !out.is_empty() {
                    // One too many, at the very end.
                    break;
                }
                if let Some(at) = comma {
                    // Only space stands behind it.
                    out.truncate(at);
                }
                depth = depth.saturating_sub(1);
                out.push(c);
                1
            }
            c => {
                depth += usize::from(matches!(c, '{' | '['));
                out.push(c);
                c.len_utf8()
            }
        };
        match c {
            ',' => comma = Some(out.len() - 1),
            c if c.is_whitespace() => {}
            _ => comma = None,
        }
        rest = rest.get(taken..).unwrap_or_default();
    }
    out.truncate(out.trim_end().len());
    out
}

/// Copies the string that `rest` begins with, control characters as escapes; gives its length in `rest`.
fn push_string(rest: &str, out: &mut String) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices() {
        match c {
            '\n' if !escaped => out.push_str("\\n"),
            '\r' if !escaped => out.push_str("\\r"),
            '\t' if !escaped => out.push_str("\\t"),
            c if c < ' ' && !escaped => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
        if c == '"' && !escaped && at > 0 {
            return at + 1;
        }
        escaped = c == '\\' && !escaped;
    }
    rest.len()
}

/// Copies the word that `rest` begins with, Python's names as JSON's; gives its length in `rest`.
fn push_word(rest: &str, out: &mut String) -> usize {
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
    let word = rest.get(..end).unwrap_or_default();
    out.push_str(match word {
        "True" => "true",
        "False" => "false",
        "None" => "null",
        word => word,
    });
    end
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_right_stays_as_it_is() {
        for text in ["{}", r#"{"a": [1, 2.50, {"b": "c\n,}"}]}"#, r#"{"True": "None, }"}"#] {
            assert_eq!(read_arguments(text), Ok(Cow::Borrowed(text)));
        }
        assert_eq!(read_arguments(" \n{\"a\":1}\n").unwrap(), "{\"a\":1}");
    }

    #[test]
    fn slips_that_can_mean_but_one_thing_are_mended() {
        let cases = [
            (r#"{"a": [1, 2, ], }"#, r#"{"a": [1, 2]}"#),
            ("{\"a\": \"x\ny\t\u{1}\"}", r#"{"a": "x\ny\t\u0001"}"#),
            (r#"{"a": {"b": 1}}}"#, r#"{"a": {"b": 1}}"#),
            ("```json\n{\"a\": 1}\n```", r#"{"a": 1}"#),
            ("```\n{\"a\": 1,}```", r#"{"a": 1}"#),
            (r#"{"a": True, "b": [False, None]}"#, r#"{"a": true, "b": [false, null]}"#),
            (r#""{\"a\": \"b\"}""#, r#"{"a": "b"}"#),
            ("\"{\\\"a\\\": True,\\n}\"", r#"{"a": true}"#),
        ];
        for (written, mended) in cases {
            assert_eq!(read_arguments(written).as_deref(), Ok(mended), "{written}");
        }
    }

    #[test]
    fn what_was_cut_or_may_mean_several_things_is_not_guessed() {
        let malformed = [
            "",
            "{",
            "{\"a\": \"b",
            "{\"a\": \"b\"",
            "{\"a\": [1, 2",
            "```json\n{\"a\": 1",
            "{\"a\": 1}}}",
            "{\"a\": 1} {\"b\": 2}",
            "{'a': 1}",
            "{a: 1}",
            "[1]",
            "\"text\"",
            "null",
            "{\"a\":1,,}",
            "}",
            r#"{"a":"\ud800"}"#,
            r#""{\"a\": 1""#,
            "Sure: {\"a\": 1}",
            "{\"a\": 1 \"b\": 2}",
            "{\"a\": Truely}",
        ];
        for written in malformed {
            assert!(read_arguments(written).is_err(), "{written}: {:?}", read_arguments(written));
        }
    }

    #[test]
    fn the_place_of_a_mistake_is_told() {
        let told = |written: &str| read_arguments(written).unwrap_err().to_string();
        assert_eq!(
            told("{\"a\": \"b"),
            "they are no JSON object: the text ends within a string at line 1 column 8, right after `{\"a\": \"b`"
        );
        assert_eq!(
            told("\n{\n  \"ä\": 1\n  \"b\": 2\n}"),
            "they are no JSON object: expected `,` or `}` at line 4 column 3, right after `{\n  \"ä\": 1\n  \"`"
        );
        assert_eq!(told("[1]"), "they are a list and must be an object");
        assert!(read_arguments("{\"a\": \"b").unwrap_err().cut && !read_arguments("{'a'}").unwrap_err().cut);
    }

    #[test]
    fn long_nonsense_takes_no_long_time() {
        let begun = Instant::now();
        for piece in [",", "{", "}", "[,", "\"", "\\", "\"\n", "True", "```", " ", "{\"a\":1,", "ä"] {
            let _ = read_arguments(&piece.repeat(200_000));
        }
        assert!(begun.elapsed().as_secs() < 60, "quadratic");
    }

    proptest! {
        #[test]
        fn whatever_is_written_comes_out_as_an_object_or_not_at_all(
            pieces in prop::collection::vec(
                prop::sample::select(vec!["{", "}", "[", "]", "\"", "\\", "\n", ",", ":", "a", "1", "True", "```", " ", "\u{1}"]),
                0..24,
            )
        ) {
            let written = pieces.concat();
            match read_arguments(&written) {
                Ok(read) => {
                    prop_assert!(object(&read).is_ok());
                    let again = read_arguments(&read);
                    prop_assert_eq!(again.as_deref(), Ok(&*read));
                }
                Err(error) => prop_assert!(error.to_string().len() < 400),
            }
        }

        #[test]
        fn no_beginning_of_an_object_is_taken_for_all_of_it(value in prop::collection::btree_map("[a-z]{1,3}", "[a-z\"\\\\{},\n]{0,8}", 1..4), cut in 0_usize..60) {
            let whole = serde_json::to_string(&value).unwrap();
            let cut = whole.floor_char_boundary(cut.min(whole.len() - 1));
            prop_assert!(read_arguments(&whole[..cut]).is_err());
        }
    }
}
