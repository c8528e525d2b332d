//! Going back to the end of a turn, in an open session.

use robota_core::{EventSink, HistoryMutation};

use super::Session;
use crate::Error;
use crate::archive::{RewindPoint, RewindReport, no_such_turn, rewind_to};

/// What is refused while a turn runs.
const WHAT: &str = "the history cannot be rewound";

impl Session {
    /// Takes the history back to the end of the turn `turn`; 0 for before the first. The log keeps what
    /// was, and later turns go on counting.
    ///
    /// Where a compaction lies between, the messages of that time are read from the log. A session without
    /// a log goes back only to turns that it ran itself, and not past a compaction or a clear.
    ///
    /// # Errors
    ///
    /// [`InvalidTurn`](crate::ErrorKind::InvalidTurn) with the turns that can be reached;
    /// [`Busy`](crate::ErrorKind::Busy) while a turn runs, [`Closed`](crate::ErrorKind::Closed) after the
    /// shutdown, [`Storage`](crate::ErrorKind::Storage).
    pub async fn rewind(&self, turn: u32) -> Result<RewindReport, Error> {
        // Before anything is read: whether this is the time for it.
        self.change_if(WHAT, |_| None)?;
        self.journal.check()?;
        let is_known = self.sink.turn_ends().get(turn).is_some();
        let mut logged = None;
        if !is_known && self.facts.persistent {
            // So that the log has all that happened before this.
            self.journal.written().await?;
            let then = self.store.load_at(&self.id, turn).await?;
            logged = Some(RewindPoint::Messages(then.history.messages().to_vec()));
        }
        let report = self.go_back(turn, logged)?;
        // As after a turn: who is told that it is done finds it on disk.
        self.journal.flush().await?;
        Ok(report)
    }

    /// Goes back to what the session remembers of the turn, or else to what its log says.
    fn go_back(&self, turn: u32, logged: Option<RewindPoint>) -> Result<RewindReport, Error> {
        let mut outcome = None;
        self.change_if(WHAT, |history| {
            let remembered = self.sink.turn_ends().get(turn).map(RewindPoint::Length);
            let point = remembered.or(logged)?;
            let messages_before = history.messages().len();
            let mutation = rewind_to(history, point);
            // A cut or a replacement always applies.
            let mutation = mutation.filter(|mutation| history.apply(mutation).is_ok());
            outcome = Some(RewindReport {
                turn,
                messages_before,
                messages_after: history.messages().len(),
                replaced: matches!(mutation, Some(HistoryMutation::Replace { .. })),
            });
            mutation
        })?;
        outcome.ok_or_else(|| no_such_turn(turn, &self.sink.turn_ends().turns()))
    }
}
