//! The end of a session.

use std::time::Duration;

use robota_core::{EventKind, EventSink, HookCall};

use super::Session;
use crate::Error;

/// How long an aborted turn may take to end.
const GRACE: Duration = Duration::from_secs(10);

/// How far the shutdown of a session has come, should its future be dropped in the middle: the next call
/// goes on from there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Stage {
    /// It has not begun.
    #[default]
    Open,
    /// The log has been told.
    Logged,
    /// The hooks have been told.
    Told,
    /// Everything is done.
    Closed,
}

impl Session {
    /// Ends the session: aborts the turn that runs, logs the end, takes a snapshot, waits for the
    /// disk, tells the SessionEnd hooks, and gives the session free for other programs. `reason` is one of facts sheet 2.7, such
    /// as `prompt_input_exit` or `other`.
    ///
    /// Happens once; later calls wait for the first and then do nothing. When its future was dropped, the
    /// next call does what is left. Hooks have a minute.
    ///
    /// # Errors
    ///
    /// [`Storage`](crate::ErrorKind::Storage). The session is closed all the same.
    pub async fn shutdown(&self, reason: impl Into<String>) -> Result<(), Error> {
        let mut stage = self.shutdown.lock().await;
        if *stage == Stage::Closed {
            return Ok(());
        }
        self.conversation.begin_closing();
        if tokio::time::timeout(GRACE, self.conversation.idle()).await.is_err() {
            // Its future is neither polled nor dropped; it can do no more harm than this.
            tracing::warn!(session = %self.id, "a turn did not end, the session is closed all the same");
        }
        self.answer_half_done("the session was closed");
        let reason = reason.into();
        let logged = if *stage == Stage::Open {
            *stage = Stage::Logged;
            self.journal.acknowledge(EventKind::SessionShutdown { reason: reason.clone() }).await
        } else {
            self.journal.flush().await
        };
        let saved = match logged {
            Ok(()) => self.save_last_snapshot().await,
            Err(error) => Err(error.into()),
        };
        if let Err(error) = &saved {
            let (step, error) = ("persist".to_owned(), error.to_string());
            self.journal.emit(EventKind::SessionShutdownStepError { step, error });
        }
        if *stage == Stage::Logged {
            *stage = Stage::Told;
            self.fire_last(HookCall::SessionEnd { reason }).await;
        }
        self.journal.close().await;
        *stage = Stage::Closed;
        saved
    }
}
