//! What can be made of a log: the state of its session, a verdict about it, the full entries that its
//! compact lines stand for, and the session itself, run again.
//!
//! - [`replay_session_log_entries`] folds events into a [`SessionReplayRecord`], by the same rules by which
//!   a session is resumed ([`LogFold`](crate::LogFold)).
//! - [`validate_session_replay_log_entries`] says what is missing in a log, or stands in the wrong place.
//! - [`expand`] gives each event with everything it refers to: messages, histories, tools.
//! - [`replay`] runs the turns and the compactions again, with the model's answers and the tools' results
//!   from the log, and checks every request against the one that was made then.
//! - [`recorded_answers`] gives what the model answered, for a provider that gives the same answers again.
//!
//! All five take events one at a time and hold one history. None of them fails: what cannot be used is
//! passed over, and said.

mod answers;
mod expand;
mod record;
mod recording;
mod report;
mod rerun;
mod settings;
mod validate;

pub use answers::recorded_answers;
pub use expand::{Expand, expand};
pub use record::{ReplayedTurn, SessionReplayRecord, replay_session_log_entries};
pub use report::{CompactionReplay, Divergence, ReplayReport, TurnReplay};
pub use rerun::replay;
pub use validate::{
    ReplayIssue, ReplayIssueCode, ReplayValidation, ReplayValidator, validate_session_replay_log_entries,
    validate_session_replay_log_items,
};
