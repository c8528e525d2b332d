//! Whether a log holds everything that a replay needs.

mod calls;
mod chain;
mod issue;
mod payloads;

use std::borrow::Borrow;

use robota_core::{Event, EventKind};

pub use issue::{ReplayIssue, ReplayIssueCode, ReplayValidation};

use self::calls::Calls;
use self::chain::Chain;
use self::issue::Issues;
use crate::log::{LogFold, Taken};
use crate::{Defect, DefectKind, LogItem};

/// Kinds that a replay rests on. An event of such a name that does not decode is damaged, and not of a
/// later version.
const NEEDED: [&str; 13] = [
    "session_init",
    "session_resume",
    "pre_run",
    "provider_request",
    "provider_response_normalized",
    "history_mutation",
    "compact_start",
    "compact_summary",
    "tool_execution_request",
    "tool_execution_result",
    "assistant",
    "interrupted",
    "complete",
];

/// Says what is missing in the log that `events` come from, or stands in the wrong place
/// (`validateSessionReplayLogEntries` of seed `000`).
///
/// A turn that was interrupted, that failed or that the death of the process ended is as valid as any
/// other, and so are a request that was made again, a compaction, and a log without events.
pub fn validate_session_replay_log_entries<I>(events: I) -> ReplayValidation
where
    I: IntoIterator,
    I::Item: Borrow<Event>,
{
    let mut validator = ReplayValidator::default();
    for event in events {
        validator.take(event.borrow());
    }
    validator.finish()
}

/// The same for what a [`LogReader`](crate::LogReader) gives: damaged lines are issues, too.
pub fn validate_session_replay_log_items<I>(items: I) -> ReplayValidation
where
    I: IntoIterator,
    I::Item: Borrow<LogItem>,
{
    let mut validator = ReplayValidator::default();
    for item in items {
        validator.take_item(item.borrow());
    }
    validator.finish()
}

/// Validates a log piece by piece: [`validate_session_replay_log_entries`] for whoever reads one.
#[derive(Default)]
pub struct ReplayValidator {
    /// How many pieces were taken.
    taken: usize,
    fold: Option<LogFold>,
    chain: Chain,
    calls: Calls,
    issues: Issues,
}

impl ReplayValidator {
    /// Takes the next piece of a log.
    pub fn take_item(&mut self, item: &LogItem) {
        match item {
            LogItem::Event(event) => self.take(event),
            LogItem::Defect(defect) => self.take_defect(defect),
        }
    }

    /// Takes the next event.
    pub fn take(&mut self, event: &Event) {
        let index = self.next_index();
        let fold = self.fold.get_or_insert_with(|| LogFold::new(event.session_id.clone()));
        let before = chain::Lengths::of(fold);
        let code = match fold.take_event(event) {
            Taken::InOrder => None,
            Taken::Late => Some((ReplayIssueCode::OutOfOrder, "stands behind later ones")),
            Taken::Duplicate => Some((ReplayIssueCode::DuplicateEvent, "is there a second time")),
            Taken::Foreign => Some((ReplayIssueCode::ForeignEvent, "is of another session")),
        };
        if let Some((code, what)) = code {
            let message = match code {
                ReplayIssueCode::ForeignEvent => {
                    format!(
                        "event {} {what}, {}, in the log of {}",
                        event.seq,
                        event.session_id,
                        fold.state().id
                    )
                }
                _ => format!("event {} {what}", event.seq),
            };
            self.issues.push(ReplayIssue::new(code, index, message));
            if code != ReplayIssueCode::OutOfOrder {
                return;
            }
        }
        if let Some(message) = self.chain.take(event, before, fold) {
            let mut issue = ReplayIssue::new(ReplayIssueCode::HistoryGap, index, message);
            issue.execution_id = calls::execution_id(event);
            self.issues.push(issue);
        }
        self.calls.take(index, event, &mut self.issues);
        let unresolved = payloads::look_through(index, event, &mut self.issues);
        if !unresolved {
            self.look_at_name(index, event);
        }
    }

    /// Takes the next line that is no event.
    pub fn take_defect(&mut self, defect: &Defect) {
        let code = match defect.kind {
            DefectKind::Foreign => ReplayIssueCode::ForeignEvent,
            DefectKind::Duplicate => ReplayIssueCode::DuplicateEvent,
            DefectKind::MissingMessages | DefectKind::OutOfPlace => ReplayIssueCode::HistoryGap,
            DefectKind::Payload => ReplayIssueCode::UnresolvedReplayPayload,
            _ => ReplayIssueCode::LineDamaged,
        };
        if defect.kind == DefectKind::Payload {
            // The lines after it build on what it held.
            self.chain.break_off();
        }
        let index = self.next_index();
        self.issues.push(ReplayIssue::new(code, index, defect.to_string()));
    }

    /// The verdict about everything taken.
    #[must_use]
    pub fn finish(self) -> ReplayValidation {
        self.issues.into_validation()
    }

    fn next_index(&mut self) -> usize {
        self.taken += 1;
        self.taken - 1
    }

    fn look_at_name(&mut self, index: usize, event: &Event) {
        let EventKind::Unknown(fields) = &event.kind else { return };
        let name = fields.get("event").and_then(|name| name.as_str()).unwrap_or_default();
        if NEEDED.contains(&name) {
            let message = format!("the fields of event {} are not those of a `{name}`", event.seq);
            self.issues.push(ReplayIssue::new(ReplayIssueCode::LineDamaged, index, message));
        }
    }
}
