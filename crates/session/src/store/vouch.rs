//! Which sessions may be gone on with unasked: the folder of a project may come from anyone.

use std::fs::Metadata;
use std::io;
use std::path::Path;
use std::time::Duration;

use robota_core::Timestamp;

use super::listing::{log_path, record_head, record_path};
use super::{SessionHead, log_head};
use crate::files;

/// How far ahead another clock may be. A session from the future would be the latest for ever.
const AHEAD: Duration = Duration::from_hours(24);

/// Whether the session of `head`, as this store told it, looks like one that was made here: it has a log with
/// events of its own, no time of it is more than a day ahead of `now`, and its files belong to this user, or
/// to whoever has the folder `base`.
///
/// That is not proof. Whoever clones a repository owns the files in it, and a log can be made up; only
/// the folder that a session names, which must be the very one it is looked for in, is hard to guess.
pub(super) fn vouches_for(
    head: &SessionHead,
    (base, sessions, logs): (&Path, &Path, &Path),
    now: Timestamp,
) -> io::Result<bool> {
    let (log, record) = (log_path(logs, &head.id), record_path(sessions, &head.id));
    let latest = if files::found(&record)?.is_some() {
        let Ok(Some(begun)) = log_head::begun(&log, &head.id) else { return Ok(false) };
        let times = |(head, _): (SessionHead, _)| head.created_at.max(head.updated_at);
        begun.max(record_head(&record, &head.id).map(times).unwrap_or_default())
    } else if head.created_at != Timestamp::default() && files::found(&log)?.is_some() {
        // Without a record, all of the head was read from the log, which need not be read again.
        head.created_at
    } else {
        return Ok(false);
    };
    let ahead = i64::try_from(AHEAD.as_millis()).unwrap_or(i64::MAX);
    if latest.as_millis() > now.as_millis().saturating_add(ahead) {
        return Ok(false);
    }
    let Some(folder) = files::found(base)? else { return Ok(false) };
    for path in [&log, &record] {
        if files::found(path)?.is_some_and(|file| !belongs(&file, &folder)) {
            return Ok(false);
        }
    }
    Ok(true)
}

#[cfg(unix)]
fn belongs(file: &Metadata, folder: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    file.uid() == folder.uid() || file.uid() == rustix::process::geteuid().as_raw()
}

#[cfg(not(unix))]
fn belongs(_: &Metadata, _: &Metadata) -> bool {
    true
}
