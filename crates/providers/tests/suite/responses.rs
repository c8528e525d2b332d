//! OpenAI Responses over HTTP: what is sent, whereto, and what becomes of refusals.

use std::sync::Arc;

use robota_core::{
    Body, Effort, FinishReason, Message, MessageRef, MessageState, ModelEvent, ModelRequest, NativeWebTools,
    Part, Provider, ResponseFormat, Thinking, Timestamp, ToolCall, ToolChoice,
};
use robota_providers::{ApiSurface, HttpProvider, ListedModel, ProviderKind, ProviderSpec};
use serde_json::json;

use crate::api::{KEY, request, send, spec, text, tool};
use crate::conversation::message;
use crate::raw_server::{Heard, RawReply, RawServer, document};

/// An answer of one text.
fn stream(text: &str) -> RawReply {
    let response = json!({"id": "resp_1", "model": "m", "status": "completed", "output": []});
    let events = [
        json!({"type": "response.created", "response": response}),
        json!({"type": "response.output_text.delta", "item_id": "msg_1", "output_index": 0, "delta": text}),
        json!({"type": "response.completed", "response": response}),
    ];
    (200, "text/event-stream", events.iter().map(|event| format!("data: {event}\n\n")).collect())
}

/// A provider that speaks Responses to `server`.
fn responses(kind: ProviderKind, server: &RawServer) -> ProviderSpec {
    let mut spec = spec(kind, format!("{}/v1", server.url()));
    spec.options.api_surface = Some(ApiSurface::Responses);
    spec
}

fn user(text: &str, parts: Vec<Part>) -> MessageRef {
    message("u", Body::User { content: text.into(), parts, name: None })
}

fn assistant(text: &str, calls: &[(&str, &str)], parts: Vec<Part>) -> MessageRef {
    let call = |(id, arguments): &(&str, &str)| ToolCall {
        id: (*id).into(),
        name: "Read".into(),
        arguments: (*arguments).into(),
    };
    let tool_calls = calls.iter().map(call).collect();
    let content = (!text.is_empty()).then(|| text.to_owned());
    message("a", Body::Assistant { content, parts, tool_calls, reasoning: Vec::new() })
}

fn result(call: &str, content: &str, parts: Vec<Part>) -> MessageRef {
    let (content, tool_call_id) = (content.to_owned(), call.to_owned());
    message("t", Body::Tool { content, tool_call_id, name: None, is_error: false, parts })
}

