//! How a conversation gets its log, and how it leaves it.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::Ordering;

use robota_core::{EventKind, History, RawCapture, SessionId, TurnAbortReason};

use super::recorder::Recorder;
use super::{Attached, Conversation, ConversationOptions, identity, lock};
use crate::session::half_done;
use crate::{Error, StoredSession};

/// Whether [`Conversation::initialize_session`] makes a log or goes on with one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum InitializeMode {
    /// Makes a new one.
    Create,
    /// Goes on with one that is there.
    Resume,
}

impl Conversation {
    /// Opens the log of the conversation in its store; what was said so far is the first that stands in it.
    /// Once it is open, does nothing.
    ///
    /// # Errors
    ///
    /// [`Exists`](crate::ErrorKind::Exists) when the store has a session of this id,
    /// [`Locked`](crate::ErrorKind::Locked), [`Closed`](crate::ErrorKind::Closed), and
    /// [`Storage`](crate::ErrorKind::Storage) when nothing can be written: the conversation then goes on in
    /// memory alone, and nothing of it stays in the store.
    pub async fn initialize(&mut self) -> Result<(), Error> {
        self.check_open()?;
        if self.recorder.is_some() {
            return Ok(());
        }
        let id = self.session_id.clone();
        let (recorder, history) = self.begin_log(&id).await?;
        recorder.journal().set_turn(self.current_turn().map_or(0, |turn| turn.number));
        *lock(&self.history) = history;
        self.recorder = Some(recorder);
        let Err(error) = self.written().await else { return Ok(()) };
        if let Some(recorder) = self.recorder.take() {
            abandon(&self.options, &id, &recorder).await;
        }
        Err(error)
    }

    /// Gives the conversation the log `id`: a session id or a conversation id, whose UUID is then the
    /// session id.
    ///
    /// - [`Create`](InitializeMode::Create) makes a new log, which begins with what was said so far.
    /// - [`Resume`](InitializeMode::Resume) goes on with a log of the store, possibly that of a
    ///   [`Session`](crate::Session): the history is what the log tells, calls of tools that were cut off
    ///   are answered, and never run again by themselves. The tokens of its model calls are counted, and
    ///   everything else begins afresh. What could not be read is in [`defects`](Conversation::defects). What
    ///   was said before is left to its own log; without one it is gone.
    ///
    /// A log that was open before is closed.
    ///
    /// # Errors
    ///
    /// [`InvalidId`](crate::ErrorKind::InvalidId), [`Busy`](crate::ErrorKind::Busy) while a turn is active,
    /// [`Closed`](crate::ErrorKind::Closed), [`Exists`](crate::ErrorKind::Exists),
    /// [`NotFound`](crate::ErrorKind::NotFound), [`Locked`](crate::ErrorKind::Locked), and
    /// [`Storage`](crate::ErrorKind::Storage): the conversation stays as it was. `Storage` also when the log
    /// before could not be closed well; the conversation then has its new log all the same.
    pub async fn initialize_session(&mut self, mode: InitializeMode, id: &str) -> Result<(), Error> {
        let id = identity::session_id(id)?;
        self.check_not_closed()?;
        if self.is_active_turn() {
            return Err(Error::busy("the conversation cannot be given another log"));
        }
        let before = match mode {
            InitializeMode::Create if id == self.session_id && self.recorder.is_none() => {
                return self.initialize().await;
            }
            InitializeMode::Create => self.create(id).await?,
            InitializeMode::Resume => self.resume(&id).await?,
        };
        let reason = if mode == InitializeMode::Resume { "resume" } else { "other" };
        leave(before, reason).await
    }

    /// Makes another conversation of this one: no history, a new id, nothing approved or counted. When it
    /// has a log, the log is closed and never written to again, and the new conversation has one of its
    /// own. An active turn is aborted as [`Replaced`](TurnAbortReason::Replaced).
    ///
    /// # Errors
    ///
    /// [`Closed`](crate::ErrorKind::Closed), [`InvalidId`](crate::ErrorKind::InvalidId) when no valid id is
    /// made, [`Storage`](crate::ErrorKind::Storage) when a new log cannot be made: the conversation stays as
    /// it was. `Storage` also when the log before could not be closed well; the conversation is reset all
    /// the same.
    pub async fn reset(&mut self) -> Result<(), Error> {
        self.check_not_closed()?;
        let id: SessionId = self.options.ambient.next_id().parse()?;
        let recorder = match &self.recorder {
            Some(_) => {
                let log = self.options.store.create(&id).await?;
                let recorder = Recorder::start(&self.options, &id, 0, log);
                recorder.announce(&self.options);
                Some(certain(&self.options, &id, recorder).await?)
            }
            None => None,
        };
        self.abort_turn(TurnAbortReason::Replaced);
        let fresh = Self::assemble(self.options.clone(), id, recorder, History::default());
        leave(self.become_another(fresh), "clear").await
    }

