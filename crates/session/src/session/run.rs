//! One turn, from the prompt to the acknowledgement.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use robota_core::{
    Body, Citation, ContextState, EventKind, EventSink, HookCall, Message, ProviderError, Timestamp, Turn,
    TurnEnd, TurnReport, Usage,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::structured::Structured;
use super::turn_host::SessionHost;
use super::{Denial, Prompt, Session, lock, reminder};
use crate::Error;

/// Why tool calls have no result after a turn whose future was dropped.
pub(super) const TURN_DROPPED: &str = "the turn was dropped";

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
    /// The answer as the value that [`Prompt::output_schema`] asked for, valid against it. `None` where nothing was
    /// asked for, and in a turn that did not complete: `ended` then says why.
    pub structured: Option<Value>,
    /// The sources that the last answer names.
    pub citations: Vec<Citation>,
    /// Model calls made.
    pub rounds: u32,
    /// Tokens of all of them, and of compactions within the turn.
    pub usage: Usage,
    /// How long the turn took, in milliseconds.
    pub duration_ms: u64,
    /// How much of it was spent waiting for the model, in milliseconds.
    pub api_duration_ms: u64,
    /// Why a hook ended the turn, with [`TurnEnd::Stopped`]; a Stop hook may have its say with
    /// [`TurnEnd::Completed`], too.
    pub stopped: Option<String>,
    /// Tool calls that were not allowed to run.
    pub denials: Vec<Denial>,
    /// How full the context window is now.
    pub context: ContextState,
    /// What [`Session::inject_input`] was given, and the model has not seen; after a turn whose future was
    /// dropped, also what that one was given.
    pub unsent_input: Vec<String>,
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
    /// With [`Prompt::output_schema`] the answer is a JSON value that is valid against the schema. Where the provider
    /// does not keep to a schema by itself, the model is told it with the prompt. An answer that does not fit goes back
    /// to the model with what is wrong, three times at most; [`max_turns`](super::SessionOptions::max_turns) counts
    /// these calls too.
    ///
    /// # Errors
    ///
    /// [`Busy`](crate::ErrorKind::Busy) while another turn runs, [`Closed`](crate::ErrorKind::Closed)
    /// after the shutdown. [`Engine`](crate::ErrorKind::Engine) when the turn failed, and
    /// [`Storage`](crate::ErrorKind::Storage) when it could not be recorded: [`Error::turn`] then says
    /// what it came to. A turn whose model finished without a valid value where a schema asked for one fails with
    /// the engine's kind [`StructuredOutput`](robota_core::ErrorKind::StructuredOutput).
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
    /// What hooks have added for the prompt, until the prompt is part of the history.
    context: Vec<String>,
    /// Id of the prompt's message, once there is one.
    prompt_id: Option<String>,
    /// The form that the answer has to have.
    structured: Option<Structured>,
    /// The end of the turn is in the log, or on its way there.
    ended: bool,
    /// The next turn may have begun.
    left: bool,
}

impl<'a> Run<'a> {
    fn claim(session: &'a Session) -> Result<Self, Error> {
        let turn = session.conversation.start_turn()?;
        let cancel = session.conversation.turn_cancel().unwrap_or_default();
        let started = session.ambient().now();
        Ok(Self {
            session,
            cancel,
            turn,
            started,
            context: Vec::new(),
            prompt_id: None,
            structured: None,
            ended: false,
            left: false,
        })
    }

    async fn drive(mut self, prompt: Prompt) -> Result<TurnOutcome, Error> {
        self.structured = Structured::of(&prompt, self.session.agent.config().provider.as_ref());
        let mut report = self.report(prompt).await;
        let structured = self.conclude(&mut report);
        self.finish(report, structured).await
    }

    /// The value that the turn has come to. Where there should be one and is none, the turn has failed.
    fn conclude(&self, report: &mut TurnReport) -> Option<Value> {
        let (structured, ended) = (self.structured.as_ref()?, *report.outcome.as_ref().ok()?);
        match structured.conclude(ended) {
            Ok(value) => value.inspect(|value| self.session.journal.emit(structured.event(value))),
            Err(error) => {
                report.outcome = Err(error);
                None
            }
        }
    }

    /// The turn itself: what comes before the model, and the engine.
    async fn report(&mut self, prompt: Prompt) -> TurnReport {
        let session = self.session;
        session.answer_half_done(TURN_DROPPED);
        session.sink.begin_turn();
        if self.turn == 1 {
            session.sink.turn_ends().note(0, session.lock_history().messages().len());
        }
        session.fire_cleared(&self.cancel).await;
        let room = match session.hooks.has_stopped() {
            true => Ok(()),
            false => session.make_room_for(&prompt, &self.cancel).await,
        };
        session.journal.emit(EventKind::User { content: prompt.text.clone(), steering: false });
        if let Err(error) = room {
            return TurnReport::without_model(Err(error), String::new());
        }
        if session.hooks.has_stopped() {
            return TurnReport::without_model(Ok(TurnEnd::Stopped), String::new());
        }
        let submitted = HookCall::UserPromptSubmit { prompt: prompt.text.clone() };
        let told = session.hooks.fire(submitted, &self.cancel).await;
        if let Some(reason) = told.block {
            return TurnReport::without_model(Ok(TurnEnd::Blocked), reason);
        }
        if session.hooks.has_stopped() {
            return TurnReport::without_model(Ok(TurnEnd::Stopped), String::new());
        }
        self.context = std::mem::take(&mut *lock(&session.waiting_context));
        self.context.extend(told.additional_context);
        let form = self.structured.as_ref().and_then(Structured::instruction);
        let message = session.prompt_message(prompt, &self.context, form);
        let prompt_id = self.prompt_id.insert(message.id.clone()).clone();
        let sink: Arc<dyn EventSink> = Arc::<super::SessionSink>::clone(&session.sink);
        let host = SessionHost::new(session, &self.cancel).with_form(self.structured.as_ref(), &prompt_id);
        let turn = Turn {
            history: session.conversation.history_lock(),
            prompt: message,
            response_format: self.structured.as_ref().and_then(Structured::response_format),
            sink: &sink,
            gate: &session.gate,
            cancel: &self.cancel,
            host: &host,
        };
        session.agent.run_turn(turn).await
    }

