//! Looking for what can go.

use std::collections::BTreeSet;
use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use robota_core::{SessionId, Timestamp};

use super::{GcItem, GcKind, GcOptions, GcPlan, references};
use crate::store::{SessionLock, list_sessions, payload_folder, session_files};
use crate::{Error, FileStore, SkippedFile, files, outputs};

pub(super) fn plan(store: &FileStore, options: &GcOptions) -> Result<GcPlan, Error> {
    look(store, options)
        .map_err(|error| Error::storage(format!("cannot list {}", store.base().display()), error))
}

fn look(store: &FileStore, options: &GcOptions) -> io::Result<GcPlan> {
    let before = |age: Duration| {
        let millis = i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
        Timestamp::from_millis(store.now().as_millis().saturating_sub(millis))
    };
    let mut search = Search {
        store,
        plan: GcPlan {
            sessions_before: options.older_than.map(before),
            leftovers_before: before(options.leftover_age),
            ..GcPlan::default()
        },
        done: BTreeSet::new(),
    };
    search.locks()?;
    search.old_sessions()?;
    search.payloads()?;
    search.outputs()?;
    search.leftovers()?;
    let mut plan = search.plan;
    plan.left_alone.sort_by(|a, b| a.path.cmp(&b.path));
    plan.items.sort_by(|a, b| (&a.session_id, a.kind, &a.path).cmp(&(&b.session_id, b.kind, &b.path)));
    Ok(plan)
}

struct Search<'a> {
    store: &'a FileStore,
    plan: GcPlan,
    /// Sessions that need no further look: they are open, or go as a whole.
    done: BTreeSet<SessionId>,
}

