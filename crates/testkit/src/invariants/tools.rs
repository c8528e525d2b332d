//! What must hold for the tools that a request offers, and for calls in the history.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Report, Rule};

/// One offered tool, whatever the API wraps it in.
pub(super) struct Offered<'a> {
    pub(super) name: &'a Value,
    pub(super) schema: &'a Value,
}

pub(super) fn check_offered<'a>(tools: impl Iterator<Item = Offered<'a>>, report: &mut Report) {
    let mut names = BTreeSet::new();
    for (index, Offered { name, schema }) in tools.enumerate() {
        let Some(name) = name.as_str() else {
            report.add(Rule::ToolNames, format!("tool {index} has no name"));
            continue;
        };
        check_name(name, report);
        if !names.insert(name) {
            report.add(Rule::ToolNames, format!("two tools are called `{name}`"));
        }
        if schema["type"] != "object" {
            report.add(Rule::ToolSchemas, format!("the schema of `{name}` is not of type `object`"));
        }
        for key in ["$ref", "$schema"] {
            if has_key(schema, key) {
                report.add(Rule::ToolSchemas, format!("the schema of `{name}` contains `{key}`"));
            }
        }
    }
}

pub(super) fn check_name(name: &str, report: &mut Report) {
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    if name.is_empty() || name.len() > 64 || !name.bytes().all(legal) {
        report
            .add(Rule::ToolNames, format!("`{name}` is not a tool name: 1 to 64 of A-Z, a-z, 0-9, _ and -"));
    }
}

/// Checks the choice of tools: `forced` is the name in it, `names` those of the offered tools that can be
/// forced, and `any` whether any tool is offered.
pub(super) fn check_choice(
    choice: &Value,
    forced: Option<&Value>,
    names: &[&str],
    any: bool,
    report: &mut Report,
) {
    const WORDS: [&str; 4] = ["auto", "none", "required", "any"];
    if choice.is_null() {
        return;
    }
    if !any {
        report.add(Rule::ToolChoice, "there is a choice of tools, but no tools");
    }
    if let Some(name) = forced {
        if !name.as_str().is_some_and(|name| names.contains(&name)) {
            report.add(Rule::ToolChoice, format!("the choice of tools forces {name}, which is not offered"));
        }
    } else if !choice.as_str().or(choice["type"].as_str()).is_some_and(|word| WORDS.contains(&word)) {
        report.add(Rule::ToolChoice, format!("{choice} is no choice of tools"));
    }
}

fn has_key(schema: &Value, key: &str) -> bool {
    match schema {
        Value::Object(fields) => fields.contains_key(key) || fields.values().any(|value| has_key(value, key)),
        Value::Array(values) => values.iter().any(|value| has_key(value, key)),
        _ => false,
    }
}

/// Pairs calls with results while a history is read from its beginning.
#[derive(Default)]
pub(super) struct Pairing<'a> {
    seen: BTreeSet<&'a str>,
    /// In the order of the calls.
    open: Vec<&'a str>,
    answered: BTreeSet<&'a str>,
}

impl<'a> Pairing<'a> {
    pub(super) fn call(&mut self, id: &'a str, place: &str, report: &mut Report) {
        if id.is_empty() {
            return report.add(Rule::PairedCalls, format!("a tool call in {place} has no id"));
        }
        if !self.seen.insert(id) {
            return report.add(Rule::PairedCalls, format!("the call id `{id}` in {place} was used before"));
        }
        self.open.push(id);
    }

    /// The first call that waits for its result, when `id` waits behind it.
    pub(super) fn open_before(&self, id: &str) -> Option<&'a str> {
        let first = self.open.first().copied()?;
        (first != id && self.open.contains(&id)).then_some(first)
    }

    pub(super) fn result(&mut self, id: &'a str, place: &str, report: &mut Report) {
        if let Some(at) = self.open.iter().position(|open| *open == id) {
            self.open.remove(at);
            self.answered.insert(id);
        } else if self.answered.contains(id) {
            report.add(Rule::PairedCalls, format!("{place} has a second result for the call `{id}`"));
        } else if self.seen.contains(id) {
            report.add(
                Rule::ResultPlace,
                format!("the result for the call `{id}` in {place} does not stand right after it"),
            );
        } else {
            report.add(Rule::PairedCalls, format!("{place} has a result for `{id}`, which nobody called"));
        }
    }

    /// The place where results may stand is over: what is open now stays unanswered.
    pub(super) fn close(&mut self, place: &str, report: &mut Report) {
        for id in std::mem::take(&mut self.open) {
            report.add(Rule::PairedCalls, format!("the call `{id}` has no result before {place}"));
        }
    }
}
