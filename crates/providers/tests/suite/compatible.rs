//! Servers that speak Chat Completions more or less: what each kind is sent, and what is learned from refusals.

use std::sync::Arc;

use robota_core::{
    Body, Effort, MessageRef, ModelEvent, ModelRequest, NativeWebTools, Part, Provider, ProviderErrorKind,
    Reasoning, ResponseFormat, Thinking, ToolCall, ToolChoice,
};
use robota_providers::{ApiSurface, ProviderKind, ProviderSpec};
use robota_testkit::{FakeModelServer, Reply, Rule, Script};
use serde_json::{Value, json};

use crate::api::{provider, request, send, server, spec, text, tool};
use crate::conversation::{message, sent};

/// All kinds that speak it.
const COMPATIBLE: [ProviderKind; 17] = [
    ProviderKind::OpenAi,
    ProviderKind::Azure,
    ProviderKind::DeepSeek,
    ProviderKind::Qwen,
    ProviderKind::Gemma,
    ProviderKind::Mistral,
    ProviderKind::XAi,
    ProviderKind::Groq,
    ProviderKind::Moonshot,
    ProviderKind::Zai,
    ProviderKind::MiniMax,
    ProviderKind::ByteDance,
    ProviderKind::OpenRouter,
    ProviderKind::Ollama,
    ProviderKind::LmStudio,
    ProviderKind::Vllm,
    ProviderKind::LlamaCpp,
];

fn user(said: &str, parts: Vec<Part>) -> MessageRef {
    message("u", Body::User { content: said.into(), parts, name: None })
}

/// An answer that thought, and called Read when it has an id for that.
fn answer(provider: &str, said: Option<&str>, call: Option<&str>) -> MessageRef {
    let thought =
        Reasoning { provider: provider.into(), text: "Hm.".into(), signature: None, redacted: None };
    let call = call.map(|id| ToolCall {
        id: id.into(),
        name: "Read".into(),
        arguments: "{\"filePath\":\"a\"}".into(),
    });
    let (content, tool_calls) = (said.map(str::to_owned), call.into_iter().collect());
    message("a", Body::Assistant { content, parts: Vec::new(), tool_calls, reasoning: vec![thought] })
}

fn result(call: &str, content: &str, parts: Vec<Part>) -> MessageRef {
    let (content, tool_call_id) = (content.to_owned(), call.to_owned());
    message("t", Body::Tool { content, tool_call_id, name: Some("Read".into()), is_error: false, parts })
}

/// A request with something of all that servers differ in. The thinking in it is the provider's own.
fn rich_request(provider: &str) -> ModelRequest {
    let image = Part::ImageInline { mime_type: "image/png".into(), data: "aGk=".into() };
    let (mime_type, data, name) = ("application/pdf".into(), "JVBE".into(), Some("a.pdf".into()));
    let document = Part::DocumentInline { mime_type, data, name };
    let mut request = ModelRequest::new(
        "model-1",
        vec![
            user("Look.", vec![image, document]),
            answer(provider, None, Some("call_1")),
            result("call_1", "text", Vec::new()),
            answer(provider, Some("Done."), None),
            user("More.", Vec::new()),
            user("Quickly.", Vec::new()),
            answer("another", Some("Looking."), Some("call_2")),
            result("call_2", "text", Vec::new()),
            user("Stop.", Vec::new()),
        ],
    );
    request.system = "You are robota.".into();
    request.tools = Arc::new([tool("Read")]);
    request.tool_choice = ToolChoice::Tool("Read".into());
    request.max_output_tokens = Some(1000);
    request.effort = Some(Effort::XHigh);
    request.thinking = Thinking::Adaptive;
    request.response_format = Some(ResponseFormat::new("form", json!({"type": "object"})));
    request.cache_key = Some("conversation-1".into());
    request
}

/// A provider at the server, which has one path for all kinds.
fn at_v1(kind: ProviderKind, server: &FakeModelServer) -> ProviderSpec {
    let mut spec = spec(kind, format!("{}/v1", server.base_url().trim_end_matches("/v1")));
    spec.options.api_surface = Some(ApiSurface::Chat);
    spec
}

#[tokio::test]
async fn every_kind_is_sent_what_it_understands() {
    let mut all = String::new();
    for kind in COMPATIBLE {
        let server = server("ok").await;
        let provider = at_v1(kind, &server).connect().unwrap();
        let body = sent(&provider, &server, rich_request(kind.id())).await;
        all.push_str(&format!("== {kind}\n"));
        for (field, value) in body.as_object().unwrap() {
            match (field.as_str(), value) {
                ("tools" | "model" | "stream", _) => {}
                ("messages", Value::Array(messages)) => {
                    messages.iter().for_each(|message| all.push_str(&format!("  {message}\n")));
                }
                _ => all.push_str(&format!("{field}: {value}\n")),
            }
        }
    }
    insta::assert_snapshot!("bodies_of_all_kinds", all);
}

