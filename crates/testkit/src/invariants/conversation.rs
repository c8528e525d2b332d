//! The stable prefix: what the model has seen is repeated unchanged.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use robota_core::last_words_message;
use serde_json::{Value, json};

use super::{Rule, Violation};
use crate::RecordedRequest;
use crate::request::is_models;

/// How a summary begins that stands for what was said before.
const SUMMARY: &str = "[Context Summary]";

/// The conversations seen so far, by their first user message, and the summary after it, if there is one:
/// a compaction begins the conversation anew.
///
/// Several may begin with the same words, so each has its own line of requests.
#[derive(Default)]
pub(crate) struct Conversations(BTreeMap<String, Vec<Line>>);

/// The last request of one conversation.
struct Line {
    request: Arc<RecordedRequest>,
    /// Whether it got a whole answer; if not, the same request again is a retry.
    answered: bool,
}

/// Where a request belongs.
pub(crate) struct Place {
    key: String,
    line: Option<usize>,
}

impl Conversations {
    /// Finds the line that `request` continues, and what it changes in it.
    pub(crate) fn place(&self, request: &RecordedRequest) -> (Place, Option<Violation>) {
        let key = key_of(request);
        let lines = self.0.get(&key).map_or(&[][..], Vec::as_slice);
        let mut nearest: Option<(usize, Difference)> = None;
        let mut longest: Option<(usize, usize)> = None;
        for (index, line) in lines.iter().enumerate() {
            match difference(&line.request, request) {
                None => {
                    let length = line.request.messages().len();
                    let again = length == request.messages().len();
                    let fits = !(again && line.answered);
                    if fits && longest.is_none_or(|(_, best)| best <= length) {
                        longest = Some((index, length));
                    }
                }
                Some(found) => {
                    if nearest.as_ref().is_none_or(|(_, best)| best.position <= found.position) {
                        nearest = Some((index, found));
                    }
                }
            }
        }
        let begins = !request.messages().iter().any(is_models);
        match (longest, nearest) {
            (Some((line, _)), _) => (Place { key, line: Some(line) }, None),
            (None, Some((line, found))) if !begins => {
                let earlier = lines.get(line).map_or(0, |line| line.request.number);
                let message = format!("compared with request {earlier}, {}", found.text);
                let violation = Violation::new(request.number, Rule::StablePrefix, message);
                (Place { key, line: Some(line) }, Some(violation))
            }
            _ => (Place { key, line: None }, None),
        }
    }

    /// Makes `request` the last one of its line, unless it asks for last words: their demand is part of no
    /// history, so what comes next goes on from the request before.
    pub(crate) fn follow(&mut self, place: Place, request: Arc<RecordedRequest>, answered: bool) {
        if place.line.is_some() && asks_for_last_words(&request) {
            return;
        }
        let lines = self.0.entry(place.key).or_default();
        let line = Line { request, answered };
        match place.line.and_then(|index| lines.get_mut(index)) {
            Some(known) => *known = line,
            None => lines.push(line),
        }
    }
}

fn key_of(request: &RecordedRequest) -> String {
    let mut messages = request.messages().iter().skip_while(|message| message["role"] != "user");
    let first = messages.next();
    let summary = messages.next().filter(|message| is_summary(message));
    let mut key = format!("{:?}", request.dialect);
    for block in first.into_iter().chain(summary).flat_map(|message| blocks(content(message))) {
        key.push_str(&plain(&block).to_string());
    }
    key
}

fn is_summary(message: &Value) -> bool {
    let begins = |block: &Value| block["text"].as_str().is_some_and(|text| text.starts_with(SUMMARY));
    is_models(message) && blocks(content(message)).first().is_some_and(|block| begins(block))
}

/// What a message is made of: `content`, or `parts` in Gemini's words.
fn content(message: &Value) -> &Value {
    message.get("parts").unwrap_or(&message["content"])
}

/// Whether `request` ends with the demand that drives a closing answer.
fn asks_for_last_words(request: &RecordedRequest) -> bool {
    let demand = json!(last_words_message().text()).to_string();
    let demand = demand.trim_matches('"');
    request.messages().last().is_some_and(|last| last.to_string().contains(demand))
}

