//! What every request to a model must keep to, whatever the client does.
//!
//! The real services refuse most of these with a 400 that says little, and forgive some of them at the
//! price of a lost prompt cache or a confused model.

mod anthropic;
mod conversation;
mod gemini;
mod openai;
mod responses;
mod sendable;
mod tools;

use std::fmt;

use serde_json::Value;

use crate::{Dialect, RecordedRequest};

pub(crate) use conversation::Conversations;
pub use sendable::check_sendable;

/// What a request can do wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Rule {
    /// The body is a JSON object with `model` and a list of `messages` that is not empty.
    Body,
    /// The headers the API asks for are there.
    Headers,
    /// Roles are those of the API, and the first message is the user's.
    Roles,
    /// Anthropic and Gemini: user and model take turns.
    Alternation,
    /// No message without content, and no text block without text.
    EmptyText,
    /// Every tool call has exactly one result, every result its call, and ids are unique.
    PairedCalls,
    /// Results stand right after the calls they answer.
    ResultPlace,
    /// The arguments of calls in the history are JSON objects.
    CallInput,
    /// Tool names are unique and of the form `[A-Za-z0-9_-]{1,64}`.
    ToolNames,
    /// Tool schemas are of type `object`, without `$ref` and `$schema`; strict ones are closed.
    ToolSchemas,
    /// The choice of tools is one the API knows, of a tool that is offered.
    ToolChoice,
    /// Responses: items have ids of their own, and what `store: false` does not keep is there.
    Items,
    /// Anthropic: `max_tokens` is a positive number.
    MaxTokens,
    /// Anthropic: thinking blocks carry their signature. Gemini 3: so do calls, the first of each step.
    ThinkingSignature,
    /// Anthropic: at most four `cache_control` marks.
    CacheMarks,
    /// A request that continues a conversation repeats system prompt, tools and earlier messages
    /// unchanged, so that prompt caches hit.
    StablePrefix,
    /// The script has a reply for every call.
    ScriptExhausted,
}

/// A rule that a request breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Violation {
    /// Number of the request, from 1.
    pub request: usize,
    /// The rule.
    pub rule: Rule,
    /// What is wrong, and where.
    pub message: String,
}

impl Violation {
    pub(crate) fn new(request: usize, rule: Rule, message: String) -> Self {
        Self { request, rule, message }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "request {}: {:?}: {}", self.request, self.rule, self.message)
    }
}

/// The violations as lines for a person.
pub(crate) fn describe(violations: &[Violation]) -> String {
    violations.iter().map(Violation::to_string).collect::<Vec<_>>().join("\n")
}

/// Checks one model call by itself.
pub(crate) fn check(request: &RecordedRequest) -> Vec<Violation> {
    let mut report = Report::new(request.number);
    match (&request.json, request.dialect) {
        (Some(body @ Value::Object(_)), Some(dialect)) => {
            if dialect != Dialect::Gemini {
                check_envelope(request, body, &mut report);
            }
            match dialect {
                Dialect::Gemini => gemini::check(request, body, &mut report),
                Dialect::AnthropicMessages => anthropic::check(request, body, &mut report),
                Dialect::OpenAiResponses => responses::check(body, &mut report),
                Dialect::OpenAiChat => openai::check(body, true, &mut report),
                Dialect::InProcess => openai::check(body, false, &mut report),
            }
        }
        (Some(_), _) => report.add(Rule::Body, "the body is not a JSON object"),
        (None, _) => report.add(Rule::Body, "the body is not JSON"),
    }
    report.violations
}

fn check_envelope(request: &RecordedRequest, body: &Value, report: &mut Report) {
    if body["model"].as_str().is_none_or(str::is_empty) {
        report.add(Rule::Body, "`model` is missing");
    }
    if request.dialect == Some(Dialect::OpenAiResponses) {
        if request.messages().is_empty() && !body["input"].is_string() {
            report.add(Rule::Body, "`input` is neither a text nor a list with at least one item");
        }
    } else if request.messages().is_empty() {
        report.add(Rule::Body, "`messages` is not a list with at least one message");
    }
}

/// Collects what is wrong with one request.
struct Report {
    request: usize,
    violations: Vec<Violation>,
}

impl Report {
    fn new(request: usize) -> Self {
        Self { request, violations: Vec::new() }
    }

    fn add(&mut self, rule: Rule, message: impl Into<String>) {
        self.violations.push(Violation::new(self.request, rule, message.into()));
    }
}

/// The elements of a list; none of anything else.
fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// A text; empty for anything else.
fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Checks that a text is not blank.
fn check_text(text: &Value, place: &str, report: &mut Report) {
    match text.as_str() {
        None => report.add(Rule::EmptyText, format!("{place} has no text")),
        Some(text) if text.trim().is_empty() => {
            report.add(Rule::EmptyText, format!("{place} is an empty text"));
        }
        Some(_) => {}
    }
}
