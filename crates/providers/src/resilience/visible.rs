//! What of an answer somebody may have seen.

use robota_core::ModelEvent;

/// Whether `event` is a piece of an answer that is void when the answer begins anew.
pub(super) const fn is_visible(event: &ModelEvent) -> bool {
    matches!(
        event,
        ModelEvent::TextDelta(_)
            | ModelEvent::ThinkingDelta(_)
            | ModelEvent::ThinkingEnd { .. }
            | ModelEvent::RedactedThinking(_)
            | ModelEvent::ToolCallStart { .. }
            | ModelEvent::Citation(_)
            | ModelEvent::NativeContent { .. }
            | ModelEvent::ServerTool { .. }
    )
}
