//! The content a change starts from: only what the model has seen.

use std::io::Read;
use std::path::Path;

use super::read_state::{Unseen, content_hash};
use super::target::open_regular;
use crate::failure::Failure;
use crate::workspace::Workspace;

/// Larger files are not held in memory.
const MAX_BYTES: u64 = 256 * 1024 * 1024;

/// The content of the file at `path`, which the model has read or written in this session and
/// which is still the same.
///
/// # Errors
///
/// When the model does not know this content, or it cannot be read.
pub(super) fn seen_content(workspace: &Workspace, path: &Path) -> Result<Vec<u8>, Failure> {
    let shown = workspace.display(path);
    if !workspace.reads().is_known(path) {
        return Err(unseen_failure(&shown, Unseen::NeverRead));
    }
    let (mut file, stat) = open_regular(workspace, path)?;
    let size = stat.size;
    if size > MAX_BYTES {
        let message = format!("{shown} has {size} bytes; at most {MAX_BYTES} can be changed");
        return Err(Failure::new("too_large", message));
    }
    let mut content = Vec::with_capacity(usize::try_from(size).unwrap_or_default());
    file.read_to_end(&mut content).map_err(|error| Failure::io("read", &shown, &error))?;
    let seen = workspace.reads().check(path, stat, &content_hash(&content));
    seen.map_err(|unseen| unseen_failure(&shown, unseen))?;
    Ok(content)
}

fn unseen_failure(shown: &str, unseen: Unseen) -> Failure {
    match unseen {
        Unseen::NeverRead => Failure::new(
            "not_read",
            format!("{shown} exists but was not read in this session; read it first"),
        ),
        Unseen::Changed => {
            let message = format!("{shown} was changed on disk since it was last read; read it again");
            Failure::new("changed_on_disk", message)
        }
    }
}
