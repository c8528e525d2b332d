//! `robota session replay`.

use robota_core::SessionId;
use robota_session::{Divergence, ReplayReport};
use serde::Serialize;

use super::{Shelf, count, print};
use crate::exit::{Exit, Failure};
use crate::session_args::Query;
use crate::stdout::Output;

/// The report as JSON has it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Told<'a> {
    session_id: &'a SessionId,
    ok: bool,
    /// Requests that came out as the log tells them, where it does not tell them letter by letter.
    unverifiable: usize,
    #[serde(flatten)]
    report: &'a ReplayReport,
}

pub(super) fn run(shelf: &Shelf, session: &Query, json: bool) -> Result<Exit, Failure> {
    let id = shelf.find(session)?.id;
    let mut events = shelf.events(&id)?;
    let report = shelf.runtime.block_on(robota_session::replay(events.by_ref()));
    events.finish(shelf, &id)?;
    let (first, unverifiable) = (report.first_divergence(), report.unverifiable());
    let told = Told { session_id: &id, ok: first.is_none(), unverifiable, report: &report };
    let exit = print(&told, json, |output| tell(&report, output))?;
    match first {
        None => Ok(exit),
        Some(divergence) => Err(Failure::new(Exit::Failed, divergence.to_string())),
    }
}

fn tell(report: &ReplayReport, output: &mut Output) {
    for turn in &report.turns {
        let what = format!("turn {}", turn.turn);
        output.line(&row(&what, turn.requests, turn.unverifiable, turn.divergence.as_ref()));
    }
    for compaction in &report.compactions {
        let what = match compaction.turn {
            0 => "compaction between turns".to_owned(),
            turn => format!("compaction in turn {turn}"),
        };
        output.line(&row(
            &what,
            compaction.requests,
            compaction.unverifiable,
            compaction.divergence.as_ref(),
        ));
    }
    if report.first_divergence().is_some() {
        return;
    }
    let of_turns: usize = report.turns.iter().map(|turn| turn.requests).sum();
    let of_compactions: usize = report.compactions.iter().map(|compaction| compaction.requests).sum();
    match report.unverifiable() {
        _ if of_turns + of_compactions == 0 => output.line("the log tells of no request"),
        0 => output.line("every request came out as it was recorded"),
        some => output.line(&format!(
            "every request came out as it was recorded, {some} of them as far as the log tells: secrets were taken out of it, or it has no digests"
        )),
    }
}

fn row(what: &str, requests: usize, unverifiable: usize, divergence: Option<&Divergence>) -> String {
    let verdict = if divergence.is_none() { "as recorded" } else { "another way" };
    let unverifiable = match unverifiable {
        0 => String::new(),
        some => format!(" ({some} not letter by letter)"),
    };
    format!("{what}: {}, {verdict}{unverifiable}", count(requests, "request", "requests"))
}
