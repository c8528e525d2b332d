//! One prompt, one answer: `createQuery` of seed `001`.

use std::sync::Arc;

use robota_core::EventKind;
use robota_session::{Error, Prompt, Session, TurnOutcome};

use crate::Assembly;

type TextListener = Arc<dyn Fn(&str) + Send + Sync>;

/// Asks a model without keeping a conversation: every call is a session of its own.
#[derive(Clone)]
pub struct Query {
    assembly: Assembly,
    on_text: Option<TextListener>,
}

/// A query that opens its sessions with `assembly`.
#[must_use]
pub fn create_query(assembly: Assembly) -> Query {
    Query { assembly, on_text: None }
}

impl Query {
    /// The same query with a listener for the answer's text as it arrives. Where a call fails in the middle and is
    /// made again, the text comes anew; what counts is in the outcome.
    #[must_use]
    pub fn on_text_delta(mut self, listener: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.on_text = Some(Arc::new(listener));
        self
    }

    /// Runs `prompt` in a new session, which is closed when this returns.
    ///
    /// # Errors
    ///
    /// As [`Session::create`] and [`Session::run`].
    pub async fn ask(&self, prompt: impl Into<Prompt>) -> Result<TurnOutcome, Error> {
        let session = self.assembly.create().await?;
        let outcome = match &self.on_text {
            Some(listener) => run_aloud(&session, prompt.into(), listener).await,
            None => session.run(prompt).await,
        };
        let closed = session.shutdown("other").await;
        let outcome = outcome?;
        closed?;
        Ok(outcome)
    }
}

/// Runs a turn and hands its text on while it streams.
async fn run_aloud(session: &Session, prompt: Prompt, listener: &TextListener) -> Result<TurnOutcome, Error> {
    let mut events = session.subscribe();
    let hand_on = |event: &robota_core::Event| {
        if let EventKind::TextDelta { delta } = &event.kind {
            listener(delta);
        }
    };
    let mut turn = std::pin::pin!(session.run(prompt));
    loop {
        tokio::select! {
            biased;
            event = events.recv() => match event {
                Some(event) => hand_on(&event),
                None => return turn.await,
            },
            outcome = &mut turn => {
                while let Some(event) = events.try_recv() {
                    hand_on(&event);
                }
                return outcome;
            }
        }
    }
}
