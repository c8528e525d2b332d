//! From the files of a session to its state: snapshot and the rest of the log, or the log alone,
//! or the snapshot alone.

use std::fmt::Display;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use robota_core::SessionId;

use super::StoredSession;
use super::read_record::{Doubts, Record};
use crate::log::Tail;
use crate::{Defect, DefectKind, Defects, Error, LogFold, LogMark, PayloadSource, files};

/// A session as its files tell it.
pub(super) struct Loaded {
    pub(super) stored: StoredSession,
    /// How the log ends; `None` when there is no log.
    pub(super) tail: Option<Tail>,
    /// Whether the log has an event of the session.
    log_has_events: bool,
}

/// Where the record or the log of a session is read.
pub(super) struct Source<'a, R> {
    /// `None` when there is none.
    pub(super) reader: Option<R>,
    /// Where it is, for messages to people.
    pub(super) place: &'a dyn Display,
}

/// The payloads that the log refers to, where they are kept.
type Payloads = Option<Arc<dyn PayloadSource>>;

/// Loads the session `id` from files. Only a session without any file is not found.
pub(super) fn load(
    id: &SessionId,
    record: &Path,
    log: &Path,
    payloads: Arc<dyn PayloadSource>,
) -> Result<Loaded, Error> {
    let (record_place, log_place) = (record.display(), log.display());
    let record = Source { reader: open_existing(record)?, place: &record_place };
    load_from(id, record, Source { reader: open_existing(log)?, place: &log_place }, Some(payloads))
}

impl StoredSession {
    /// The state of the session `id` as its `snapshot` and its `log` tell it, and how the log ends: for
    /// implementers of [`SessionStore`](super::SessionStore). `location` names the place in messages to people;
    /// a store that keeps `payloads` says where they are.
    ///
    /// # Errors
    ///
    /// [`NotFound`](crate::ErrorKind::NotFound) when there is neither, [`Storage`](crate::ErrorKind::Storage) when
    /// they cannot be read or are those of another session,
    /// [`NewerVersion`](crate::ErrorKind::NewerVersion). Other damage is told in [`defects`](Self::defects).
    pub fn read(
        id: &SessionId,
        location: &str,
        snapshot: Option<impl Read + Seek>,
        log: Option<impl Read + Seek>,
        payloads: Option<Arc<dyn PayloadSource>>,
    ) -> Result<(Self, Option<Tail>), Error> {
        let places = (format!("the snapshot in {location}"), format!("the log in {location}"));
        let record = Source { reader: snapshot, place: &places.0 };
        let loaded = load_from(id, record, Source { reader: log, place: &places.1 }, payloads)?;
        Ok((loaded.stored, loaded.tail))
    }
}

/// Loads the session `id` from wherever its record and its log are.
///
/// # Errors
///
/// [`NotFound`](crate::ErrorKind::NotFound) when there is neither, [`Storage`](crate::ErrorKind::Storage),
/// [`NewerVersion`](crate::ErrorKind::NewerVersion).
pub(super) fn load_from(
    id: &SessionId,
    record: Source<'_, impl Read + Seek>,
    log: Source<'_, impl Read + Seek>,
    payloads: Payloads,
) -> Result<Loaded, Error> {
    let (place, log_place) = (record.place, log.place);
    let record = match record.reader {
        Some(mut reader) => Record::read(id, &mut reader, place)?,
        None => Record::None,
    };
    let Some(mut log) = log.reader else {
        return match record {
            Record::None => Err(Error::not_found(id)),
            Record::Broken(defect) => Err(Error::storage(format!("cannot use {place}"), defect.detail)
                .with_hint("there is no log of the session beside it, so nothing of it can be read")),
            Record::Trusted(record) => Ok(from_record_alone(record.restore(), Vec::new())),
            Record::Doubtful(record, Doubts { changed, lost }) => {
                Ok(from_record_alone(record.into_stored(), changed.into_iter().chain(lost)))
            }
        };
    };
    let loaded = from_log(id, record, &mut log, payloads)
        .map_err(|error| Error::storage(format!("cannot read {log_place}"), error))?;
    match loaded.foreign() {
        Some(detail) => Err(Error::storage(
            format!("cannot use {log_place}"),
            format!("by its field `sessionId` it is the log of another session ({detail})"),
        )
        .with_hint("put the file back under its own name, and nothing is lost")),
        None => Ok(loaded),
    }
}

impl Loaded {
    /// Why the log is that of another session, when it is.
    fn foreign(&self) -> Option<&str> {
        let foreign = self.stored.defects.listed().iter().find(|defect| defect.kind == DefectKind::Foreign);
        foreign.filter(|_| !self.log_has_events).map(|defect| defect.detail.as_str())
    }
}

