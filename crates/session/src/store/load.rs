//! From the files of a session to its state: snapshot and the rest of the log, or the log alone,
//! or the snapshot alone.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use robota_core::SessionId;

use super::{RecordLog, SessionRecord, StoredSession};
use crate::log::Tail;
use crate::{Defect, DefectKind, Error, LogFold, LogMark, files};

/// A session as its files tell it.
pub(super) struct Loaded {
    pub(super) stored: StoredSession,
    /// How the log ends; `None` when there is no log.
    pub(super) tail: Option<Tail>,
}

/// Loads the session `id`. Only a session without any file is not found.
pub(super) fn load(id: &SessionId, record: &Path, log: &Path) -> Result<Loaded, Error> {
    let cannot_read = |path: &Path| {
        let told = format!("cannot read {}", path.display());
        move |error: io::Error| Error::storage(told, error)
    };
    let record = read_record(id, record).map_err(cannot_read(record))?;
    let mut file = open_existing(log).map_err(cannot_read(log))?;
    match (record, &mut file) {
        (Record::None, None) => Err(Error::not_found(id)),
        (Record::Broken(_), None) => Err(Error::not_found(id)
            .with_hint("its record is broken and it has no log; nothing of it can be read")),
        (Record::Good(record, defects), None) => Ok(from_record_alone(*record, defects)),
        (record, Some(log)) => from_log(id, record, log)
            .map_err(|error| Error::storage(format!("cannot read the log of session {id}"), error)),
    }
}

enum Record {
    None,
    Broken(Defect),
    Good(Box<SessionRecord>, Vec<Defect>),
}

fn read_record(id: &SessionId, path: &Path) -> io::Result<Record> {
    let Some(mut file) = open_existing(path)? else { return Ok(Record::None) };
    let mut json = Vec::new();
    file.read_to_end(&mut json)?;
    let broken = |detail: String| {
        Record::Broken(Defect {
            kind: DefectKind::Snapshot,
            line: None,
            offset: 0,
            length: json.len() as u64,
            detail,
        })
    };
    Ok(match SessionRecord::decode(&json) {
        Ok((record, _)) if record.id != *id => broken(format!("the record is that of session {}", record.id)),
        Ok((record, defects)) => Record::Good(Box::new(record), defects),
        Err(error) => broken(format!("the record cannot be read: {error}")),
    })
}

fn from_record_alone(record: SessionRecord, defects: Vec<Defect>) -> Loaded {
    let mut stored = record.into_stored();
    stored.outside_log = true;
    stored.mark.offset = 0;
    defects.into_iter().for_each(|defect| stored.defects.push(defect));
    Loaded { stored, tail: None }
}

fn from_log(id: &SessionId, record: Record, log: &mut File) -> io::Result<Loaded> {
    let length = log.metadata()?.len();
    let (record, record_defects) = match record {
        Record::None => return whole_log(id, log),
        Record::Broken(defect) => {
            let mut loaded = whole_log(id, log)?;
            loaded.stored.defects.push(defect);
            return Ok(loaded);
        }
        Record::Good(record, defects) => (*record, defects),
    };
    if let Some(taken) = record.log.filter(|taken| taken.offset <= length && record_defects.is_empty())
        && let Some(loaded) = rest_of_log(&record, taken, log)?
    {
        return Ok(loaded);
    }
    let mut loaded = whole_log(id, log)?;
    let short = record.log.is_some_and(|taken| taken.offset > length);
    if short || loaded.stored.mark.seq == 0 {
        loaded = record_over_log(record, loaded, short);
    } else {
        loaded.stored.extra = record.extra;
    }
    record_defects.into_iter().for_each(|defect| loaded.stored.defects.push(defect));
    Ok(loaded)
}

fn whole_log(id: &SessionId, log: &mut File) -> io::Result<Loaded> {
    log.rewind()?;
    let mut fold = LogFold::new(id.clone());
    fold.read(log)?;
    Ok(Loaded { tail: Some(fold.tail()), stored: fold.finish() })
}

/// The record and what the log says after it; `None` when the two do not belong together.
fn rest_of_log(record: &SessionRecord, taken: RecordLog, log: &mut File) -> io::Result<Option<Loaded>> {
    let mut stored = record.clone().into_stored();
    stored.snapshot_offset = taken.offset;
    if stored.history.reference().head != taken.head || !line_ends_at(taken.offset, log)? {
        return Ok(None);
    }
    log.seek(SeekFrom::Start(taken.offset))?;
    let mut fold = LogFold::resume(stored);
    fold.read(&mut *log)?;
    let tail = fold.tail();
    let continues = fold.events() > 0;
    let stored = fold.finish();
    Ok((continues || stored.defects.is_empty()).then_some(Loaded { stored, tail: Some(tail) }))
}

fn line_ends_at(offset: u64, log: &mut File) -> io::Result<bool> {
    let Some(before) = offset.checked_sub(1) else { return Ok(true) };
    let mut byte = [0];
    log.seek(SeekFrom::Start(before))?;
    log.read_exact(&mut byte)?;
    Ok(byte == *b"\n")
}

/// The record where it knows more than the log: the log was cut, or is that of the original.
fn record_over_log(record: SessionRecord, log: Loaded, short: bool) -> Loaded {
    let taken = record.log;
    let mut stored = record.into_stored();
    let mark = log.stored.mark;
    stored.mark = LogMark { seq: mark.seq.max(stored.mark.seq), offset: mark.offset };
    stored.outside_log = true;
    stored.defects = log.stored.defects;
    if let (Some(taken), true) = (taken, short) {
        stored.defects.push(Defect {
            kind: DefectKind::ShortLog,
            line: None,
            offset: mark.offset,
            length: taken.offset - mark.offset,
            detail: "the log ends before the place its snapshot was taken at; the snapshot is used"
                .to_owned(),
        });
    }
    Loaded { stored, tail: log.tail }
}

fn open_existing(path: &Path) -> io::Result<Option<File>> {
    match files::open_read(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
