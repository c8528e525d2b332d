//! Walking a folder that is reached by a sandbox.
//!
//! One thread lists the folders; several visit the files, because each reading may wait for the network.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use super::remote_ignore::{Rules, Source};
use super::walk::{Walk, Walked};
use crate::files::{Kind, Remote};

/// Threads that visit files.
const VISITORS: usize = 8;
/// Files that wait for one.
const WAITING: usize = 256;
/// The most files and folders that are met.
const MAX_ENTRIES: usize = 500_000;
/// The most levels below the root.
const MAX_DEPTH: usize = 256;

/// Does for the files of `remote` what [`Walk::each_file`] does for those of this machine.
pub(super) fn each_file<V>(walk: &Walk<'_>, remote: &dyn Remote, visitor: impl Fn() -> V + Sync) -> Walked
where
    V: FnMut(PathBuf) + Send,
{
    let (sender, files) = sync_channel(WAITING);
    let files = Arc::new(Mutex::new(files));
    let visitor = &visitor;
    thread::scope(|scope| {
        for _ in 0..VISITORS {
            let files = Arc::clone(&files);
            scope.spawn(move || visit(walk, &files, visitor()));
        }
        // Theirs alone: were they all gone, sending would fail instead of waiting.
        drop(files);
        let ignored = Source { remote, by_repository: walk.in_repository() };
        let mut listing = Listing { walk, remote, ignored, sender, met: 0, walked: Walked::default() };
        listing.run();
        listing.walked
    })
}

/// Visits files until there are no more.
fn visit(walk: &Walk<'_>, files: &Mutex<Receiver<PathBuf>>, mut visitor: impl FnMut(PathBuf)) {
    loop {
        let next = files.lock().unwrap_or_else(PoisonError::into_inner).recv();
        match next {
            Ok(_) if walk.stop.is_cancelled() => {}
            Ok(file) => visitor(file),
            Err(_) => return,
        }
    }
}

/// A folder that is to be listed, with the rules of those above it.
struct Pending {
    folder: PathBuf,
    depth: usize,
    rules: Option<Arc<Rules>>,
}

struct Listing<'a> {
    walk: &'a Walk<'a>,
    remote: &'a dyn Remote,
    ignored: Source<'a>,
    sender: SyncSender<PathBuf>,
    met: usize,
    walked: Walked,
}

impl Listing<'_> {
    fn run(&mut self) {
        let root = self.walk.root;
        match self.remote.look(root).map(|found| found.kind) {
            Ok(Kind::Folder) => {}
            Ok(Kind::File) => return self.send(root.to_owned()),
            Ok(_) => return,
            Err(_) => return self.walked.unreadable += 1,
        }
        let rules = if self.walk.no_ignore { None } else { self.ignored.above(root) };
        let mut pending = vec![Pending { folder: root.to_owned(), depth: 0, rules }];
        while let Some(next) = pending.pop() {
            if self.walk.stop.is_cancelled() || self.met > MAX_ENTRIES {
                return;
            }
            match self.remote.list(&next.folder) {
                Ok(entries) => self.take(&next, entries, &mut pending),
                Err(_) => self.walked.unreadable += 1,
            }
        }
    }

    /// Sends the files of a folder and notes the folders in it.
    fn take(&mut self, place: &Pending, entries: Vec<(OsString, Kind)>, pending: &mut Vec<Pending>) {
        let has = |name: &str| entries.iter().any(|(entry, _)| entry.as_os_str() == name);
        let above = place.rules.clone();
        let rules = if self.walk.no_ignore { None } else { self.ignored.rules(above, &place.folder, has) };
        let depth = place.depth + 1;
        for (name, kind) in entries {
            self.met += 1;
            if self.met > MAX_ENTRIES {
                self.walked.cut = true;
                return;
            }
            let path = place.folder.join(&name);
            let is_folder = kind == Kind::Folder;
            if !(is_folder || kind == Kind::File) || self.leaves_out(&path, is_folder, rules.as_deref()) {
                continue;
            }
            if name == ".git" {
                continue;
            }
            if !is_folder {
                self.send(path);
            } else if !self.walk.hidden.hides(&path) && self.may_enter(depth) {
                pending.push(Pending { folder: path, depth, rules: rules.clone() });
            }
        }
    }

    /// By globs, ignore files and types, in this order, as ripgrep does.
    fn leaves_out(&self, path: &Path, is_folder: bool, rules: Option<&Rules>) -> bool {
        if let Some(only) = &self.walk.only {
            let verdict = only.matched(path, is_folder);
            if !verdict.is_none() {
                return verdict.is_ignore();
            }
        }
        rules.is_some_and(|rules| rules.ignores(path, is_folder))
            || self.walk.types.as_ref().is_some_and(|types| types.matched(path, is_folder).is_ignore())
    }

    fn may_enter(&mut self, depth: usize) -> bool {
        if self.walk.max_depth.is_some_and(|most| depth >= most) {
            return false;
        }
        self.walked.cut |= depth >= MAX_DEPTH;
        depth < MAX_DEPTH
    }

    fn send(&self, file: PathBuf) {
        // The visitors wait until the listing is done.
        let _ = self.sender.send(file);
    }
}
