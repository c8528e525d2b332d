//! What the record of a session is worth.

use std::fmt;
use std::io::{self, Read, Seek};

use robota_core::SessionId;
use serde::Deserialize;

use super::head::HeadFields;
use super::seal::Text;
use super::{RecordLog, SessionRecord};
use crate::{Defect, DefectKind, Error};

/// What stands where the record of a session should.
pub(super) enum Record {
    /// Nothing.
    None,
    /// The record exactly as it was written: the log need not be read up to its place.
    Trusted(Box<SessionRecord>),
    /// A record that nothing vouches for, with what is wrong with it: of the original, of an older
    /// version, or changed since.
    Doubtful(Box<SessionRecord>, Doubts),
    /// Something else.
    Broken(Defect),
}

/// What is wrong with a record.
pub(super) struct Doubts {
    /// That it was changed since it was written, so that it knows nothing better than the log.
    pub(super) changed: Option<Defect>,
    /// Messages and entries that cannot be read.
    pub(super) lost: Vec<Defect>,
}

impl Record {
    /// Reads the record of the session `id`, which is at `place`.
    ///
    /// # Errors
    ///
    /// [`Storage`](crate::ErrorKind::Storage) when it cannot be read, and
    /// [`NewerVersion`](crate::ErrorKind::NewerVersion).
    pub(super) fn read(
        id: &SessionId,
        source: &mut (impl Read + Seek),
        place: &dyn fmt::Display,
    ) -> Result<Self, Error> {
        let cannot_read = |error: io::Error| Error::storage(format!("cannot read {place}"), error);
        let text = Text::read(source).map_err(cannot_read)?;
        let record = match text {
            Text::Intact { front, messages } => {
                check_version(HeadFields::of_prefix(&front).and_then(|head| head.log), place)?;
                match SessionRecord::decode_parts(&front, messages.as_deref()) {
                    Ok(record) => Self::Trusted(Box::new(record)),
                    Err(_) => {
                        source.rewind().map_err(cannot_read)?;
                        let mut whole = Vec::new();
                        source.read_to_end(&mut whole).map_err(cannot_read)?;
                        Self::decode(&whole, false)
                    }
                }
            }
            Text::Changed(json) => Self::decode(&json, true),
            Text::Unsealed(json) => {
                check_version(version_of(&json), place)?;
                Self::decode(&json, false)
            }
        };
        Ok(record.of(id))
    }

    fn decode(json: &[u8], changed: bool) -> Self {
        let length = json.len() as u64;
        match SessionRecord::decode(json) {
            Ok((record, lost)) => {
                // A record of this version has a seal.
                let changed = changed || record.log.is_some_and(|log| log.version > 0);
                let told = "it was changed since it was written".to_owned();
                let changed = changed.then(|| broken(length, told));
                Self::Doubtful(Box::new(record), Doubts { changed, lost })
            }
            Err(error) => Self::Broken(broken(length, format!("the record cannot be read: {error}"))),
        }
    }

    fn of(self, id: &SessionId) -> Self {
        match self {
            Self::Trusted(record) | Self::Doubtful(record, _) if record.id != *id => Self::Broken(broken(
                0,
                format!("its field `id` says that it is the record of session {}", record.id),
            )),
            record => record,
        }
    }
}

fn broken(length: u64, detail: String) -> Defect {
    Defect { kind: DefectKind::Snapshot, line: None, offset: 0, length, detail }
}

/// What a listing, and whoever opens a session, must know of the place of a record; of newer records, too.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct RecordPlace {
    pub(super) version: u32,
    pub(super) offset: u64,
    pub(super) compacted: bool,
}

fn version_of(json: &[u8]) -> Option<RecordPlace> {
    #[derive(Deserialize)]
    struct Probe {
        log: Option<RecordPlace>,
    }
    // Most say it near their beginning.
    HeadFields::of_prefix(json)
        .and_then(|head| head.log)
        .or_else(|| serde_json::from_slice::<Probe>(json).ok().and_then(|probe| probe.log))
}

fn check_version(record: Option<RecordPlace>, place: &dyn fmt::Display) -> Result<(), Error> {
    match record {
        Some(RecordPlace { version, .. }) if version > RecordLog::VERSION => {
            Err(Error::newer_version(place, "log.version", version, RecordLog::VERSION))
        }
        _ => Ok(()),
    }
}