    /// Closes the conversation: aborts the active turn, logs the end, and gives its session free for other
    /// programs. From then on changes are refused with [`Closed`](crate::ErrorKind::Closed); what there is
    /// can still be read and exported. Happens once; later calls wait for the first and then do nothing.
    ///
    /// # Errors
    ///
    /// [`Storage`](crate::ErrorKind::Storage) when the log could not be written to its end. The conversation
    /// is closed all the same.
    pub async fn close(&self) -> Result<(), Error> {
        self.end(false).await
    }

    /// Waits until everything that has happened is on the disk, whatever the durability, and closes the
    /// conversation as [`close`](Conversation::close) does.
    ///
    /// # Errors
    ///
    /// As [`close`](Conversation::close).
    pub async fn shutdown(&self) -> Result<(), Error> {
        self.end(true).await
    }

    async fn end(&self, flush: bool) -> Result<(), Error> {
        let mut ended = self.ended.lock().await;
        if *ended {
            return Ok(());
        }
        self.begin_closing();
        let outcome = match &self.recorder {
            Some(recorder) => recorder.end("other", flush).await,
            None => Ok(()),
        };
        *ended = true;
        outcome
    }

    /// Refuses turns and other changes from now on, and aborts the active turn. What that still has to write
    /// is still written.
    pub(crate) fn begin_closing(&self) {
        self.close_turns(|| self.closed.store(true, Ordering::Release));
        // Whoever was changing the history has told the log by now.
        drop(lock(&self.history));
    }

    /// Makes the log `id` and tells it the history, which is returned as the log has it.
    async fn begin_log(&self, id: &SessionId) -> Result<(Recorder, History), Error> {
        let log = self.options.store.create(id).await?;
        let recorder = Recorder::start(&self.options, id, 0, log);
        recorder.announce(&self.options);
        let history = recorder.restate(&lock(&self.history), false);
        Ok((recorder, history))
    }

    /// Goes over to the new log `id`, and returns the log before.
    async fn create(&mut self, id: SessionId) -> Result<Option<Recorder>, Error> {
        let (recorder, history) = self.begin_log(&id).await?;
        let recorder = certain(&self.options, &id, recorder).await?;
        self.history = Mutex::new(history);
        self.conversation_id = identity::conversation_id(&id);
        self.session_id = id;
        self.created = self.touch();
        Ok(self.recorder.replace(recorder))
    }

    /// Goes over to the log `id` as it is in the store, and returns the log before.
    async fn resume(&mut self, id: &SessionId) -> Result<Option<Recorder>, Error> {
        let (mut stored, log) = self.options.store.open(id).await?;
        let (options, log_has_lines) = (&self.options, log.offset > 0);
        let recorder = Recorder::start(options, id, stored.mark.seq, Some(log));
        let history = settled(&recorder, options, &mut stored, log_has_lines);
        if let Err(error) = recorder.written().await {
            recorder.journal().close().await;
            return Err(error.into());
        }
        let mut options = self.options.clone();
        options.cwd = stored.cwd;
        let journal = Arc::clone(recorder.journal());
        let resumed = Self::attached(
            options,
            Attached {
                session_id: stored.id,
                sink: Arc::<crate::Journal>::clone(&journal),
                journal,
                history,
                last_turn: stored.turn,
                usage: stored.usage,
                created: stored.created_at,
                defects: stored.defects,
            },
        );
        Ok(self.become_another(resumed))
    }

    /// Takes the place of what was, and returns the log of that. Approvals stay shared with whoever has
    /// them, and are taken back.
    fn become_another(&mut self, mut other: Self) -> Option<Recorder> {
        other.approvals = Arc::clone(&self.approvals);
        other.approvals.clear();
        std::mem::replace(self, other).recorder
    }
}

