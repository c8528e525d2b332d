//! Telling a log a history that it does not hold.

use robota_core::{History, HistoryEntry, HistoryMutation};

/// The mutations that make the history `told` anew, and the history they make: the same messages and
/// timeline, with a head of its own. With `clear_first` the log holds another history, which is left behind.
pub(crate) fn restated(told: &History, clear_first: bool) -> (History, Vec<HistoryMutation>) {
    let mut history = History::default();
    let mut mutations = Vec::with_capacity(told.entries().len() + 2);
    if clear_first {
        mutations.push(history.clear());
    }
    for entry in told.entries() {
        mutations.push(history.append_entry(HistoryEntry::clone(entry)));
    }
    if history.messages() != told.messages() {
        mutations.push(history.replace(told.messages().to_vec()));
    }
    (history, mutations)
}
