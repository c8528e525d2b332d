//! What a log says about the model calls of a session, turn by turn.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use robota_core::{
    Body, Event, EventKind, FinishReason, HistoryMutation, MessageRef, MessageState, ModelRequest,
    RequestDigest, RequestPurpose, ResponseFormat, TurnEnd,
};

use super::settings::Settings;
use crate::log::{LogFold, Taken};

/// A recorded piece of a session that can be run again.
pub(super) enum Recorded {
    /// A turn.
    Turn(RecordedTurn),
    /// A compaction.
    Compaction(Arc<RecordedCompaction>),
}

/// One recorded turn, from its prompt on.
pub(super) struct RecordedTurn {
    pub(super) turn: u32,
    pub(super) settings: Arc<Settings>,
    pub(super) max_rounds: u32,
    /// The form that its answers had to have.
    pub(super) response_format: Option<ResponseFormat>,
    /// Secrets were taken out of it.
    form_redacted: bool,
    /// The history before the prompt.
    pub(super) before: Vec<MessageRef>,
    /// `None` when the log does not hold it.
    pub(super) prompt: Option<MessageRef>,
    pub(super) requests: Vec<RecordedRequest>,
    pub(super) results: Results,
    /// How the turn ended; `None` when the log does not say.
    pub(super) ended: Option<TurnEnd>,
    /// Number of its last event.
    pub(super) last_seq: u64,
}

/// The results of a turn's calls, by the number of requests made before and the id of the call: an id may come again
/// when its first call is compacted away.
pub(super) type Results = HashMap<(usize, String), MessageRef>;

/// One recorded model call of a turn.
pub(super) struct RecordedRequest {
    pub(super) seq: u64,
    pub(super) last_words: bool,
    pub(super) digest: Option<RequestDigest>,
    /// Secrets were taken out of something it sends.
    pub(super) redacted: bool,
    /// What became of the history since the request before, or since the prompt.
    pub(super) changes: Vec<Change>,
    /// `None` when the call was cut off.
    pub(super) answer: Option<RecordedAnswer>,
}

/// A change of the messages within a turn.
#[derive(Clone)]
pub(super) enum Change {
    /// The engine appended an answer or a result.
    Own(MessageRef),
    /// Somebody else appended something.
    Said(MessageRef),
    /// The messages are others now.
    Become(Vec<MessageRef>),
}

/// A whole answer of the model.
pub(super) struct RecordedAnswer {
    message_id: String,
    pub(super) finish: FinishReason,
    /// `None` for an empty answer.
    pub(super) message: Option<MessageRef>,
}

/// One recorded compaction: its model calls, and what they came to.
pub(super) struct RecordedCompaction {
    pub(super) turn: u32,
    pub(super) settings: Arc<Settings>,
    /// What it was asked for; `None` in logs of before it was recorded.
    pub(super) start: Option<CompactionStart>,
    /// The messages that were to be compacted.
    pub(super) before: Vec<MessageRef>,
    /// What was added to them while they were summarised.
    pub(super) added: Vec<MessageRef>,
    /// Secrets were taken out of something that it depends on.
    pub(super) redacted: bool,
    pub(super) requests: Vec<CompactionRequest>,
    /// The messages from then on; `None` when it came to nothing.
    pub(super) replacement: Option<Vec<MessageRef>>,
}

/// What a compaction was asked for, with what hooks have added, and the size of its window.
#[derive(Clone)]
pub(super) struct CompactionStart {
    pub(super) request: crate::CompactionRequest,
    pub(super) context_window: u64,
}

impl CompactionStart {
    /// What `event` tells of it; `None` when it is about something else.
    fn of(event: &EventKind) -> Option<Self> {
        let EventKind::CompactStart { trigger, goal, instructions, coming_bytes, context_window } = event
        else {
            return None;
        };
        let mut request = crate::CompactionRequest::manual();
        request.trigger = *trigger;
        request.goal = goal.and_then(|share| share.try_into().ok());
        request.instructions.clone_from(instructions);
        request.coming_bytes = *coming_bytes;
        Some(Self { request, context_window: *context_window })
    }
}

/// One recorded model call of a compaction.
pub(super) struct CompactionRequest {
    pub(super) seq: u64,
    /// Number of its part, from 1.
    pub(super) part: u32,
    /// How many messages the log says there were.
    pub(super) told_length: usize,
    pub(super) digest: Option<RequestDigest>,
    /// The summary of everything up to this part; `None` when the call was cut off or failed.
    pub(super) summary: Option<String>,
}

