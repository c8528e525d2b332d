//! The content a change starts from: only what the model has seen.

use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use super::changed::changed_failure;
use super::reach::Content;
use super::read_state::{MAX_KEPT_FILE, Unseen};
use super::stat::Stat;
use super::target::open_regular;
use crate::failure::Failure;
use crate::workspace::Workspace;

/// Larger files are not held in memory.
pub(super) const MAX_BYTES: usize = 256 * 1024 * 1024;

/// A file as it was found.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) content: Vec<u8>,
    pub(super) stat: Stat,
}

/// The content of the file at `path`, which the model has read or written in this session and
/// which is still the same; of a workspace that changes unseen files, also one that nothing has read.
///
/// # Errors
///
/// When the model does not know this content, or it cannot be read.
pub(super) fn seen_content(workspace: &Workspace, path: &Path) -> Result<Known, Failure> {
    let shown = workspace.display(path);
    if !workspace.changes_unseen() && !workspace.reads().is_known(path) {
        return Err(never_read(&shown));
    }
    let (mut file, stat) = open_regular(workspace, path)?;
    let size = usize::try_from(stat.size).unwrap_or(usize::MAX);
    if size > MAX_BYTES {
        return Err(too_large(&shown, size));
    }
    let mut content = Vec::with_capacity(size);
    let most = u64::try_from(MAX_BYTES).unwrap_or(u64::MAX);
    let read = file.by_ref().take(most.saturating_add(1)).read_to_end(&mut content);
    read.map_err(|error| Failure::io("read", &shown, &error))?;
    if content.len() > MAX_BYTES {
        return Err(too_large(&shown, content.len()));
    }
    let known = Known { content, stat };
    match workspace.reads().check(path, stat, &known.content) {
        Ok(()) => Ok(known),
        Err(Unseen::NeverRead) if workspace.changes_unseen() => Ok(known),
        Err(Unseen::NeverRead) => Err(never_read(&shown)),
        Err(Unseen::Changed(kept)) => Err(changed_failure(workspace, path, kept.as_deref(), &known)),
    }
}

/// Keeps what is in `content`, which was seen whole or in part a moment ago, to tell later what changed.
pub(super) fn keep_for_later(workspace: &Workspace, path: &Path, stat: Stat, content: &mut Content) {
    if stat.size > MAX_KEPT_FILE {
        return;
    }
    match whole(content, stat) {
        Ok(Some(bytes)) => workspace.reads().keep(path, stat, &bytes),
        Ok(None) => {}
        // Without it, changes are refused all the same.
        Err(error) => tracing::debug!(%error, "the content of a file was not kept"),
    }
}

/// All bytes; `None` when somebody writes there just now.
fn whole(content: &mut Content, stat: Stat) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::with_capacity(usize::try_from(stat.size).unwrap_or_default());
    content.seek(SeekFrom::Start(0))?;
    content.by_ref().take(MAX_KEPT_FILE + 1).read_to_end(&mut bytes)?;
    let now = match content {
        Content::Local(file) => Stat::from(&file.metadata()?),
        Content::Whole(_) => stat,
    };
    Ok((now == stat).then_some(bytes))
}

fn never_read(shown: &str) -> Failure {
    Failure::new("not_read", format!("{shown} exists but was not read in this session; read it first"))
}

/// The failure for a file that has, or would have, `size` bytes.
pub(super) fn too_large(shown: &str, size: usize) -> Failure {
    let message = format!("{shown} has {size} bytes; at most {MAX_BYTES} can be changed");
    Failure::new("too_large", message)
}