#[tokio::test]
async fn refused_fields_are_left_out_one_after_the_other_and_never_tried_again() {
    let refusal = |message: &str| Reply::error(400, message);
    let script = Script::new()
        .reply(refusal("Unrecognized request argument supplied: stream_options"))
        .reply(refusal("unknown field `max_completion_tokens`"))
        .reply(refusal("Unsupported value: 'reasoning_effort' does not support 'high'"))
        .reply(refusal("Unsupported parameter: reasoning_effort"))
        .reply(refusal("response_format json_schema is not supported"))
        .reply(refusal("response_format is not supported"))
        .reply(refusal("this model does not support tool_choice"))
        .reply(refusal("This model does not support image input"))
        .reply(refusal("System role not supported"))
        .reply(refusal("System role not supported"))
        .reply(refusal("Conversation roles must alternate user/assistant/user/assistant/..."))
        .reply("first")
        .reply("second");
    // A request that is written again says in other words what it has no field for.
    let server = FakeModelServer::builder(script).ignore(Rule::StablePrefix).start().unwrap();
    let provider = provider(ProviderKind::OpenAi, &server);
    for expected in ["first", "second"] {
        let mut request = rich_request("openai");
        request.messages.push(answer("openai", Some(expected), None));
        request.messages.push(user(expected, Vec::new()));
        let (events, error) = send(&provider, request).await;
        assert!(error.is_none(), "{error:?}");
        assert_eq!(text(&events), expected);
    }
    let body = server.requests().last().unwrap().json.clone().unwrap();
    let fields: Vec<&str> = body.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(fields, ["model", "max_tokens", "stream", "tools", "messages"]);
    let roles: Vec<&str> =
        body["messages"].as_array().unwrap().iter().map(|m| m["role"].as_str().unwrap()).collect();
    let expected =
        ["user", "assistant", "tool", "assistant", "user", "assistant", "tool", "user", "assistant", "user"];
    assert_eq!(roles, expected);
    assert_eq!(server.requests().len(), 13);
}

#[tokio::test]
async fn a_server_that_refuses_the_same_again_and_again_is_believed() {
    let server =
        server(Script::from_iter((0..3).map(|_| Reply::error(400, "unknown field stream_options")))).await;
    let (_, error) = send(&provider(ProviderKind::OpenAi, &server), request()).await;
    assert_eq!(error.unwrap().kind(), ProviderErrorKind::InvalidRequest);
    assert_eq!(server.requests().len(), 2);
}

#[tokio::test]
async fn what_one_model_refuses_another_is_still_sent() {
    let script =
        Script::new().reply(Reply::error(400, "unknown field reasoning_effort")).reply("one").reply("two");
    let server = server(script).await;
    let provider = provider(ProviderKind::OpenAi, &server);
    for (model, effort) in [("plain", None), ("thinker", Some("high"))] {
        let mut request = request();
        request.model = model.into();
        request.effort = Some(Effort::High);
        let body = sent(&provider, &server, request).await;
        assert_eq!(body["reasoning_effort"].as_str(), effort, "{model}");
    }
}

#[tokio::test]
async fn fields_of_the_options_win_and_requests_win_over_other_options() {
    let server = server(Script::from_iter(["ok", "ok"])).await;
    let mut spec = spec(ProviderKind::DeepSeek, server.base_url());
    spec.options.effort = Some(Effort::Low);
    spec.options.thinking = Thinking::Adaptive;
    spec.options.body.insert("max_tokens".into(), json!(7));
    let provider = spec.connect().unwrap();
    let body = sent(&provider, &server, request()).await;
    assert_eq!((&body["reasoning_effort"], &body["max_tokens"]), (&json!("low"), &json!(7)));
    assert_eq!(body["thinking"], json!({"type": "enabled"}));
    let mut other = request();
    other.messages = vec![user("Another.", Vec::new())];
    (other.effort, other.thinking, other.max_output_tokens) =
        (Some(Effort::Max), Thinking::Disabled, Some(50));
    let body = sent(&provider, &server, other).await;
    assert_eq!((&body["thinking"], &body["max_tokens"]), (&json!({"type": "disabled"}), &json!(7)));
    assert_eq!(body.get("reasoning_effort"), None);
}