impl RecordedTurn {
    /// The request number `index`, from 0, as the log tells it.
    pub(super) fn as_told(&self, index: usize) -> Option<ModelRequest> {
        let last_words = self.requests.get(index)?.last_words;
        let mut messages = self.before.clone();
        messages.extend(self.prompt.clone());
        for change in self.requests.iter().take(index + 1).flat_map(|request| &request.changes) {
            match change {
                Change::Own(message) | Change::Said(message) => messages.push(message.clone()),
                Change::Become(all) => messages.clone_from(all),
            }
        }
        let mut request = self.settings.request(&messages, last_words);
        if self.response_format.is_some() && !last_words {
            request.response_format.clone_from(&self.response_format);
        }
        Some(request)
    }
}

/// Whether a turn that ended like this made every model call it had in mind.
pub(super) const fn went_to_its_end(ended: TurnEnd) -> bool {
    matches!(ended, TurnEnd::Completed | TurnEnd::MaxRounds | TurnEnd::Refused | TurnEnd::OutputLimit)
}

/// Takes events and hands out what they record, one piece at a time.
#[derive(Default)]
pub(super) struct Recorder {
    fold: Option<LogFold>,
    settings: Arc<Settings>,
    /// Ids of messages from which secrets were taken out.
    redacted: BTreeSet<String>,
    turn: Option<RecordedTurn>,
    /// Changes of the turn that no request has shown yet.
    changes: Vec<Change>,
    compaction: Option<RecordedCompaction>,
    finished: VecDeque<Recorded>,
}

impl Recorder {
    /// Takes the next event.
    pub(super) fn take(&mut self, event: &Event) {
        let fold = self.fold.get_or_insert_with(|| LogFold::new(event.session_id.clone()));
        let (length, taken) = (fold.history().messages().len(), fold.take_event(event));
        if !Taken::counts(taken) {
            return;
        }
        if let Some(settings) = self.settings.after(event) {
            self.end();
            self.settings = Arc::new(settings);
            // The session goes on with the history as the log has it.
            self.redacted.clear();
        }
        match &event.kind {
            EventKind::HistoryMutation(mutation) => self.changed(event, mutation, length),
            EventKind::PreRun { max_rounds, response_format, .. } => {
                self.begin_turn(event, *max_rounds, response_format.clone());
            }
            EventKind::ProviderRequest { purpose: RequestPurpose::Compaction, .. } => {
                self.compaction_requested(event);
            }
            EventKind::ProviderRequest { .. } => self.requested(event),
            EventKind::ProviderResponseNormalized { message_id, finish_reason, .. } => {
                if let Some(request) = self.turn.as_mut().and_then(|turn| turn.requests.last_mut()) {
                    let (message_id, finish) = (message_id.clone(), finish_reason.clone());
                    request.answer = Some(RecordedAnswer { message_id, finish, message: None });
                }
            }
            EventKind::CompactStart { .. } => {
                self.end_compaction(false);
                self.begin_compaction(event);
            }
            EventKind::CompactSummary { part, summary, .. } => {
                let Some(compaction) = &mut self.compaction else { return };
                compaction.redacted |= event.redacted;
                if let Some(request) = compaction.requests.last_mut().filter(|last| last.part == *part) {
                    request.summary = Some(summary.clone());
                }
            }
            EventKind::ContextCompact { .. } => self.end_compaction(true),
            EventKind::Complete { ended, .. } => {
                if let Some(turn) = &mut self.turn {
                    turn.ended = Some(*ended);
                    turn.last_seq = event.seq;
                }
                self.end();
            }
            _ => {}
        }
    }

    /// The next piece that is recorded whole.
    pub(super) fn next(&mut self) -> Option<Recorded> {
        self.finished.pop_front()
    }

    /// The log has come to its end, or to a place where whatever went on has ended.
    pub(super) fn end(&mut self) {
        self.end_compaction(false);
        self.changes.clear();
        self.finished.extend(self.turn.take().map(Recorded::Turn));
    }

    fn messages(&self) -> &[MessageRef] {
        self.fold.as_ref().map_or(&[], |fold| fold.history().messages())
    }

    fn begin_turn(&mut self, event: &Event, max_rounds: u32, response_format: Option<ResponseFormat>) {
        self.end();
        // The prompt is the last message of the history that a turn begins with.
        let messages = self.messages();
        let prompt = messages.last().filter(|message| message.role() == "user").cloned();
        let before = messages.len() - usize::from(prompt.is_some());
        self.turn = Some(RecordedTurn {
            turn: event.turn,
            settings: Arc::clone(&self.settings),
            max_rounds,
            form_redacted: event.redacted && response_format.is_some(),
            response_format,
            before: messages.get(..before).unwrap_or_default().to_vec(),
            prompt,
            requests: Vec::new(),
            results: HashMap::new(),
            ended: None,
            last_seq: event.seq,
        });
    }

