//! Which payloads a session refers to.

use std::collections::BTreeSet;
use std::fs::{self, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::{FileStore, files};
use robota_core::SessionId;

/// Length of a hash in hex digits.
const DIGITS: usize = 64;

/// A payload file that nothing refers to.
pub(super) struct Unused {
    pub(super) path: PathBuf,
    pub(super) bytes: u64,
}

/// The payload files in `folder` that neither the log and the snapshot of the session `id` refer to, nor
/// payloads that these refer to.
///
/// Everything that looks like a hash counts as a reference, in damaged lines too: what is in doubt stays.
pub(super) fn unused(store: &FileStore, id: &SessionId, folder: &Path) -> io::Result<Vec<Unused>> {
    let mut there = payload_files(folder)?;
    if there.is_empty() {
        return Ok(Vec::new());
    }
    let mut found = BTreeSet::new();
    for path in [store.log_path(id), store.record_path(id)] {
        if files::found(&path)?.is_some() {
            collect(files::open_read(&path)?, &mut found)?;
        }
    }
    // Payloads may lie within payloads.
    loop {
        let (used, rest) = there.into_iter().partition::<Vec<_>, _>(|(hash, _)| found.contains(hash));
        there = rest;
        if used.is_empty() || there.is_empty() {
            break;
        }
        for (hash, _) in used {
            collect(files::open_read(&payload_path(folder, &hash))?, &mut found)?;
        }
    }
    let unused = there
        .into_iter()
        .map(|(hash, metadata)| Unused { path: payload_path(folder, &hash), bytes: metadata.len() });
    Ok(unused.collect())
}

fn payload_path(folder: &Path, hash: &str) -> PathBuf {
    folder.join(format!("{hash}.json"))
}

/// Regular files that are named like payloads, by hash, in the order of these.
fn payload_files(folder: &Path) -> io::Result<Vec<(String, Metadata)>> {
    let mut there = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let (name, metadata) = (entry.file_name(), entry.metadata()?);
        let hash = name.to_str().and_then(|name| name.strip_suffix(".json")).filter(|hash| is_hash(hash));
        if let (Some(hash), true) = (hash, metadata.is_file()) {
            there.push((hash.to_owned(), metadata));
        }
    }
    there.sort_by(|(a, _), (b, _)| a.cmp(b));
    Ok(there)
}

/// Whether the text is a hash as payloads are named by.
fn is_hash(text: &str) -> bool {
    text.len() == DIGITS && text.bytes().all(is_digit)
}

fn is_digit(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'a'..=b'f')
}

/// Collects everything in the text that looks like a hash.
fn collect(mut text: impl Read, found: &mut BTreeSet<String>) -> io::Result<()> {
    let mut buffer = vec![0; 64 * 1024];
    let mut run = String::with_capacity(DIGITS + 1);
    loop {
        let read = text.read(&mut buffer)?;
        for byte in buffer.get(..read).unwrap_or_default() {
            if is_digit(*byte) {
                if run.len() <= DIGITS {
                    run.push(char::from(*byte));
                }
            } else {
                take(&mut run, found);
            }
        }
        if read == 0 {
            take(&mut run, found);
            return Ok(());
        }
    }
}

fn take(run: &mut String, found: &mut BTreeSet<String>) {
    if run.len() == DIGITS {
        found.insert(run.clone());
    }
    run.clear();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_found_wherever_they_stand() {
        let (a, b) = ("a".repeat(64), "0".repeat(64));
        let text = format!("{{\"sha256\":\"{a}\"}} {}{} /{b}.json {}", "c".repeat(65), "x", "d".repeat(63));
        let mut found = BTreeSet::new();
        collect(text.as_bytes(), &mut found).unwrap();
        assert_eq!(found, BTreeSet::from([a, b]));
    }
}
