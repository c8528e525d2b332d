//! What the model has seen of which file, so that it never changes one it does not know.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sha2::{Digest, Sha256};

use super::stat::Stat;

/// Larger files are known by digest or stamp only, in bytes.
pub(crate) const MAX_KEPT_FILE: u64 = 256 * 1024;
/// Bytes of all contents kept in a session.
const MAX_KEPT: usize = 4 * 1024 * 1024;

/// Digest of a whole file.
pub(crate) type ContentHash = [u8; 32];

/// The digest of `content`.
pub(crate) fn content_hash(content: &[u8]) -> ContentHash {
    Sha256::digest(content).into()
}

/// The files read or written in a session, by resolved path.
///
/// Small ones are kept with their content, so that a later change can be told; beyond 4 MiB in all, those are let go
/// that were not used for the longest time.
#[derive(Debug, Default)]
pub(crate) struct ReadState {
    seen: Mutex<SeenFiles>,
}

#[derive(Debug, Default)]
struct SeenFiles {
    files: HashMap<PathBuf, Seen>,
    kept_bytes: usize,
    /// Counts up with every use.
    now: u64,
}

#[derive(Clone, Debug)]
struct Seen {
    stamp: Stat,
    /// Known when the whole file was seen.
    hash: Option<ContentHash>,
    content: Option<Arc<[u8]>>,
    used: u64,
}

/// Why a file may not be changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unseen {
    /// The model has not seen it in this session.
    NeverRead,
    /// It is another one than the model saw, which had this content, where that was kept.
    Changed(Option<Arc<[u8]>>),
}

impl ReadState {
    /// The model has seen the file as `stamp` describes it; `hash` when it was the whole file.
    pub(crate) fn record(&self, path: &Path, stamp: Stat, hash: Option<ContentHash>) {
        let mut seen = self.seen();
        let known = seen
            .files
            .get(path)
            .filter(|known| known.stamp == stamp || hash.is_some_and(|hash| known.hash == Some(hash)));
        let (known_hash, content) = known.map_or((None, None), |known| (known.hash, known.content.clone()));
        let content = content.filter(|_| hash.is_none_or(|hash| known_hash == Some(hash)));
        seen.put(path, stamp, hash.or(known_hash), content);
    }

    /// The model knows that the file, described by `stamp`, has this `content`.
    pub(crate) fn record_content(&self, path: &Path, stamp: Stat, content: &[u8]) {
        let kept = u64::try_from(content.len()).is_ok_and(|size| size <= MAX_KEPT_FILE);
        let kept = kept.then(|| Arc::from(content));
        self.seen().put(path, stamp, Some(content_hash(content)), kept);
    }

    /// Keeps the content of a file that was seen with this stamp, whole or in part.
    pub(crate) fn keep(&self, path: &Path, stamp: Stat, content: &[u8]) {
        let hash = content_hash(content);
        let known = self.seen().files.get(path).map(|known| (known.stamp, known.hash));
        // What was read a moment ago has another content: somebody writes it just now.
        if known.is_some_and(|(seen, known)| seen == stamp && known.is_none_or(|known| known == hash)) {
            self.record_content(path, stamp, content);
        }
    }

    /// Whether the model has seen any version of the file.
    pub(crate) fn is_known(&self, path: &Path) -> bool {
        self.seen().files.contains_key(path)
    }

    /// Whether the file with this content is the one the model saw.
    pub(crate) fn check(&self, path: &Path, stamp: Stat, content: &[u8]) -> Result<(), Unseen> {
        let seen = self.seen().files.get(path).cloned().ok_or(Unseen::NeverRead)?;
        let same = match (&seen.content, &seen.hash) {
            (Some(kept), _) => **kept == *content,
            (None, Some(hash)) => *hash == content_hash(content),
            (None, None) => seen.stamp == stamp,
        };
        if same { Ok(()) } else { Err(Unseen::Changed(seen.content)) }
    }

