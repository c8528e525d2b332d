//! The ignore files of a file system that is reached by a sandbox.

use std::path::Path;
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::walk::{REPOSITORY, RIPGREP_IGNORE};
use crate::files::Remote;

/// Ignore files, from the kind that decides first on.
const NAMES: [&str; 4] = [RIPGREP_IGNORE, ".ignore", ".gitignore", ".git/info/exclude"];
/// The folder that holds the last of them.
const GIT: &str = ".git";
/// Of the kinds, the first that belongs to a repository and says nothing outside of it.
const OF_GIT: usize = 2;

/// The rules of one folder and of those above it.
#[derive(Debug)]
pub(super) struct Rules {
    above: Option<Arc<Rules>>,
    kinds: [Option<Gitignore>; NAMES.len()],
    /// A repository begins here, and what `.gitignore` files above say is not for it.
    top: bool,
}

/// Where ignore files are looked for.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    pub(super) remote: &'a dyn Remote,
    /// Repositories end at their top.
    pub(super) by_repository: bool,
}

impl Source<'_> {
    /// The rules for what lies in `folder`, which holds what `has` says, below those of the folders above it.
    pub(super) fn rules(
        self,
        above: Option<Arc<Rules>>,
        folder: &Path,
        has: impl Fn(&str) -> bool,
    ) -> Option<Arc<Rules>> {
        let kinds = NAMES.map(|name| {
            let entry = if name.starts_with(".git/") { GIT } else { name };
            if has(entry) { compile(folder, &self.remote.read(&folder.join(name)).ok()?) } else { None }
        });
        let top = self.by_repository && REPOSITORY.into_iter().any(has);
        if kinds.iter().all(Option::is_none) && !top {
            return above;
        }
        Some(Arc::new(Rules { above, kinds, top }))
    }

    /// The rules of all folders above `root`.
    pub(super) fn above(self, root: &Path) -> Option<Arc<Rules>> {
        let mut folders: Vec<&Path> = root.ancestors().skip(1).collect();
        folders.reverse();
        folders.into_iter().fold(None, |above, folder| {
            let entries = self.remote.list(folder).unwrap_or_default();
            self.rules(above, folder, |name| entries.iter().any(|(entry, _)| entry.as_os_str() == name))
        })
    }
}

impl Rules {
    /// Whether what is at `path` is ignored: of the kinds the first that says anything decides, and of files of a
    /// kind the nearest.
    pub(super) fn ignores(&self, path: &Path, is_folder: bool) -> bool {
        (0..NAMES.len()).find_map(|kind| self.verdict(kind, path, is_folder)).unwrap_or(false)
    }

    fn verdict(&self, kind: usize, path: &Path, is_folder: bool) -> Option<bool> {
        let mut rules = Some(self);
        while let Some(here) = rules {
            let found = here.kinds.get(kind).and_then(Option::as_ref);
            match found.map_or(Match::None, |found| found.matched(path, is_folder).map(|_| ())) {
                Match::Ignore(()) => return Some(true),
                Match::Whitelist(()) => return Some(false),
                Match::None if here.top && kind >= OF_GIT => return None,
                Match::None => rules = here.above.as_deref(),
            }
        }
        None
    }
}

/// The rules in the text of an ignore file, up to the first line that is not UTF-8; lines that are no rules do not
/// count.
fn compile(folder: &Path, text: &[u8]) -> Option<Gitignore> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let mut rules = GitignoreBuilder::new(folder);
    for line in text.split(|byte| *byte == b'\n') {
        let Ok(line) = std::str::from_utf8(line) else { break };
        let _ = rules.add_line(None, line.strip_suffix('\r').unwrap_or(line));
    }
    rules.build().ok().filter(|rules| !rules.is_empty())
}
