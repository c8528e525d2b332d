//! A client that reads what comes, and nothing more.

use bytes::Bytes;
use futures_util::StreamExt;
use reqwest::header::{CONTENT_TYPE, HeaderMap};
use robota_testkit::FakeModelServer;
use serde_json::{Value, json};

/// A response read to its end, or to where it broke.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) chunks: Vec<Bytes>,
    pub(crate) broken: bool,
}

impl Answer {
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.chunks.concat()).unwrap()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text()).unwrap()
    }

    /// The events: name and data. Comments are dropped, `[DONE]` becomes a string.
    pub(crate) fn events(&self) -> Vec<(String, Value)> {
        let text = self.text().replace("\r\n", "\n");
        let mut events = Vec::new();
        for event in text.split("\n\n") {
            let field = |name: &str| event.lines().find_map(|line| line.strip_prefix(name));
            if let Some(data) = field("data: ") {
                let data = serde_json::from_str(data).unwrap_or_else(|_| data.into());
                events.push((field("event: ").unwrap_or_default().to_owned(), data));
            }
        }
        events
    }
}

pub(crate) fn http() -> reqwest::Client {
    reqwest::Client::builder().no_proxy().build().unwrap()
}

pub(crate) async fn send(request: reqwest::RequestBuilder) -> reqwest::Result<Answer> {
    let response = request.send().await?;
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    let mut stream = response.bytes_stream();
    let (mut chunks, mut broken) = (Vec::new(), false);
    while let Some(chunk) = stream.next().await {
        match chunk {
            Ok(chunk) => chunks.push(chunk),
            Err(_) => {
                broken = true;
                break;
            }
        }
    }
    Ok(Answer { status, headers, chunks, broken })
}

pub(crate) fn anthropic(server: &FakeModelServer, body: &Value) -> reqwest::RequestBuilder {
    http()
        .post(format!("{}/v1/messages?beta=true", server.base_url()))
        .header("anthropic-version", "2023-06-01")
        .header("x-api-key", "key")
        .header(CONTENT_TYPE, "application/json")
        .body(body.to_string())
}

pub(crate) fn openai(server: &FakeModelServer, body: &Value) -> reqwest::RequestBuilder {
    http()
        .post(format!("{}/v1/chat/completions", server.base_url()))
        .header(CONTENT_TYPE, "application/json")
        .body(body.to_string())
}

/// A valid Anthropic request of these messages.
pub(crate) fn anthropic_body(messages: &Value) -> Value {
    json!({"model": "fake", "max_tokens": 100, "stream": true, "messages": messages})
}

/// A valid OpenAI request of these messages.
pub(crate) fn openai_body(messages: &Value) -> Value {
    let options = json!({"include_usage": true});
    json!({"model": "fake", "stream": true, "stream_options": options, "messages": messages})
}

pub(crate) async fn ask_anthropic(server: &FakeModelServer) -> Answer {
    let body = anthropic_body(&json!([{"role": "user", "content": "hi"}]));
    send(anthropic(server, &body)).await.unwrap()
}

pub(crate) async fn ask_openai(server: &FakeModelServer) -> Answer {
    send(openai(server, &openai_body(&json!([{"role": "user", "content": "hi"}])))).await.unwrap()
}
