//! Native payloads of one model call, on their way to the log.

use std::fmt;

use serde_json::Value;

use crate::{EventKind, EventSink, PayloadKind};

/// How many stream events share one line of the log.
const BATCH: usize = 256;

/// Hands the native payloads of one model call on to the log (seed `000`, `provider_native_raw_payload`):
/// stream events in batches, everything else at once. What waits is handed on when it is dropped, so that
/// nothing is lost however the call ends.
pub struct RawPayloads<'a> {
    provider: String,
    round: u32,
    sequence: u32,
    waiting: Vec<Value>,
    sink: &'a dyn EventSink,
}

impl<'a> RawPayloads<'a> {
    /// For a call to `provider`, the number `round` of its turn or of its compaction.
    pub fn new(provider: String, round: u32, sink: &'a dyn EventSink) -> Self {
        Self { provider, round, sequence: 0, waiting: Vec::new(), sink }
    }

    /// Takes the payload of a [`ModelEvent::Raw`](crate::ModelEvent::Raw).
    pub fn take(&mut self, kind: PayloadKind, payload: Value) {
        if kind == PayloadKind::StreamEvent {
            self.waiting.push(payload);
            if self.waiting.len() >= BATCH {
                self.hand_on_waiting();
            }
        } else {
            self.hand_on_waiting();
            self.hand_on(kind, payload);
        }
    }

    /// The payloads from here on are those of another provider.
    pub fn go_on_with(&mut self, provider: &str) {
        self.hand_on_waiting();
        provider.clone_into(&mut self.provider);
    }

    fn hand_on_waiting(&mut self) {
        if !self.waiting.is_empty() {
            let events = std::mem::take(&mut self.waiting);
            self.hand_on(PayloadKind::StreamEvent, events.into());
        }
    }

    fn hand_on(&mut self, payload_kind: PayloadKind, payload: Value) {
        self.sink.emit(EventKind::ProviderNativeRawPayload {
            round: self.round,
            provider: self.provider.clone(),
            payload_kind,
            sequence: self.sequence,
            payload,
        });
        self.sequence += 1;
    }
}

impl fmt::Debug for RawPayloads<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RawPayloads").field("round", &self.round).finish_non_exhaustive()
    }
}

impl Drop for RawPayloads<'_> {
    fn drop(&mut self) {
        self.hand_on_waiting();
    }
}
