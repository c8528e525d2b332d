//! The rounds of one turn.

use std::sync::{Arc, MutexGuard, PoisonError};

use serde_json::Value;

use super::answer::Answer;
use super::model_call::{self, CallEnd};
use super::request::sendable;
use super::{Agent, Pressure, Turn, TurnReport};
use crate::{
    Error, ErrorKind, EventKind, FinishReason, History, HistoryRef, Message, MessageRef, ModelRequest,
    ProviderError, ProviderErrorKind, RequestPurpose, Timestamp, ToolCall, ToolChoice, TurnEnd, Usage,
};

/// Drives the closing answer when rounds run out; sent, but not kept in the history.
const LAST_WORDS: &str = "You have used all rounds of this turn and cannot call tools any more. \
    Say briefly what you did, what you found, and what is left to do.";

/// The message that ends a request for last words: sent, and part of no history.
#[must_use]
pub fn last_words_message() -> MessageRef {
    Message::user("last-words", Timestamp::default(), LAST_WORDS).into()
}

/// Kept in place of an answer when the model cannot be called any more.
const WINDOW_FULL: &str = "The context window is nearly full, so the model was not called. \
    Start a new session, or compact this one.";

/// After so many rounds in a row that only called unknown tools, the model is asked to close.
const MAX_UNKNOWN_ROUNDS: u32 = 2;

/// How the loop goes on after a round.
enum Next {
    /// Another model call.
    Round,
    /// The turn is over.
    End(TurnEnd),
}

/// What has come together over the rounds of a turn.
#[derive(Default)]
struct Tally {
    text: String,
    rounds: u32,
    unknown_rounds: u32,
    usage: Usage,
    api_duration_ms: u64,
    /// Results of the last batch were left out, for want of room.
    left_out: bool,
    /// The provider has refused a request for its length in this turn.
    refused_before: bool,
}

impl Turn<'_> {
    /// The history, for a moment. A panic elsewhere cannot leave it half changed.
    pub(super) fn lock(&self) -> MutexGuard<'_, History> {
        self.history.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a message to the history and records the mutation.
    pub(super) fn append(&self, message: Message) {
        let mut history = self.lock();
        let mutation = history.append(message);
        // Emitted under the lock, so that the log has the mutations in the order of the history.
        self.sink.emit(EventKind::HistoryMutation(mutation));
    }

    /// Shows the output of a running call.
    pub(super) fn progress_of(&self, call: &ToolCall) -> impl Fn(&str) + Send + Sync + 'static {
        let sink = Arc::clone(self.sink);
        let tool_call_id = call.id.clone();
        move |text| {
            sink.emit(EventKind::ToolProgress { tool_call_id: tool_call_id.clone(), text: text.to_owned() });
        }
    }

    /// Adds what the user has said meanwhile to the history; true when there was something.
    fn take_input(&self) -> bool {
        let messages = self.host.take_input();
        let some = !messages.is_empty();
        for message in messages {
            self.sink.emit(EventKind::User { content: message.text().to_owned(), steering: true });
            self.append(message);
        }
        some
    }

    /// How the turn ends when it is not to go on.
    fn cut_short(&self) -> Option<TurnEnd> {
        if self.cancel.is_cancelled() {
            return Some(TurnEnd::Interrupted);
        }
        self.host.stopped().then_some(TurnEnd::Stopped)
    }

    fn messages(&self) -> (Vec<MessageRef>, HistoryRef) {
        let history = self.lock();
        (history.messages().to_vec(), history.reference())
    }
}

impl Agent {
    pub(super) async fn drive(&self, turn: &Turn<'_>) -> TurnReport {
        if let Err(error) = self.check_prompt(turn) {
            let Tally { text, rounds, usage, api_duration_ms, .. } = Tally::default();
            return TurnReport { outcome: Err(error), text, rounds, usage, api_duration_ms };
        }
        turn.append(turn.prompt.clone());
        turn.sink.emit(EventKind::PreRun {
            provider: self.config.provider.info().id.clone(),
            model: self.config.model.to_string(),
            history: turn.lock().reference(),
            max_rounds: self.config.max_rounds,
            native_web_tools: self.config.tuning.native_web_tools.clone(),
            response_format: turn.response_format.clone(),
        });
        self.show_context(turn);
        let mut tally = Tally::default();
        let outcome = self.rounds(turn, &mut tally).await;
        let Tally { text, rounds, usage, api_duration_ms, .. } = tally;
        TurnReport { outcome, text, rounds, usage, api_duration_ms }
    }

