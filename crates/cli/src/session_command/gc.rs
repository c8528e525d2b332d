//! `robota session gc`.

use std::time::Duration;

use robota_session::SkippedFile;
use robota_session::archive::{GcItem, GcKind, GcOptions, GcPlan, GcReport, apply_gc, plan_gc};
use serde::Serialize;

use super::{Shelf, count, note, print, size};
use crate::exit::{Exit, Failure};
use crate::harmless::one_line;
use crate::session_args::GcArgs;

const SECONDS_OF_DAY: u64 = 24 * 60 * 60;

/// What can go, as JSON has it.
#[derive(Serialize)]
struct Planned<'a> {
    applied: bool,
    bytes: u64,
    #[serde(flatten)]
    plan: &'a GcPlan,
}

/// What went, as JSON has it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Applied<'a> {
    applied: bool,
    left_alone: &'a [SkippedFile],
    #[serde(flatten)]
    report: &'a GcReport,
}

pub(super) fn run(shelf: &Shelf, args: &GcArgs) -> Result<Exit, Failure> {
    let mut options = GcOptions::default();
    options.older_than = args.older_than.map(|days| Duration::from_secs(u64::from(days) * SECONDS_OF_DAY));
    let plan = shelf.wait(plan_gc(&shelf.store, &options))?;
    if !args.json {
        plan.left_alone.iter().for_each(|left| note(&format!("{}: {}", left.path.display(), left.reason)));
    }
    if args.apply { apply(shelf, plan, args.json) } else { show(&plan, args.json) }
}

fn show(plan: &GcPlan, json: bool) -> Result<Exit, Failure> {
    let bytes = plan.bytes();
    print(&Planned { applied: false, bytes, plan }, json, |output| {
        plan.items.iter().for_each(|item| output.line(&row(item)));
        if plan.items.is_empty() {
            output.line("nothing is left over");
        } else {
            let things = count(plan.items.len(), "thing", "things");
            output.line(&format!("nothing was removed; --apply removes {things}, {}", size(bytes)));
        }
    })
}

fn apply(shelf: &Shelf, plan: GcPlan, json: bool) -> Result<Exit, Failure> {
    let left_alone = plan.left_alone.clone();
    let report = shelf.wait(apply_gc(&shelf.store, plan))?;
    let told = Applied { applied: true, left_alone: &left_alone, report: &report };
    let exit = print(&told, json, |output| {
        report.removed.iter().for_each(|item| output.line(&row(item)));
        let things = count(report.removed.len(), "thing", "things");
        output.line(&format!("removed {things}, {}", size(report.bytes)));
    })?;
    report.kept.iter().for_each(|kept| note(&format!("{}: {}", kept.path.display(), kept.reason)));
    match report.kept.len() {
        0 => Ok(exit),
        some => {
            let things = count(some, "thing is still there", "things are still there");
            Err(Failure::new(Exit::Storage, things)
                .with_hint("The notes say why; it may be tried again at any time."))
        }
    }
}

fn row(item: &GcItem) -> String {
    let kind = match item.kind {
        GcKind::OldSession => "old session",
        GcKind::UnusedPayload => "unused payload",
        GcKind::OrphanPayloads => "payloads without a log",
        GcKind::OrphanOutputs => "outputs without a session",
        GcKind::StaleLock => "lock left behind",
        GcKind::Leftover => "temporary file",
        _ => "left over",
    };
    let (bytes, path) = (size(item.bytes), item.path.display());
    one_line(&format!("{kind}, {bytes}: {path} ({})", item.reason))
}
