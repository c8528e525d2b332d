//! Google Gemini over real HTTP: what is sent, what is learnt from refusals, and how failures read.

use std::sync::Arc;
use std::time::Duration;

use robota_core::{
    Body, Effort, FinishReason, Message, MessageRef, MessageState, ModelEvent, ModelRequest, NativeWebTools,
    Part, Provider, ProviderErrorKind, ResponseFormat, Thinking, Timestamp, ToolCall, ToolChoice, ToolClass,
    ToolSpec,
};
use robota_providers::{HttpProvider, ListedModel, ProviderKind, ProviderOptions, RetryPolicy, build};
use robota_testkit::{FakeModelServer, Reply, Script};
use serde_json::{Value, json};

use crate::api::{call, failure, provider, request, send, server, spec, text};
use crate::conversation::{message, result, sent, tool_calls, user};

const THREE: &str = "gemini-3-flash-preview";
const TWO_FIVE: &str = "gemini-2.5-flash";

fn gemini(server: &FakeModelServer) -> HttpProvider {
    provider(ProviderKind::Gemini, server)
}

fn with_options(server: &FakeModelServer, options: &Value) -> HttpProvider {
    let mut spec = spec(ProviderKind::Gemini, server.base_url());
    spec.options = ProviderOptions::parse(options).unwrap();
    spec.connect().unwrap()
}

fn assistant(text: &str, parts: Vec<Part>, calls: &[(&str, &str, &str)]) -> MessageRef {
    message(
        "a",
        Body::Assistant {
            content: Some(text.to_owned()),
            parts,
            tool_calls: tool_calls(calls),
            reasoning: Vec::new(),
        },
    )
}

fn media(mime_type: &str) -> Part {
    if mime_type.starts_with("image/") {
        return Part::ImageInline { mime_type: mime_type.into(), data: "aGk=".into() };
    }
    Part::DocumentInline { mime_type: mime_type.into(), data: "aGk=".into(), name: Some("a.file".into()) }
}

/// Everything a history can hold.
fn rich_history() -> Vec<MessageRef> {
    let mut interrupted = Message::assistant("i", Timestamp::default(), "I was about to ");
    interrupted.state = MessageState::Interrupted;
    let parts = vec![
        media("image/png"),
        media("application/pdf"),
        media("audio/mp3"),
        Part::ImageUri { uri: "https://a.example/b.JPG?x".into(), mime_type: None },
        Part::ImageUri { uri: "file:///b.png".into(), mime_type: None },
    ];
    let native = Part::Native {
        format: "gemini".into(),
        items: vec![
            json!({"text": "I see.", "thoughtSignature": "sig-text"}),
            json!({"functionCall": {"id": "other", "name": "Glob", "args": {"p": 1}}, "thoughtSignature": "sig-call"}),
        ],
    };
    let foreign = Part::Native { format: "anthropic-messages".into(), items: vec![json!({"type": "text"})] };
    vec![
        assistant("Summary.", Vec::new(), &[]),
        message("u1", Body::User { content: "What is this?".into(), parts, name: Some("Ada".into()) }),
        user("  "),
        assistant(
            "Let me look. \n",
            vec![foreign],
            &[("c:1", "Read", "{\"filePath\": \"a\"}"), ("c2", "2.b", "{oops")],
        ),
        result("c:1", "a picture", false, vec![media("image/png"), media("audio/mp3")]),
        result("c2", "there is no tool 2.b", true, Vec::new()),
        message("s", Body::System { content: "The file changed.".into() }),
        assistant("I see.", vec![native], &[("c3", "Glob", "{\"p\": 1}")]),
        result("c3", "", false, Vec::new()),
        interrupted.into(),
        user("Go on."),
        assistant(" ", Vec::new(), &[]),
        user("Still there?"),
    ]
}

fn to(model: &str) -> ModelRequest {
    let mut request = request();
    request.model = model.into();
    request
}

#[tokio::test]
async fn a_rich_history_is_sent_whole() {
    for model in [THREE, TWO_FIVE] {
        let server = server("ok").await;
        let mut request = to(model);
        request.messages = rich_history();
        request.tool_choice = ToolChoice::Tool("Read".into());
        request.max_output_tokens = Some(1000);
        request.effort = Some(Effort::High);
        let body = sent(&gemini(&server), &server, request).await;
        insta::assert_snapshot!(
            format!("rich_history_{model}"),
            serde_json::to_string_pretty(&body).unwrap()
        );
        let request = server.request(1).await;
        assert_eq!(request.path, format!("/v1beta/models/{model}:streamGenerateContent"));
        assert_eq!(request.header("x-goog-api-key"), Some(crate::api::KEY));
    }
}

