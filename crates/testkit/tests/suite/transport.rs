//! How answers travel: protocol versions, compression, what follows the end; and the questions besides calls.

use futures_util::StreamExt;
use robota_core::Citation;
use robota_testkit::{FakeModelServer, Reply, Script};
use serde_json::json;

use crate::client::{anthropic, anthropic_body, ask_anthropic, ask_openai, http, openai_body, send};

#[tokio::test]
async fn a_client_may_begin_with_http_2_and_others_use_http_1() {
    let server = FakeModelServer::start(Script::from_iter(["one", "two", "three"])).await.unwrap();
    assert!(ask_openai(&server).await.text().contains("one"));
    let client = reqwest::Client::builder().no_proxy().http2_prior_knowledge().build().unwrap();
    for text in ["two", "three"] {
        let body = openai_body(&json!([{"role": "user", "content": "hi"}]));
        let url = format!("{}/v1/chat/completions", server.base_url());
        let response = client.post(url).body(body.to_string()).send().await.unwrap();
        assert_eq!(response.version(), reqwest::Version::HTTP_2);
        assert!(response.text().await.unwrap().contains(text));
    }
    server.assert_clean();
    server.shutdown().await;
}

#[tokio::test]
async fn a_stream_over_http_2_breaks_where_the_script_says() {
    let server = FakeModelServer::start(Reply::new().text("half").cut()).await.unwrap();
    let client = reqwest::Client::builder().no_proxy().http2_prior_knowledge().build().unwrap();
    let body = openai_body(&json!([{"role": "user", "content": "hi"}]));
    let url = format!("{}/v1/chat/completions", server.base_url());
    let answer = send(client.post(url).body(body.to_string())).await.unwrap();
    assert!(answer.broken && answer.text().contains("half"));
}

#[tokio::test]
async fn compressed_events_are_readable_as_they_come() {
    let server = FakeModelServer::start(Reply::new().text("first").gate("door").text("second").gzip()).await;
    let server = server.unwrap();
    let body = anthropic_body(&json!([{"role": "user", "content": "hi"}]));
    let response = anthropic(&server, &body).send().await.unwrap();
    let mut chunks = response.bytes_stream();
    let mut text = String::new();
    while !text.contains("first") {
        text.push_str(std::str::from_utf8(&chunks.next().await.unwrap().unwrap()).unwrap());
    }
    server.gate("door").open();
    while let Some(chunk) = chunks.next().await {
        text.push_str(std::str::from_utf8(&chunk.unwrap()).unwrap());
    }
    assert!(text.contains("second") && text.contains("message_stop"), "{text}");

    let raw = FakeModelServer::start(Reply::new().text("x").gzip()).await.unwrap();
    let client = reqwest::Client::builder().no_proxy().no_gzip().build().unwrap();
    let body = openai_body(&json!([{"role": "user", "content": "hi"}]));
    let url = format!("{}/v1/chat/completions", raw.base_url());
    let answer = send(client.post(url).body(body.to_string())).await.unwrap();
    assert_eq!(answer.headers["content-encoding"], "gzip");
    assert_eq!(answer.chunks.concat()[..2], [0x1f, 0x8b]);
}

#[tokio::test]
async fn trailing_bytes_follow_the_end_of_the_answer() {
    let server = FakeModelServer::start(Reply::new().text("x").trailing("<rubbish>")).await.unwrap();
    assert!(ask_openai(&server).await.text().ends_with("data: [DONE]\n\n<rubbish>"));
}

#[tokio::test]
async fn a_tool_of_the_service_and_its_sources_are_blocks_of_anthropic_and_nothing_in_chat() {
    let found = json!([{"type": "web_search_result", "url": "https://a.example", "title": "A",
        "encrypted_content": "e", "page_age": null}]);
    let citation = Citation {
        url: Some("https://a.example".into()),
        title: Some("A".into()),
        text: Some("said".into()),
    };
    let reply = Reply::new()
        .server_tool("srv_1", "web_search", json!({"query": "rust"}), found.clone())
        .text("It says so.")
        .citation(citation);
    let server = FakeModelServer::start(Script::new().reply(reply.clone()).reply(reply.clone()).reply(reply));
    let server = server.await.unwrap();
    let events = ask_anthropic(&server).await.events();
    let blocks = events.iter().filter(|(name, _)| name == "content_block_start");
    let blocks = blocks.map(|(_, event)| event["content_block"].clone()).collect::<Vec<_>>();
    let call = json!({"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {}});
    let result = json!({"type": "web_search_tool_result", "tool_use_id": "srv_1", "content": found});
    assert_eq!(blocks, [call.clone(), result.clone(), json!({"type": "text", "text": ""})]);
    let source = json!({"type": "web_search_result_location", "url": "https://a.example", "title": "A",
        "cited_text": "said", "encrypted_index": "index"});
    let delta = events.iter().find(|(_, event)| event["delta"]["type"] == "citations_delta").unwrap();
    assert_eq!(delta.1["delta"]["citation"], source);

    let mut body = anthropic_body(&json!([{"role": "user", "content": "hi"}]));
    body["stream"] = false.into();
    let whole = send(anthropic(&server, &body)).await.unwrap().json();
    let mut asked = call;
    asked["input"] = json!({"query": "rust"});
    let text = json!({"type": "text", "text": "It says so.", "citations": [source]});
    assert_eq!(whole["content"], json!([asked, result, text]));
    assert!(!ask_openai(&server).await.text().contains("a.example"));
}

#[tokio::test]
async fn tokens_are_counted_and_models_are_listed() {
    let server = FakeModelServer::start(Script::new().models(["m1"])).await.unwrap();
    let url = |path: &str| format!("{}{path}", server.base_url());
    let count = send(http().post(url("/v1/messages/count_tokens")).body("{\"a\":10}")).await.unwrap();
    assert_eq!(count.json(), json!({"input_tokens": 2}));
    let count = send(http().post(url("/v1/responses/input_tokens")).body("{}")).await.unwrap();
    assert_eq!(count.json(), json!({"object": "response.input_tokens", "input_tokens": 1}));
    let models = send(http().get(url("/v1/models"))).await.unwrap().json();
    assert_eq!((&models["object"], &models["data"][0]["id"]), (&json!("list"), &json!("m1")));
    let models = send(http().get(url("/v1/models")).header("x-api-key", "k")).await.unwrap().json();
    assert_eq!((&models["has_more"], &models["data"][0]["id"]), (&json!(false), &json!("m1")));
}
