//! How a record is put into a file, and how a reader knows that it is still what was written.
//!
//! ```text
//! {"id":…,"log":{…},…,"history":[…],"messages":[…],"seal":{"messagesAt":5120,"checksum":"…"}}
//! └────────────── front ───────────┘└─ messages ─┘└────────────────── seal ──────────────────┘
//! ```
//!
//! The seal is the last field. Its checksum is an XXH3 of 128 bits over every byte before it and over
//! `messagesAt`: enough to find damage and edits, which is what matters for a cache, and some twenty times
//! as quick as hashing the history again. It is no proof against forgery, and need not be: who can write the
//! snapshot can write the log.

use std::io::{self, Read, Seek, SeekFrom};

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::Xxh3;

use super::head::HeadFields;
use super::{SessionRecord, Snapshot};
use crate::{Error, LineFilter};

const MESSAGES: &[u8] = b"\"messages\":";
const SEAL: &[u8] = b",\"seal\":";
/// No seal is longer, in bytes.
const LONGEST_SEAL: u64 = 128;
/// What is only to be checked is read in pieces of so many bytes.
const PIECE: usize = 64 * 1024;

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Seal {
    /// Where the field `messages` begins, in bytes.
    messages_at: u64,
    /// 32 hex digits.
    checksum: String,
}

impl SessionRecord {
    /// The record as a store takes it, sealed; `filter` goes over all of it before, also what a listing shows.
    ///
    /// # Errors
    ///
    /// When it cannot be encoded, or `filter` leaves something else than a record.
    pub fn into_snapshot(self, filter: Option<&LineFilter>) -> Result<Snapshot, Error> {
        let head = self.head();
        let head = match filter.map(|_| filtered(&head, filter)).transpose()? {
            None => head,
            // Paths that are no text stay what they are.
            Some(json) if json == filtered(&head, None)? => head,
            Some(json) => serde_json::from_slice(&json).map_err(|_| broken_by_filter())?,
        };
        Ok(Snapshot::new(head, self.encode(filter)?))
    }

    /// The record as a [`Snapshot`](super::Snapshot) keeps it, sealed; `filter` goes over it before.
    ///
    /// # Errors
    ///
    /// When it cannot be encoded, or `filter` leaves something else than a record.
    pub fn encode(mut self, filter: Option<&LineFilter>) -> Result<Vec<u8>, Error> {
        #[derive(Serialize)]
        struct Messages<'a> {
            messages: &'a [robota_core::MessageRef],
        }
        let messages = std::mem::take(&mut self.messages);
        let mut json = filtered(&self, filter)?;
        if !json.ends_with(b",\"messages\":[]}") {
            return Err(broken_by_filter());
        }
        let messages_at = json.len() - b"\"messages\":[]}".len();
        json.truncate(messages_at);
        let messages = filtered(&Messages { messages: &messages }, filter)?;
        let field = messages.strip_prefix(b"{").and_then(|field| field.strip_suffix(b"}"));
        let field = field.filter(|field| field.starts_with(MESSAGES)).ok_or_else(broken_by_filter)?;
        json.extend_from_slice(field);
        let messages_at = messages_at as u64;
        let mut hash = Xxh3::new();
        hash.update(&json);
        let seal = Seal { messages_at, checksum: checksum(&mut hash, messages_at) };
        json.extend_from_slice(SEAL);
        json.extend_from_slice(&serde_json::to_vec(&seal).map_err(cannot_encode)?);
        json.push(b'}');
        Ok(json)
    }
}

fn filtered(value: &impl Serialize, filter: Option<&LineFilter>) -> Result<Vec<u8>, Error> {
    let mut json = serde_json::to_vec(value).map_err(cannot_encode)?;
    if let Some(filter) = filter {
        let _ = filter.apply(&mut json);
    }
    Ok(json)
}

fn cannot_encode(error: serde_json::Error) -> Error {
    Error::storage("cannot encode the snapshot", error)
}

fn broken_by_filter() -> Error {
    Error::storage(
        "cannot encode the snapshot",
        "the filter of the session left something else than a record",
    )
}

fn checksum(hash: &mut Xxh3, messages_at: u64) -> String {
    hash.update(&messages_at.to_le_bytes());
    format!("{:032x}", hash.digest128())
}

