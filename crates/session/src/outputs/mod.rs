//! Whole outputs of tools, of which the model sees a part and pages through the rest.
//!
//! Each call has a file of its own in the folder of its session: `<state>/outputs/{session}/{call}.txt` where the
//! store keeps files, and a private temporary folder, removed with the session, where it keeps none. What is
//! written passes the filter of the session, so that no secret lies there that the log does not have.

mod file_name;
mod kept_file;
mod shelf;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use robota_core::{OutputSpill, Rule, SessionId, SpillFile};

use self::kept_file::KeptFile;
use self::shelf::Shelf;
use crate::conversation::lock;
use crate::{LineFilter, SessionOptions, files};

/// Most bytes of one output that are kept.
const FILE_CAPACITY: u64 = 64 * 1024 * 1024;
/// Most bytes of all outputs of a session; the oldest go first.
const SESSION_CAPACITY: u64 = 256 * 1024 * 1024;

/// Where a permission rule comes from that lets the outputs be read.
const ORIGIN: &str = "outputs of this session";

/// The folder for the outputs of the session `id` in a store in the folder `base`.
pub(crate) fn folder_of(base: &Path, id: &SessionId) -> PathBuf {
    all_folders(base).join(id.as_str())
}

/// The folder that holds the folders of all sessions.
pub(crate) fn all_folders(base: &Path) -> PathBuf {
    base.join("outputs")
}

/// Keeps the outputs of one session.
pub(crate) struct SessionOutputs {
    folder: PathBuf,
    temporary: bool,
    filter: Option<LineFilter>,
    limits: Limits,
    /// What is there; nothing before the first output, when the folder need not exist.
    shelf: Arc<Mutex<Option<Shelf>>>,
}

/// How much is kept, in bytes.
#[derive(Clone, Copy)]
struct Limits {
    file: u64,
    session: u64,
}

impl SessionOutputs {
    /// The outputs of the session `id`; `None` when its host has given no place for them. Touches nothing yet.
    pub(crate) fn new(options: &SessionOptions, id: &SessionId) -> Option<Self> {
        let in_store = options.store.outputs(id);
        let temporary = in_store.is_none();
        let folder = match in_store {
            Some(folder) => folder,
            None => options.temporary_outputs.as_ref()?.join(format!("robota-{id}")),
        };
        let limits = Limits { file: FILE_CAPACITY, session: SESSION_CAPACITY };
        Some(Self {
            folder: resolved(&folder),
            temporary,
            filter: options.line_filter.clone(),
            limits,
            shelf: Arc::default(),
        })
    }

    /// The rule that lets the model read its outputs where they lie outside of the workspace.
    pub(crate) fn reading_rule(&self) -> Option<Rule> {
        Rule::reading_below(&self.folder, ORIGIN)
    }

    fn open(&self) -> io::Result<Shelf> {
        if self.temporary {
            files::create_private_folder(&self.folder)?;
            return Ok(Shelf::empty(&self.folder, self.limits.session));
        }
        let all = self.folder.parent().unwrap_or(&self.folder);
        files::make_private_folder(all, true)?;
        files::make_private_folder(&self.folder, false)?;
        Shelf::of(&self.folder, self.limits.session)
    }
}

impl OutputSpill for SessionOutputs {
    fn begin(&self, call_id: &str) -> io::Result<Box<dyn SpillFile>> {
        let mut shelf = lock(&self.shelf);
        if shelf.is_none() {
            *shelf = Some(self.open()?);
        }
        drop(shelf);
        let path = self.folder.join(file_name::of_call(call_id));
        let file = KeptFile::begin(path, self.limits.file, self.filter.clone(), Arc::clone(&self.shelf))?;
        Ok(Box::new(file))
    }
}

impl Drop for SessionOutputs {
    fn drop(&mut self) {
        // Only a folder that was made here is one to take away.
        if self.temporary && lock(&self.shelf).is_some() {
            let removed = files::remove_folder(&self.folder);
            if let Err(error) = removed {
                tracing::warn!(%error, folder = %self.folder.display(), "outputs were left behind");
            }
        }
    }
}

