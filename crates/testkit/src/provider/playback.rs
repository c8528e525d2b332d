//! Replies as model events.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{self, StreamExt};
use robota_core::{ModelEvent, ModelStream, PayloadKind, ProviderError, ProviderErrorKind};
use serde_json::Value;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::Reply;
use crate::director::{Active, Director};
use crate::script::{Content, ErrorReply, Step, stated_stop, stated_usage};

/// One step in playing a reply.
pub(super) enum Action {
    Emit(Result<ModelEvent, ProviderError>),
    Gate(String),
    Pause(u64),
    /// Bytes that mean nothing, but end a silence.
    SignOfLife,
}

/// The actions of a reply to the request `number`; with `captures`, raw bytes become native payloads.
pub(super) fn actions(reply: &Reply, model: &str, number: usize, captures: bool) -> VecDeque<Action> {
    let mut actions = VecDeque::new();
    actions.extend(reply.hold_at.clone().map(Action::Gate));
    match &reply.content {
        Content::Steps(steps) => {
            let writer = Writer { actions, begun: false, model, number, captures, calls: 0, open: None };
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
    captures: bool,
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
            Step::Ping => {
                self.begin();
                self.actions.push_back(Action::SignOfLife);
            }
            Step::Raw(bytes) if self.captures => {
                let text = String::from_utf8_lossy(&bytes.0).into_owned();
                self.emit(ModelEvent::Raw { kind: PayloadKind::StreamEvent, payload: Value::String(text) });
            }
            Step::Raw(_) => self.actions.push_back(Action::SignOfLife),
            Step::Event(event) => self.emit(event.as_ref().clone()),
            Step::Gate(name) => self.actions.push_back(Action::Gate(name.clone())),
            Step::PauseMs(millis) => self.actions.push_back(Action::Pause(*millis)),
            Step::ServerTool { name, input, .. } => {
                let asked = [&input["query"], &input["url"]].into_iter().find_map(Value::as_str);
                let query = asked.map_or_else(|| input.to_string(), str::to_owned);
                self.content([ModelEvent::ServerTool { tool: name.clone(), query }]);
            }
            Step::Citation(citation) => self.content([ModelEvent::Citation(citation.clone())]),
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

/// Plays the actions; ends with an error when `cancel` fires, or when nothing comes for `idle`.
pub(super) fn play(
    actions: VecDeque<Action>,
    director: Arc<Director>,
    cancel: CancellationToken,
    idle: Option<Duration>,
    active: Active,
) -> ModelStream {
    let playing = (actions, director, cancel, active);
    stream::unfold(playing, move |(mut actions, director, cancel, active)| async move {
        if actions.is_empty() {
            return None;
        }
        let item = {
            let next = next_item(&mut actions, &director, idle);
            cancel.run_until_cancelled(next).await.unwrap_or_else(|| {
                let message = "the model call was cancelled";
                Some(Err(ProviderError::new(ProviderErrorKind::Cancelled, message)))
            })?
        };
        if item.is_err() {
            actions.clear();
        }
        Some((item, (actions, director, cancel, active)))
    })
    .boxed()
}

/// The next item of the stream. Several waits without a sign of life between them are one silence.
async fn next_item(
    actions: &mut VecDeque<Action>,
    director: &Director,
    idle: Option<Duration>,
) -> Option<Result<ModelEvent, ProviderError>> {
    loop {
        let silence = async {
            loop {
                match actions.pop_front() {
                    Some(Action::Gate(name)) => director.gate(&name).pass().await,
                    Some(Action::Pause(millis)) => tokio::time::sleep(Duration::from_millis(millis)).await,
                    action => return action,
                }
            }
        };
        let action = match idle {
            Some(idle) => match timeout(idle, silence).await {
                Ok(action) => action,
                Err(_) => {
                    let message = format!("the scripted provider sent nothing for {idle:?}");
                    return Some(Err(ProviderError::new(ProviderErrorKind::Timeout, message)));
                }
            },
            None => silence.await,
        };
        match action? {
            Action::Emit(item) => return Some(item),
            Action::Gate(_) | Action::Pause(_) | Action::SignOfLife => {}
        }
    }
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
        402 | 403 => ProviderErrorKind::Permission,
        404 => ProviderErrorKind::NotFound,
        408 | 504 => ProviderErrorKind::Timeout,
        413 => ProviderErrorKind::ContextLength,
        429 => ProviderErrorKind::RateLimit,
        // A conflict is a passing state of the service.
        409 => ProviderErrorKind::Server,
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
