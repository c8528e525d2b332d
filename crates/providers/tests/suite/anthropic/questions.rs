//! Models and token counts.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;

use robota_core::{NativeWebTools, ProviderErrorKind, Thinking};
use robota_providers::{ListedModel, ProviderKind};
use serde_json::{Value, json};

use super::provider;
use crate::api::{request, server, spec};

/// Answers one request after the other with `answers`; gives the first line of each request, and its body.
fn answering(answers: Vec<Value>) -> (String, std::thread::JoinHandle<Vec<(String, String)>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let serve = move |answer: Value| {
        let mut reader = BufReader::new(listener.accept().unwrap().0);
        let (mut line, mut header, mut length) = (String::new(), String::new(), 0);
        reader.read_line(&mut line).unwrap();
        while header != "\r\n" {
            header.clear();
            reader.read_line(&mut header).unwrap();
            if let Some(value) = header.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        let answer = answer.to_string();
        let head = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length";
        reader.get_mut().write_all(format!("{head}: {}\r\n\r\n{answer}", answer.len()).as_bytes()).unwrap();
        (line.trim_end().to_owned(), String::from_utf8(body).unwrap())
    };
    (address, std::thread::spawn(move || answers.into_iter().map(serve).collect()))
}

#[tokio::test]
async fn all_pages_of_the_models_are_read() {
    let page = |id: &str, more: bool| json!({"data": [{"id": id, "display_name": id.to_uppercase()}], "has_more": more, "last_id": id});
    let (address, served) = answering(vec![page("a", true), page("b", false)]);
    let models = spec(ProviderKind::Anthropic, address).connect().unwrap().models().await.unwrap();
    let model =
        |id: &str| ListedModel { id: id.into(), name: Some(id.to_uppercase()), ..ListedModel::default() };
    assert_eq!(models, [model("a"), model("b")]);
    let lines: Vec<_> = served.join().unwrap().into_iter().map(|(line, _)| line).collect();
    assert_eq!(
        lines,
        ["GET /v1/models?limit=1000 HTTP/1.1", "GET /v1/models?limit=1000&after_id=a HTTP/1.1"]
    );
}

#[tokio::test]
async fn a_request_is_counted_as_it_would_be_sent() {
    let (address, served) = answering(vec![json!({"input_tokens": 321})]);
    let mut spec = spec(ProviderKind::Anthropic, address);
    spec.options.built_in_web_tools = NativeWebTools::ALL;
    spec.options.body.insert("service_tier".into(), json!("auto"));
    let mut request = request();
    request.thinking = Thinking::Budget(2000);
    request.native_web_tools = NativeWebTools::ALL;
    let count = spec.connect().unwrap().count_tokens(&request).await.unwrap();
    assert_eq!(count, Some(321));
    let (line, body) = served.join().unwrap().remove(0);
    assert_eq!(line, "POST /v1/messages/count_tokens HTTP/1.1");
    let body: Value = serde_json::from_str(&body).unwrap();
    let fields: Vec<_> = body.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(fields, ["model", "thinking", "tools", "system", "messages"]);
    let tools: Vec<_> =
        body["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(tools, ["Read", "Glob", "web_search"]);
    assert!(!body.to_string().contains("cache_control"));
}

#[tokio::test]
async fn a_server_that_cannot_count_says_so() {
    let server = server("ok").await;
    let error = provider(&server, &json!({})).count_tokens(&request()).await.unwrap_err();
    assert_eq!(error.kind(), ProviderErrorKind::NotFound);
}
