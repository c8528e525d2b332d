//! What the model has seen of which file, so that it never changes one it does not know.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use sha2::{Digest, Sha256};

use super::stat::Stat;

/// Digest of a whole file.
pub(crate) type ContentHash = [u8; 32];

/// The digest of `content`.
pub(crate) fn content_hash(content: &[u8]) -> ContentHash {
    Sha256::digest(content).into()
}

/// The files read or written in a session, by resolved path.
#[derive(Debug, Default)]
pub(crate) struct ReadState {
    seen: Mutex<HashMap<PathBuf, Seen>>,
    changing: Mutex<()>,
}

#[derive(Clone, Copy, Debug)]
struct Seen {
    stamp: Stat,
    /// Known when the whole file was seen.
    hash: Option<ContentHash>,
}

/// Why a file may not be changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unseen {
    /// The model has not seen it in this session.
    NeverRead,
    /// It is another one than the model saw.
    Changed,
}

impl ReadState {
    /// The model has seen the file as `stamp` describes it; `hash` when it was the whole file.
    pub(crate) fn record(&self, path: &Path, stamp: Stat, hash: Option<ContentHash>) {
        let mut seen = self.seen();
        let known = seen.get(path).filter(|known| known.stamp == stamp).and_then(|known| known.hash);
        seen.insert(path.to_owned(), Seen { stamp, hash: hash.or(known) });
    }

    /// Whether the model has seen any version of the file.
    pub(crate) fn is_known(&self, path: &Path) -> bool {
        self.seen().contains_key(path)
    }

    /// Whether the file with this content is the one the model saw.
    pub(crate) fn check(&self, path: &Path, stamp: Stat, hash: &ContentHash) -> Result<(), Unseen> {
        let seen = self.seen().get(path).copied().ok_or(Unseen::NeverRead)?;
        let same = match &seen.hash {
            Some(known) => known == hash,
            None => seen.stamp == stamp,
        };
        if same { Ok(()) } else { Err(Unseen::Changed) }
    }

    /// Held while a file is checked and replaced, so that two changes never cross.
    pub(crate) fn exclusive(&self) -> MutexGuard<'_, ()> {
        self.changing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn seen(&self) -> MutexGuard<'_, HashMap<PathBuf, Seen>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_wholly_seen_file_is_known_by_content_and_a_partly_seen_one_by_stamp() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(b"one").unwrap();
        let metadata = Stat::from(&file.as_file().metadata().unwrap());
        let path = file.path().to_owned();
        let (one, two) = (content_hash(b"one"), content_hash(b"two"));
        let state = ReadState::default();
        assert_eq!(state.check(&path, metadata, &one), Err(Unseen::NeverRead));

        state.record(&path, metadata, None);
        assert_eq!(state.check(&path, metadata, &one), Ok(()));
        file.write_all(b" more").unwrap();
        let grown = Stat::from(&file.as_file().metadata().unwrap());
        assert_eq!(state.check(&path, grown, &one), Err(Unseen::Changed));

        state.record(&path, grown, Some(one));
        state.record(&path, grown, None);
        assert_eq!(state.check(&path, metadata, &one), Ok(()), "a new stamp on the same content");
        assert_eq!(
            state.check(&path, grown, &two),
            Err(Unseen::Changed),
            "other content under the same stamp"
        );
    }
}
