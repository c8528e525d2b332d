//! A session as it was when one of its turns had ended.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::io::{self, Read};

use robota_core::SessionId;
use serde::Deserialize;

use crate::log::Lines;
use crate::{Error, ErrorKind, LogFold, LogMark, SessionStore, StoredSession};

impl dyn SessionStore + '_ {
    /// Reads the session `id` as it was right after its turn `turn`, whoever has it open: everything up to
    /// the last event of that turn counts, and nothing after it. Turn 0 is what was there before the first
    /// prompt.
    ///
    /// What happened between two turns, such as a clear or a rewind, belongs to neither; turns that were
    /// rewound can still be reached. Its `mark` is no place to go on writing at.
    ///
    /// # Errors
    ///
    /// [`InvalidTurn`](ErrorKind::InvalidTurn) when the log has no such turn, with those it has;
    /// [`NotFound`](ErrorKind::NotFound), [`Storage`](ErrorKind::Storage).
    pub async fn load_at(&self, id: &SessionId, turn: u32) -> Result<StoredSession, Error> {
        let cannot_read =
            |error: io::Error| Error::storage(format!("cannot read the log of session {id}"), error);
        let Some(log) = self.read_log(id).await? else {
            // Not there at all, or a record without a log.
            self.load(id).await?;
            return Err(no_such_turn(turn, &BTreeSet::new()));
        };
        let end = match end_of(id, turn, log.lines).map_err(cannot_read)? {
            Ok(end) => end,
            Err(turns) => return Err(no_such_turn(turn, &turns)),
        };
        let Some(log) = self.read_log(id).await? else { return Err(Error::not_found(id)) };
        let fold = LogFold::new(id.clone());
        let mut fold = match log.payloads {
            Some(payloads) => fold.with_payloads(payloads),
            None => fold,
        };
        fold.read(log.lines.take(end)).map_err(cannot_read)?;
        let mut stored = fold.finish();
        stored.mark = LogMark { seq: stored.mark.seq, offset: end };
        Ok(stored)
    }
}

/// There is no turn `turn`, but there are `turns`.
pub(crate) fn no_such_turn(turn: u32, turns: &BTreeSet<u32>) -> Error {
    let (some, zero) = (turns.range(1..).next().is_some(), turns.contains(&0));
    let hint = match (some, zero) {
        (true, true) => format!("choose one of the turns {}, or 0 for before the first", in_words(turns)),
        (true, false) => format!("choose one of the turns {}", in_words(turns)),
        (false, true) => "choose turn 0, before the first: no others are known".to_owned(),
        (false, false) => "no turns of it are known: none was run, or none was recorded".to_owned(),
    };
    Error::new(ErrorKind::InvalidTurn, format!("the session has no turn {turn}")).with_hint(hint)
}

/// As much of an event as says to which turn it belongs.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Glance<'a> {
    #[serde(borrow)]
    session_id: Cow<'a, str>,
    #[serde(default)]
    turn: u32,
}

/// Where the turn ends, in bytes; the turns there are when it is none of them.
fn end_of(id: &SessionId, turn: u32, log: impl Read) -> io::Result<Result<u64, BTreeSet<u32>>> {
    let (mut lines, mut turns, mut end) = (Lines::new(log, 0), BTreeSet::new(), None);
    while let Some(line) = lines.next()? {
        let place = line.place;
        let Some(glance) = serde_json::from_slice::<Glance<'_>>(line.text)
            .ok()
            .filter(|glance| glance.session_id == id.as_str())
        else {
            continue;
        };
        turns.insert(glance.turn);
        if glance.turn > turn && end.is_some() {
            break;
        }
        if glance.turn == turn {
            end = Some(place.offset + place.length);
        }
    }
    Ok(end.ok_or(turns))
}

/// `1 to 3, 5 and 7`, or so.
fn in_words(turns: &BTreeSet<u32>) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for &turn in turns.range(1..) {
        match ranges.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(turn) => *last = turn,
            _ => ranges.push((turn, turn)),
        }
    }
    let words = ranges.into_iter().map(|(first, last)| match first == last {
        true => first.to_string(),
        false => format!("{first} to {last}"),
    });
    words.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_ends_with_its_last_event_and_what_comes_between_turns_belongs_to_none() {
        let line = |turn: u32, session: &str| {
            format!("{{\"seq\":1,\"sessionId\":\"{session}\",\"turn\":{turn},\"event\":\"user\"}}\n")
        };
        let (own, other) = (|turn| line(turn, "s"), line(9, "other"));
        let pieces = [own(0), own(1), "garbage\n".into(), own(1), own(0), other, own(2), own(4), own(4)];
        let log = pieces.concat();
        let ends = |turn| end_of(&"s".parse().unwrap(), turn, log.as_bytes()).unwrap();
        let length = |pieces: &[String]| pieces.iter().map(String::len).sum::<usize>() as u64;
        assert_eq!(ends(0), Ok(length(&pieces[..1])));
        assert_eq!(ends(1), Ok(length(&pieces[..4])));
        assert_eq!(ends(2), Ok(length(&pieces[..7])));
        assert_eq!(ends(4), Ok(log.len() as u64));
        let turns = ends(3).unwrap_err();
        assert_eq!(in_words(&turns), "1 to 2, 4");
        let error = no_such_turn(3, &turns);
        assert_eq!(
            (error.kind(), error.to_string()),
            (ErrorKind::InvalidTurn, "the session has no turn 3".into())
        );
    }
}
