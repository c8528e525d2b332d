//! What a session does for its turn while it runs.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use futures_util::future::BoxFuture;
use robota_core::{Error, Message, Pressure, TurnHost};
use tokio_util::sync::CancellationToken;

use super::{Session, hooks};

/// How often in one turn Stop hooks may send the model on before the turn ends all the same.
const MOST_CONTINUATIONS: u32 = 8;

/// The session as host of one turn.
pub(super) struct SessionHost<'a> {
    session: &'a Session,
    cancel: &'a CancellationToken,
    continuations: AtomicU32,
    /// An attempt to make room has come to nothing; without need it is not made again in this turn.
    gave_up: AtomicBool,
}

impl<'a> SessionHost<'a> {
    pub(super) fn new(session: &'a Session, cancel: &'a CancellationToken) -> Self {
        Self { session, cancel, continuations: AtomicU32::new(0), gave_up: AtomicBool::new(false) }
    }

    async fn room(&self, pressure: Pressure) -> Result<bool, Error> {
        let routine = pressure == Pressure::Routine;
        if routine && (self.gave_up.load(Ordering::Relaxed) || !self.session.is_past_threshold(0)) {
            return Ok(false);
        }
        let made = self.session.make_room(pressure, self.cancel).await?;
        self.gave_up.store(!made, Ordering::Relaxed);
        Ok(made)
    }

    /// Asks the Stop hooks whether the model is done with the answer `text`.
    async fn sent_on(&self, text: &str) -> Option<Message> {
        let before = self.continuations.fetch_add(1, Ordering::Relaxed);
        let outcome = self.session.hooks.fire(hooks::stop_call(text, before > 0), self.cancel).await;
        if outcome.stop.is_some() {
            // It outranks what another hook would have the model do.
            return None;
        }
        let reason = outcome.block?;
        if before >= MOST_CONTINUATIONS || self.cancel.is_cancelled() {
            tracing::warn!(session = %self.session.id, %reason, "Stop hooks sent the model on too often");
            return None;
        }
        Some(self.session.user_message(reason))
    }
}

impl TurnHost for SessionHost<'_> {
    fn take_input(&self) -> Vec<Message> {
        let input = self.session.conversation.take_pending_input();
        input.into_iter().map(|text| self.session.user_message(text)).collect()
    }

    fn make_room(&self, pressure: Pressure) -> BoxFuture<'_, Result<bool, Error>> {
        Box::pin(self.room(pressure))
    }

    fn stopped(&self) -> bool {
        self.session.hooks.has_stopped()
    }

    fn finished<'a>(&'a self, text: &'a str) -> BoxFuture<'a, Option<Message>> {
        Box::pin(self.sent_on(text))
    }
}