/// Everything a history can hold.
fn rich_history() -> Vec<MessageRef> {
    let image = || Part::ImageInline { mime_type: "image/png".into(), data: "aGk=".into() };
    let paper =
        Part::DocumentInline { mime_type: "application/pdf".into(), data: "JVBERg==".into(), name: None };
    let by_address = |uri: &str| Part::ImageUri { uri: uri.into(), mime_type: None };
    let mut interrupted = Message::assistant("i", Timestamp::default(), "I was about to ");
    interrupted.state = MessageState::Interrupted;
    let native = |format: &str| Part::Native {
        format: format.into(),
        items: vec![
            json!({"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "gAAA"}),
            json!({"id": "fc_1", "type": "function_call", "call_id": "given", "name": "Read", "arguments": "{}", "status": "completed"}),
        ],
    };
    vec![
        user(
            "What is this?",
            vec![image(), by_address("https://a.example/b.png"), by_address("file:///c.png"), paper],
        ),
        user("  ", Vec::new()),
        assistant("Let me look.", &[("call_1", "{\"filePath\": \"a\"}"), ("call_2", "{oops")], Vec::new()),
        result("call_1", "a picture", vec![image()]),
        result("call_2", "no JSON", Vec::new()),
        message("s", Body::System { content: "The file changed.".into() }),
        assistant("", &[("renamed", "{}")], vec![native("openai-responses")]),
        result("renamed", "", Vec::new()),
        assistant("Foreign.", &[("call_4", "{}")], vec![native("anthropic-messages")]),
        result("call_4", "fine", Vec::new()),
        interrupted.into(),
        user("Go on.", Vec::new()),
    ]
}

fn rich_request() -> ModelRequest {
    let mut request = ModelRequest::new("gpt-5.2", rich_history());
    request.system = "You are robota.".into();
    request.tools = Arc::new([tool("Read"), tool("Glob")]);
    request.tool_choice = ToolChoice::Tool("Read".into());
    request.max_output_tokens = Some(1000);
    request.effort = Some(Effort::Max);
    request.cache_key = Some("session-1".into());
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    request.response_format = Some(ResponseFormat::new("answer", schema));
    request.native_web_tools = NativeWebTools::ALL;
    request
}

/// What the server heard of a call that must succeed.
async fn heard(provider: &HttpProvider, server: &RawServer, request: ModelRequest) -> Heard {
    let (events, error) = send(provider, request).await;
    assert!(error.is_none(), "{error:?} after {events:?}");
    server.heard().pop().unwrap()
}

#[tokio::test]
async fn a_rich_history_is_sent_whole() {
    let server = RawServer::start([stream("ok")]);
    let mut spec = responses(ProviderKind::OpenAi, &server);
    spec.options.built_in_web_tools = NativeWebTools::ALL;
    let Heard { line, json, .. } = heard(&spec.connect().unwrap(), &server, rich_request()).await;
    assert_eq!(line, "POST /v1/responses HTTP/1.1");
    insta::assert_snapshot!("rich_history_responses", serde_json::to_string_pretty(&json).unwrap());
}

#[tokio::test]
async fn the_next_request_begins_with_the_bytes_of_the_one_before() {
    let server = RawServer::start([stream("one"), stream("two")]);
    let provider = responses(ProviderKind::OpenAi, &server).connect().unwrap();
    let mut request = rich_request();
    let first = heard(&provider, &server, request.clone()).await;
    request.messages.extend([assistant("one", &[], Vec::new()), user("And?", Vec::new())]);
    let second = heard(&provider, &server, request).await;
    let prefix = first.body.strip_suffix("]}").unwrap();
    assert!(second.body.starts_with(prefix), "{prefix}\n{}", second.body);
}

#[tokio::test]
async fn reasoning_goes_back_with_the_calls_under_their_new_ids() {
    let items = json!([
        {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "gAAA"},
        {"id": "fc_1", "type": "function_call", "call_id": "call_1", "name": "Read", "arguments": "{}", "status": "completed"},
    ]);
    let answer = json!({"type": "response.completed", "response": {"id": "r", "status": "completed", "output": items}});
    let server =
        RawServer::start([(200, "text/event-stream", format!("data: {answer}\n\n")), stream("done")]);
    let provider = responses(ProviderKind::OpenAi, &server).connect().unwrap();
    let (events, _) = send(&provider, request()).await;
    let native = events.iter().find_map(|event| match event {
        ModelEvent::NativeContent { format, items } => {
            Some(Part::Native { format: format.clone(), items: items.clone() })
        }
        _ => None,
    });
    assert_eq!(events.last(), Some(&ModelEvent::Finish(FinishReason::ToolUse)));
    let mut request = request();
    request.messages.push(assistant("", &[("new", "{}")], vec![native.unwrap()]));
    request.messages.push(result("new", "text", Vec::new()));
    let input = heard(&provider, &server, request).await.json["input"].clone();
    let mut expected = items;
    expected[1]["call_id"] = json!("new");
    let output = json!({"type": "function_call_output", "call_id": "new", "output": "text"});
    assert_eq!(input.as_array().unwrap()[1..], [expected[0].clone(), expected[1].clone(), output]);
}

#[tokio::test]
async fn a_field_the_server_refuses_is_left_out_and_not_tried_again() {
    let refusal = |param: &str, message: &str| {
        let body = json!({"error": {"message": message, "type": "invalid_request_error", "param": param}});
        (400, "application/json", body.to_string())
    };
    let server = RawServer::start([
        refusal("include", "Encrypted content is not supported with this model."),
        refusal("prompt_cache_key", "Unknown parameter: 'prompt_cache_key'."),
        stream("first"),
        stream("second"),
    ]);
    let provider = responses(ProviderKind::OpenAi, &server).connect().unwrap();
    for expected in ["first", "second"] {
        let (events, error) = send(&provider, rich_request()).await;
        assert!(error.is_none(), "{error:?}");
        assert_eq!(text(&events), expected);
    }
    let written =
        |heard: &Heard| ["include", "prompt_cache_key"].map(|field| heard.json.get(field).is_some());
    let heard: Vec<_> = server.heard().iter().map(written).collect();
    assert_eq!(heard, [[true, true], [false, true], [false, false], [false, false]]);
}

#[tokio::test]
async fn the_providers_own_body_wins_over_what_would_be_written() {
    let server = RawServer::start([stream("ok")]);
    let mut spec = responses(ProviderKind::OpenAi, &server);
    let own =
        json!({"store": true, "reasoning": {"summary": "detailed"}, "service_tier": "flex", "include": []});
    spec.options.body = own.as_object().cloned().unwrap();
    let mut request = request();
    request.model = "gpt-5".into();
    request.thinking = Thinking::Disabled;
    let body = heard(&spec.connect().unwrap(), &server, request).await.json;
    assert_eq!(body["reasoning"], json!({"effort": "minimal", "summary": "detailed"}));
    let fields = ["store", "include", "service_tier"].map(|field| body[field].clone());
    assert_eq!(fields, [json!(true), json!([]), json!("flex")]);

    let mut spec = responses(ProviderKind::OpenAi, &server);
    spec.options.body.insert("input".into(), json!([]));
    let error = spec.connect().unwrap_err().to_string();
    assert_eq!(error, "the extra request field `input` is one that robota writes itself");
}

#[tokio::test]
async fn a_model_that_does_not_reason_is_not_asked_to() {
    let server = RawServer::start([stream("ok")]);
    let mut request = request();
    (request.model, request.effort) = ("gpt-4.1".into(), Some(Effort::High));
    let provider = responses(ProviderKind::OpenAi, &server).connect().unwrap();
    let body = heard(&provider, &server, request).await.json;
    let names: Vec<&str> = body.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(names, ["model", "stream", "store", "instructions", "tools", "input"]);
}

#[tokio::test]
async fn qwen_searches_and_reads_the_web_where_its_options_let_it() {
    let server = RawServer::start([stream("ok")]);
    let mut spec = spec(ProviderKind::Qwen, "http://127.0.0.1:9/compatible-mode/v1");
    spec.options.built_in_web_tools = NativeWebTools { web_search: false, web_fetch: true };
    spec.options.responses_base_url = Some(format!("{}/api/v2", server.url()));
    let provider = spec.connect().unwrap();
    let report = provider.configure_native_web_tools("qwen-plus", NativeWebTools::ALL);
    assert_eq!(report.web_fetch.source.as_deref(), Some("web_extractor"));
    assert_eq!(report.enabled(), NativeWebTools { web_search: false, web_fetch: true });
    let mut request = request();
    request.tools = Arc::new([]);
    request.native_web_tools = report.enabled();
    let Heard { line, json, .. } = heard(&provider, &server, request).await;
    assert_eq!(line, "POST /api/v2/responses HTTP/1.1");
    let expected = json!({
        "model": "model-1", "stream": true, "store": false, "enable_thinking": true,
        "tools": [{"type": "web_search"}, {"type": "web_extractor"}],
        "input": [
            {"type": "message", "role": "system", "content": "Be brief."},
            {"type": "message", "role": "user", "content": "Hello"},
        ],
    });
    assert_eq!(json, expected);
}

#[tokio::test]
async fn web_tools_are_reported_with_the_reason_they_are_off() {
    let mut spec = ProviderSpec::new(ProviderKind::OpenAi);
    spec.api_key = Some(KEY.into());
    let report = spec.connect().unwrap().configure_native_web_tools("gpt-5", NativeWebTools::ALL);
    let expected = json!({
        "webSearch": {"supported": true, "enabled": false, "source": "web_search",
            "reason": "builtInWebTools.webSearch in the provider's options is not on"},
        "webFetch": {"supported": false, "enabled": false, "reason": "its web search opens pages by itself"},
    });
    assert_eq!(serde_json::to_value(report).unwrap(), expected);
}

#[tokio::test]
async fn azure_is_reached_where_it_has_its_apis() {
    let chat = "data: {\"choices\":[{\"delta\":{\"content\":\"ok\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    let chat = || (200, "text/event-stream", chat.to_owned());
    let server = RawServer::start([stream("ok"), chat(), chat()]);
    let azure = |version: Option<&str>, surface: Option<ApiSurface>| {
        let mut spec = spec(ProviderKind::Azure, server.url());
        spec.options.api_version = version.map(str::to_owned);
        spec.options.api_surface = surface;
        spec.connect().unwrap()
    };
    let mut lines = Vec::new();
    for provider in [azure(None, None), azure(Some("2024-10-21"), None), azure(None, Some(ApiSurface::Chat))]
    {
        let Heard { line, headers, .. } = heard(&provider, &server, request()).await;
        assert!(headers.contains(&format!("api-key: {KEY}")), "{headers:?}");
        assert!(!headers.iter().any(|header| header.starts_with("authorization")), "{headers:?}");
        lines.push(line);
    }
    let expected = [
        "POST /openai/v1/responses HTTP/1.1",
        "POST /openai/deployments/model-1/chat/completions?api-version=2024-10-21 HTTP/1.1",
        "POST /openai/v1/chat/completions HTTP/1.1",
    ];
    assert_eq!(lines, expected);
}

#[tokio::test]
async fn the_models_of_the_service_are_listed() {
    let list = json!({"object": "list", "data": [{"id": "gpt-5", "object": "model"}]});
    let server = RawServer::start([document(&list)]);
    let models = responses(ProviderKind::OpenAi, &server).connect().unwrap().models().await.unwrap();
    assert_eq!(models, [ListedModel { id: "gpt-5".into(), ..ListedModel::default() }]);
    assert_eq!(server.heard()[0].line, "GET /v1/models HTTP/1.1");
}

#[tokio::test]
async fn the_service_counts_the_tokens_of_a_request() {
    let count = json!({"object": "response.input_tokens", "input_tokens": 11});
    let server = RawServer::start([document(&count)]);
    let provider = responses(ProviderKind::OpenAi, &server).connect().unwrap();
    assert_eq!(provider.count_tokens(&rich_request()).await.unwrap(), Some(11));
    let Heard { line, json, .. } = server.heard().remove(0);
    assert_eq!(line, "POST /v1/responses/input_tokens HTTP/1.1");
    let names: Vec<&str> = json.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(names, ["model", "reasoning", "text", "instructions", "tools", "tool_choice", "input"]);
}

#[tokio::test]
async fn openai_itself_speaks_responses_and_others_chat() {
    let url = |kind: ProviderKind, base: Option<&str>| {
        let mut spec = ProviderSpec::new(kind);
        spec.api_key = Some(KEY.into());
        spec.connection.base_url = base.map(str::to_owned);
        spec.connect().unwrap().url().to_owned()
    };
    assert_eq!(url(ProviderKind::OpenAi, None), "https://api.openai.com/v1/responses");
    let other = url(ProviderKind::OpenAi, Some("http://localhost:8000"));
    assert_eq!(other, "http://localhost:8000/v1/chat/completions");
    let qwen = url(ProviderKind::Qwen, None);
    assert_eq!(qwen, "https://dashscope-intl.aliyuncs.com/compatible-mode/v1/chat/completions");
    let azure = url(ProviderKind::Azure, Some("https://n.openai.azure.com"));
    assert_eq!(azure, "https://n.openai.azure.com/openai/v1/responses");
}
