//! What comes of running a session again.

use std::fmt;

use serde::Serialize;

/// What came of running a session again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ReplayReport {
    /// Its turns that called the model, in order.
    pub turns: Vec<TurnReplay>,
    /// Its compactions, in order.
    pub compactions: Vec<CompactionReplay>,
}

/// What came of running one turn again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct TurnReplay {
    /// Number of the turn.
    pub turn: u32,
    /// Model calls that were recorded, those of compactions not counted.
    pub requests: usize,
    /// How many of them came out byte-identical, as far as the turn went.
    pub verified: usize,
    /// How many of them came out as the log tells them, where the log does not tell them letter by letter:
    /// secrets were taken out, or the line has no digest.
    pub unverifiable: usize,
    /// Where the turn first went another way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub divergence: Option<Divergence>,
}

/// What came of running one compaction again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct CompactionReplay {
    /// Number of the turn it belongs to; 0 outside of turns.
    pub turn: u32,
    /// Model calls that were recorded.
    pub requests: usize,
    /// How many of them came out byte-identical.
    pub verified: usize,
    /// How many of them fit the log, where that cannot be said letter by letter.
    pub unverifiable: usize,
    /// Where it first went another way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub divergence: Option<Divergence>,
}

/// The first place at which a request differs from the recorded one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Divergence {
    /// Number of the turn; 0 for a compaction outside of turns.
    pub turn: u32,
    /// It is in a compaction, and not among the requests of the turn itself.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub compaction: bool,
    /// Number of the request in the turn or in the compaction, from 1.
    pub request: usize,
    /// Number of the event that recorded the request, or the last one before it where none did.
    pub seq: u64,
    /// What differs.
    pub difference: String,
}

impl ReplayReport {
    /// The first divergence of the session, in the order of its log.
    #[must_use]
    pub fn first_divergence(&self) -> Option<&Divergence> {
        let of_turns = self.turns.iter().find_map(|turn| turn.divergence.as_ref());
        let of_compactions = self.compactions.iter().find_map(|compaction| compaction.divergence.as_ref());
        of_turns.into_iter().chain(of_compactions).min_by_key(|divergence| divergence.seq)
    }

    /// How many requests came out as the log tells them, where it does not tell them letter by letter.
    #[must_use]
    pub fn unverifiable(&self) -> usize {
        let of_turns: usize = self.turns.iter().map(|turn| turn.unverifiable).sum();
        let of_compactions: usize = self.compactions.iter().map(|compaction| compaction.unverifiable).sum();
        of_turns + of_compactions
    }
}

impl fmt::Display for Divergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { turn, request, difference, .. } = self;
        let place = match (self.compaction, turn) {
            (false, _) => format!("turn {turn}"),
            (true, 0) => "compaction between turns".to_owned(),
            (true, _) => format!("compaction in turn {turn}"),
        };
        write!(f, "{place}, request {request} differs from the recorded one: {difference}")
    }
}
