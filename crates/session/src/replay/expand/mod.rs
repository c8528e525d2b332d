//! From compact events to the full log entries of seed `000`, Session Logging.

mod entry;
mod messages;
mod request;

use std::borrow::Borrow;
use std::collections::VecDeque;
use std::sync::Arc;

use robota_core::{Event, EventKind, HistoryMutation, Message, MessageRef};
use serde_json::Value;

use self::entry::Entry;
use self::request::Request;
use super::settings::Settings;
use crate::log::LogFold;

/// Most events that wait for the message of an answer. It comes right behind the answer; only entries
/// that others add to the timeline can come between.
const WAITING: usize = 64;

/// Gives each event as the seed has it: `{timestamp, sessionId, event, …}` with full messages, full
/// histories and tools in the place of references to them.
///
/// The fields of the compact form stay, apart from `history` where the full one takes its place. In the
/// entries that come on top, `provider_stream_raw_delta`, `provider_response_raw` and
/// `assistant_message_committed`, `seq` is that of the event they are told by. The execution id is
/// `{session}:{turn}`. Kinds that refer to nothing pass as they are, also those this version does not know.
/// Events of another session than the first and events that come a second time are left out, as for
/// [`replay_session_log_entries`](super::replay_session_log_entries).
///
/// Entries are made one event at a time, so that a history is held once and copied only into the entry
/// that is asked for.
pub fn expand<I>(events: I) -> Expand<I::IntoIter>
where
    I: IntoIterator,
    I::Item: Borrow<Event>,
{
    Expand {
        events: events.into_iter(),
        state: State::default(),
        waiting: VecDeque::new(),
        ready: VecDeque::new(),
    }
}

/// The full entries of a log; see [`expand`].
pub struct Expand<I> {
    events: I,
    state: State,
    /// An answer whose message has not come yet, and what came since.
    waiting: VecDeque<Event>,
    ready: VecDeque<Value>,
}

/// What holds from one event to the next.
#[derive(Default)]
struct State {
    fold: Option<LogFold>,
    settings: Arc<Settings>,
    /// Size of the context window; 0 when unknown.
    max_tokens: u64,
    request: Request,
    /// The number of the batch in the turn: the round that asked for it.
    batch: u32,
}

impl<I> Iterator for Expand<I>
where
    I: Iterator,
    I::Item: Borrow<Event>,
{
    type Item = Value;

    fn next(&mut self) -> Option<Value> {
        while self.ready.is_empty() {
            match self.events.next() {
                Some(event) => self.take(event.borrow()),
                None if self.waiting.is_empty() => return None,
                None => self.release(None),
            }
        }
        self.ready.pop_front()
    }
}

impl<I> Expand<I> {
    fn take(&mut self, event: &Event) {
        if !self.state.admit(event) {
            return;
        }
        if matches!(event.kind, EventKind::ProviderResponseNormalized { .. }) {
            self.release(None);
            self.waiting.push_back(event.clone());
            return;
        }
        let Some(answer) = self.waiting.front() else {
            self.state.expand(event, None, &mut self.ready);
            return;
        };
        match &event.kind {
            EventKind::HistoryMutation(HistoryMutation::AppendMessage { message, .. })
                if names(answer, message) =>
            {
                self.release(Some(message));
            }
            EventKind::HistoryMutation(HistoryMutation::AppendEntry { .. })
                if self.waiting.len() < WAITING =>
            {
                self.waiting.push_back(event.clone());
                return;
            }
            _ => self.release(None),
        }
        self.state.expand(event, None, &mut self.ready);
    }

    /// Expands what waits, now that `message` has come or is known not to.
    fn release(&mut self, message: Option<&MessageRef>) {
        for event in std::mem::take(&mut self.waiting) {
            self.state.expand(&event, message, &mut self.ready);
        }
    }
}

/// Whether `message` is what the answer that `event` tells of became.
fn names(event: &Event, message: &Message) -> bool {
    matches!(&event.kind, EventKind::ProviderResponseNormalized { message_id, .. } if *message_id == message.id)
}

impl State {
    /// Takes note of what `event` changes; false for one that is passed over.
    fn admit(&mut self, event: &Event) -> bool {
        let fold = self.fold.get_or_insert_with(|| LogFold::new(event.session_id.clone()));
        let counts = fold.take_event(event).counts();
        if let Some(settings) = self.settings.after(event).filter(|_| counts) {
            self.settings = Arc::new(settings);
        }
        counts
    }

    /// Adds the entries that `event` stands for to `entries`; `answer` is the message of an answer.
    fn expand(&mut self, event: &Event, answer: Option<&MessageRef>, entries: &mut VecDeque<Value>) {
        let mut entry = Entry::of(event);
        match &event.kind {
            EventKind::Context(context) => self.max_tokens = context.max_tokens,
            EventKind::PreRun { .. } => self.pre_run(&mut entry),
            EventKind::ProviderRequest { .. } => self.provider_request(event, &mut entry),
            EventKind::ProviderNativeRawPayload { .. } | EventKind::ServerTool { .. } => {
                entry.executed_by(event);
            }
            EventKind::TextDelta { delta } => entries.push_back(self.request.raw_delta(event, delta)),
            EventKind::ProviderRetry { .. } | EventKind::ProviderFallback { .. } => self.request.begin_anew(),
            EventKind::ProviderResponseNormalized { round, .. } => {
                self.batch = *round;
                entries.push_back(self.request.answered(event, answer, &mut entry));
            }
            EventKind::ToolBatchStarted { round, .. } => {
                self.batch = *round;
                self.batch_started(event, &mut entry);
            }
            EventKind::ToolExecutionRequest { tool_call_id, .. }
            | EventKind::ToolExecutionResult { tool_call_id, .. } => {
                self.in_batch(event, tool_call_id, &mut entry);
            }
            EventKind::ToolMessageCommitted { tool_call_id, message_id } => {
                self.in_batch(event, tool_call_id, &mut entry);
                entry.set("message", self.message(message_id));
            }
            EventKind::Assistant { message_id, .. } => self.assistant(message_id, &mut entry),
            _ => {}
        }
        entries.push_back(entry.into_value());
        entries.extend(self.request.committed(event));
    }
}