/// The text of a record.
pub(super) enum Text {
    /// Every byte is as it was written.
    Intact {
        /// The record without its messages.
        front: Vec<u8>,
        /// The list of messages, where the timeline does not tell them.
        messages: Option<Vec<u8>>,
    },
    /// It has a seal that does not fit: bytes have changed.
    Changed(Vec<u8>),
    /// It has no seal of this format.
    Unsealed(Vec<u8>),
}

impl Text {
    /// Reads `source` to its end.
    pub(super) fn read(source: &mut (impl Read + Seek)) -> io::Result<Self> {
        let length = source.seek(SeekFrom::End(0))?;
        let sealed = Sealed::find(source, length)?;
        if let Some(sealed) = &sealed
            && let Some(intact) = sealed.read(source)?
        {
            return Ok(intact);
        }
        source.rewind()?;
        let whole = read_some(source, length)?;
        Ok(if sealed.is_some() { Self::Changed(whole) } else { Self::Unsealed(whole) })
    }
}

/// A seal, and where it stands.
struct Sealed {
    seal: Seal,
    at: u64,
}

impl Sealed {
    /// Looks for a seal at the end of `source`, which has `length` bytes.
    fn find(source: &mut (impl Read + Seek), length: u64) -> io::Result<Option<Self>> {
        let begin = length.saturating_sub(LONGEST_SEAL);
        source.seek(SeekFrom::Start(begin))?;
        let end = read_some(source, length - begin)?;
        let found = end.windows(SEAL.len()).rposition(|piece| piece == SEAL);
        let Some((at, json)) =
            found.and_then(|at| Some((at, end.get(at + SEAL.len()..)?.strip_suffix(b"}")?)))
        else {
            return Ok(None);
        };
        let at = begin + at as u64;
        let seal = serde_json::from_slice::<Seal>(json).ok();
        Ok(seal.filter(|seal| 0 < seal.messages_at && seal.messages_at <= at).map(|seal| Self { seal, at }))
    }

    /// What stands before the seal; `None` when it does not fit.
    fn read(&self, source: &mut (impl Read + Seek)) -> io::Result<Option<Text>> {
        source.rewind()?;
        let mut hash = Xxh3::new();
        let mut front = read_some(source, self.seal.messages_at)?;
        hash.update(&front);
        if let Some(comma) = front.last_mut() {
            *comma = b'}';
        }
        let compacted =
            HeadFields::of_prefix(&front).and_then(|head| head.log).is_some_and(|log| log.compacted);
        let rest = self.at - self.seal.messages_at;
        let messages = if compacted {
            let name = read_some(source, MESSAGES.len() as u64)?;
            let list = read_some(source, rest.saturating_sub(name.len() as u64))?;
            hash.update(&name);
            hash.update(&list);
            Some(list)
        } else {
            pass_over(source, rest, &mut hash)?;
            None
        };
        let fits = checksum(&mut hash, self.seal.messages_at) == self.seal.checksum;
        Ok(fits.then_some(Text::Intact { front, messages }))
    }
}

fn read_some(source: &mut impl Read, length: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(usize::try_from(length).map_err(io::Error::other)?);
    source.take(length).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Hashes `length` bytes without keeping them: memory that was never used is what costs most here.
fn pass_over(source: &mut impl Read, length: u64, hash: &mut Xxh3) -> io::Result<()> {
    let mut piece = vec![0; PIECE];
    let mut rest = source.take(length);
    loop {
        match rest.read(&mut piece) {
            Ok(0) => return Ok(()),
            Ok(read) => hash.update(piece.get(..read).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_listing_shows_no_more_than_the_filter_leaves() {
        let record = json!({
            "id": "s", "name": "hunter2", "cwd": "/p", "createdAt": 0, "updatedAt": 0, "messageCount": 0,
            "preview": "It is hunter2.", "messages": [], "history": [],
        });
        let (record, _) = SessionRecord::decode(record.to_string().as_bytes()).unwrap();
        let filter = LineFilter::new(|line: &mut Vec<u8>| {
            *line = String::from_utf8(std::mem::take(line))
                .unwrap()
                .replace("hunter2", "[REDACTED]")
                .into_bytes();
            true
        });
        let mut expected = record.head();
        expected.name = Some("[REDACTED]".into());
        expected.preview = Some("It is [REDACTED].".into());
        let snapshot = record.clone().into_snapshot(Some(&filter)).unwrap();
        assert_eq!(snapshot.head, expected);
        assert!(!String::from_utf8(snapshot.json).unwrap().contains("hunter2"));
        assert_eq!(record.clone().into_snapshot(None).unwrap().head, record.head());
    }
}