/// The message that an answer becomes.
fn answered(events: &[ModelEvent]) -> MessageRef {
    let mut calls: Vec<ToolCall> = Vec::new();
    let mut parts = Vec::new();
    for event in events {
        match event {
            ModelEvent::ToolCallStart { id, name, .. } => {
                calls.push(ToolCall { id: id.clone(), name: name.clone(), arguments: String::new() });
            }
            ModelEvent::ToolCallArguments { index, delta } => calls[*index].arguments.push_str(delta),
            ModelEvent::NativeContent { format, items } => {
                parts.push(Part::Native { format: format.clone(), items: items.clone() });
            }
            _ => {}
        }
    }
    let content = Some(text(events));
    message("a", Body::Assistant { content, parts, tool_calls: calls, reasoning: Vec::new() })
}

#[tokio::test]
async fn proof_goes_back_on_its_part_and_the_prefix_stays_as_it_was() {
    let called = Reply::new()
        .thinking("Hm.", "sig-1")
        .text("Looking.")
        .tool_call("c1", "Read", json!({"filePath": "a"}))
        .tool_call("c2", "Glob", json!({}));
    let server = server(Script::from_iter([called, Reply::new().text("Done.")])).await;
    let provider = gemini(&server);
    let mut request = to(THREE);
    let (events, error) = send(&provider, request.clone()).await;
    assert!(error.is_none(), "{error:?}");
    request.messages.push(answered(&events));
    request.messages.push(result("c1", "text", false, Vec::new()));
    request.messages.push(result("c2", "none", true, Vec::new()));
    let second = sent(&provider, &server, request).await;
    let expected = json!([
        {"role": "model", "parts": [
            {"text": "Looking."},
            {"functionCall": {"id": "c1", "name": "Read", "args": {"filePath": "a"}}, "thoughtSignature": "sig-1"},
            {"functionCall": {"id": "c2", "name": "Glob", "args": {}}},
        ]},
        {"role": "user", "parts": [
            {"functionResponse": {"id": "c1", "name": "Read", "response": {"output": "text"}}},
            {"functionResponse": {"id": "c2", "name": "Glob", "response": {"error": "none"}}},
        ]},
    ]);
    assert_eq!(second["contents"].as_array().unwrap()[1..], *expected.as_array().unwrap());
    let (first, second) = (server.request(1).await, server.request(2).await);
    let beginning = first.body.strip_suffix(b"]}").unwrap();
    assert!(second.body.starts_with(beginning), "{first:?}\n{second:?}");
}

fn search_request(model: &str) -> ModelRequest {
    let mut request = to(model);
    request.native_web_tools = NativeWebTools::ALL;
    request
}

#[tokio::test]
async fn web_tools_go_with_functions_where_the_model_takes_both() {
    let server = server(Script::from_iter(["ok", "ok", "ok"])).await;
    let provider = gemini(&server);
    let body = sent(&provider, &server, search_request(THREE)).await;
    assert_eq!(
        body["tools"].as_array().unwrap()[1..],
        [json!({"googleSearch": {}}), json!({"urlContext": {}})]
    );
    assert_eq!(body["toolConfig"], json!({"includeServerSideToolInvocations": true}));
    let body = sent(&provider, &server, search_request(TWO_FIVE)).await;
    assert_eq!(body["tools"].as_array().unwrap().len(), 1);
    let mut alone = search_request(TWO_FIVE);
    alone.tools = Arc::new([]);
    let body = sent(&provider, &server, alone).await;
    assert_eq!(
        (&body["tools"], &body["toolConfig"]),
        (&json!([{"googleSearch": {}}, {"urlContext": {}}]), &Value::Null)
    );
}

#[tokio::test]
async fn web_tools_that_are_refused_are_left_out_and_reported() {
    let refusal = || Reply::error(400, "Tool use with function calling is unsupported by the model.");
    let server =
        server(Script::from_iter([refusal(), Reply::new().text("ok"), Reply::new().text("ok")])).await;
    let provider = with_options(&server, &json!({"builtInWebTools": {"webSearch": true, "webFetch": true}}));
    let report = provider.configure_native_web_tools(THREE, NativeWebTools::ALL);
    assert_eq!(report.enabled(), NativeWebTools::ALL);
    for requests in [2, 3] {
        let body = sent(&provider, &server, search_request(THREE)).await;
        assert_eq!((body["tools"].as_array().unwrap().len(), server.requests().len()), (1, requests));
    }
    let report = provider.configure_native_web_tools(THREE, NativeWebTools::ALL);
    assert!(report.enabled().is_empty() && report.web_search.reason.is_some());
}

