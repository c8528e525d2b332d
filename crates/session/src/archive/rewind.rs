//! Going back to the end of a turn.

use std::collections::{BTreeMap, BTreeSet};

use robota_core::{History, HistoryMutation, MessageRef};
use serde::Serialize;

/// What a rewind came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct RewindReport {
    /// The turn whose end the history is back at.
    pub turn: u32,
    /// Messages before.
    pub messages_before: usize,
    /// Messages now.
    pub messages_after: usize,
    /// A compaction lay between: the messages of that time were taken from the log, and the timeline keeps
    /// what was.
    pub replaced: bool,
}

/// Where in the history the turns of an open session ended, as far as that still holds.
#[derive(Debug, Default)]
pub(crate) struct TurnEnds {
    lengths: BTreeMap<u32, usize>,
}

impl TurnEnds {
    /// Takes note that `turn` ended with a history of `length` messages.
    pub(crate) fn note(&mut self, turn: u32, length: usize) {
        self.lengths.insert(turn, length);
    }

    /// Takes note that the history changed.
    pub(crate) fn see(&mut self, mutation: &HistoryMutation) {
        match mutation {
            HistoryMutation::Replace { .. } | HistoryMutation::Clear => self.lengths.clear(),
            HistoryMutation::Truncate { length } => self.lengths.retain(|_, end| *end <= *length),
            _ => {}
        }
    }

    /// How many messages there were when `turn` ended.
    pub(crate) fn get(&self, turn: u32) -> Option<usize> {
        self.lengths.get(&turn).copied()
    }

    /// The turns whose ends are known.
    pub(crate) fn turns(&self) -> BTreeSet<u32> {
        self.lengths.keys().copied().collect()
    }
}

/// The history as it was at the end of a turn.
pub(crate) enum RewindPoint {
    /// The first so many messages of what is there now.
    Length(usize),
    /// These messages.
    Messages(Vec<MessageRef>),
}

/// What takes `now` back to `point`; `None` when it is there already.
///
/// Results of the last calls of that time stay, also those that came when the session was opened again:
/// no call is left without one that has one.
pub(crate) fn rewind_to(now: &History, point: RewindPoint) -> Option<HistoryMutation> {
    let messages = now.messages();
    let length = match point {
        RewindPoint::Length(length) => length,
        RewindPoint::Messages(then) if messages.get(..then.len()) == Some(&then) => then.len(),
        RewindPoint::Messages(then) => return Some(HistoryMutation::Replace { messages: then }),
    };
    let rest = messages.get(length..)?;
    let results = rest.iter().take_while(|message| message.answers().is_some()).count();
    (results < rest.len()).then_some(HistoryMutation::Truncate { length: length + results })
}

#[cfg(test)]
mod tests {
    use robota_core::{Body, Message, Timestamp};

    use super::*;

    fn user(id: &str) -> MessageRef {
        Message::user(id, Timestamp::default(), id).into()
    }

    fn result(call: &str) -> MessageRef {
        let body = Body::Tool {
            content: "done".into(),
            tool_call_id: call.into(),
            name: None,
            is_error: false,
            parts: Vec::new(),
        };
        Message::with_body(call, Timestamp::default(), body).into()
    }

    #[test]
    fn a_prefix_is_cut_off_and_anything_else_is_put_back() {
        let mut now = History::default();
        for message in [user("a"), user("b"), result("c1"), user("d")] {
            now.append(message);
        }
        let truncate = |length| Some(HistoryMutation::Truncate { length });
        assert_eq!(rewind_to(&now, RewindPoint::Length(1)), truncate(1));
        assert_eq!(rewind_to(&now, RewindPoint::Length(2)), truncate(3), "the call keeps its result");
        assert_eq!(rewind_to(&now, RewindPoint::Length(4)), None);
        assert_eq!(rewind_to(&now, RewindPoint::Messages(vec![user("a")])), truncate(1));
        let before = vec![user("x")];
        let replace = Some(HistoryMutation::Replace { messages: before.clone() });
        assert_eq!(rewind_to(&now, RewindPoint::Messages(before)), replace);
    }

    #[test]
    fn ends_hold_until_the_history_before_them_changes() {
        let mut ends = TurnEnds::default();
        (1..=4).for_each(|turn| ends.note(turn, turn as usize * 2));
        ends.see(&HistoryMutation::Truncate { length: 4 });
        assert_eq!((ends.get(2), ends.get(3)), (Some(4), None));
        ends.see(&HistoryMutation::AppendMessage { index: 4, message: user("a") });
        assert_eq!(ends.turns(), BTreeSet::from([1, 2]));
        ends.see(&HistoryMutation::Clear);
        assert!(ends.turns().is_empty());
    }
}
