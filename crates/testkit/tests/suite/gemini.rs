//! Google Gemini, parsed back.

use reqwest::header::CONTENT_TYPE;
use robota_core::{FinishReason, Usage};
use robota_testkit::{FakeModelServer, Reply, Rule, Script};
use serde_json::{Value, json};

use crate::client::{Answer, http, send};

fn ask(server: &FakeModelServer, method: &str, body: &Value) -> reqwest::RequestBuilder {
    http()
        .post(format!("{}/v1beta/models/gemini-3-fake:{method}", server.base_url()))
        .header("x-goog-api-key", "key")
        .header(CONTENT_TYPE, "application/json")
        .body(body.to_string())
}

async fn stream(server: &FakeModelServer, contents: &Value) -> Answer {
    send(ask(server, "streamGenerateContent?alt=sse", &json!({"contents": contents}))).await.unwrap()
}

fn hello() -> Value {
    json!([{"role": "user", "parts": [{"text": "hi"}]}])
}

fn rich_reply() -> Reply {
    Reply::new()
        .thinking(["Let me ", "see."], "sig-1")
        .text(["Grüße, ", "Welt"])
        .tool_call("c1", "Read", ["{\"file", "Path\":"])
        .arguments("\"a\"}")
        .tool_call("", "Odd", "{not json")
        .usage(Usage { input_tokens: 7, output_tokens: 3, cache_read_tokens: 5, cache_write_tokens: 2 })
}

fn parts() -> Vec<Value> {
    vec![
        json!({"text": "Let me ", "thought": true}),
        json!({"text": "see.", "thought": true}),
        json!({"text": "Grüße, "}),
        json!({"text": "Welt"}),
        json!({"functionCall": {"id": "c1", "name": "Read", "args": {"filePath": "a"}},
            "thoughtSignature": "sig-1"}),
        json!({"functionCall": {"name": "Odd", "args": "{not json"}}),
    ]
}

#[tokio::test]
async fn a_stream_has_the_chunks_of_the_api_in_order() {
    let server = FakeModelServer::start(rich_reply()).await.unwrap();
    let answer = stream(&server, &hello()).await;
    assert_eq!(
        (answer.status, &answer.headers["content-type"]),
        (200, &"text/event-stream".parse().unwrap())
    );
    let mut chunks: Vec<Value> = answer.events().into_iter().map(|(_, data)| data).collect();
    let last = chunks.pop().unwrap();
    let empty = json!({"role": "model", "parts": [{"text": ""}]});
    assert_eq!(last["candidates"][0], json!({"content": empty, "finishReason": "STOP", "index": 0}));
    let usage = json!({"promptTokenCount": 14, "cachedContentTokenCount": 5, "candidatesTokenCount": 3,
        "totalTokenCount": 17});
    assert_eq!(last["usageMetadata"], usage);
    assert_eq!(
        (&last["modelVersion"], &last["responseId"]),
        (&json!("gemini-3-fake"), &json!("resp_fake_1"))
    );
    let sent = chunks.iter().flat_map(|chunk| {
        assert_eq!(chunk["candidates"][0]["content"]["role"], "model");
        chunk["candidates"][0]["content"]["parts"].as_array().unwrap()
    });
    assert_eq!(sent.cloned().collect::<Vec<_>>(), parts());
    server.assert_clean();
}

#[tokio::test]
async fn without_stream_the_same_reply_is_one_document() {
    let server = FakeModelServer::start(rich_reply().stop(FinishReason::MaxTokens)).await.unwrap();
    let body = json!({"contents": hello()});
    let whole = send(ask(&server, "generateContent", &body)).await.unwrap().json();
    let candidate = &whole["candidates"][0];
    let text = json!([{"text": "Let me see.", "thought": true}, {"text": "Grüße, Welt"}]);
    assert_eq!(candidate["content"]["parts"].as_array().unwrap()[..2], *text.as_array().unwrap());
    assert_eq!(candidate["content"]["parts"].as_array().unwrap()[2..], parts()[4..]);
    assert_eq!(candidate["finishReason"], "MAX_TOKENS");
}

#[tokio::test]
async fn a_proof_without_a_call_comes_at_the_end() {
    let server = FakeModelServer::start(Reply::new().thinking("t", "sig").text("Done")).await.unwrap();
    let events = stream(&server, &hello()).await.events();
    let last = &events.last().unwrap().1["candidates"][0];
    assert_eq!(last["content"]["parts"], json!([{"text": "", "thoughtSignature": "sig"}]));
}