impl Search<'_> {
    fn locks(&mut self) -> io::Result<()> {
        for id in session_files(self.store.parts().0, ".lock")? {
            let path = self.store.lock_path(&id);
            match SessionLock::holder(&path) {
                // Where the system does not allow a locked file to be removed, locks stay when they are free.
                Ok(None) if !cfg!(unix) => {}
                Ok(None) => {
                    let bytes = files::found(&path)?.map_or(0, |metadata| metadata.len());
                    self.add(GcKind::StaleLock, Some(&id), path, bytes, "nobody holds this lock".to_owned());
                }
                Ok(Some(owner)) => {
                    self.leave(path, Error::locked(&id, owner).to_string());
                    self.done.insert(id);
                }
                Err(error) => {
                    self.leave(path, error.to_string());
                    self.done.insert(id);
                }
            }
        }
        Ok(())
    }

    fn old_sessions(&mut self) -> io::Result<()> {
        let Some(before) = self.plan.sessions_before else { return Ok(()) };
        let (sessions, logs) = self.store.parts();
        let listing = list_sessions(sessions, logs)?;
        for head in listing.sessions {
            if head.updated_at >= before || self.done.contains(&head.id) {
                continue;
            }
            let (path, bytes) = self.whole_session(&head.id)?;
            let reason = format!("nothing has happened in this session since {}", head.updated_at);
            self.add(GcKind::OldSession, Some(&head.id), path, bytes, reason);
            self.done.insert(head.id);
        }
        self.plan.left_alone.extend(listing.skipped);
        Ok(())
    }

    /// Where a session is, and how large it is.
    fn whole_session(&self, id: &SessionId) -> io::Result<(PathBuf, u64)> {
        let (record, log) = (self.store.record_path(id), self.store.log_path(id));
        let size = |path: &Path| Ok::<_, io::Error>(files::found(path)?.map(|metadata| metadata.len()));
        let (record_size, log_size) = (size(&record)?, size(&log)?);
        let payloads = folder_size(&payload_folder(self.store.parts().1, id))?;
        let outputs = folder_size(&outputs::folder_of(self.store.base(), id))?;
        let path = if record_size.is_some() { record } else { log };
        Ok((path, record_size.unwrap_or_default() + log_size.unwrap_or_default() + payloads + outputs))
    }

    fn payloads(&mut self) -> io::Result<()> {
        for id in session_files(self.store.parts().1, ".payloads")? {
            let folder = payload_folder(self.store.parts().1, &id);
            // What a link points to is nobody's payload.
            let is_folder = files::found(&folder)?.is_some_and(|metadata| metadata.is_dir());
            if self.done.contains(&id) || !is_folder {
                continue;
            }
            if files::found(&self.store.log_path(&id))?.is_none() {
                let bytes = folder_size(&folder)?;
                let reason = format!("there is no log of session {id}");
                self.add(GcKind::OrphanPayloads, Some(&id), folder, bytes, reason);
                continue;
            }
            match references::unused(self.store, &id, &folder) {
                Ok(unused) => {
                    for references::Unused { path, bytes } in unused {
                        let reason = "no line of the log refers to it".to_owned();
                        self.add(GcKind::UnusedPayload, Some(&id), path, bytes, reason);
                    }
                }
                Err(error) => self.leave(folder, error.to_string()),
            }
        }
        Ok(())
    }

    fn outputs(&mut self) -> io::Result<()> {
        for id in session_files(&outputs::all_folders(self.store.base()), "")? {
            let folder = outputs::folder_of(self.store.base(), &id);
            let is_folder = files::found(&folder)?.is_some_and(|metadata| metadata.is_dir());
            let files = [self.store.log_path(&id), self.store.record_path(&id)];
            let mut is_there = false;
            for file in &files {
                is_there |= files::found(file)?.is_some();
            }
            if is_folder && !is_there && !self.done.contains(&id) {
                let (bytes, reason) = (folder_size(&folder)?, format!("there is no session {id}"));
                self.add(GcKind::OrphanOutputs, Some(&id), folder, bytes, reason);
            }
        }
        Ok(())
    }

    fn leftovers(&mut self) -> io::Result<()> {
        let (sessions, logs) = self.store.parts();
        let mut folders: Vec<PathBuf> =
            vec![self.store.base().to_owned(), sessions.to_owned(), logs.to_owned()];
        let payloads = session_files(logs, ".payloads")?.into_iter().map(|id| payload_folder(logs, &id));
        folders.extend(payloads);
        for folder in folders {
            if !files::is_own_folder(&folder).unwrap_or(false) {
                continue;
            }
            for entry in fs::read_dir(&folder)? {
                let entry = entry?;
                let metadata = entry.metadata()?;
                if is_leftover(&entry.path(), &metadata, self.plan.leftovers_before) {
                    let reason = "it was never finished".to_owned();
                    self.add(GcKind::Leftover, None, entry.path(), metadata.len(), reason);
                }
            }
        }
        Ok(())
    }

    fn add(&mut self, kind: GcKind, id: Option<&SessionId>, path: PathBuf, bytes: u64, reason: String) {
        self.plan.items.push(GcItem { kind, session_id: id.cloned(), path, bytes, reason });
    }

    fn leave(&mut self, path: PathBuf, reason: String) {
        self.plan.left_alone.push(SkippedFile { path, reason });
    }
}

/// Whether this is a temporary file of ours from before `before`.
pub(super) fn is_leftover(path: &Path, metadata: &Metadata, before: Timestamp) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| name.starts_with(files::TEMPORARY))
        && metadata.is_file()
        && modified(metadata).is_some_and(|modified| modified < before)
}

fn modified(metadata: &Metadata) -> Option<Timestamp> {
    let since = metadata.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    i64::try_from(since.as_millis()).ok().map(Timestamp::from_millis)
}

/// Size of the files in a folder; 0 when there is none.
fn folder_size(folder: &Path) -> io::Result<u64> {
    if !files::found(folder)?.is_some_and(|metadata| metadata.is_dir()) {
        return Ok(0);
    }
    let mut bytes = 0;
    for entry in fs::read_dir(folder)? {
        bytes += entry?.metadata()?.len();
    }
    Ok(bytes)
}
