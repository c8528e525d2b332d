//! Reading one instruction file.

use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;

use super::{ContextFile, ContextKind, ContextOrigin, MAX_CONTEXT_FILE};
use crate::ProjectPaths;

/// A place where an instruction file may be.
pub(super) struct Candidate {
    pub(super) path: PathBuf,
    pub(super) kind: ContextKind,
    pub(super) origin: ContextOrigin,
}

/// A file that was read, and the file it really is.
pub(super) struct Found {
    pub(super) resolved: PathBuf,
    pub(super) context: ContextFile,
}

impl Candidate {
    /// Reads the file; `None` when there is none or it is blank.
    ///
    /// # Errors
    ///
    /// A notice for a person, when the file is there and cannot be used.
    pub(super) fn read(self, paths: &ProjectPaths, trusted: bool) -> Result<Option<Found>, String> {
        let shown = self.path.display();
        let resolved = match self.path.canonicalize() {
            Ok(resolved) => resolved,
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return Ok(None);
            }
            Err(error) => return Err(format!("{shown} cannot be read: {error}")),
        };
        let folder = self.path.parent();
        let is_inside =
            resolved.starts_with(&paths.root) || folder.is_some_and(|folder| resolved.starts_with(folder));
        if self.origin == ContextOrigin::Project && !trusted && !is_inside {
            let target = resolved.display();
            return Err(format!("{shown} links to {target}; passed over because this folder is not trusted"));
        }
        let bytes = match read_start(&resolved) {
            Ok(Some(bytes)) => bytes,
            Ok(None) => return Err(format!("{shown} is not a regular file; passed over")),
            Err(error) => return Err(format!("{shown} cannot be read: {error}")),
        };
        let whole = bytes.len() <= MAX_CONTEXT_FILE;
        let text = match str::from_utf8(&bytes) {
            Ok(text) => text,
            // The limit may fall within a character.
            Err(error) if !whole && error.error_len().is_none() => {
                str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default()
            }
            Err(_) => return Err(format!("{shown} is not UTF-8 text; passed over")),
        };
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let end = if whole { text.len() } else { line_end_before(text, MAX_CONTEXT_FILE) };
        let text = text[..end].trim().to_owned();
        if text.is_empty() {
            return Ok(None);
        }
        let Self { path, kind, origin } = self;
        Ok(Some(Found { resolved, context: ContextFile { path, kind, origin, text, cut: !whole } }))
    }
}

/// The file up to one byte past the limit; `None` when it is no regular file.
fn read_start(path: &std::path::Path) -> io::Result<Option<Vec<u8>>> {
    let metadata = path.metadata()?;
    if !metadata.is_file() {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(MAX_CONTEXT_FILE as u64 + 1).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

/// The end of the last whole line within the first `limit` bytes; of the last whole character, when
/// no line ends there.
pub(super) fn line_end_before(text: &str, limit: usize) -> usize {
    let end = text.floor_char_boundary(limit.min(text.len()));
    text[..end].rfind('\n').unwrap_or(end)
}