fn from_record_alone(mut stored: StoredSession, defects: impl IntoIterator<Item = Defect>) -> Loaded {
    stored.outside_log = true;
    stored.mark.offset = 0;
    defects.into_iter().for_each(|defect| stored.defects.push(defect));
    Loaded { stored, tail: None, log_has_events: false }
}

fn from_log(
    id: &SessionId,
    record: Record,
    log: &mut (impl Read + Seek),
    payloads: Payloads,
) -> io::Result<Loaded> {
    match record {
        Record::None => whole_log(id, log, payloads),
        Record::Broken(defect) => {
            let mut loaded = whole_log(id, log, payloads)?;
            loaded.stored.defects.push(defect);
            Ok(loaded)
        }
        Record::Trusted(record) => from_snapshot_and_log(record.restore(), log, payloads),
        Record::Doubtful(record, Doubts { changed, lost }) => {
            let mut loaded = whole_log(id, log, payloads)?;
            let short =
                log_is_short(record.log.map(|taken| taken.offset), &loaded).filter(|_| changed.is_none());
            if short.is_some() || !loaded.log_has_events {
                loaded = record_over_log(record.into_stored(), loaded, short);
                lost.into_iter().for_each(|defect| loaded.stored.defects.push(defect));
            } else {
                loaded.stored.extra = record.extra;
            }
            changed.into_iter().for_each(|defect| loaded.stored.defects.push(defect));
            Ok(loaded)
        }
    }
}

fn whole_log(id: &SessionId, log: &mut (impl Read + Seek), payloads: Payloads) -> io::Result<Loaded> {
    log.rewind()?;
    let mut fold = fold(StoredSession::new(id.clone()), payloads);
    fold.read(log)?;
    Ok(Loaded { tail: Some(fold.tail()), log_has_events: fold.events() > 0, stored: fold.finish() })
}

/// The snapshot and what the log says after it; the whole log, or the snapshot alone, when the two do not
/// fit together.
fn from_snapshot_and_log(
    mut stored: StoredSession,
    log: &mut (impl Read + Seek),
    payloads: Payloads,
) -> io::Result<Loaded> {
    let taken = stored.mark;
    if line_ends_at(taken.offset, log)? {
        stored.snapshot_offset = taken.offset;
        let mut fold = fold(stored, payloads.clone());
        fold.read(&mut *log)?;
        let (tail, events) = (fold.tail(), fold.events());
        stored = fold.finish();
        if events > 0 || stored.defects.is_empty() {
            return Ok(Loaded { stored, tail: Some(tail), log_has_events: true });
        }
        // No event was taken, so nothing but this has changed.
        stored.defects = Defects::default();
        stored.snapshot_offset = 0;
        stored.mark = taken;
    }
    let mut loaded = whole_log(&stored.id, log, payloads)?;
    let short = log_is_short(Some(taken.offset), &loaded);
    if short.is_some() || !loaded.log_has_events {
        return Ok(record_over_log(stored, loaded, short));
    }
    loaded.stored.extra = stored.extra;
    Ok(loaded)
}

fn fold(stored: StoredSession, payloads: Payloads) -> LogFold {
    let fold = LogFold::resume(stored);
    match payloads {
        Some(payloads) => fold.with_payloads(payloads),
        None => fold,
    }
}

/// How many bytes are missing at the end of a log that a record was taken of at byte `taken_at`.
fn log_is_short(taken_at: Option<u64>, log: &Loaded) -> Option<u64> {
    taken_at?.checked_sub(log.stored.mark.offset).filter(|missing| *missing > 0)
}

/// Whether a line of `log` ends at byte `offset`; `log` is left there.
fn line_ends_at(offset: u64, log: &mut (impl Read + Seek)) -> io::Result<bool> {
    let Some(before) = offset.checked_sub(1) else { return log.rewind().map(|()| true) };
    log.seek(SeekFrom::Start(before))?;
    let mut byte = Vec::new();
    log.take(1).read_to_end(&mut byte)?;
    Ok(byte == *b"\n")
}

/// The record where it knows more than the log: the log was cut, or is that of the original.
fn record_over_log(mut stored: StoredSession, log: Loaded, missing: Option<u64>) -> Loaded {
    let mark = log.stored.mark;
    stored.mark = LogMark { seq: mark.seq.max(stored.mark.seq), offset: mark.offset };
    stored.outside_log = true;
    stored.defects = log.stored.defects;
    if let Some(length) = missing {
        stored.defects.push(Defect {
            kind: DefectKind::ShortLog,
            line: None,
            offset: mark.offset,
            length,
            detail: "the log ends before the place its snapshot was taken at; the snapshot is used"
                .to_owned(),
        });
    }
    Loaded { stored, ..log }
}

fn open_existing(path: &Path) -> Result<Option<File>, Error> {
    match files::open_read(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::storage(format!("cannot read {}", path.display()), error)),
    }
}
