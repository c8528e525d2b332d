//! A recorded compaction, looked at again.

use crate::replay::recording::RecordedCompaction;
use crate::replay::report::{CompactionReplay, Divergence};

/// Compares what the log tells of a compaction with itself: its parts come in order, on the history that
/// the log has there, and what took the place of that history holds the last summary. Its requests are
/// not made again, so they count as unverifiable.
pub(super) async fn replay_compaction(recorded: &RecordedCompaction) -> CompactionReplay {
    let divergence = first_misfit(recorded).map(|(index, difference)| Divergence {
        turn: recorded.turn,
        request: index + 1,
        seq: recorded.requests.get(index).map_or(0, |request| request.seq),
        difference,
    });
    let fitting = divergence.as_ref().map_or(recorded.requests.len(), |divergence| divergence.request - 1);
    CompactionReplay {
        turn: recorded.turn,
        requests: recorded.requests.len(),
        verified: 0,
        unverifiable: fitting,
        divergence,
    }
}

/// The index of the first request that does not fit, and why.
fn first_misfit(recorded: &RecordedCompaction) -> Option<(usize, String)> {
    let length = recorded.before.len();
    // A call without a summary was refused or failed; the same part is then asked for again.
    let mut part = 1;
    for (index, request) in recorded.requests.iter().enumerate() {
        if request.told_length != length {
            let difference = format!("the history had {} messages and has {length}", request.told_length);
            return Some((index, difference));
        }
        if request.part != part {
            return Some((index, format!("it was for part {}, where part {part} comes next", request.part)));
        }
        part += u32::from(request.summary.is_some());
    }
    let messages = recorded.replacement.as_ref()?;
    let last = recorded.requests.len().checked_sub(1)?;
    let summary = recorded.requests.iter().rev().find_map(|request| request.summary.as_ref());
    let Some(summary) = summary else { return Some((last, "its summary is not in the log".to_owned())) };
    let held = recorded.redacted || messages.iter().any(|message| message.text().contains(summary.as_str()));
    (!held).then(|| (last, "its summary is not in the history that it came to".to_owned()))
}