/// What a later request changes.
struct Difference {
    /// How many messages stayed the same before it.
    position: usize,
    text: String,
}

fn difference(earlier: &RecordedRequest, later: &RecordedRequest) -> Option<Difference> {
    for field in ["system", "instructions", "systemInstruction", "tools"] {
        let (was, is) = (earlier.field(field), later.field(field));
        if !same_blocks(was, is) {
            let text = format!("`{field}` changed: {}", excerpts(was, is));
            return Some(Difference { position: 0, text });
        }
    }
    let (was, is) = (earlier.messages(), later.messages());
    for (index, old) in was.iter().enumerate() {
        let last = index + 1 == was.len();
        let kept = is.get(index).is_some_and(|new| same_message(old, new, last));
        if !kept {
            let role = old["role"].as_str().unwrap_or_default();
            let place = format!("message {} ({role})", index + 1);
            let text = match is.get(index) {
                Some(new) => format!("{place} changed: {}", excerpts(old, new)),
                None => format!("{place} is gone"),
            };
            return Some(Difference { position: index, text });
        }
    }
    None
}

/// Whether a message stayed the same; the last one may have got more content at its end.
fn same_message(old: &Value, new: &Value, may_grow: bool) -> bool {
    let (Value::Object(was), Value::Object(is)) = (old, new) else { return old == new };
    let kept = |key: &&String| !matches!(key.as_str(), "content" | "parts" | "cache_control");
    if was.keys().filter(kept).any(|key| !same(&old[key], &new[key]))
        || is.keys().filter(kept).any(|key| !was.contains_key(key))
    {
        return false;
    }
    let (was, is) = (content(old), content(new));
    if !may_grow {
        return same_blocks(was, is);
    }
    let (was, is) = (blocks(was), blocks(is));
    was.len() <= is.len() && was.iter().zip(&is).all(|(was, is)| same(was, is))
}

/// Compares content, of which a string is short for one text block.
fn same_blocks(was: &Value, is: &Value) -> bool {
    match (was, is) {
        (Value::String(was), Value::String(is)) => was == is,
        _ => {
            let (was, is) = (blocks(was), blocks(is));
            was.len() == is.len() && was.iter().zip(&is).all(|(was, is)| same(was, is))
        }
    }
}

fn blocks(content: &Value) -> Vec<Cow<'_, Value>> {
    match content {
        Value::Array(blocks) => blocks.iter().map(Cow::Borrowed).collect(),
        Value::String(text) => vec![Cow::Owned(json!({"type": "text", "text": text}))],
        Value::Null => Vec::new(),
        other => vec![Cow::Borrowed(other)],
    }
}

/// Whether two values are equal apart from `cache_control` marks.
fn same(was: &Value, is: &Value) -> bool {
    match (was, is) {
        (Value::Object(was), Value::Object(is)) => {
            let plain = |key: &&String| *key != "cache_control";
            was.keys().filter(plain).count() == is.keys().filter(plain).count()
                && was.iter().filter(|(key, _)| plain(key)).all(|(key, old)| {
                    is.get(key).is_some_and(|new| match key.as_str() {
                        "content" => same_blocks(old, new),
                        _ => same(old, new),
                    })
                })
        }
        (Value::Array(was), Value::Array(is)) => {
            was.len() == is.len() && was.iter().zip(is).all(|(was, is)| same(was, is))
        }
        _ => was == is,
    }
}

/// The value without `cache_control` marks.
fn plain(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields.iter().filter(|(key, _)| *key != "cache_control");
            Value::Object(fields.map(|(key, value)| (key.clone(), plain(value))).collect())
        }
        Value::Array(values) => values.iter().map(plain).collect(),
        other => other.clone(),
    }
}

/// The surroundings of the first difference, for a person.
fn excerpts(was: &Value, is: &Value) -> String {
    let (was, is) = (plain(was).to_string(), plain(is).to_string());
    let common = was.chars().zip(is.chars()).take_while(|(was, is)| was == is).count();
    let around = |text: &str| text.chars().skip(common.saturating_sub(30)).take(80).collect::<String>();
    format!("was …{}… and is …{}…", around(&was), around(&is))
}
