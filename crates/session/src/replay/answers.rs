//! The answers of the model that a log records, to be given again.

use std::borrow::Borrow;

use robota_core::{
    Body, Citation, Event, EventKind, FinishReason, HistoryMutation, Message, MessageRef, MessageState,
    ModelEvent, Part, ProviderErrorKind, RecordedAnswer, RecordedFailure, RequestDigest, RequestPurpose,
    Usage,
};

use crate::log::LogFold;

/// What the model answered to each call of the session that `events` record, in the order of the calls, those of
/// compactions included: what a provider needs to take the session through the same conversation again.
///
/// A call that failed fails the same way, after the part of its answer that was kept. Retries are not repeated. Events
/// of another session than the first, and events that come a second time, are passed over.
pub fn recorded_answers<I>(events: I) -> Vec<RecordedAnswer>
where
    I: IntoIterator,
    I::Item: Borrow<Event>,
{
    let mut answers = Answers::default();
    let mut fold = None;
    for event in events {
        let event = event.borrow();
        let fold = fold.get_or_insert_with(|| LogFold::new(event.session_id.clone()));
        if fold.take_event(event).counts() {
            answers.take(event);
        }
    }
    answers.close(None);
    answers.done
}

/// The events that `message` was made of, for a provider called `provider`; `None` for an empty answer.
pub(super) fn events_of(message: Option<&Message>, provider: &str) -> Vec<ModelEvent> {
    let mut events = Vec::new();
    let Some(message) = message else { return events };
    let Body::Assistant { content, parts, tool_calls, reasoning } = &message.body else { return events };
    if let Some(other) = reasoning.iter().map(|block| &block.provider).find(|other| *other != provider) {
        // The mark of who wrote it is part of every later request.
        events.push(ModelEvent::Fallback {
            provider: other.clone(),
            model: String::new(),
            reason: "as it was recorded".to_owned(),
            abandoned: false,
        });
    }
    for block in reasoning {
        if let Some(data) = &block.redacted {
            events.push(ModelEvent::RedactedThinking(data.clone()));
        } else {
            events.push(ModelEvent::ThinkingDelta(block.text.clone()));
            events.push(ModelEvent::ThinkingEnd { signature: block.signature.clone() });
        }
    }
    events.extend(content.iter().map(|text| ModelEvent::TextDelta(text.clone())));
    for (index, call) in tool_calls.iter().enumerate() {
        events.push(ModelEvent::ToolCallStart { index, id: call.id.clone(), name: call.name.clone() });
        events.push(ModelEvent::ToolCallArguments { index, delta: call.arguments.clone() });
        events.push(ModelEvent::ToolCallEnd { index });
    }
    let citations = message.metadata.get("citations").cloned();
    let citations = citations.and_then(|citations| serde_json::from_value::<Vec<Citation>>(citations).ok());
    events.extend(citations.into_iter().flatten().map(ModelEvent::Citation));
    for part in parts {
        if let Part::Native { format, items } = part {
            events.push(ModelEvent::NativeContent { format: format.clone(), items: items.clone() });
        }
    }
    events
}

#[derive(Default)]
struct Answers {
    done: Vec<RecordedAnswer>,
    open: Option<Open>,
}

/// A call whose answer has not come to its end.
struct Open {
    turn: u32,
    provider: String,
    purpose: RequestPurpose,
    digest: Option<RequestDigest>,
    server_tools: Vec<ModelEvent>,
    whole: Option<Whole>,
    /// The message of the answer, or what was kept of one that broke off.
    message: Option<MessageRef>,
    summary: Option<String>,
    failure: Option<RecordedFailure>,
}

/// What is told of a whole answer.
struct Whole {
    message_id: String,
    started: ModelEvent,
    finish: FinishReason,
    usage: Usage,
}

impl Answers {
    fn take(&mut self, event: &Event) {
        if let EventKind::ProviderRequest { provider, purpose, digest, .. } = &event.kind {
            self.close(Some(event.turn));
            self.open = Some(Open::new(event.turn, provider, *purpose, *digest));
            return;
        }
        if matches!(event.kind, EventKind::Complete { .. }) {
            self.close(None);
        }
        if let Some(open) = &mut self.open {
            open.take(event);
        }
    }

