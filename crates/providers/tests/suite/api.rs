//! The APIs under test, and what every test does with them.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use robota_core::{
    Message, ModelEvent, ModelRequest, Provider, ProviderError, Timestamp, ToolClass, ToolSpec,
};
use robota_providers::{ConnectionOptions, HttpProvider, ProviderKind, ProviderSpec, SecretString};
use robota_testkit::{FakeModelServer, Script};
use serde_json::json;
use tokio_util::sync::CancellationToken;

/// The key in every test; it must not show up anywhere.
pub(crate) const KEY: &str = "sk-secret-0123456789";

/// The APIs that these tests are about.
pub(crate) const KINDS: [ProviderKind; 2] = [ProviderKind::Anthropic, ProviderKind::OpenAi];

/// A server that plays `script`.
pub(crate) async fn server(script: impl Into<Script>) -> FakeModelServer {
    FakeModelServer::start(script).await.unwrap()
}

/// How to reach the API at `base_url`, with a key.
pub(crate) fn spec(kind: ProviderKind, base_url: impl Into<String>) -> ProviderSpec {
    let mut spec = ProviderSpec::new(kind);
    spec.api_key = Some(SecretString::from(KEY));
    spec.connection = ConnectionOptions {
        base_url: Some(base_url.into()),
        connect_timeout: Duration::from_secs(5),
        ..ConnectionOptions::default()
    };
    spec
}

/// A provider without retries.
pub(crate) fn provider(kind: ProviderKind, server: &FakeModelServer) -> HttpProvider {
    spec(kind, server.base_url()).connect().unwrap()
}

pub(crate) fn tool(name: &str) -> Arc<ToolSpec> {
    let schema = json!({"type": "object", "properties": {"filePath": {"type": "string"}}});
    Arc::new(ToolSpec::new(name, ToolClass::Inspect, format!("{name} something.")).with_input_schema(schema))
}

/// A request of one user message, with the tools Read and Glob.
pub(crate) fn request() -> ModelRequest {
    let message = Message::user("m1", Timestamp::default(), "Hello");
    let mut request = ModelRequest::new("model-1", vec![message.into()]);
    request.tools = Arc::new([tool("Read"), tool("Glob")]);
    request.system = "Be brief.".into();
    request
}

/// All events of one call, and the error when it fails.
pub(crate) async fn call(provider: &impl Provider) -> (Vec<ModelEvent>, Option<ProviderError>) {
    send(provider, request()).await
}

/// All events of the call `request`, and the error when it fails.
pub(crate) async fn send(
    provider: &(impl Provider + ?Sized),
    request: ModelRequest,
) -> (Vec<ModelEvent>, Option<ProviderError>) {
    let mut stream = provider.stream(request, CancellationToken::new());
    let mut events = Vec::new();
    while let Some(event) = stream.next().await {
        match event {
            Ok(event) => events.push(event),
            Err(error) => {
                assert!(stream.next().await.is_none(), "nothing comes after an error");
                return (events, Some(error));
            }
        }
    }
    (events, None)
}

/// The events of a call that must succeed.
pub(crate) async fn answer(provider: &impl Provider) -> Vec<ModelEvent> {
    match call(provider).await {
        (events, None) => events,
        (events, Some(error)) => panic!("{error:?} after {events:?}"),
    }
}

/// The error of a call that must fail, after it has been checked for the key.
pub(crate) async fn failure(provider: &impl Provider) -> ProviderError {
    let (events, error) = call(provider).await;
    let error = error.unwrap_or_else(|| panic!("an error was expected after {events:?}"));
    let shown = format!("{error} {error:?} {:?}", error.hint());
    assert!(!shown.contains(KEY), "{shown}");
    error
}

/// The visible text of an answer.
pub(crate) fn text(events: &[ModelEvent]) -> String {
    let texts = events.iter().filter_map(|event| match event {
        ModelEvent::TextDelta(text) => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}