#[tokio::test]
async fn schemas_are_standard_ones_until_the_server_wants_its_own() {
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {"kind": {"$ref": "#/$defs/kind"}, "tags": {"type": ["array", "null"], "items": {"const": "a"}}},
        "required": ["kind"],
        "additionalProperties": false,
        "$defs": {"kind": {"oneOf": [{"type": "string"}, {"type": "integer"}]}},
    });
    let tool = |name: &str, schema: Value| {
        Arc::new(ToolSpec::new(name, ToolClass::Other, "d").with_input_schema(schema))
    };
    let unknown = "Invalid JSON payload received. Unknown name \"parametersJsonSchema\" at 'tools[0]': Cannot find field.";
    let server = server(Script::from_iter([Reply::error(400, unknown), Reply::new().text("ok")])).await;
    let mut request = to(THREE);
    request.tools =
        Arc::new([tool("Sort", schema), tool("9lives", json!({"type": "object", "properties": {}}))]);
    let second = sent(&gemini(&server), &server, request).await;
    let first = server.request(1).await.json.clone().unwrap();
    let declared = |body: &Value| body["tools"][0]["functionDeclarations"].clone();
    let kind = json!({"oneOf": [{"type": "string"}, {"type": "integer"}]});
    let tags = json!({"type": ["array", "null"], "items": {"const": "a"}});
    let expected = json!([
        {"name": "Sort", "description": "d", "parametersJsonSchema": {"type": "object",
            "properties": {"kind": kind, "tags": tags}, "required": ["kind"], "additionalProperties": false}},
        {"name": "_9lives_57e3d0be", "description": "d", "parametersJsonSchema": {"type": "object", "properties": {}}},
    ]);
    assert_eq!(declared(&first), expected);
    let kind = json!({"anyOf": [{"type": "string"}, {"type": "integer"}]});
    let tags = json!({"type": "array", "nullable": true, "items": {"type": "string", "enum": ["a"]}});
    let expected = json!([
        {"name": "Sort", "description": "d",
            "parameters": {"type": "object", "properties": {"kind": kind, "tags": tags}, "required": ["kind"]}},
        {"name": "_9lives_57e3d0be", "description": "d"},
    ]);
    assert_eq!(declared(&second), expected);
}

fn with_form(model: &str, thinking: Thinking, tool_choice: ToolChoice) -> ModelRequest {
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    let mut request = to(model);
    request.response_format = Some(ResponseFormat::new("answer", schema));
    request.thinking = thinking;
    request.tool_choice = tool_choice;
    request
}

#[tokio::test]
async fn form_effort_and_options_are_sent() {
    let server = server(Script::from_iter(["{}", "{}", "{}"])).await;
    let options = json!({"effort": "low", "thinking": "disabled",
        "body": {"generationConfig": {"temperature": 0.5}, "safetySettings": []}});
    let provider = with_options(&server, &options);
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    let formed = with_form(THREE, Thinking::Adaptive, ToolChoice::Auto);
    let body = sent(&provider, &server, formed).await;
    let expected = json!({"thinkingConfig": {"includeThoughts": true, "thinkingLevel": "low"}, "temperature": 0.5,
        "responseMimeType": "application/json", "responseJsonSchema": schema});
    assert_eq!((&body["generationConfig"], &body["safetySettings"]), (&expected, &json!([])));
    assert_eq!(body["tools"][0]["functionDeclarations"].as_array().unwrap().len(), 2);

    // Older models take functions or a form.
    let form_only = with_form(TWO_FIVE, Thinking::Default, ToolChoice::None);
    let body = sent(&provider, &server, form_only).await;
    assert_eq!((&body["tools"], &body["generationConfig"]["responseJsonSchema"]), (&Value::Null, &schema));
    let both = with_form(TWO_FIVE, Thinking::Default, ToolChoice::Auto);
    let body = sent(&provider, &server, both).await;
    let config =
        json!({"thinkingConfig": {"includeThoughts": false, "thinkingBudget": 0}, "temperature": 0.5});
    assert_eq!((body["tools"].is_array(), &body["generationConfig"]), (true, &config));
}