    /// The call is over; another one follows in the turn `next`.
    fn close(&mut self, next: Option<u32>) {
        self.done.extend(self.open.take().map(|open| open.into_answer(next)));
    }
}

impl Open {
    fn new(turn: u32, provider: &str, purpose: RequestPurpose, digest: Option<RequestDigest>) -> Self {
        Self {
            turn,
            provider: provider.to_owned(),
            purpose,
            digest,
            server_tools: Vec::new(),
            whole: None,
            message: None,
            summary: None,
            failure: None,
        }
    }

    fn take(&mut self, event: &Event) {
        match &event.kind {
            EventKind::ServerTool { tool, query } => {
                self.server_tools.push(ModelEvent::ServerTool { tool: tool.clone(), query: query.clone() });
            }
            EventKind::ProviderRetry { .. } | EventKind::ProviderFallback { .. } => self.server_tools.clear(),
            EventKind::ProviderResponseNormalized {
                message_id,
                response_id,
                model,
                finish_reason,
                usage,
                ..
            } => {
                let (response_id, model) = (response_id.clone(), Some(model.clone()));
                self.whole = Some(Whole {
                    message_id: message_id.clone(),
                    started: ModelEvent::Started { response_id, model },
                    finish: finish_reason.clone(),
                    usage: *usage,
                });
            }
            EventKind::HistoryMutation(HistoryMutation::AppendMessage { message, .. })
                if self.is_made_of(message) =>
            {
                self.message = Some(message.clone());
            }
            EventKind::CompactSummary { summary, .. } => self.summary = Some(summary.clone()),
            EventKind::Error { code, message, status, .. } => {
                self.failure = Some(RecordedFailure::new(kind_of_code(code), message.as_str(), *status));
            }
            EventKind::Interrupted { .. } => {
                let message = "the turn was interrupted here";
                self.failure = Some(RecordedFailure::new(ProviderErrorKind::Cancelled, message, None));
            }
            _ => {}
        }
    }

    /// Whether `message` is what the answer became.
    fn is_made_of(&self, message: &Message) -> bool {
        match &self.whole {
            Some(whole) => whole.message_id == message.id,
            None => {
                let partial = message.state == MessageState::Interrupted && message.role() == "assistant";
                partial && matches!(self.purpose, RequestPurpose::Turn)
            }
        }
    }

    fn into_answer(self, next: Option<u32>) -> RecordedAnswer {
        let Self { turn, provider, digest, server_tools, whole, message, summary, failure, .. } = self;
        let mut said = events_of(message.as_deref(), &provider);
        if let Some(whole) = whole {
            // Whoever else answers is told first.
            let switched = usize::from(matches!(said.first(), Some(ModelEvent::Fallback { .. })));
            let mut events: Vec<ModelEvent> = said.drain(..switched).collect();
            events.push(whole.started);
            events.extend(server_tools);
            events.append(&mut said);
            events.push(ModelEvent::Usage(whole.usage));
            events.push(ModelEvent::Finish(whole.finish));
            return RecordedAnswer::new(events).to_request(digest);
        }
        if let Some(summary) = summary {
            let events = vec![ModelEvent::TextDelta(summary), ModelEvent::Finish(FinishReason::EndTurn)];
            return RecordedAnswer::new(events).to_request(digest);
        }
        let failure = failure.unwrap_or_else(|| match next {
            // A turn goes on after a call that failed only where the provider refused its length.
            Some(next) if next == turn => {
                let message = "the request was too long for the model";
                RecordedFailure::new(ProviderErrorKind::ContextLength, message, None)
            }
            _ => {
                let message = "the call failed, and the recording does not say why";
                RecordedFailure::new(ProviderErrorKind::Server, message, None)
            }
        });
        RecordedAnswer::new(said).to_request(digest).failing(failure)
    }
}

/// The kind of failure that an error code of the log stands for, as far as that is known.
fn kind_of_code(code: &str) -> ProviderErrorKind {
    const KINDS: [ProviderErrorKind; 6] = [
        ProviderErrorKind::Authentication,
        ProviderErrorKind::NotFound,
        ProviderErrorKind::RateLimit,
        ProviderErrorKind::Network,
        ProviderErrorKind::Configuration,
        ProviderErrorKind::InvalidRequest,
    ];
    KINDS.into_iter().find(|kind| kind.code() == code).unwrap_or(ProviderErrorKind::Server)
}