/// The path as the file tools see it: of the part that is there, no symbolic links.
fn resolved(folder: &Path) -> PathBuf {
    let there = folder.ancestors().find_map(|above| Some((above, above.canonicalize().ok()?)));
    match there.map(|(above, real)| folder.strip_prefix(above).map(|rest| real.join(rest))) {
        Some(Ok(path)) => path,
        _ => folder.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;
    use std::os::unix::fs::PermissionsExt;

    use robota_core::Redactor;

    use super::*;
    use crate::redacting_filter;

    fn outputs(folder: &Path, temporary: bool) -> SessionOutputs {
        SessionOutputs {
            folder: folder.join("outputs/s"),
            temporary,
            filter: Some(redacting_filter(Redactor::new(["sk-ant-12345678"]))),
            limits: Limits { file: 100_000, session: 150_000 },
            shelf: Arc::default(),
        }
    }

    fn keep(outputs: &SessionOutputs, call: &str, pieces: &[&[u8]]) -> PathBuf {
        let mut file = outputs.begin(call).unwrap();
        pieces.iter().for_each(|piece| file.write_all(piece).unwrap());
        let path = file.path().to_owned();
        file.finish().unwrap();
        path
    }

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn an_output_is_private_and_without_secrets_however_it_is_cut() {
        let base = tempfile::tempdir().unwrap();
        let outputs = outputs(base.path(), false);
        let long = "x".repeat(40_000);
        let text = format!("{long} key sk-ant-12345678 \u{e4}\u{20ac}{long}");
        for (index, size) in [1, 7, 32_768, 100_000].into_iter().enumerate() {
            let pieces: Vec<&[u8]> = text.as_bytes().chunks(size).collect();
            let path = keep(&outputs, "call_1", &pieces);
            let kept = fs::read_to_string(&path).unwrap();
            assert_eq!(kept, text.replace("sk-ant-12345678", "[REDACTED]"), "{index}");
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        }
        let folder = base.path().join("outputs/s");
        assert_eq!(fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
        assert_eq!(names(&folder), ["call_1.txt"], "the last output of a call is the one that counts");
        assert_eq!(fs::read_to_string(base.path().join("outputs/.gitignore")).unwrap(), "*\n");
        let binary: &[u8] = b"\xff\xfe sk-ant-12345678\0\xe2\x82";
        let path = keep(&outputs, "b", &[binary]);
        assert_eq!(fs::read(path).unwrap(), b"\xff\xfe [REDACTED]\0\xe2\x82");
    }

    #[test]
    fn what_has_no_room_is_left_out_and_the_oldest_outputs_go() {
        let base = tempfile::tempdir().unwrap();
        let outputs = outputs(base.path(), false);
        let path = keep(&outputs, "large", &[&[b'a'; 90_000], &[b'b'; 20_000]]);
        assert_eq!(fs::metadata(&path).unwrap().len(), 100_000);
        keep(&outputs, "second", &[&[b'c'; 40_000]]);
        keep(&outputs, "third", &[&[b'd'; 40_000]]);
        let folder = base.path().join("outputs/s");
        assert_eq!(names(&folder), ["second.txt", "third.txt"]);
        let mut dropped = outputs.begin("fourth").unwrap();
        dropped.write_all(&[b'e'; 50_000]).unwrap();
        drop(dropped);
        assert_eq!(names(&folder), ["second.txt", "third.txt"]);
    }

    #[test]
    fn a_session_that_goes_on_knows_what_is_there() {
        let base = tempfile::tempdir().unwrap();
        keep(&outputs(base.path(), false), "first", &[&[b'a'; 90_000]]);
        let folder = base.path().join("outputs/s");
        let mut left = fs::File::create_new(folder.join(".writing-abc")).unwrap();
        left.write_all(b"half").unwrap();
        keep(&outputs(base.path(), false), "second", &[&[b'b'; 90_000]]);
        assert_eq!(names(&folder), ["second.txt"]);
    }

    #[test]
    fn a_temporary_folder_goes_with_the_session_and_belongs_to_nobody_else() {
        let base = tempfile::tempdir().unwrap();
        fs::create_dir(base.path().join("outputs")).unwrap();
        let one = outputs(base.path(), true);
        let path = keep(&one, "a", &[b"text"]);
        assert!(path.exists());
        let other = outputs(base.path(), true);
        assert_eq!(other.begin("a").map(drop).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        drop(other);
        assert!(path.exists());
        drop(one);
        assert!(!base.path().join("outputs/s").exists());
    }

    #[test]
    fn a_link_in_the_place_of_the_folder_is_not_followed() {
        let base = tempfile::tempdir().unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), base.path().join("outputs")).unwrap();
        assert!(outputs(base.path(), false).begin("a").is_err());
        assert!(names(elsewhere.path()).is_empty());
    }
}
