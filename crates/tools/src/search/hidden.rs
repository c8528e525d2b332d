//! What permission rules keep out of one search.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::workspace::Workspace;

/// Says which files and folders below the root of a search stay out of it, and counts them.
pub(super) struct Hidden {
    workspace: Workspace,
    root: PathBuf,
    /// The root as the model named it, when a symlink leads from there to `root`: rules may be
    /// written for either name.
    named: Option<PathBuf>,
    count: AtomicUsize,
}

impl Hidden {
    /// For a search of `root`, which the model wrote as `requested`.
    pub(super) fn new(workspace: &Workspace, requested: &str, root: &Path) -> Self {
        let named = workspace.join(requested);
        Self {
            workspace: workspace.clone(),
            root: root.to_owned(),
            named: (named != root).then_some(named),
            count: AtomicUsize::new(0),
        }
    }

    /// Whether `path`, at or below the root, stays out of the search; counted when it does.
    pub(super) fn hides(&self, path: &Path) -> bool {
        let by_name = || {
            let below = path.strip_prefix(&self.root).ok()?;
            Some(self.workspace.is_left_out(&self.named.as_ref()?.join(below)))
        };
        let hidden = self.workspace.is_left_out(path) || by_name() == Some(true);
        if hidden {
            self.count.fetch_add(1, Ordering::Relaxed);
        }
        hidden
    }

    /// Says at the end of a result that it is not whole.
    pub(super) fn note(&self, text: &mut String) {
        let note = match self.count.load(Ordering::Relaxed) {
            0 => return,
            1 => "[1 file or folder left out: permission rules deny reading it]\n".to_owned(),
            many => format!("[{many} files or folders left out: permission rules deny reading them]\n"),
        };
        text.push_str(&note);
    }
}
