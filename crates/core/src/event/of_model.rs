//! What of a model's answer is shown while it arrives.

use super::EventKind;
use crate::ModelEvent;

impl EventKind {
    /// The event that shows `event` as it comes; `None` for what is part of the finished answer alone.
    #[must_use]
    pub fn of_model(event: ModelEvent) -> Option<Self> {
        Some(match event {
            ModelEvent::TextDelta(delta) => Self::TextDelta { delta },
            ModelEvent::ThinkingDelta(delta) => Self::ThinkingDelta { delta },
            ModelEvent::ServerTool { tool, query } => Self::ServerTool { tool, query },
            ModelEvent::Retry { attempt, max_attempts, delay_ms, reason, status, abandoned } => {
                Self::ProviderRetry { attempt, max_attempts, delay_ms, reason, status, abandoned }
            }
            ModelEvent::Fallback { provider, model, reason, abandoned } => {
                Self::ProviderFallback { provider, model, reason, abandoned }
            }
            ModelEvent::Started { .. }
            | ModelEvent::ThinkingEnd { .. }
            | ModelEvent::RedactedThinking(_)
            | ModelEvent::ToolCallStart { .. }
            | ModelEvent::ToolCallArguments { .. }
            | ModelEvent::ToolCallEnd { .. }
            | ModelEvent::Citation(_)
            | ModelEvent::NativeContent { .. }
            | ModelEvent::Usage(_)
            | ModelEvent::Raw { .. }
            | ModelEvent::Finish(_) => return None,
        })
    }
}