#[tokio::test]
async fn details_of_thinking_go_back_exactly_as_they_came() {
    let details = r#"[{"type":"reasoning.encrypted","data":"xyz","id":"call_1","format":"g-v1","index":0}]"#;
    let call = r#"[{"index":0,"id":"call_1","function":{"name":"Read","arguments":"{}"}}]"#;
    let stream = format!(
        "data: {{\"choices\":[{{\"delta\":{{\"reasoning_details\":{details},\"tool_calls\":{call}}}}}]}}\n\n\
         data: {{\"choices\":[{{\"delta\":{{}},\"finish_reason\":\"tool_calls\"}}]}}\n\ndata: [DONE]\n\n"
    );
    let script = Script::new().reply(Reply::body(200, "text/event-stream", stream.clone())).reply("ok");
    let server = server(script).await;
    let provider = provider(ProviderKind::OpenRouter, &server);
    let (events, error) = send(&provider, request()).await;
    assert!(error.is_none(), "{error:?}");
    let native = events.into_iter().find_map(|event| match event {
        ModelEvent::NativeContent { format, items } => Some(Part::Native { format, items }),
        _ => None,
    });
    let tool_calls = vec![ToolCall { id: "renamed".into(), name: "Read".into(), arguments: "{}".into() }];
    let body = Body::Assistant {
        content: None,
        parts: native.into_iter().collect(),
        tool_calls,
        reasoning: Vec::new(),
    };
    let mut request = request();
    request.messages.extend([message("a", body), result("renamed", "text", Vec::new())]);
    let body = sent(&provider, &server, request).await;
    let expected = details.replace("call_1", "renamed");
    assert_eq!(body["messages"][2]["reasoning_details"].to_string(), expected);
}

#[tokio::test]
async fn failures_of_servers_of_ones_own_say_what_to_do() {
    for (kind, reply, expected, hint) in [
        (
            ProviderKind::Ollama,
            Reply::body(
                404,
                "application/json",
                "{\"error\":\"model 'model-1' not found, try pulling it first\"}",
            ),
            ProviderErrorKind::NotFound,
            "get it with `ollama pull model-1`",
        ),
        (
            ProviderKind::LmStudio,
            Reply::error(400, "No models loaded. Please load a model in the developer page."),
            ProviderErrorKind::NotFound,
            "load it in the server, in LM Studio with `lms load model-1`",
        ),
        (
            ProviderKind::Vllm,
            Reply::error(
                400,
                "\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set",
            ),
            ProviderErrorKind::InvalidRequest,
            "start the server with --enable-auto-tool-choice and --tool-call-parser",
        ),
    ] {
        let server = server(reply).await;
        let (_, error) = send(&provider(kind, &server), request()).await;
        let error = error.unwrap();
        assert_eq!((error.kind(), error.hint()), (expected, Some(hint)), "{error}");
    }
}

#[tokio::test]
async fn models_are_listed_and_web_tools_reported_with_a_reason() {
    let server = server("ok").await;
    for kind in COMPATIBLE {
        let provider = at_v1(kind, &server).connect().unwrap();
        let models = provider.models().await.unwrap();
        assert!(models.iter().all(|model| !model.id.is_empty()), "{models:?}");
        let report = provider.configure_native_web_tools("model-1", NativeWebTools::ALL);
        assert!(!report.web_search.supported && report.web_search.reason.is_some(), "{report:?}");
    }
}

#[tokio::test]
async fn a_gemma_on_any_server_of_ones_own_is_read_as_one() {
    let written = "Look. <|tool_call>call:Read{filePath:<|\"|>a<|\"|>}<tool_call|>";
    for (kind, model) in [(ProviderKind::Gemma, "model-1"), (ProviderKind::Ollama, "gemma4:12b")] {
        let server = server(Reply::new().text(written).chunk_bytes(7)).await;
        let mut request = request();
        request.model = model.into();
        let (events, error) = send(&provider(kind, &server), request).await;
        assert!(error.is_none(), "{error:?}");
        assert_eq!(text(&events), "Look. ");
        let call = ModelEvent::ToolCallStart { index: 0, id: "gemma_call_1".into(), name: "Read".into() };
        assert!(events.contains(&call), "{events:?}");
    }
}

#[tokio::test]
async fn the_conversation_is_named_where_the_cache_is_found_by_it() {
    let server = server("ok").await;
    let mut request = request();
    request.cache_key = Some("conversation-1".into());
    let (_, error) = send(&provider(ProviderKind::XAi, &server), request).await;
    assert!(error.is_none(), "{error:?}");
    assert_eq!(server.requests()[0].header("x-grok-conv-id"), Some("conversation-1"));
}