    fn seen(&self) -> MutexGuard<'_, SeenFiles> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SeenFiles {
    fn put(&mut self, path: &Path, stamp: Stat, hash: Option<ContentHash>, content: Option<Arc<[u8]>>) {
        self.now += 1;
        let size = |content: &Option<Arc<[u8]>>| content.as_ref().map_or(0, |content| content.len());
        self.kept_bytes += size(&content);
        let before = self.files.insert(path.to_owned(), Seen { stamp, hash, content, used: self.now });
        self.kept_bytes -= before.map_or(0, |before| size(&before.content));
        if self.kept_bytes > MAX_KEPT {
            self.let_go();
        }
    }

    /// Drops the contents that were not used for the longest time, down to three quarters of what may be kept.
    fn let_go(&mut self) {
        let mut kept: Vec<&mut Seen> =
            self.files.values_mut().filter(|seen| seen.content.is_some()).collect();
        kept.sort_unstable_by_key(|seen| seen.used);
        for seen in kept {
            if self.kept_bytes <= MAX_KEPT / 4 * 3 {
                break;
            }
            self.kept_bytes -= seen.content.take().map_or(0, |content| content.len());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::stat::Kind;

    fn stamp(modified: i64) -> Stat {
        Stat { kind: Kind::File, size: 3, modified: (modified, 0), identity: (0, 0) }
    }

    #[test]
    fn a_wholly_seen_file_is_known_by_content_and_a_partly_seen_one_by_stamp() {
        let path = Path::new("/file");
        let state = ReadState::default();
        assert_eq!(state.check(path, stamp(1), b"one"), Err(Unseen::NeverRead));

        state.record(path, stamp(1), None);
        assert_eq!(state.check(path, stamp(1), b"one"), Ok(()));
        assert_eq!(state.check(path, stamp(2), b"one"), Err(Unseen::Changed(None)));

        state.record(path, stamp(2), Some(content_hash(b"one")));
        state.record(path, stamp(2), None);
        assert_eq!(state.check(path, stamp(1), b"one"), Ok(()), "a new stamp on the same content");
        let other = state.check(path, stamp(2), b"two");
        assert_eq!(other, Err(Unseen::Changed(None)), "other content under the same stamp");
    }

    #[test]
    fn a_content_is_kept_for_what_was_read_and_nothing_else() {
        let path = Path::new("/file");
        let state = ReadState::default();
        state.keep(path, stamp(1), b"one");
        assert_eq!(state.check(path, stamp(1), b"one"), Err(Unseen::NeverRead));

        state.record(path, stamp(1), Some(content_hash(b"one")));
        state.keep(path, stamp(1), b"two");
        state.keep(path, stamp(2), b"one");
        assert_eq!(state.check(path, stamp(1), b"two"), Err(Unseen::Changed(None)));
        state.keep(path, stamp(1), b"one");
        state.record(path, stamp(2), Some(content_hash(b"one")));
        assert_eq!(state.check(path, stamp(2), b"two"), Err(Unseen::Changed(Some(Arc::from(*b"one")))));
        state.record(path, stamp(3), None);
        assert_eq!(state.check(path, stamp(4), b"two"), Err(Unseen::Changed(None)));
    }

    #[test]
    fn the_contents_that_were_not_used_for_the_longest_time_are_let_go() {
        let state = ReadState::default();
        let content = vec![b'x'; 200 * 1024];
        let path = |number: usize| PathBuf::from(format!("/{number}"));
        for number in 0..100 {
            state.record_content(&path(number), stamp(1), &content);
        }
        let kept: usize =
            state.seen().files.values().filter_map(|seen| seen.content.as_ref()).map(|kept| kept.len()).sum();
        assert_eq!(kept, state.seen().kept_bytes);
        assert!((MAX_KEPT / 2..=MAX_KEPT).contains(&kept), "{kept}");
        assert_eq!(state.check(&path(0), stamp(1), b"other"), Err(Unseen::Changed(None)));
        let last = state.check(&path(99), stamp(1), b"other");
        assert_eq!(last, Err(Unseen::Changed(Some(content.into()))));
        assert_eq!(state.check(&path(0), stamp(2), &vec![b'x'; 200 * 1024]), Ok(()));
    }
}
