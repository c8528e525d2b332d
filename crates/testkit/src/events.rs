//! What happened in a turn, kept for assertions.

use std::sync::{Mutex, MutexGuard, PoisonError};

use futures_util::future::{BoxFuture, FutureExt, ready};
use robota_core::{Error, ErrorKind, EventKind, EventSink};
use serde_json::Value;
use tokio::sync::watch;

use crate::patience;

/// The name of an event as it stands in the log, such as `tool_execution_request`.
#[must_use]
pub fn event_name(kind: &EventKind) -> String {
    let json = serde_json::to_value(kind).unwrap_or_default();
    json["event"].as_str().unwrap_or("unknown").to_owned()
}

/// An [`EventSink`] that keeps everything it gets.
#[derive(Debug, Default)]
pub struct EventRecorder {
    kinds: Mutex<Vec<EventKind>>,
    count: watch::Sender<usize>,
    broken: Mutex<Option<String>>,
}

impl EventRecorder {
    /// A recorder without events.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// All events so far, in order.
    #[must_use]
    pub fn kinds(&self) -> Vec<EventKind> {
        self.lock().clone()
    }

    /// The names of all events so far, in order; see [`event_name`].
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.lock().iter().map(event_name).collect()
    }

    /// The names of the events that stay in the log: without text, thinking and progress.
    #[must_use]
    pub fn durable_names(&self) -> Vec<String> {
        self.lock().iter().filter(|kind| !kind.is_ephemeral()).map(event_name).collect()
    }

    /// What `pick` makes of the first event it wants.
    #[must_use]
    pub fn find<T>(&self, pick: impl FnMut(&EventKind) -> Option<T>) -> Option<T> {
        self.lock().iter().find_map(pick)
    }

    /// How many events are called `name`.
    #[must_use]
    pub fn count(&self, name: &str) -> usize {
        self.lock().iter().filter(|kind| event_name(kind) == name).count()
    }

    /// The events called `name` as JSON, without the envelope.
    #[must_use]
    pub fn json(&self, name: &str) -> Vec<Value> {
        let kinds = self.lock();
        let named = kinds.iter().filter(|kind| event_name(kind) == name);
        named.filter_map(|kind| serde_json::to_value(kind).ok()).collect()
    }

    /// The streamed text, joined.
    #[must_use]
    pub fn text(&self) -> String {
        let kinds = self.lock();
        let deltas = kinds.iter().filter_map(|kind| match kind {
            EventKind::TextDelta { delta } => Some(delta.as_str()),
            _ => None,
        });
        deltas.collect()
    }

    /// Asserts that the events called `names` happened in that order, whatever happened between them.
    ///
    /// # Panics
    ///
    /// When they did not, with all names in the message.
    #[track_caller]
    #[expect(clippy::panic, reason = "an assertion of the test kit")]
    pub fn assert_order(&self, names: &[&str]) {
        let happened = self.names();
        let mut rest = happened.iter();
        for name in names {
            if !rest.any(|event| event == name) {
                panic!("expected {names:?} in this order, but `{name}` is missing in {happened:?}");
            }
        }
    }

    /// Waits until an event happens, or has happened, that `wanted` accepts.
    ///
    /// # Panics
    ///
    /// When none comes within a minute.
    pub async fn wait_for(&self, wanted: impl Fn(&EventKind) -> bool) -> EventKind {
        let mut count = self.count.subscribe();
        let mut seen = 0;
        let signal = async {
            loop {
                count.mark_unchanged();
                let found = {
                    let kinds = self.lock();
                    let fresh = kinds.iter().skip(seen).find(|kind| wanted(kind)).cloned();
                    seen = kinds.len();
                    fresh
                };
                if let Some(kind) = found {
                    return kind;
                }
                // The sender is a part of this recorder, so it cannot be gone.
                let _ = count.changed().await;
            }
        };
        patience::wait_for(signal, || format!("the event did not come; there were {:?}", self.names())).await
    }

    /// Lets every further [`EventSink::written`] fail with a storage error that says `message`.
    pub fn break_log(&self, message: impl Into<String>) {
        *self.broken.lock().unwrap_or_else(PoisonError::into_inner) = Some(message.into());
    }

    fn lock(&self) -> MutexGuard<'_, Vec<EventKind>> {
        self.kinds.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl EventSink for EventRecorder {
    fn emit(&self, kind: EventKind) {
        let mut kinds = self.lock();
        kinds.push(kind);
        self.count.send_replace(kinds.len());
    }

    fn written(&self) -> BoxFuture<'_, Result<(), Error>> {
        let broken = self.broken.lock().unwrap_or_else(PoisonError::into_inner);
        let result = match &*broken {
            Some(message) => Err(Error::new(ErrorKind::Storage, message.clone())),
            None => Ok(()),
        };
        ready(result).boxed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(delta: &str) -> EventKind {
        EventKind::TextDelta { delta: delta.to_owned() }
    }

    fn user() -> EventKind {
        EventKind::User { content: "hi".to_owned(), steering: false }
    }

    #[tokio::test]
    async fn events_are_kept_in_order_and_can_be_looked_up() {
        let recorder = EventRecorder::new();
        for kind in [user(), text("a"), text("b"), EventKind::SessionShutdown { reason: "other".to_owned() }]
        {
            recorder.emit(kind);
        }
        assert_eq!(recorder.names(), ["user", "text_delta", "text_delta", "session_shutdown"]);
        assert_eq!(recorder.durable_names(), ["user", "session_shutdown"]);
        assert_eq!((recorder.text().as_str(), recorder.count("text_delta")), ("ab", 2));
        assert_eq!(recorder.json("user"), [serde_json::json!({"event": "user", "content": "hi"})]);
        recorder.assert_order(&["user", "text_delta", "session_shutdown"]);
        let reason = recorder.find(|kind| match kind {
            EventKind::SessionShutdown { reason } => Some(reason.clone()),
            _ => None,
        });
        assert_eq!(reason.as_deref(), Some("other"));
        assert!(recorder.written().await.is_ok());
        recorder.break_log("disk full");
        assert_eq!(recorder.written().await.unwrap_err().kind(), ErrorKind::Storage);
    }

    #[test]
    #[should_panic(expected = "`user` is missing in [\"user\", \"text_delta\"]")]
    fn a_wrong_order_is_told() {
        let recorder = EventRecorder::new();
        recorder.emit(user());
        recorder.emit(text("a"));
        recorder.assert_order(&["text_delta", "user"]);
    }

    #[tokio::test]
    async fn waiting_finds_events_before_and_after_it_began() {
        let recorder = EventRecorder::new();
        recorder.emit(user());
        let is_user = |kind: &EventKind| matches!(kind, EventKind::User { .. });
        assert_eq!(event_name(&recorder.wait_for(is_user).await), "user");
        let waiting =
            recorder.wait_for(|kind| matches!(kind, EventKind::TextDelta { delta } if delta == "b"));
        let emitting = async {
            recorder.emit(text("a"));
            tokio::task::yield_now().await;
            recorder.emit(text("b"));
        };
        tokio::join!(waiting, emitting);
        assert_eq!(recorder.text(), "ab");
    }
}
