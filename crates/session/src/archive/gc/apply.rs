//! Removing what was found, each thing after a second look.

use std::fs;
use std::io;
use std::path::Path;

use robota_core::{SessionId, Timestamp};

use super::plan::is_leftover;
use super::{GcItem, GcKind, GcPlan, GcReport, references};
use crate::store::{payload_folder, remove_all, remove_file};
use crate::{FileStore, SkippedFile, files, outputs};

pub(super) fn apply(store: &FileStore, plan: &GcPlan) -> GcReport {
    let mut work = Work { store, plan, report: GcReport::default() };
    let mut items = plan.items.as_slice();
    while let Some(first) = items.first() {
        let same = items.iter().take_while(|item| item.session_id == first.session_id).count();
        let (group, rest) = items.split_at(same);
        match &first.session_id {
            None => group.iter().for_each(|item| work.leftover(item)),
            Some(id) => work.session(id, group),
        }
        items = rest;
    }
    work.report
}

struct Work<'a> {
    store: &'a FileStore,
    plan: &'a GcPlan,
    report: GcReport,
}

/// Why something stays although it was to go.
type Kept = String;

impl Work<'_> {
    fn leftover(&mut self, item: &GcItem) {
        let outcome =
            files::found(&item.path).map_err(|error| error.to_string()).and_then(|metadata| match metadata {
                None => Err("it is gone already".to_owned()),
                Some(_) if !item.path.starts_with(self.store.base()) => {
                    Err("it is not in this store".to_owned())
                }
                Some(metadata) if is_leftover(&item.path, &metadata, self.plan.leftovers_before) => {
                    remove_file(&item.path).map(drop).map_err(|error| error.to_string())
                }
                Some(_) => Err("somebody is writing it".to_owned()),
            });
        self.note(item, outcome);
    }

    /// What belongs to one session, with its lock held.
    fn session(&mut self, id: &SessionId, items: &[GcItem]) {
        let lock = match self.store.lock(id) {
            Ok(lock) => lock,
            Err(error) => {
                let reason = error.to_string();
                items.iter().for_each(|item| self.note(item, Err(reason.clone())));
                return;
            }
        };
        let unused = if items.iter().any(|item| item.kind == GcKind::UnusedPayload) {
            let folder = payload_folder(self.store.parts().1, id);
            references::unused(self.store, id, &folder).map_err(|error| error.to_string())
        } else {
            Ok(Vec::new())
        };
        for item in items {
            let outcome = match item.kind {
                GcKind::OldSession => self.old_session(id),
                GcKind::OrphanPayloads => self.orphans(id),
                GcKind::OrphanOutputs => self.orphan_outputs(id),
                GcKind::UnusedPayload => match &unused {
                    Ok(unused) if unused.iter().any(|unused| unused.path == item.path) => {
                        remove_file(&item.path).map(drop).map_err(|error| error.to_string())
                    }
                    Ok(_) => Err("it is in use, or gone already".to_owned()),
                    Err(reason) => Err(reason.clone()),
                },
                // It goes with the lock that is held now.
                GcKind::StaleLock => Ok(()),
                GcKind::Leftover => Err("it belongs to no session".to_owned()),
            };
            self.note(item, outcome);
        }
        drop(lock);
    }

    fn old_session(&self, id: &SessionId) -> Result<(), Kept> {
        let head = self.store.head_now(id).map_err(|error| error.to_string())?;
        let Some(head) = head else { return Err("it is gone already".to_owned()) };
        let is_old = self.plan.sessions_before.is_some_and(|before| head.updated_at < before);
        // A head that tells no time is that of a session that cannot be read.
        if !is_old || head.updated_at == Timestamp::default() {
            return Err(format!("something happened in it at {}", head.updated_at));
        }
        remove_all(self.store.base(), id).map(drop).map_err(|error| error.to_string())
    }

    fn orphans(&self, id: &SessionId) -> Result<(), Kept> {
        if files::found(&self.store.log_path(id)).map_err(|error| error.to_string())?.is_some() {
            return Err("there is a log of this session now".to_owned());
        }
        remove_flat_folder(&payload_folder(self.store.parts().1, id))
    }

    fn orphan_outputs(&self, id: &SessionId) -> Result<(), Kept> {
        if self.store.head_now(id).map_err(|error| error.to_string())?.is_some() {
            return Err("there is such a session now".to_owned());
        }
        remove_flat_folder(&outputs::folder_of(self.store.base(), id))
    }

    fn note(&mut self, item: &GcItem, outcome: Result<(), Kept>) {
        match outcome {
            Ok(()) => {
                self.report.bytes += item.bytes;
                self.report.removed.push(item.clone());
            }
            Err(reason) => self.report.kept.push(SkippedFile { path: item.path.clone(), reason }),
        }
    }
}

/// Removes a folder in which there are only files.
fn remove_flat_folder(folder: &Path) -> Result<(), Kept> {
    let remove = || {
        if !files::is_own_folder(folder)? {
            return Err(io::Error::other("it is gone already"));
        }
        for entry in fs::read_dir(folder)? {
            remove_file(&entry?.path())?;
        }
        fs::remove_dir(folder)
    };
    remove().map_err(|error| error.to_string())
}
