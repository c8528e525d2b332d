//! One turn, from the prompt to the acknowledgement.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use robota_core::{
    Body, ContextState, EventKind, EventSink, Message, NoHost, ProviderError, Timestamp, Turn,
    TurnAbortReason, TurnEnd, TurnReport, Usage,
};
use tokio_util::sync::CancellationToken;

use super::{Activity, Denial, Prompt, Session};
use crate::Error;

/// Why tool calls have no result after a turn whose future was dropped.
const TURN_DROPPED: &str = "the turn was dropped";

/// What a turn came to.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TurnOutcome {
    /// Its number in the session, from 1.
    pub turn: u32,
    /// How it ended.
    pub ended: TurnEnd,
    /// The last visible text of the model; what had been streamed, after an abort or a failure.
    pub text: String,
    /// Model calls made.
    pub rounds: u32,
    /// Tokens of all of them.
    pub usage: Usage,
    /// How long the turn took, in milliseconds.
    pub duration_ms: u64,
    /// How much of it was spent waiting for the model, in milliseconds.
    pub api_duration_ms: u64,
    /// Tool calls that were not allowed to run.
    pub denials: Vec<Denial>,
    /// How full the context window is now.
    pub context: ContextState,
}

impl Session {
    /// Runs one turn: the model answers `prompt`, calling tools as it needs.
    ///
    /// When it returns, with whatever outcome, the turn is in the log, and durable as
    /// [`Durability`](crate::Durability) says. An abort is no error: the outcome has
    /// [`TurnEnd::Interrupted`], and the text so far. After an error the session goes on with its
    /// history kept, unless the error is one of storage. Dropping the future aborts the turn without
    /// keeping the answer that was streaming.
    ///
    /// # Errors
    ///
    /// [`Busy`](crate::ErrorKind::Busy) while another turn runs, [`Closed`](crate::ErrorKind::Closed)
    /// after the shutdown. [`Engine`](crate::ErrorKind::Engine) when the turn failed, and
    /// [`Storage`](crate::ErrorKind::Storage) when it could not be recorded: [`Error::turn`] then says
    /// what it came to.
    pub async fn run(&self, prompt: impl Into<Prompt>) -> Result<TurnOutcome, Error> {
        let prompt = prompt.into();
        // With a log that takes nothing more, the turn could not be acknowledged: no model is called.
        self.journal.check()?;
        let run = Run::claim(self)?;
        Box::pin(run.drive(prompt)).await
    }
}

/// The one turn that runs. Dropping it makes room for the next.
struct Run<'a> {
    session: &'a Session,
    cancel: CancellationToken,
    turn: u32,
    started: Timestamp,
    ended: bool,
}

impl<'a> Run<'a> {
    fn claim(session: &'a Session) -> Result<Self, Error> {
        let cancel = CancellationToken::new();
        let mut refused = None;
        session.activity.send_if_modified(|activity: &mut Activity| {
            match activity {
                Activity { closed: true, .. } => refused = Some(Error::closed()),
                Activity { run: Some(_), .. } => refused = Some(Error::busy("the prompt was not accepted")),
                Activity { run, .. } => *run = Some(cancel.clone()),
            }
            refused.is_none()
        });
        if let Some(error) = refused {
            return Err(error);
        }
        let turn = session.turn.fetch_add(1, Ordering::Relaxed) + 1;
        let started = session.ambient().now();
        Ok(Self { session, cancel, turn, started, ended: false })
    }

    async fn drive(mut self, prompt: Prompt) -> Result<TurnOutcome, Error> {
        let session = self.session;
        session.answer_half_done(TURN_DROPPED);
        session.sink.begin_turn();
        if self.turn == 1 {
            session.sink.turn_ends().note(0, session.lock_history().messages().len());
        }
        session.journal.set_turn(self.turn);
        session.journal.emit(EventKind::User { content: prompt.text.clone(), steering: false });
        let body = Body::User { content: prompt.text, parts: prompt.parts, name: None };
        let ambient = session.ambient();
        let sink: Arc<dyn EventSink> = Arc::<super::SessionSink>::clone(&session.sink);
        let report = session
            .agent
            .run_turn(Turn {
                history: &session.history,
                prompt: Message::with_body(ambient.next_id(), ambient.now(), body),
                sink: &sink,
                gate: &session.gate,
                cancel: &self.cancel,
                host: &NoHost,
            })
            .await;
        self.finish(report).await
    }

    async fn finish(&mut self, report: TurnReport) -> Result<TurnOutcome, Error> {
        let session = self.session;
        let ended = match &report.outcome {
            Ok(ended) => *ended,
            Err(error) => {
                session.journal.emit(failure(error));
                TurnEnd::Failed
            }
        };
        let outcome = TurnOutcome {
            turn: self.turn,
            ended,
            text: report.text,
            rounds: report.rounds,
            usage: report.usage,
            duration_ms: session.ambient().now().millis_since(self.started),
            api_duration_ms: report.api_duration_ms,
            denials: std::mem::take(&mut session.sink.seen().denials),
            context: session.context_state(),
        };
        let acknowledged = self.complete(&outcome).await;
        session.completed_turns.fetch_add(1, Ordering::Relaxed);
        match (report.outcome, acknowledged) {
            (Err(error), _) => Err(Error::from(error).with_turn(outcome)),
            (Ok(_), Err(error)) => {
                session.journal.emit(failure(&error));
                Err(Error::from(error).with_turn(outcome))
            }
            (Ok(_), Ok(())) => {
                session.save_snapshot_if_due().await;
                Ok(outcome)
            }
        }
    }

    /// Logs the end of the turn and waits until it is durable.
    async fn complete(&mut self, outcome: &TurnOutcome) -> Result<(), robota_core::Error> {
        let journal = &self.session.journal;
        let history = self.session.lock_history().reference();
        self.session.sink.turn_ends().note(self.turn, history.length);
        if outcome.ended == TurnEnd::Interrupted {
            journal.emit(EventKind::Interrupted { reason: TurnAbortReason::Interrupted, history });
        }
        let acknowledgement = journal.acknowledge(EventKind::Complete {
            ended: outcome.ended,
            rounds: outcome.rounds,
            usage: outcome.usage,
            history,
            duration_ms: outcome.duration_ms,
            api_duration_ms: outcome.api_duration_ms,
        });
        self.ended = true;
        acknowledgement.await
    }

    /// Logs the end of a turn whose future was dropped.
    fn give_up(&self) {
        let session = self.session;
        let history = session.lock_history().reference();
        session.sink.turn_ends().note(self.turn, history.length);
        session.journal.emit(EventKind::Interrupted { reason: TurnAbortReason::Interrupted, history });
        let (rounds, usage) = {
            let seen = session.sink.seen();
            (seen.rounds, seen.usage)
        };
        drop(session.journal.acknowledge(EventKind::Complete {
            ended: TurnEnd::Interrupted,
            rounds,
            usage,
            history,
            duration_ms: session.ambient().now().millis_since(self.started),
            api_duration_ms: 0,
        }));
    }
}

impl Drop for Run<'_> {
    fn drop(&mut self) {
        self.cancel.cancel();
        if !self.ended {
            self.give_up();
        }
        self.session.journal.set_turn(0);
        self.session.activity.send_modify(|activity| activity.run = None);
    }
}

fn failure(error: &robota_core::Error) -> EventKind {
    EventKind::Error {
        code: error.code().to_owned(),
        message: error.to_string(),
        hint: error.hint().map(str::to_owned),
        status: error.provider_error().and_then(ProviderError::status),
    }
}
