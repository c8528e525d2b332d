//! A model that asks for one call and is content with what comes of it.

use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::stream;
use robota_core::{
    Capabilities, FinishReason, ModelEvent, ModelRequest, ModelStream, Provider, ProviderInfo,
};
use tokio_util::sync::CancellationToken;

/// Id of the call.
pub(super) const CALL_ID: &str = "call";

pub(super) struct OneCall {
    info: ProviderInfo,
    name: String,
    arguments: String,
    asked: AtomicBool,
}

impl OneCall {
    pub(super) fn new(name: &str, arguments: String) -> Self {
        let capabilities = Capabilities { tools: true, images: true, ..Capabilities::default() };
        let info = ProviderInfo::new("none", capabilities);
        Self { info, name: name.to_owned(), arguments, asked: AtomicBool::new(false) }
    }
}

impl Provider for OneCall {
    fn info(&self) -> &ProviderInfo {
        &self.info
    }

    fn stream(&self, _: ModelRequest, _: CancellationToken) -> ModelStream {
        let index = 0;
        let events = if self.asked.swap(true, Ordering::Relaxed) {
            vec![ModelEvent::TextDelta("done".to_owned()), ModelEvent::Finish(FinishReason::EndTurn)]
        } else {
            vec![
                ModelEvent::ToolCallStart { index, id: CALL_ID.to_owned(), name: self.name.clone() },
                ModelEvent::ToolCallArguments { index, delta: self.arguments.clone() },
                ModelEvent::ToolCallEnd { index },
                ModelEvent::Finish(FinishReason::ToolUse),
            ]
        };
        Box::pin(stream::iter(events.into_iter().map(Ok)))
    }
}