    /// A prompt that cannot be sent must not join the history, where it would stand in the way of
    /// every later one.
    fn check_prompt(&self, turn: &Turn<'_>) -> Result<(), Error> {
        let bytes = turn.prompt.content_bytes();
        let Some(excess) = self.window.excess(&turn.lock(), bytes) else { return Ok(()) };
        let message = format!(
            "the prompt has about {} tokens, and the context window has room for {}",
            excess.needed, excess.left
        );
        let hint = "Put the text into a file and name the file in the prompt, or start a new session.";
        Err(Error::new(ErrorKind::Validation, message).with_hint(hint))
    }

    async fn rounds(&self, turn: &Turn<'_>, tally: &mut Tally) -> Result<TurnEnd, Error> {
        loop {
            if let Some(end) = turn.cut_short() {
                return Ok(end);
            }
            turn.take_input();
            let full = self.needs_room(turn, tally).await?;
            if let Some(end) = turn.cut_short() {
                return Ok(end);
            }
            if full {
                self.note_full_window(turn, tally);
                return Ok(TurnEnd::ContextFull);
            }
            if self.config.max_rounds > 0 && tally.rounds >= self.config.max_rounds {
                self.last_words(turn, tally).await?;
                return Ok(TurnEnd::MaxRounds);
            }
            if tally.unknown_rounds >= MAX_UNKNOWN_ROUNDS {
                self.last_words(turn, tally).await?;
                return Ok(TurnEnd::Completed);
            }
            tally.rounds += 1;
            match self.round(turn, tally).await? {
                Next::End(TurnEnd::Completed) if self.goes_on(turn, tally).await => {}
                Next::End(end) => return Ok(end),
                Next::Round => {}
            }
        }
    }

    /// Whether the window is too full for a model call, after the host has tried to make room.
    async fn needs_room(&self, turn: &Turn<'_>, tally: &mut Tally) -> Result<bool, Error> {
        let full = self.window.is_full(&turn.lock());
        let crowded = full || std::mem::take(&mut tally.left_out);
        let pressure = if crowded { Pressure::Crowded } else { Pressure::Routine };
        if turn.host.make_room(pressure).await? {
            self.show_context(turn);
        }
        Ok(self.window.is_full(&turn.lock()))
    }

    /// Whether there is more to do after the model has finished: the user has said something meanwhile, or
    /// the host sends it on. After an abort there is: the next round ends the turn as interrupted, before
    /// anything that waits has become part of the history.
    async fn goes_on(&self, turn: &Turn<'_>, tally: &Tally) -> bool {
        if turn.cancel.is_cancelled() || turn.take_input() {
            return true;
        }
        let message = turn.host.finished(&tally.text).await;
        if turn.cancel.is_cancelled() {
            return true;
        }
        let Some(message) = message else { return !turn.host.stopped() && turn.take_input() };
        turn.append(message);
        true
    }

    /// One model call and the tool calls it asks for.
    async fn round(&self, turn: &Turn<'_>, tally: &mut Tally) -> Result<Next, Error> {
        let (messages, reference) = turn.messages();
        let mut request = self.request(sendable(&messages), ToolChoice::Auto);
        if turn.response_format.is_some() {
            request.response_format.clone_from(&turn.response_format);
        }
        let (answer, ended) = self.call(turn, tally, request, reference, false).await?;
        match ended {
            CallEnd::Cancelled => {
                self.keep_partial(turn, tally, answer);
                return Ok(Next::End(TurnEnd::Interrupted));
            }
            CallEnd::Failed(error) => {
                if self.may_try_again(turn, tally, &answer, &error).await? {
                    return Ok(Next::Round);
                }
                self.keep_partial(turn, tally, answer);
                return Err(error.into());
            }
            CallEnd::Finished => {}
        }
        let finish = answer.finish.clone().unwrap_or(FinishReason::EndTurn);
        let paused = finish == FinishReason::PauseTurn && !answer.is_empty();
        let calls = self.keep_answer(turn, tally, answer, &messages);
        self.show_context(turn);
        if calls.is_empty() {
            return Ok(if paused { Next::Round } else { Next::End(after_answer(&finish)) });
        }
        let cut_off = matches!(finish, FinishReason::MaxTokens | FinishReason::ContextWindow);
        let report = self.run_batch(turn, tally.rounds, &calls, cut_off).await?;
        tally.unknown_rounds = if report.only_unknown { tally.unknown_rounds + 1 } else { 0 };
        tally.left_out = report.left_out;
        Ok(Next::Round)
    }

    /// Whether a call that the provider refused for its length is made once more, in the room that the host
    /// has made meanwhile. Happens once in a turn. After an abort the next round ends the turn.
    async fn may_try_again(
        &self,
        turn: &Turn<'_>,
        tally: &mut Tally,
        answer: &Answer,
        error: &ProviderError,
    ) -> Result<bool, Error> {
        let refused = error.kind() == ProviderErrorKind::ContextLength && answer.is_empty();
        if !refused || std::mem::replace(&mut tally.refused_before, true) {
            return Ok(false);
        }
        let made = turn.host.make_room(Pressure::Refused).await?;
        if made {
            self.show_context(turn);
        }
        Ok(made || turn.cancel.is_cancelled())
    }

