//! The text of a settings file.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use super::{SettingsError, document};

/// Largest settings file that is read, in bytes.
const MAX_FILE: u64 = 1024 * 1024;

/// The text of a settings file; `None` when there is none.
pub(super) fn read_file(path: &Path) -> Result<Option<String>, SettingsError> {
    let unreadable = |source| SettingsError::Unreadable { path: path.to_owned(), source };
    let metadata = match path.metadata() {
        Ok(metadata) => metadata,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(unreadable(error)),
    };
    if !metadata.is_file() {
        return Err(SettingsError::NotAFile { path: path.to_owned() });
    }
    if metadata.len() > MAX_FILE {
        return Err(SettingsError::TooLarge { path: path.to_owned(), size: metadata.len(), limit: MAX_FILE });
    }
    let mut bytes = Vec::new();
    File::open(path).and_then(|file| file.take(MAX_FILE).read_to_end(&mut bytes)).map_err(unreadable)?;
    let mut text = String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let text = String::from_utf8_lossy(error.as_bytes());
        let (line, column) = document::position_of(&text, valid);
        SettingsError::NotUtf8 { path: path.to_owned(), line, column }
    })?;
    if text.starts_with('\u{feff}') {
        text.drain(..'\u{feff}'.len_utf8());
    }
    Ok(Some(text))
}
