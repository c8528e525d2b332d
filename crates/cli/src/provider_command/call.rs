//! One small call, and what was seen of it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use robota_core::{
    FinishReason, Message, ModelEvent, ModelRequest, PayloadKind, Provider, ProviderError, RawCapture,
    Timestamp, ToolClass, ToolSpec, Usage,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// Most output tokens of a call: enough for a word behind a short thought.
const MAX_OUTPUT_TOKENS: u32 = 64;

/// The tool that a model is asked to call.
const TOOL: &str = "ping";

/// What was seen of a call.
#[derive(Default)]
pub(super) struct Seen {
    /// Until the first event of the answer.
    pub(super) first_byte: Option<Duration>,
    pub(super) total: Duration,
    pub(super) text: String,
    pub(super) called_tool: bool,
    pub(super) usage: Option<Usage>,
    pub(super) finish: Option<FinishReason>,
    /// The whole of an answer that was no stream.
    pub(super) body: Option<Value>,
    pub(super) error: Option<ProviderError>,
}

/// Asks `model` for one word.
pub(super) fn word(model: &str) -> ModelRequest {
    request(model, "Answer with the single word OK.")
}

/// Asks `model` to call a tool.
pub(super) fn tool_call(model: &str) -> ModelRequest {
    let mut request = request(model, &format!("Call the tool `{TOOL}` now."));
    let mut tool =
        ToolSpec::new(TOOL, ToolClass::Inspect, "Answers with pong. Call it when you are asked to.");
    tool.input_schema = json!({"type": "object", "properties": {}, "additionalProperties": false});
    request.tools = Arc::new([Arc::new(tool)]);
    request
}

fn request(model: &str, prompt: &str) -> ModelRequest {
    let message = Message::user("test", Timestamp::default(), prompt);
    let mut request = ModelRequest::new(model, vec![message.into()]);
    request.max_output_tokens = Some(MAX_OUTPUT_TOKENS);
    // Says when the first byte came, and what came in the place of a stream.
    request.raw_capture = RawCapture::Responses;
    request
}

/// Sends `request` and reads the answer to its end.
pub(super) async fn make(provider: &dyn Provider, request: ModelRequest) -> Seen {
    let started = Instant::now();
    let mut seen = Seen::default();
    let mut stream = provider.stream(request, CancellationToken::new());
    while let Some(event) = stream.next().await {
        let event = match event {
            Ok(event) => event,
            Err(error) => {
                seen.error = Some(error);
                break;
            }
        };
        seen.first_byte.get_or_insert_with(|| started.elapsed());
        match event {
            ModelEvent::TextDelta(text) => seen.text.push_str(&text),
            ModelEvent::ToolCallStart { .. } => seen.called_tool = true,
            ModelEvent::Usage(usage) => seen.usage = Some(usage),
            ModelEvent::Finish(reason) => seen.finish = Some(reason),
            ModelEvent::Raw { kind: PayloadKind::Response, payload } => seen.body = Some(payload),
            _ => {}
        }
    }
    seen.total = started.elapsed();
    seen
}