    async fn finish(&mut self, report: TurnReport, structured: Option<Value>) -> Result<TurnOutcome, Error> {
        let session = self.session;
        let ended = match &report.outcome {
            Ok(ended) => *ended,
            Err(error) => {
                session.record_failure(error, self.turn);
                let reason = error.to_string();
                session.fire_last(HookCall::StopFailure { reason }).await;
                TurnEnd::Failed
            }
        };
        let mut usage = report.usage;
        usage += session.sink.seen().compaction_usage;
        let mut outcome = TurnOutcome {
            turn: self.turn,
            ended,
            text: report.text,
            structured,
            citations: session.citations(),
            rounds: report.rounds,
            usage,
            duration_ms: session.ambient().now().millis_since(self.started),
            api_duration_ms: report.api_duration_ms,
            stopped: session.hooks.take_stop(),
            denials: std::mem::take(&mut session.sink.seen().denials),
            context: session.context_state(),
            unsent_input: Vec::new(),
        };
        let acknowledged = self.complete(&outcome).await;
        session.completed_turns.fetch_add(1, Ordering::Relaxed);
        if let (Ok(_), Err(error)) = (&report.outcome, &acknowledged) {
            session.record_failure(error, self.turn);
        }
        if acknowledged.is_ok() {
            session.save_snapshot_if_due().await;
        }
        outcome.unsent_input = self.leave(ended);
        match report.outcome.and(acknowledged) {
            Ok(()) => Ok(outcome),
            Err(error) => Err(Error::from(error).with_turn(outcome)),
        }
    }

    /// Logs the end of the turn and waits until it is durable.
    async fn complete(&mut self, outcome: &TurnOutcome) -> Result<(), robota_core::Error> {
        let journal = &self.session.journal;
        let history = self.session.lock_history().reference();
        if let Some(message_id) = self.session.answer_of_turn() {
            journal.emit(EventKind::Assistant { message_id, history });
        }
        self.session.sink.turn_ends().note(self.turn, history.length);
        if outcome.ended == TurnEnd::Interrupted {
            let reason = self.session.conversation.abort_reason().unwrap_or_default();
            journal.emit(EventKind::Interrupted { reason, history });
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

    /// Makes room for the next turn, and returns the input that the model has not seen.
    fn leave(&mut self, ended: TurnEnd) -> Vec<String> {
        let session = self.session;
        // What ended a turn that was dropped does not end the next one.
        session.hooks.take_stop();
        let joined = self.prompt_id.is_some() && session.sink.seen().first_message == self.prompt_id;
        if !joined {
            // The next prompt carries it.
            lock(&session.waiting_context).append(&mut self.context);
        }
        let mut unsent = std::mem::take(&mut *lock(&session.unsent));
        unsent.extend(session.conversation.finish_turn(ended));
        self.left = true;
        unsent
    }

    /// Logs the end of a turn whose future was dropped.
    fn give_up(&self) {
        let session = self.session;
        let history = session.lock_history().reference();
        session.sink.turn_ends().note(self.turn, history.length);
        let reason = session.conversation.abort_reason().unwrap_or_default();
        session.journal.emit(EventKind::Interrupted { reason, history });
        let (rounds, usage) = {
            let seen = session.sink.seen();
            let mut usage = seen.usage;
            usage += seen.compaction_usage;
            (seen.rounds, usage)
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
        if !self.left {
            let unsent = self.leave(TurnEnd::Interrupted);
            // Nobody is there to take it now; the next turn gives it back.
            *lock(&self.session.unsent) = unsent;
        }
    }
}

impl Session {
    /// The prompt as it joins the history: with the note about this run where the history has another, an
    /// outdated one or none, with what hooks have added, and with the `form` that the answer has to have.
    fn prompt_message(&self, prompt: Prompt, context: &[String], form: Option<String>) -> Message {
        let body = Body::User { content: prompt.text, parts: prompt.parts, name: None };
        let ambient = self.ambient();
        let mut message = Message::with_body(ambient.next_id(), ambient.now(), body);
        let note = self.facts.context_note.as_deref();
        let history = self.lock_history();
        let known = reminder::last_note(history.messages(), self.outdated_note.get().map(String::as_str));
        let context: Vec<String> = context.iter().cloned().chain(form).collect();
        reminder::add(&mut message, note.filter(|note| known != Some(*note)), &context);
        message
    }

    /// The sources that the answer of the turn names.
    fn citations(&self) -> Vec<Citation> {
        let Some(id) = self.answer_of_turn() else { return Vec::new() };
        let history = self.lock_history();
        let answer = history.messages().last().filter(|last| last.id == id);
        answer.map(|answer| answer.citations()).unwrap_or_default()
    }

    /// Id of the answer that the turn came to: the last message, when the model gave it in this turn.
    fn answer_of_turn(&self) -> Option<String> {
        let answer = self.sink.seen().last_answer.clone()?;
        self.lock_history().messages().last().is_some_and(|last| last.id == answer).then_some(answer)
    }

    /// Records that a turn failed.
    fn record_failure(&self, error: &robota_core::Error, turn: u32) {
        self.conversation.add_error(error.to_string(), Some(json!({"code": error.code(), "turn": turn})));
        self.journal.emit(failure(error));
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