    async fn call(
        &self,
        turn: &Turn<'_>,
        tally: &mut Tally,
        request: ModelRequest,
        history: HistoryRef,
        last_words: bool,
    ) -> Result<(Answer, CallEnd), Error> {
        let provider = self.config.provider.as_ref();
        turn.sink.emit(EventKind::ProviderRequest {
            round: tally.rounds,
            provider: provider.info().id.clone(),
            model: self.config.model.to_string(),
            history,
            last_words,
            purpose: RequestPurpose::Turn,
            digest: Some(request.digest()),
        });
        // What the model is shown is in the log first, so that a crash cannot take it back.
        turn.sink.written().await?;
        let started = self.config.ambient.now();
        let (answer, ended) =
            model_call::call(provider, request, tally.rounds, turn.sink.as_ref(), turn.cancel).await;
        tally.api_duration_ms += self.since(started);
        tally.usage += answer.usage;
        Ok((answer, ended))
    }

    /// Makes a finished answer part of the history and returns the calls it asks for.
    fn keep_answer(
        &self,
        turn: &Turn<'_>,
        tally: &mut Tally,
        answer: Answer,
        history: &[MessageRef],
    ) -> Vec<ToolCall> {
        if !answer.text.is_empty() {
            tally.text.clone_from(&answer.text);
        }
        let (usage, finish) = (answer.usage, answer.finish.clone().unwrap_or(FinishReason::EndTurn));
        let (response_id, model) = (answer.response_id.clone(), answer.model.clone());
        let empty = answer.is_empty();
        let (message, renamed_calls) = answer.into_message(tally.rounds, history, &self.config.ambient);
        let calls = message.tool_calls().to_vec();
        turn.sink.emit(EventKind::ProviderResponseNormalized {
            round: tally.rounds,
            message_id: message.id.clone(),
            response_id,
            model: model.unwrap_or_else(|| self.config.model.to_string()),
            finish_reason: finish,
            usage,
            tool_calls_count: calls.len(),
            renamed_calls,
        });
        if !empty {
            turn.append(message);
        }
        calls
    }

    /// Keeps the text of an answer that was cut off; an answer without text leaves nothing behind.
    fn keep_partial(&self, turn: &Turn<'_>, tally: &mut Tally, answer: Answer) {
        tally.text.clone_from(&answer.text);
        if !answer.text.is_empty() {
            turn.append(answer.into_partial(tally.rounds, &self.config.ambient));
        }
    }

    /// Asks for a closing answer. Tools stay in the request, so that the cached prefix stays valid;
    /// a failure of the model changes nothing about how the turn ended.
    async fn last_words(&self, turn: &Turn<'_>, tally: &mut Tally) -> Result<(), Error> {
        let (messages, reference) = turn.messages();
        let mut sent = sendable(&messages);
        sent.push(last_words_message());
        let request = self.request(sent, ToolChoice::None);
        let (answer, ended) = self.call(turn, tally, request, reference, true).await?;
        match ended {
            CallEnd::Finished => {
                let text_only = answer.without_calls();
                self.keep_answer(turn, tally, text_only, &messages);
            }
            CallEnd::Cancelled | CallEnd::Failed(_) => self.keep_partial(turn, tally, answer),
        }
        self.show_context(turn);
        Ok(())
    }

    fn note_full_window(&self, turn: &Turn<'_>, tally: &mut Tally) {
        let ambient = &self.config.ambient;
        let mut message = Message::assistant(ambient.next_id(), ambient.now(), WINDOW_FULL);
        message.metadata.insert("contextOverflow".into(), Value::from(true));
        tally.text = WINDOW_FULL.to_owned();
        turn.append(message);
    }

    fn show_context(&self, turn: &Turn<'_>) {
        let state = self.window.state(&turn.lock());
        turn.sink.emit(EventKind::Context(state));
    }

    fn since(&self, started: Timestamp) -> u64 {
        self.config.ambient.now().millis_since(started)
    }
}

/// How the turn ends after an answer without tool calls.
fn after_answer(finish: &FinishReason) -> TurnEnd {
    match finish {
        FinishReason::MaxTokens => TurnEnd::OutputLimit,
        FinishReason::Refusal | FinishReason::ContentFilter => TurnEnd::Refused,
        FinishReason::ContextWindow => TurnEnd::ContextFull,
        FinishReason::EndTurn
        | FinishReason::StopSequence
        | FinishReason::ToolUse
        | FinishReason::PauseTurn
        | FinishReason::Other(_) => TurnEnd::Completed,
    }
}
