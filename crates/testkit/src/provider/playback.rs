//! Replies as model events.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{self, StreamExt};
use robota_core::{ModelEvent, ModelStream, PayloadKind, ProviderError, ProviderErrorKind};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::Reply;
use crate::director::{Active, Director};
use crate::script::{Content, ErrorReply, Step, stated_stop, stated_usage};

/// One step in playing a reply.
pub(super) enum Action {
    Emit(Result<ModelEvent, ProviderError>),
    Gate(String),
    Pause(u64),
}

/// The actions of a reply to the request `number`.
pub(super) fn actions(reply: &Reply, model: &str, number: usize) -> VecDeque<Action> {
    let mut actions = VecDeque::new();
    actions.extend(reply.hold_at.clone().map(Action::Gate));
    match &reply.content {
        Content::Steps(steps) => {
            let writer = Writer { actions, begun: false, model, number, calls: 0, open: None };
            return writer.write_all(steps);
        }
        Content::Error(error) => actions.push_back(Action::Emit(Err(status_error(error, reply)))),
        Content::Body { status, .. } => {
            let message = "the reply is a plain HTTP body, which a scripted provider cannot read";
            let error = ProviderError::new(ProviderErrorKind::Protocol, message).with_status(*status);
            actions.push_back(Action::Emit(Err(error)));
        }
        Content::HangUp => actions.push_back(Action::Emit(Err(broken()))),
    }
    actions
}

struct Writer<'a> {
    actions: VecDeque<Action>,
    begun: bool,
    model: &'a str,
    number: usize,
    calls: usize,
    /// The call in hand.
    open: Option<usize>,
}

impl Writer<'_> {
    fn write_all(mut self, steps: &[Step]) -> VecDeque<Action> {
        for step in steps {
            let last = self.write(step);
            if last {
                return self.actions;
            }
        }
        self.begin();
        self.close_call();
        if let Some(usage) = stated_usage(steps) {
            self.emit(ModelEvent::Usage(usage));
        }
        self.emit(ModelEvent::Finish(stated_stop(steps)));
        self.actions
    }

    /// Writes one step; true when nothing follows it.
    fn write(&mut self, step: &Step) -> bool {
        match step {
            Step::Text(pieces) => self.content(pieces.0.iter().cloned().map(ModelEvent::TextDelta)),
            Step::Thinking { text, signature } => {
                self.content(text.0.iter().cloned().map(ModelEvent::ThinkingDelta));
                self.emit(ModelEvent::ThinkingEnd { signature: signature.clone() });
            }
            Step::RedactedThinking(data) => self.content([ModelEvent::RedactedThinking(data.clone())]),
            Step::ToolCall { id, name, arguments } => {
                let (index, id, name) = (self.calls, id.clone(), name.clone());
                self.content([ModelEvent::ToolCallStart { index, id, name }]);
                self.open = Some(index);
                self.calls += 1;
                self.arguments(&arguments.0.0);
            }
            Step::Arguments(pieces) => self.arguments(&pieces.0),
            Step::Ping => self.begin(),
            Step::Raw(bytes) => {
                let text = String::from_utf8_lossy(&bytes.0).into_owned();
                self.emit(ModelEvent::Raw { kind: PayloadKind::StreamEvent, payload: Value::String(text) });
            }
            Step::Event(event) => self.emit(event.as_ref().clone()),
            Step::Gate(name) => self.actions.push_back(Action::Gate(name.clone())),
            Step::PauseMs(millis) => self.actions.push_back(Action::Pause(*millis)),
            Step::Usage(_) | Step::Stop(_) => {}
            Step::Cut | Step::End => return self.fail(broken()),
            Step::Error { kind, message } => {
                return self.fail(ProviderError::new(kind_of_type(kind), message.clone()));
            }
        }
        false
    }

    fn begin(&mut self) {
        if !std::mem::replace(&mut self.begun, true) {
            let response_id = Some(format!("scripted_{}", self.number));
            self.emit(ModelEvent::Started { response_id, model: Some(self.model.to_owned()) });
        }
    }

    fn content(&mut self, events: impl IntoIterator<Item = ModelEvent>) {
        self.begin();
        self.close_call();
        for event in events {
            self.emit(event);
        }
    }

    fn arguments(&mut self, pieces: &[String]) {
        if let Some(index) = self.open {
            for delta in pieces.iter().cloned() {
                self.emit(ModelEvent::ToolCallArguments { index, delta });
            }
        }
    }

    fn close_call(&mut self) {
        if let Some(index) = self.open.take() {
            self.emit(ModelEvent::ToolCallEnd { index });
        }
    }

    fn emit(&mut self, event: ModelEvent) {
        self.actions.push_back(Action::Emit(Ok(event)));
    }

    fn fail(&mut self, error: ProviderError) -> bool {
        self.actions.push_back(Action::Emit(Err(error)));
        true
    }
}