/// Brings the log that `stored` was read from to a state to go on from, and returns the history.
fn settled(
    recorder: &Recorder,
    options: &ConversationOptions,
    stored: &mut StoredSession,
    log_has_lines: bool,
) -> History {
    let mut history = std::mem::take(&mut stored.history);
    if stored.outside_log {
        recorder.announce(options);
        history = recorder.restate(&history, log_has_lines);
    }
    recorder.emit(EventKind::SessionResume {
        provider: String::new(),
        model: options.model.to_string(),
        history: history.reference(),
        system_prompt: None,
        tool_schemas: None,
        skipped_lines: stored.defects.in_log(),
        max_output_tokens: None,
        raw_capture: RawCapture::Off,
        tuning: robota_core::RequestTuning::default(),
    });
    let mut mutations = Vec::new();
    if stored.has_gaps {
        // Positions in the log have moved; from here on they count anew.
        mutations.push(history.replace(history.messages().to_vec()));
    }
    let (started, cause) = (&stored.started_calls, "the process stopped");
    mutations.extend(half_done::answer(&mut history, started, cause, &options.ambient));
    for mutation in mutations {
        recorder.emit(EventKind::HistoryMutation(mutation));
    }
    history
}

/// A new log that is in the store, or none at all.
async fn certain(
    options: &ConversationOptions,
    id: &SessionId,
    recorder: Recorder,
) -> Result<Recorder, Error> {
    let Err(error) = recorder.written().await else { return Ok(recorder) };
    abandon(options, id, &recorder).await;
    Err(error.into())
}

/// Takes a log back that could not be begun.
async fn abandon(options: &ConversationOptions, id: &SessionId, recorder: &Recorder) {
    recorder.journal().close().await;
    if let Err(error) = options.store.delete(id).await {
        tracing::warn!(%error, session = %id, "a conversation that could not be recorded left files behind");
    }
}

async fn leave(recorder: Option<Recorder>, reason: &str) -> Result<(), Error> {
    match recorder {
        Some(recorder) => recorder.end(reason, false).await,
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use futures_util::FutureExt;
    use futures_util::future::{self, BoxFuture};
    use robota_core::{Message, Timestamp};

    use super::*;
    use crate::log::JournalOptions;
    use crate::{ConversationEntry, Defects, ErrorKind, Journal, LogWriter, OpenLog, Speaker};

    struct FullDisk;

    impl LogWriter for FullDisk {
        fn append<'a>(&'a mut self, _: &'a [u8]) -> BoxFuture<'a, io::Result<()>> {
            future::ready(Err(io::ErrorKind::StorageFull.into())).boxed()
        }

        fn sync(&mut self) -> BoxFuture<'_, io::Result<()>> {
            future::ready(Ok(())).boxed()
        }
    }

    fn on_a_full_disk() -> Conversation {
        let session_id: SessionId = "s".parse().unwrap();
        let log = OpenLog::new(Box::new(FullDisk), 0, "/full/s.jsonl");
        let journal = Arc::new(Journal::start(JournalOptions::new(session_id.clone()), Some(log)));
        let options = ConversationOptions::new("m", "/work");
        Conversation::attached(
            options,
            Attached {
                session_id,
                sink: Arc::<Journal>::clone(&journal),
                journal,
                history: History::default(),
                last_turn: 3,
                usage: robota_core::Usage::default(),
                created: Timestamp::default(),
                defects: Defects::default(),
            },
        )
    }

    #[tokio::test]
    async fn a_log_that_takes_nothing_more_is_an_error_of_every_change() {
        let conversation = on_a_full_disk();
        let entry = ConversationEntry { timestamp_ms: 0, text: "one".into(), speaker: Speaker::User };
        let error = conversation.add_to_history(entry.clone()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Storage);
        assert!(error.to_string().contains("/full/s.jsonl") && error.hint().is_some(), "{error}");
        let message = Message::user("m", Timestamp::default(), "two");
        for refused in [
            conversation.add_to_history(entry).await,
            conversation.record_message(message),
            conversation.clear_history(),
            conversation.start_turn().map(drop),
            conversation.compact().await.map(drop),
        ] {
            assert_eq!(refused.unwrap_err().kind(), ErrorKind::Storage);
        }
        assert_eq!(conversation.message_count(), 1);
        assert_eq!(conversation.last_turn(), 3);
        // It says so at the end too, and is closed all the same.
        assert_eq!(conversation.shutdown().await.unwrap_err().kind(), ErrorKind::Storage);
        assert_eq!(conversation.clear_history().unwrap_err().kind(), ErrorKind::Closed);
        conversation.shutdown().await.unwrap();
    }
}
