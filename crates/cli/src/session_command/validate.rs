//! `robota session validate`.

use robota_core::SessionId;
use robota_session::{LogItem, ReplayIssue, ReplayValidator};
use serde::Serialize;

use super::{Shelf, count, json_of, unreadable, written};
use crate::exit::{Exit, Failure};
use crate::harmless::one_line;
use crate::session_args::Query;
use crate::stdout::Output;

/// The verdict about a log, as JSON has it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Verdict {
    session_id: SessionId,
    ok: bool,
    /// Events that could be read.
    events: usize,
    /// How many things are wrong, those that are not listed included.
    total: usize,
    issues: Vec<Issue>,
}

#[derive(Serialize)]
struct Issue {
    /// The line of the log, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
    #[serde(flatten)]
    issue: ReplayIssue,
}

pub(super) fn run(shelf: &Shelf, session: &Query, json: bool) -> Result<Exit, Failure> {
    let id = shelf.find(session)?.id;
    let verdict = examine(shelf, id)?;
    let mut output = Output::new();
    if json {
        output.line(&json_of(&verdict)?);
    } else {
        verdict.issues.iter().for_each(|issue| output.line(&told(issue)));
        let rest = verdict.total.saturating_sub(verdict.issues.len());
        if rest > 0 {
            output.line(&format!("and {rest} more"));
        }
        if verdict.ok {
            output.line(&format!("valid: {}", count(verdict.events, "event", "events")));
        }
    }
    let exit = written(output)?;
    if verdict.ok {
        return Ok(exit);
    }
    let (issues, events) =
        (count(verdict.total, "issue", "issues"), count(verdict.events, "event", "events"));
    Err(Failure::new(
        Exit::Failed,
        format!("the log of session {} is not valid: {issues} in {events}", verdict.session_id),
    )
    .with_hint("The session can be gone on with all the same: what is intact is used, the rest is left out."))
}

fn told(Issue { line, issue }: &Issue) -> String {
    let place = line.map(|line| format!("line {line}: ")).unwrap_or_default();
    // Damaged lines say themselves where they stand.
    let message = issue.message.strip_prefix(place.trim_end_matches(": ")).unwrap_or(&issue.message);
    one_line(&format!("{place}{}: {}", issue.code, message.trim_start_matches(", ")))
}

fn examine(shelf: &Shelf, id: SessionId) -> Result<Verdict, Failure> {
    let mut validator = ReplayValidator::default();
    let mut events = 0;
    for item in shelf.log(&id)? {
        let item = item.map_err(|error| unreadable(shelf, &id, &error))?;
        events += usize::from(matches!(item, LogItem::Event(_)));
        validator.take_item(&item);
    }
    let validation = validator.finish();
    let issues = placed(shelf, &id, validation.issues)?;
    Ok(Verdict { session_id: id, ok: validation.ok, events, total: validation.total, issues })
}

/// The issues with their lines, for which the log is read once more.
fn placed(shelf: &Shelf, id: &SessionId, mut issues: Vec<ReplayIssue>) -> Result<Vec<Issue>, Failure> {
    issues.sort_by_key(|issue| issue.event_index);
    let mut placed = Vec::with_capacity(issues.len());
    let mut issues = issues.into_iter().peekable();
    let (mut reader, mut index) = (shelf.log(id)?, 0);
    while issues.peek().is_some() && reader.next().is_some() {
        while let Some(issue) = issues.next_if(|issue| issue.event_index == index) {
            placed.push(Issue { line: reader.line(), issue });
        }
        index += 1;
    }
    placed.extend(issues.map(|issue| Issue { line: None, issue }));
    Ok(placed)
}
