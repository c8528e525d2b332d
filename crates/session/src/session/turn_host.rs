//! What a session does for its turn while it runs.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use futures_util::future::BoxFuture;
use robota_core::{Error, Message, Pressure, TurnHost};
use tokio_util::sync::CancellationToken;

use super::structured::{self, Judgement, Structured};
use super::{Session, hooks};

/// How often in one turn Stop hooks may send the model on before the turn ends all the same.
const MOST_CONTINUATIONS: u32 = 8;

/// The session as host of one turn.
pub(super) struct SessionHost<'a> {
    session: &'a Session,
    cancel: &'a CancellationToken,
    /// The form that the answer has to have, and the message that tells the model of it.
    structured: Option<(&'a Structured, String)>,
    continuations: AtomicU32,
    /// An attempt to make room has come to nothing; without need it is not made again in this turn.
    gave_up: AtomicBool,
}

impl<'a> SessionHost<'a> {
    pub(super) fn new(session: &'a Session, cancel: &'a CancellationToken) -> Self {
        let (continuations, gave_up) = (AtomicU32::new(0), AtomicBool::new(false));
        Self { session, cancel, structured: None, continuations, gave_up }
    }

    /// The host of a turn whose answer has to have a form, of which the message `prompt_id` tells the model.
    pub(super) fn with_form(mut self, structured: Option<&'a Structured>, prompt_id: &str) -> Self {
        self.structured = structured.map(|structured| (structured, prompt_id.to_owned()));
        self
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

    /// Judges the form of the answer.
    fn judged(&self) -> Judgement {
        let Some((structured, prompt_id)) = &self.structured else { return Judgement::Valid };
        let (answer, told) = {
            let history = self.session.lock_history();
            let messages = history.messages();
            let told = messages.iter().rev().any(|message| message.id == *prompt_id);
            (structured::answer_of(messages).to_owned(), told)
        };
        structured.judge(&answer, told)
    }

    /// Has an answer mended that does not have the form it should, and asks the Stop hooks about any other whether
    /// the model is done with it.
    async fn sent_on(&self, text: &str) -> Option<Message> {
        match self.judged() {
            Judgement::Repair(text) => return Some(self.session.user_message(text)),
            // The turn fails.
            Judgement::GiveUp => return None,
            Judgement::Valid => {}
        }
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