#[tokio::test]
async fn models_and_tokens_are_asked_for() {
    let server = server(Script::new().models(["gemini-a", "gemini-b"])).await;
    let provider = gemini(&server);
    let model = |id: &str| ListedModel {
        id: id.into(),
        name: Some(id.into()),
        context_window: Some(1_048_576),
        max_output_tokens: Some(65_536),
    };
    assert_eq!(provider.models().await.unwrap(), [model("gemini-a"), model("gemini-b")]);
    let count = provider.count_tokens(&to(THREE)).await.unwrap();
    let asked = server.requests().last().unwrap().clone();
    assert_eq!(asked.path, format!("/v1beta/models/{THREE}:countTokens"));
    let counted = &asked.field("generateContentRequest");
    assert_eq!(counted["model"], format!("models/{THREE}"));
    assert!(counted["contents"].is_array() && counted["tools"].is_array());
    assert_eq!(count, Some((asked.body.len() as u64).div_ceil(4)));
}

#[tokio::test]
async fn failures_are_explained() {
    let google = |status: u16, body: &Value| Reply::body(status, "application/json", body.to_string());
    let key = json!({"error": {"code": 400, "message": "API key not valid.", "status": "INVALID_ARGUMENT",
        "details": [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}]}});
    let quota = json!([{"error": {"code": 429, "message": "Quota exceeded.", "status": "RESOURCE_EXHAUSTED",
        "details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "27s"}]}}]);
    let field = json!({"error": {"code": 400, "message": "Bad.", "status": "INVALID_ARGUMENT", "details": [
        {"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": [{"field": "contents[0].parts"}]}]}});
    let script = Script::from_iter([
        google(400, &key),
        google(429, &quota),
        google(400, &field),
        Reply::error(404, "models/model-1 is not found for API version v1beta"),
        Reply::new().text("a").stream_error("UNAVAILABLE", "The model is overloaded."),
        Reply::new().text("a").end(),
    ]);
    let server = server(script).await;
    let provider = gemini(&server);
    let wrong_key = failure(&provider).await;
    assert_eq!(wrong_key.kind(), ProviderErrorKind::Authentication);
    assert_eq!(wrong_key.hint(), Some("check GEMINI_API_KEY"));
    let limited = failure(&provider).await;
    assert_eq!(
        (limited.kind(), limited.retry_after()),
        (ProviderErrorKind::RateLimit, Some(Duration::from_secs(27)))
    );
    let invalid = failure(&provider).await;
    assert_eq!(
        (invalid.kind(), invalid.field()),
        (ProviderErrorKind::InvalidRequest, Some("contents[0].parts"))
    );
    let missing = failure(&provider).await;
    assert_eq!(missing.kind(), ProviderErrorKind::NotFound);
    assert!(missing.to_string().contains("does not know the model `model-1`"), "{missing}");
    assert_eq!(failure(&provider).await.kind(), ProviderErrorKind::Overloaded);
    assert_eq!(failure(&provider).await.kind(), ProviderErrorKind::Network);
}

#[tokio::test]
async fn a_call_that_the_service_cannot_read_is_tried_again() {
    let malformed = Reply::new().stop(FinishReason::Other("MALFORMED_FUNCTION_CALL".into()));
    let server = server(Script::from_iter([malformed, Reply::new().text("ok")])).await;
    let mut spec = spec(ProviderKind::Gemini, server.base_url());
    spec.retry = RetryPolicy { base_delay: Duration::ZERO, ..RetryPolicy::default() };
    let (events, error) = send(&*build(spec).unwrap(), request()).await;
    assert!(error.is_none(), "{error:?}");
    assert_eq!(text(&events), "ok");
    let retry = events.iter().find_map(|event| match event {
        ModelEvent::Retry { reason, .. } => Some(reason.clone()),
        _ => None,
    });
    assert!(retry.is_some_and(|reason| reason.contains("a tool call that cannot be read")), "{events:?}");
}

#[tokio::test]
async fn a_filtered_answer_says_so() {
    let server = server(Script::from_iter([Reply::new().text("a").stop(FinishReason::ContentFilter)])).await;
    let (events, error) = call(&gemini(&server)).await;
    assert!(error.is_none(), "{error:?}");
    assert_eq!(events.last(), Some(&ModelEvent::Finish(FinishReason::ContentFilter)));
}
