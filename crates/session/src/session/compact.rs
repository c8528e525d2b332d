//! Making room in the context window: when somebody asks for it, before a prompt, and while a turn runs.

use std::sync::atomic::Ordering;

use robota_core::{EventSink, HookCall, Part, Pressure, SessionSource, TurnEnd, text_bytes};
use tokio_util::sync::CancellationToken;

use super::{Prompt, Session, lock};
use crate::{
    CompactionError, CompactionHooks, CompactionOutcome, CompactionRequest, Compactor, Error, ErrorKind,
};

impl Session {
    /// Replaces what was said so far by a summary that the model writes; the last exchange stays as it was
    /// where it fits. `instructions` say what the summary should pay attention to.
    ///
    /// [`abort`](Session::abort) ends it, and the history is then as it was. Dropping the future does the
    /// same. What has been approved, and the tokens counted, stay.
    ///
    /// # Errors
    ///
    /// [`Busy`](ErrorKind::Busy) while a turn runs, [`Closed`](ErrorKind::Closed),
    /// [`Compaction`](ErrorKind::Compaction) when there is nothing to compact, a hook or an abort stopped
    /// it, or no summary was written; [`Engine`](ErrorKind::Engine) when the model could not be called, and
    /// [`Storage`](ErrorKind::Storage). The history is as it was, but for a failure to write it to the log.
    pub async fn compact(&self, instructions: Option<&str>) -> Result<CompactionOutcome, Error> {
        self.journal.check()?;
        self.conversation.start_task()?;
        let _end = EndOfTask(self);
        self.answer_half_done(super::run::TURN_DROPPED);
        let cancel = self.conversation.turn_cancel().unwrap_or_default();
        let request = CompactionRequest::manual().with_instructions(instructions.unwrap_or_default());
        let outcome = Box::pin(self.compacted(request, &cancel)).await.map_err(compaction_failed)?;
        self.journal.flush().await?;
        self.snapshot_offset.store(super::snapshot::NEVER, Ordering::Relaxed);
        self.save_snapshot_if_due().await;
        Ok(outcome)
    }

    /// Compacts where the window is past the threshold with `prompt` in it (seed `000`, Auto-Compaction).
    pub(super) async fn make_room_for(
        &self,
        prompt: &Prompt,
        cancel: &CancellationToken,
    ) -> Result<(), robota_core::Error> {
        let parts = prompt.parts.iter().map(Part::estimated_bytes).fold(0, u64::saturating_add);
        let bytes = parts.saturating_add(text_bytes(&prompt.text));
        if !self.is_past_threshold(bytes) {
            return Ok(());
        }
        let request = CompactionRequest::automatic(self.auto_compact_threshold()).with_coming_bytes(bytes);
        // A turn whose model cannot be reached says so by itself.
        self.automatic(request, cancel, true).await.map(|_| ())
    }

    /// Makes room while a turn runs; true when the history is another one.
    pub(super) async fn make_room(
        &self,
        pressure: Pressure,
        cancel: &CancellationToken,
    ) -> Result<bool, robota_core::Error> {
        let Some(threshold) = self.auto_compact_threshold() else { return Ok(false) };
        match pressure {
            // The provider counts otherwise than the estimate, so that smaller has to be enough.
            Pressure::Refused => self.automatic(CompactionRequest::automatic(None), cancel, false).await,
            _ => {
                let may_wait = pressure == Pressure::Routine;
                self.automatic(CompactionRequest::automatic(Some(threshold)), cancel, may_wait).await
            }
        }
    }

    /// Compacts for the session itself. What only means that it was not to be does not end the turn; with
    /// `may_wait`, while there is room yet, neither does a model that gave no summary.
    async fn automatic(
        &self,
        request: CompactionRequest,
        cancel: &CancellationToken,
        may_wait: bool,
    ) -> Result<bool, robota_core::Error> {
        match Box::pin(self.compacted(request, cancel)).await {
            Ok(_) => Ok(true),
            Err(CompactionError::Nothing | CompactionError::Blocked(_) | CompactionError::Cancelled) => {
                Ok(false)
            }
            Err(error @ (CompactionError::Provider(_) | CompactionError::EmptySummary)) if may_wait => {
                tracing::warn!(session = %self.id, %error, "the history was not compacted");
                Ok(false)
            }
            Err(error) => Err(error.into()),
        }
    }

    async fn compacted(
        &self,
        request: CompactionRequest,
        cancel: &CancellationToken,
    ) -> Result<CompactionOutcome, CompactionError> {
        let standing = self.facts.compact_instructions.as_deref().unwrap_or_default();
        let input = |call: HookCall| self.hooks.input(call);
        let sink: &dyn EventSink = self.sink.as_ref();
        let compactor = Compactor {
            agent: &self.agent,
            history: self.conversation.history_lock(),
            sink,
            hooks: self.hooks.listen().then(|| CompactionHooks::new(self.hooks.as_ref(), &input)),
            cancel,
        };
        let outcome = compactor.compact(request.with_instructions(standing)).await?;
        lock(&self.waiting_context).extend(outcome.additional_context.iter().cloned());
        self.fire_start(SessionSource::Compact, cancel).await;
        Ok(outcome)
    }

    pub(super) fn is_past_threshold(&self, coming_bytes: u64) -> bool {
        let Some(threshold) = self.auto_compact_threshold() else { return false };
        let history = self.lock_history();
        let state = self.agent.context_state_with(&history, coming_bytes);
        !history.messages().is_empty() && state.used_percentage >= threshold.share() * 100.0
    }
}

/// Makes room for turns when a compaction is over, however it ended.
struct EndOfTask<'a>(&'a Session);

impl Drop for EndOfTask<'_> {
    fn drop(&mut self) {
        self.0.conversation.finish_turn(TurnEnd::Completed);
    }
}

fn compaction_failed(error: CompactionError) -> Error {
    match error {
        CompactionError::Provider(_) | CompactionError::Log(_) => {
            Error::from(robota_core::Error::from(error))
        }
        other => {
            let hint = other.hint().map(str::to_owned);
            let failed = Error::new(ErrorKind::Compaction, other.to_string()).with_source(other);
            match hint {
                Some(hint) => failed.with_hint(hint),
                None => failed,
            }
        }
    }
}
