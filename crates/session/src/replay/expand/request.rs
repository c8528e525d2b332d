//! The entries of one model call.

use robota_core::{Body, Event, EventKind, HistoryMutation, Message, MessageRef};
use serde_json::{Value, json};

use super::entry::Entry;

/// The model call that goes on.
#[derive(Default)]
pub(super) struct Request {
    turn: u32,
    round: Option<u32>,
    /// Number of its next text delta.
    sequence: u64,
    /// It has text or tool calls, so its answer has a message.
    speaks: bool,
}

impl Request {
    /// The call that `event` announces.
    pub(super) fn begin(event: &Event, round: u32) -> Self {
        Self { turn: event.turn, round: Some(round), sequence: 0, speaks: false }
    }

    /// The entry `provider_stream_raw_delta` of a piece of text.
    pub(super) fn raw_delta(&mut self, event: &Event, delta: &str) -> Value {
        let mut entry = Entry::beside(event, "provider_stream_raw_delta");
        entry.set("sequence", self.sequence);
        entry.set("delta", delta);
        entry.set("round", self.round);
        self.sequence += 1;
        self.speaks |= !delta.is_empty();
        entry.into_value()
    }

    /// What was streamed so far does not count: the answer begins anew.
    pub(super) const fn begin_anew(&mut self) {
        (self.sequence, self.speaks) = (0, false);
    }

    /// Fills in `entry`, that of a complete answer, and gives the entry `provider_response_raw`. `answer` is
    /// its message; an answer that says nothing has none, and one whose message the log has lost neither.
    pub(super) fn answered(
        &mut self,
        event: &Event,
        answer: Option<&MessageRef>,
        entry: &mut Entry,
    ) -> Value {
        let mut raw = Entry::beside(event, "provider_response_raw");
        let EventKind::ProviderResponseNormalized {
            round,
            message_id,
            model,
            tool_calls_count,
            renamed_calls,
            ..
        } = &event.kind
        else {
            return raw.into_value();
        };
        let response = match answer {
            Some(message) => json!(message),
            None if self.speaks || *tool_calls_count > 0 => Value::Null,
            None => json!(nothing_said(event, message_id)),
        };
        raw.set("model", model);
        raw.set("round", round);
        raw.set("responseKind", "provider-normalized-message");
        raw.set("response", as_given(response.clone(), |id| renamed_calls.get(id)));
        entry.executed_by(event);
        entry.set("response", response);
        (self.turn, self.round) = (event.turn, Some(*round));
        raw.into_value()
    }

    /// The entry `assistant_message_committed` of an answer that joins the history in its turn.
    pub(super) fn committed(&self, event: &Event) -> Option<Value> {
        let EventKind::HistoryMutation(HistoryMutation::AppendMessage { message, .. }) = &event.kind else {
            return None;
        };
        let answered = event.turn > 0 && event.turn == self.turn && message.role() == "assistant";
        answered.then(|| {
            let mut entry = Entry::beside(event, "assistant_message_committed");
            entry.set("round", self.round);
            entry.set("message", message);
            entry.into_value()
        })
    }
}

/// The message of an answer that says nothing, which no history keeps.
fn nothing_said(event: &Event, id: &str) -> Message {
    let body =
        Body::Assistant { content: None, parts: Vec::new(), tool_calls: Vec::new(), reasoning: Vec::new() };
    Message::with_body(id, event.timestamp, body)
}

/// `response` with the ids of its calls as the provider gave them.
fn as_given<'a>(mut response: Value, given: impl Fn(&str) -> Option<&'a Value>) -> Value {
    let calls = response.get_mut("toolCalls").and_then(Value::as_array_mut);
    for id in calls.into_iter().flatten().filter_map(|call| call.get_mut("id")) {
        if let Some(before) = id.as_str().and_then(&given) {
            *id = before.clone();
        }
    }
    response
}
