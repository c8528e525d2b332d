//! The messages of conversations that tests send, and the body that is sent.

use robota_core::{Body, Message, MessageRef, ModelRequest, Part, Timestamp, ToolCall};
use robota_providers::HttpProvider;
use robota_testkit::FakeModelServer;
use serde_json::Value;

use crate::api::send;

pub(crate) fn message(id: &str, body: Body) -> MessageRef {
    Message::with_body(id, Timestamp::default(), body).into()
}

pub(crate) fn user(text: &str) -> MessageRef {
    Message::user("u", Timestamp::default(), text).into()
}

/// Calls by id, name and arguments.
pub(crate) fn tool_calls(calls: &[(&str, &str, &str)]) -> Vec<ToolCall> {
    let call = |(id, name, arguments): &(&str, &str, &str)| ToolCall {
        id: (*id).to_owned(),
        name: (*name).to_owned(),
        arguments: (*arguments).to_owned(),
    };
    calls.iter().map(call).collect()
}

/// What the tool that was called as `call` returns.
pub(crate) fn result(call: &str, content: &str, is_error: bool, parts: Vec<Part>) -> MessageRef {
    let (content, tool_call_id) = (content.to_owned(), call.to_owned());
    message("t", Body::Tool { content, tool_call_id, name: None, is_error, parts })
}

/// The body of the last request, after the call has succeeded and no rule of the API was broken.
pub(crate) async fn sent(provider: &HttpProvider, server: &FakeModelServer, request: ModelRequest) -> Value {
    let (_, error) = send(provider, request).await;
    assert!(error.is_none(), "{error:?}");
    server.assert_clean();
    server.requests().last().unwrap().json.clone().unwrap()
}