#[tokio::test]
async fn models_counts_and_errors_have_their_shapes() {
    let script = Script::new()
        .models(["gemini-a"])
        .reply(Reply::error(429, "slow"))
        .reply(Reply::new().text("a").stream_error("overloaded_error", "full"));
    let server = FakeModelServer::start(script).await.unwrap();
    let list = http().get(format!("{}/v1beta/models", server.base_url()));
    let list = send(list).await.unwrap().json();
    assert_eq!(list["models"][0]["name"], "models/gemini-a");
    let count = send(ask(&server, "countTokens", &json!({"contents": hello()}))).await.unwrap().json();
    assert!(count["totalTokens"].as_u64().is_some_and(|count| count > 0), "{count}");
    let refused = stream(&server, &hello()).await;
    let error = json!({"error": {"code": 429, "message": "slow", "status": "RESOURCE_EXHAUSTED"}});
    assert_eq!((refused.status, refused.json()), (429, error));
    let events = stream(&server, &hello()).await.events();
    let error = json!({"error": {"code": 503, "message": "full", "status": "UNAVAILABLE"}});
    assert_eq!(events.last().unwrap().1, error);
}

#[tokio::test]
async fn a_request_says_the_same_as_in_other_words() {
    let server = FakeModelServer::start("ok").await.unwrap();
    let body = json!({
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "tools": [{"functionDeclarations": [{"name": "Read", "parametersJsonSchema": {"type": "object"}}]}],
        "contents": [
            {"role": "user", "parts": [{"text": "Look"}]},
            {"role": "model", "parts": [{"functionCall": {"id": "c1", "name": "Read", "args": {}},
                "thoughtSignature": "s"}]},
            {"role": "user", "parts": [{"functionResponse": {"id": "c1", "name": "Read",
                "response": {"error": "no file"}}}]},
        ],
    });
    send(ask(&server, "streamGenerateContent?alt=sse", &body)).await.unwrap();
    server.assert_clean();
    let request = server.request(1).await;
    assert_eq!(request.model(), Some("gemini-3-fake"));
    assert_eq!((request.tool_names(), request.system_text()), (vec!["Read"], "Be brief.".to_owned()));
    assert_eq!(request.last_user_text(), "Look");
    let [result] = &request.new_tool_results()[..] else { panic!("{request:?}") };
    assert_eq!((result.call_id.as_str(), result.content.as_str(), result.is_error), ("c1", "no file", true));
}

#[tokio::test]
async fn what_the_service_would_refuse_is_refused() {
    let call =
        |id: &str| json!({"functionCall": {"id": id, "name": "Read", "args": {}}, "thoughtSignature": "s"});
    let result =
        |id: &str| json!({"functionResponse": {"id": id, "name": "Read", "response": {"output": ""}}});
    let user = |parts: Value| json!({"role": "user", "parts": parts});
    let model = |parts: Value| json!({"role": "model", "parts": parts});
    let hi = || user(json!([{"text": "hi"}]));
    for (contents, rule) in [
        (json!([]), Rule::Body),
        (json!([model(json!([{"text": "a"}])), hi()]), Rule::Roles),
        (json!([hi(), hi()]), Rule::Alternation),
        (json!([user(json!([]))]), Rule::EmptyText),
        (json!([user(json!([{"text": " "}]))]), Rule::EmptyText),
        (json!([hi(), model(json!([call("c")])), hi()]), Rule::PairedCalls),
        (json!([hi(), model(json!([call("c")])), user(json!([result("d")]))]), Rule::PairedCalls),
        (
            json!([hi(), model(json!([call("c"), call("d")])), user(json!([result("d"), result("c")]))]),
            Rule::ResultPlace,
        ),
        (
            json!([
                hi(),
                model(json!([{"functionCall": {"id": "c", "name": "Read", "args": {}}}])),
                user(json!([result("c")]))
            ]),
            Rule::ThinkingSignature,
        ),
    ] {
        let server = FakeModelServer::start("never").await.unwrap();
        let answer = stream(&server, &contents).await;
        assert_eq!(answer.status, 400, "{contents}");
        assert_eq!(answer.json()["error"]["status"], "INVALID_ARGUMENT");
        assert!(server.violations().iter().any(|violation| violation.rule == rule), "{contents} {rule:?}");
    }
    for schema in [
        json!({"type": "object", "additionalProperties": false}),
        json!({"type": "object", "properties": {"a": {"type": ["string", "null"]}}}),
        json!({"type": "object", "properties": {"a": {"type": "array"}}}),
    ] {
        let server = FakeModelServer::start("never").await.unwrap();
        let function = json!({"name": "Read", "parameters": schema});
        let body = json!({"contents": hello(), "tools": [{"functionDeclarations": [function]}]});
        let answer = send(ask(&server, "streamGenerateContent?alt=sse", &body)).await.unwrap();
        assert_eq!(answer.status, 400, "{schema}");
        assert!(server.violations().iter().all(|violation| violation.rule == Rule::ToolSchemas));
    }
}