/// Plays the actions; ends with an error when `cancel` fires.
pub(super) fn play(
    actions: VecDeque<Action>,
    director: Arc<Director>,
    cancel: CancellationToken,
    active: Active,
) -> ModelStream {
    let playing = (actions, director, cancel, active);
    stream::unfold(playing, |(mut actions, director, cancel, active)| async move {
        let item = loop {
            let action = actions.pop_front()?;
            let signal = async {
                match action {
                    Action::Emit(item) => return Some(item),
                    Action::Gate(name) => director.gate(&name).pass().await,
                    Action::Pause(millis) => tokio::time::sleep(Duration::from_millis(millis)).await,
                }
                None
            };
            match cancel.run_until_cancelled(signal).await {
                Some(Some(item)) => break item,
                Some(None) => {}
                None => {
                    break Err(ProviderError::new(
                        ProviderErrorKind::Cancelled,
                        "the model call was cancelled",
                    ));
                }
            }
        };
        if item.is_err() {
            actions.clear();
        }
        Some((item, (actions, director, cancel, active)))
    })
    .boxed()
}

fn broken() -> ProviderError {
    ProviderError::new(ProviderErrorKind::Network, "the connection broke before the answer was complete")
}

fn status_error(error: &ErrorReply, reply: &Reply) -> ProviderError {
    let kind = error.provider_kind.unwrap_or_else(|| match &error.kind {
        Some(kind) => kind_of_type(kind),
        None => kind_of_status(error.status),
    });
    let result = ProviderError::new(kind, error.message.clone()).with_status(error.status);
    let seconds = reply.headers.get("retry-after").and_then(|value| value.parse().ok());
    match seconds.map(Duration::from_secs) {
        Some(wait) => result.with_retry_after(wait),
        None => result,
    }
}

fn kind_of_status(status: u16) -> ProviderErrorKind {
    match status {
        401 => ProviderErrorKind::Authentication,
        403 => ProviderErrorKind::Permission,
        404 => ProviderErrorKind::NotFound,
        408 | 504 => ProviderErrorKind::Timeout,
        429 => ProviderErrorKind::RateLimit,
        503 | 529 => ProviderErrorKind::Overloaded,
        400..=499 => ProviderErrorKind::InvalidRequest,
        _ => ProviderErrorKind::Server,
    }
}

fn kind_of_type(kind: &str) -> ProviderErrorKind {
    match kind {
        "authentication_error" => ProviderErrorKind::Authentication,
        "permission_error" => ProviderErrorKind::Permission,
        "not_found_error" => ProviderErrorKind::NotFound,
        "rate_limit_error" => ProviderErrorKind::RateLimit,
        "overloaded_error" => ProviderErrorKind::Overloaded,
        "timeout_error" => ProviderErrorKind::Timeout,
        "invalid_request_error" => ProviderErrorKind::InvalidRequest,
        _ => ProviderErrorKind::Server,
    }
}