    fn requested(&mut self, event: &Event) {
        let EventKind::ProviderRequest { digest, last_words, .. } = &event.kind else { return };
        self.end_compaction(false);
        if self.turn.as_ref().is_none_or(|turn| turn.turn != event.turn) {
            // The line that begins the turn is lost.
            self.begin_turn(event, 0, None);
        }
        let form_redacted = self.turn.as_ref().is_some_and(|turn| turn.form_redacted);
        let request = RecordedRequest {
            seq: event.seq,
            last_words: *last_words,
            digest: *digest,
            redacted: form_redacted || self.settings.redacted || !self.redacted.is_empty(),
            changes: std::mem::take(&mut self.changes),
            answer: None,
        };
        if let Some(turn) = &mut self.turn {
            turn.last_seq = event.seq;
            turn.requests.push(request);
        }
    }

    fn begin_compaction(&mut self, event: &Event) {
        self.compaction = Some(RecordedCompaction {
            turn: event.turn,
            settings: Arc::clone(&self.settings),
            start: CompactionStart::of(&event.kind),
            before: self.messages().to_vec(),
            added: Vec::new(),
            redacted: event.redacted || self.settings.redacted || !self.redacted.is_empty(),
            requests: Vec::new(),
            replacement: None,
        });
    }

    fn compaction_requested(&mut self, event: &Event) {
        let EventKind::ProviderRequest { round, history, digest, .. } = &event.kind else { return };
        let goes_on = |compaction: &RecordedCompaction| {
            let last = compaction.requests.last();
            compaction.turn == event.turn
                && compaction.replacement.is_none()
                && last.is_none_or(|last| last.part < *round || last.summary.is_none())
        };
        if !self.compaction.as_ref().is_some_and(goes_on) {
            self.end_compaction(false);
            self.begin_compaction(event);
        }
        let Some(compaction) = &mut self.compaction else { return };
        if compaction.start.is_some()
            && compaction.requests.is_empty()
            && history.length < compaction.before.len()
        {
            // What was added while hooks were asked.
            compaction.added = compaction.before.split_off(history.length);
        }
        compaction.requests.push(CompactionRequest {
            seq: event.seq,
            part: *round,
            told_length: history.length,
            digest: *digest,
            summary: None,
        });
    }

    /// The compaction is over. Only the event at its end, `done`, says that the messages were replaced by it,
    /// and not by something else after it had failed.
    fn end_compaction(&mut self, done: bool) {
        let Some(mut compaction) = self.compaction.take() else { return };
        compaction.replacement.take_if(|_| !done);
        if !compaction.requests.is_empty() {
            self.finished.push_back(Recorded::Compaction(compaction.into()));
        }
    }

    /// The messages were `length` before `mutation`, and are what the fold has made of it since.
    fn changed(&mut self, event: &Event, mutation: &HistoryMutation, length: usize) {
        match mutation {
            HistoryMutation::AppendMessage { message, .. } => {
                if self.messages().len() == length {
                    return;
                }
                if event.redacted {
                    self.redacted.insert(message.id.clone());
                }
                self.appended(message);
            }
            HistoryMutation::AppendEntry { .. } => {}
            _ => {
                let messages = self.messages().to_vec();
                let there: BTreeSet<&str> = messages.iter().map(|message| message.id.as_str()).collect();
                self.redacted.retain(|id| there.contains(id.as_str()));
                if event.redacted && matches!(mutation, HistoryMutation::Replace { .. }) {
                    self.redacted.extend(there.into_iter().map(str::to_owned));
                }
                let replaced = matches!(mutation, HistoryMutation::Replace { .. });
                if let Some(compaction) = self.compaction.as_mut().filter(|_| replaced) {
                    compaction.redacted |= event.redacted;
                    compaction.replacement = Some(messages.clone());
                }
                self.change(Change::Become(messages));
            }
        }
    }

    fn appended(&mut self, message: &MessageRef) {
        if let Some(compaction) = &mut self.compaction {
            compaction.added.push(message.clone());
        }
        let own = matches!(message.body, Body::Assistant { .. } | Body::Tool { .. });
        self.change(if own { Change::Own(message.clone()) } else { Change::Said(message.clone()) });
        let Some(turn) = &mut self.turn else { return };
        if let Some(call_id) = message.answers() {
            let place = (turn.requests.len(), call_id.to_owned());
            turn.results.entry(place).or_insert_with(|| message.clone());
        } else if message.state == MessageState::Complete
            && let Some(answer) = turn.requests.last_mut().and_then(|request| request.answer.as_mut())
            && answer.message_id == message.id
        {
            answer.message = Some(message.clone());
        }
    }

    fn change(&mut self, change: Change) {
        if self.turn.is_some() {
            self.changes.push(change);
        }
    }
}
