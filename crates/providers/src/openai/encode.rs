//! The body of a Chat Completions request.

use robota_core::{Effort, ModelRequest, Thinking, ToolSpec};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::dialect::{Departure, Departures};
use super::list::{List, push_messages};
use super::messages::{self, Manner};
use super::quirks::{CacheKey, Quirks, SystemRole};
use super::tuning::Tuning;
use crate::{json, phrasing};

/// Fields of the body that `options.body` must leave alone: without them there is no request. All others win over
/// what is written here.
pub(super) const OWN_FIELDS: [&str; 5] = ["model", "stream", "tools", "tool_choice", "messages"];

/// What a request is written by.
pub(super) struct Setup<'a> {
    pub(super) quirks: &'static Quirks,
    pub(super) departures: Departures,
    /// Id of the provider.
    pub(super) provider: &'a str,
    /// What holds for requests that do not say.
    pub(super) max_tokens: Option<u32>,
    pub(super) thinking: Thinking,
    pub(super) effort: Option<Effort>,
    /// `options.body`.
    pub(super) extra: &'a Map<String, Value>,
}

impl Setup<'_> {
    /// Writes the body: what stays the same between requests first, the messages last.
    pub(super) fn body(&self, request: &ModelRequest) -> Vec<u8> {
        let mut out = Vec::with_capacity(json::room_for_body(request));
        out.extend_from_slice(b"{\"model\":");
        json::push(&mut out, &*request.model);
        self.push_limit(&mut out, request);
        json::push_field(&mut out, "stream", &true);
        if self.quirks.stream_options && !self.departures.has(Departure::NoStreamOptions) {
            self.push(&mut out, "stream_options", &json!({"include_usage": true}));
        }
        self.push_cache_key(&mut out, request);
        let mut tuning = self.tuning(request);
        let choice = tuning.fields.shift_remove("tool_choice");
        for (name, value) in &tuning.fields {
            self.push(&mut out, name, value);
        }
        for (name, value) in self.extra {
            json::push_field(&mut out, name, value);
        }
        self.push_tools(&mut out, request, choice.as_ref());
        out.extend_from_slice(b",\"messages\":");
        self.push_messages(&mut out, request, &tuning.hints);
        out.push(b'}');
        out
    }

    /// Appends a field, unless the options have one of this name.
    fn push(&self, out: &mut Vec<u8>, name: &str, value: &(impl Serialize + ?Sized)) {
        if !self.extra.contains_key(name) {
            json::push_field(out, name, value);
        }
    }

    fn push_limit(&self, out: &mut Vec<u8>, request: &ModelRequest) {
        const NAMES: [&str; 2] = ["max_completion_tokens", "max_tokens"];
        let Some(limit) = request.max_output_tokens.or(self.max_tokens) else { return };
        if NAMES.iter().any(|name| self.extra.contains_key(*name)) {
            return;
        }
        let other = self.departures.has(Departure::OtherMaxTokens);
        let field = NAMES.iter().find(|name| (**name == self.quirks.max_tokens) != other);
        if let Some(field) = field {
            json::push_field(out, field, &limit);
        }
    }

    fn push_cache_key(&self, out: &mut Vec<u8>, request: &ModelRequest) {
        let (CacheKey::Field(field), Some(key)) = (self.quirks.cache_key, &request.cache_key) else { return };
        if !self.departures.has(Departure::NoCacheKey) {
            self.push(out, field, &**key);
        }
    }

    fn tuning(&self, request: &ModelRequest) -> Tuning {
        let mut tuning = Tuning::default();
        let thinking = match request.thinking {
            Thinking::Default => self.thinking,
            thinking => thinking,
        };
        tuning.think(self.quirks, self.departures, thinking, request.effort.or(self.effort));
        if let Some(format) = &request.response_format {
            tuning.answer_as(self.quirks, self.departures, format);
        }
        if !request.tools.is_empty() {
            tuning.choose(self.quirks, self.departures, request);
        }
        tuning
    }

    fn push_tools(&self, out: &mut Vec<u8>, request: &ModelRequest, choice: Option<&Value>) {
        if request.tools.is_empty() {
            return;
        }
        if self.quirks.parallel_tool_calls && !self.departures.has(Departure::NoParallelCalls) {
            self.push(out, "parallel_tool_calls", &true);
        }
        out.extend_from_slice(b",\"tools\":");
        json::push_list(out, request.tools.iter(), |out, tool| push_tool(out, tool));
        if let Some(choice) = choice {
            json::push_field(out, "tool_choice", choice);
        }
    }

    fn push_messages(&self, out: &mut Vec<u8>, request: &ModelRequest, hints: &[String]) {
        let has = |departure| self.departures.has(departure);
        let alternate = self.quirks.alternate || has(Departure::Alternate);
        let mut list = List::new(out, alternate, self.quirks.user_after_tool);
        let role = match self.quirks.system {
            _ if has(Departure::UserRole) => None,
            _ if has(Departure::SystemRole) => Some(SystemRole::System),
            role => Some(role),
        };
        list.push_system(&request.system, role);
        let manner = Manner {
            quirks: self.quirks,
            provider: self.provider,
            blind: has(Departure::Blind) || !self.quirks.images.seen_by(&request.model),
            text_tools: has(Departure::TextTools),
        };
        push_messages(&mut list, &manner, &request.messages);
        if !hints.is_empty() {
            list.push(&messages::user(&phrasing::reminder(&hints.join("\n"))));
        }
        list.end();
    }
}

fn push_tool(out: &mut Vec<u8>, tool: &ToolSpec) {
    let no_arguments = json!({"type": "object", "properties": {}});
    let parameters = if tool.input_schema.is_object() { &tool.input_schema } else { &no_arguments };
    out.extend_from_slice(b"{\"type\":\"function\",\"function\":{\"name\":");
    json::push(out, &tool.name);
    if !tool.description.is_empty() {
        json::push_field(out, "description", &tool.description);
    }
    json::push_field(out, "parameters", parameters);
    out.extend_from_slice(b"}}");
}
