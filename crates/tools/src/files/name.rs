//! Names of files that are not text: shown with escapes, and found again by them.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// The path on one line: control characters as Rust escapes them, bytes that are not UTF-8 as `\xE9`.
pub(crate) fn shown(path: &Path) -> String {
    let bytes = path.as_os_str().as_bytes();
    let mut shown = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            if c.is_control() {
                shown.extend(c.escape_default());
            } else {
                shown.push(c);
            }
        }
        shown.extend(chunk.invalid().iter().map(|byte| format!("\\x{byte:02X}")));
    }
    shown
}

/// The path that `written` may be the shown form of; `None` when it has no `\x80` to `\xFF`, or names nothing that
/// could not be written as it is.
pub(crate) fn unescaped(written: &Path) -> Option<PathBuf> {
    let bytes = written.as_os_str().as_bytes();
    memchr::memmem::find(bytes, b"\\x")?;
    let (mut path, mut rest) = (Vec::with_capacity(bytes.len()), bytes);
    while let Some((byte, after)) = rest.split_first() {
        let escaped = after.strip_prefix(b"x").and_then(|hex| hex.get(..2)).filter(|_| *byte == b'\\');
        let value = escaped.and_then(|hex| u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok());
        match value.filter(|value| !value.is_ascii()) {
            Some(value) => {
                path.push(value);
                rest = after.get(3..).unwrap_or_default();
            }
            None => {
                path.push(*byte);
                rest = after;
            }
        }
    }
    std::str::from_utf8(&path).is_err().then(|| OsString::from_vec(path).into())
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;

    #[test]
    fn what_is_shown_leads_back() {
        let odd = Path::new(OsStr::from_bytes(b"/a/caf\xE9\xFF/gr\xC3\xBCn"));
        assert_eq!(shown(odd), r"/a/caf\xE9\xFF/grün");
        assert_eq!(unescaped(Path::new(&shown(odd))).unwrap(), odd);
        assert_eq!(shown(Path::new("/a\nb")), r"/a\nb");
    }

    #[test]
    fn an_escape_stands_for_nothing_that_has_a_plain_name() {
        for plain in [r"/a/\x2F..", r"/\x2E\x2E/b", r"/\xC3\xA9", r"/\xZZ", r"/\x+F", r"/\x", "/é"] {
            assert_eq!(unescaped(Path::new(plain)), None, "{plain}");
        }
    }
}
