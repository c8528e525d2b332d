//! The body of a Chat Completions request.

use robota_core::{Effort, ModelRequest, Thinking, ToolSpec};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::dialect::{Departure, Departures};
use super::list::{List, push_messages};
use super::messages::{self, Manner};
use super::quirks::{CacheKey, Quirks, SystemRole};
use super::tuning::Tuning;
use crate::options::CacheTtl;
use crate::{carried, json, phrasing};

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
    /// How long what is cached is kept.
    pub(super) cache_ttl: Option<CacheTtl>,
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
        self.push_caching(&mut out, request);
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

    /// What has to be said so that the beginning of the conversation is read from a cache.
    fn push_caching(&self, out: &mut Vec<u8>, request: &ModelRequest) {
        if self.departures.has(Departure::NoCacheKey) {
            return;
        }
        if let (CacheKey::Field(field), Some(key)) = (self.quirks.cache_key, &request.cache_key) {
            self.push(out, field, &**key);
        }
        if self.quirks.caches_on_request.is_some_and(|beginning| request.model.starts_with(beginning)) {
            let control = match self.cache_ttl {
                Some(CacheTtl::OneHour) => json!({"type": "ephemeral", "ttl": "1h"}),
                _ => json!({"type": "ephemeral"}),
            };
            self.push(out, "cache_control", &control);
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
    out.extend_from_slice(b"{\"type\":\"function\",\"function\":{\"name\":");
    json::push(out, &tool.name);
    if !tool.description.is_empty() {
        json::push_field(out, "description", &tool.description);
    }
    json::push_field(out, "parameters", &carried::parameters(tool));
    out.extend_from_slice(b"}}");
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use robota_core::{Body, Message, Part, Reasoning, Timestamp, ToolCall, ToolClass};

    use super::*;
    use crate::kind::ProviderKind;

    fn request() -> ModelRequest {
        let message = |body| Message::with_body("m", Timestamp::default(), body).into();
        let document =
            Part::DocumentInline { mime_type: "application/pdf".into(), data: "JVBE".into(), name: None };
        let call = ToolCall { id: "call_1".into(), name: "Read".into(), arguments: "{\"a\":1}".into() };
        let mut request = ModelRequest::new(
            "m",
            vec![
                message(Body::User { content: "Look.".into(), parts: vec![document], name: None }),
                message(Body::Assistant {
                    content: None,
                    parts: Vec::new(),
                    tool_calls: vec![call],
                    reasoning: Vec::new(),
                }),
                message(Body::Tool {
                    content: "text".into(),
                    tool_call_id: "call_1".into(),
                    name: Some("Read".into()),
                    is_error: false,
                    parts: Vec::new(),
                }),
            ],
        );
        request.system = "Be brief.".into();
        request.tools = Arc::new([Arc::new(ToolSpec::new("Read", ToolClass::Inspect, ""))]);
        request.max_output_tokens = Some(9);
        request.cache_key = Some("c".into());
        request
    }

    fn body(kind: ProviderKind, departures: &[Departure]) -> Value {
        body_of(kind, departures, &request())
    }

    fn body_of(kind: ProviderKind, departures: &[Departure], request: &ModelRequest) -> Value {
        let setup = Setup {
            quirks: Quirks::of(kind),
            departures: Departures::from_iter(departures.iter().copied()),
            provider: kind.id(),
            max_tokens: None,
            thinking: Thinking::Default,
            effort: None,
            cache_ttl: Some(CacheTtl::OneHour),
            extra: &Map::new(),
        };
        serde_json::from_slice(&setup.body(request)).unwrap()
    }

    #[test]
    fn openai_itself_is_spoken_to_by_the_book() {
        let body = body(ProviderKind::OpenAi, &[]);
        assert_eq!((&body["max_completion_tokens"], &body["prompt_cache_key"]), (&json!(9), &json!("c")));
        assert_eq!(body["messages"][0], json!({"role": "developer", "content": "Be brief."}));
        let file = json!({"filename": "document.pdf", "file_data": "data:application/pdf;base64,JVBE"});
        assert_eq!(body["messages"][1]["content"][1], json!({"type": "file", "file": file}));
    }

    #[test]
    fn a_gateway_is_asked_to_cache_for_the_models_that_want_it() {
        let asked = |model: &str| {
            let mut request = request();
            request.model = model.into();
            body_of(ProviderKind::OpenRouter, &[], &request)["cache_control"].clone()
        };
        assert_eq!(asked("anthropic/claude-sonnet-4.5"), json!({"type": "ephemeral", "ttl": "1h"}));
        assert_eq!(asked("openai/gpt-5"), Value::Null);
    }

    #[test]
    fn quirk_15_a_template_that_knows_only_user_and_assistant_is_sent_only_these() {
        let departures =
            [Departure::SystemRole, Departure::UserRole, Departure::Alternate, Departure::TextTools];
        let expected = json!([
            {"role": "user", "content": "Be brief.\n\nLook.\n[A document is attached here, which cannot be sent to this model.]"},
            {"role": "assistant", "content": "<tool_call>\n{\"name\":\"Read\",\"arguments\":{\"a\":1}}\n</tool_call>"},
            {"role": "user", "content": "<tool_response name=\"Read\">\ntext\n</tool_response>"},
        ]);
        assert_eq!(body(ProviderKind::Gemma, &departures)["messages"], expected);
    }

    #[test]
    fn quirk_7_deepseek_gets_its_thinking_back_with_every_answer_even_where_there_is_none() {
        let answer = |provider: &str, text: &str| {
            let (text, signature, redacted) = (text.to_owned(), None, None);
            let reasoning = vec![Reasoning { provider: provider.into(), text, signature, redacted }];
            let body = Body::Assistant {
                content: Some("Yes.".into()),
                parts: Vec::new(),
                tool_calls: Vec::new(),
                reasoning,
            };
            Message::with_body("a", Timestamp::default(), body).into()
        };
        let mut request = request();
        request.messages.extend([answer("deepseek", "Hm."), answer("anthropic", "Not for others.")]);
        let body = body_of(ProviderKind::DeepSeek, &[], &request);
        let thoughts: Vec<&Value> = (0..6).map(|at| &body["messages"][at]["reasoning_content"]).collect();
        let none = Value::Null;
        assert_eq!(thoughts, [&none, &none, &json!(""), &none, &json!("Hm."), &json!("")]);
    }
}
