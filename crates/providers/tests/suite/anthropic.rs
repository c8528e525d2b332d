//! What only Anthropic Messages has.

mod native;
mod questions;
mod requests;

use robota_core::{ModelEvent, ModelRequest, ProviderError};
use robota_providers::{HttpProvider, ProviderKind, ProviderSpec};
use robota_testkit::{FakeModelServer, Reply};
use serde_json::{Value, json};

use crate::api::{send, spec};

/// How to reach `server`, with `options` as a profile has them.
fn with_options(server: &FakeModelServer, options: &Value) -> ProviderSpec {
    let mut spec = spec(ProviderKind::Anthropic, server.base_url());
    spec.options = robota_providers::ProviderOptions::parse(options).unwrap();
    spec
}

/// The provider of [`with_options`].
fn provider(server: &FakeModelServer, options: &Value) -> HttpProvider {
    with_options(server, options).connect().unwrap()
}

/// Sends `request`, and gives its body and the events of the answer.
async fn sent(
    provider: &HttpProvider,
    server: &FakeModelServer,
    request: ModelRequest,
) -> (Value, Vec<ModelEvent>) {
    let (events, error): (_, Option<ProviderError>) = send(provider, request).await;
    assert!(error.is_none(), "{error:?}");
    server.assert_clean();
    (server.requests().last().unwrap().json.clone().unwrap(), events)
}

/// An answer of these blocks, each a start and its deltas.
fn recorded(blocks: &[(Value, &[Value])], stop_reason: &str) -> Reply {
    let start = json!({"type": "message_start", "message": {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "model-1", "content": [],
        "usage": {"input_tokens": 10, "output_tokens": 1},
    }});
    let mut frames = vec![start];
    for (index, (start, deltas)) in blocks.iter().enumerate() {
        frames.push(json!({"type": "content_block_start", "index": index, "content_block": start}));
        let delta = |delta| json!({"type": "content_block_delta", "index": index, "delta": delta});
        frames.extend(deltas.iter().map(delta));
        frames.push(json!({"type": "content_block_stop", "index": index}));
    }
    let delta = json!({"stop_reason": stop_reason, "stop_sequence": null});
    frames.push(json!({"type": "message_delta", "delta": delta, "usage": {"output_tokens": 5}}));
    frames.push(json!({"type": "message_stop"}));
    let line = |frame: &Value| format!("event: {}\ndata: {frame}\n\n", frame["type"].as_str().unwrap());
    Reply::body(200, "text/event-stream", frames.iter().map(line).collect::<String>())
}
