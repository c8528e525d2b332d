//! A conversation that moves from provider to provider, with everything that a history can hold.

use std::sync::Arc;

use robota_core::{
    Message, MessageRef, MessageState, ModelRequest, Provider, Thinking, Timestamp, ToolCall, sendable,
};
use robota_providers::{ApiSurface, HttpProvider, ProviderKind};
use robota_testkit::{FakeModelServer, Reply, Script};
use serde_json::{Value, json};

use crate::api::{request, send, server, spec, tool};
use crate::conformance::events::{calls, message};

/// A tool whose name no API takes.
const ODD: &str = "files.read/all";

/// One provider, and the server behind it, which calls the odd tool once for each message of the user.
struct Place {
    provider: HttpProvider,
    server: FakeModelServer,
}

impl Place {
    async fn new(kind: ProviderKind, surface: Option<ApiSurface>, sent_name: &'static str) -> Self {
        let script = Script::new().respond_with(move |request| {
            let body = request.json.as_ref().unwrap().to_string();
            let asked = body.matches("Question").count();
            if body.matches("result-of").count() >= 2 * asked {
                return Reply::new().thinking("Done.", "cHJvb2Yx").text("That is all.");
            }
            // The same ids in every answer, as some servers number them.
            Reply::new()
                .thinking("Hm.", "cHJvb2Y=")
                .text("I look.")
                .tool_call("call_0", sent_name, json!({"filePath": "a"}))
                .tool_call("call_1", "Read", json!({"filePath": "b"}))
        });
        let server = server(script).await;
        let mut spec = spec(kind, server.base_url());
        spec.options.api_surface = surface;
        Self { provider: spec.connect().unwrap(), server }
    }

    async fn answer(&self, history: &[MessageRef]) -> MessageRef {
        let (events, error) = send(&self.provider, conversation(history)).await;
        assert!(error.is_none(), "{error:?}");
        self.server.assert_clean();
        message(&events, &self.provider.info().id)
    }
}

fn conversation(history: &[MessageRef]) -> ModelRequest {
    let mut request = request();
    request.model = "gemini-3-pro".into();
    request.tools = Arc::new([tool("Read"), tool(ODD)]);
    request.thinking = Thinking::Adaptive;
    request.messages = sendable(history);
    request
}

fn results(answer: &MessageRef) -> impl Iterator<Item = MessageRef> + '_ {
    answer.tool_calls().iter().map(|ToolCall { id, name, .. }| {
        let body = robota_core::Body::Tool {
            content: format!("result-of {id}"),
            tool_call_id: id.clone(),
            name: Some(name.clone()),
            is_error: false,
            parts: Vec::new(),
        };
        Message::with_body("t", Timestamp::default(), body).into()
    })
}

/// The name under which the odd tool is sent.
async fn sent_name() -> &'static str {
    let probe = server("unused").await;
    let mut spec = spec(ProviderKind::OpenAi, probe.base_url());
    spec.options.api_surface = Some(ApiSurface::Chat);
    send(&spec.connect().unwrap(), conversation(&[])).await;
    let tools = probe.requests()[0].json.clone().unwrap()["tools"].clone();
    tools[1]["function"]["name"].as_str().unwrap().to_owned().leak()
}

#[tokio::test]
async fn every_provider_takes_what_the_others_have_left() {
    let name = sent_name().await;
    let places = [
        Place::new(ProviderKind::Anthropic, None, name).await,
        Place::new(ProviderKind::OpenAi, Some(ApiSurface::Responses), name).await,
        Place::new(ProviderKind::Gemini, None, name).await,
        Place::new(ProviderKind::OpenAi, Some(ApiSurface::Chat), name).await,
    ];
    let mut history: Vec<MessageRef> = Vec::new();
    for round in 0..3 {
        for (at, place) in places.iter().enumerate() {
            let prompt = Message::user("u", Timestamp::default(), format!("Question {round}.{at}"));
            history.push(prompt.into());
            let answer = place.answer(&history).await;
            assert_eq!(answer.tool_calls().len(), 2);
            assert_eq!(answer.tool_calls()[0].name, ODD);
            history.extend([answer.clone()].into_iter().chain(results(&answer)));
            // The turn goes on with another provider, as behind a fallback.
            let next = &places[(at + round) % places.len()];
            history.push(next.answer(&history).await);
            let mut cut = Message::assistant("i", Timestamp::default(), "I was about to ");
            cut.state = MessageState::Interrupted;
            history.push(cut.into());
        }
    }
    assert_names_agree(&places, name);

    // A compaction leaves a summary in place of the beginning.
    let summary = Message::user("s", Timestamp::default(), "[Context Summary] Much was read.");
    history.splice(..history.len() / 2, [summary.into()]);
    for place in &places {
        place.answer(&history).await;
    }
}

/// Every call names a tool that is declared.
fn assert_names_agree(places: &[Place], name: &str) {
    for place in places {
        for request in place.server.requests() {
            let body = request.json.clone().unwrap();
            let body = body.to_string();
            assert!(!body.contains(&format!("\"name\":\"{ODD}\"")), "{body}");
            // It is declared, and it was called.
            assert!(body.matches(name).count() > 1 || !body.contains("result-of"), "{body}");
        }
    }
}

#[tokio::test]
async fn what_one_model_does_not_understand_is_still_said_to_another() {
    let refusal = |message: &str| {
        let error = json!({"type": "error", "error": {"type": "invalid_request_error", "message": message,
            "param": "reasoning.effort", "code": "unsupported_value"}});
        Reply::body(400, "application/json", error.to_string())
    };
    let subjects = [
        (ProviderKind::Anthropic, None, "claude-opus-4-5", "claude-opus-4-8", "/output_config/effort"),
        (ProviderKind::OpenAi, Some(ApiSurface::Responses), "gpt-5", "gpt-5.5", "/reasoning/effort"),
    ];
    for (kind, surface, one, other, field) in subjects {
        let refused =
            refusal("This model does not support the effort parameter. Unsupported: reasoning.effort");
        let server = server(Script::from_iter([refused, "ok".into(), "ok".into(), "ok".into()])).await;
        let mut spec = spec(kind, server.base_url());
        spec.options.api_surface = surface;
        let provider = spec.connect().unwrap();
        for model in [one, one, other] {
            let mut request = request();
            (request.model, request.effort) = (model.into(), Some(robota_core::Effort::High));
            let (events, error) = send(&provider, request).await;
            assert!(error.is_none() && calls(&events).is_empty(), "{kind}: {error:?}");
        }
        let asked: Vec<bool> = server
            .requests()
            .iter()
            .map(|request| request.json.as_ref().unwrap().pointer(field).is_some_and(Value::is_string))
            .collect();
        assert_eq!(asked, [true, false, false, true], "{kind}");
    }
}
