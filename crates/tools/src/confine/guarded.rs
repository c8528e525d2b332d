//! What is protected inside of a writable folder.

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};

use robota_core::protected_name;

/// How many levels below a writable folder are looked at.
const DEPTH: usize = 3;
/// How many folders are looked at, in all.
const FOLDERS: usize = 1500;
/// How many names below the top are looked at, in all.
const NAMES: usize = 40_000;
/// Folders that hold what tools make, often very many files.
const SKIPPED: [&str; 8] =
    ["node_modules", "target", "dist", "build", "venv", ".venv", "__pycache__", "vendor"];
/// Folders that hold settings beside other files, and are protected as a whole: a file that is not there yet
/// cannot be.
const WHOLE: [&str; 13] = [
    ".claude",
    ".codex",
    ".cursor",
    ".devcontainer",
    ".fleet",
    ".gemini",
    ".githooks",
    ".husky",
    ".idea",
    ".robota",
    ".vscode",
    ".windsurf",
    ".zed",
];
/// What models may write in a `.robota` folder.
const OPEN_STATE: [&str; 3] = ["agents", "memory", "skills"];
/// Names that are protected at the top of a writable folder before they exist, each by an empty folder.
pub(super) const MISSING: [&str; 11] = [
    ".git",
    ".robota",
    ".claude",
    ".codex",
    ".cursor",
    ".vscode",
    ".idea",
    ".husky",
    ".githooks",
    ".mcp.json",
    ".envrc",
];

/// What was found.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Guarded {
    pub(super) read_only: Vec<PathBuf>,
    /// Writable inside of these.
    pub(super) open: Vec<PathBuf>,
}

/// Looks through `root` for what is protected in it, level by level. Symbolic links are not followed.
pub(super) fn find(root: &Path) -> Guarded {
    let mut found = Guarded::default();
    let mut folders = VecDeque::from([(root.to_owned(), 0)]);
    let (mut seen, mut names) = (0, 0);
    while let Some((folder, depth)) = folders.pop_front() {
        seen += 1;
        if seen > FOLDERS || names > NAMES {
            break;
        }
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        // The top is looked at in full, as what counts most is there.
        let room = if depth == 0 { usize::MAX } else { NAMES };
        for entry in entries.flatten().take(room) {
            names += usize::from(depth > 0);
            let path = entry.path();
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let name = entry.file_name();
            // Protected names are plain text.
            let Some(name) = name.to_str() else { continue };
            if !found.note(root, &path, name, is_folder)
                && is_folder
                && depth < DEPTH
                && !SKIPPED.contains(&name)
            {
                folders.push_back((path, depth + 1));
            }
        }
    }
    found
}

impl Guarded {
    /// Notes what is protected at `path`; whether that settles all below it.
    fn note(&mut self, root: &Path, path: &Path, name: &str, is_folder: bool) -> bool {
        // Other names are protected only at the top and in folders like `.config`; most files are spared the question.
        let usual = |folder: &Path| folder != root && !is_dotted(folder);
        if name == ".git" && is_folder {
            if exists(&path.join("HEAD")) {
                self.note_repository(path);
            } else {
                self.read_only.push(path.to_owned());
            }
        } else if WHOLE.contains(&name) {
            if name == ".robota" {
                let open = OPEN_STATE.iter().map(|state| path.join(state));
                self.open.extend(open.filter(|state| state.is_dir() && !state.is_symlink()));
            }
            self.read_only.push(path.to_owned());
        } else if is_folder && name.ends_with(".git") {
            self.note_settings_of_git(path);
        } else if !name.starts_with('.') && path.parent().is_none_or(usual) {
            return false;
        } else {
            let below = path.strip_prefix(root).unwrap_or(path).to_string_lossy();
            // The file that makes a folder a repository changes with every switch of branches.
            if name == "HEAD" || protected_name(&below).is_none() {
                return false;
            }
            self.read_only.push(path.to_owned());
        }
        true
    }

    /// Commits must go on, so only what git runs or obeys is protected.
    fn note_repository(&mut self, git: &Path) {
        self.note_settings_of_git(git);
        for module in folders_of(&git.join("modules")) {
            self.note_settings_of_git(&module);
            folders_of(&module).iter().for_each(|module| self.note_settings_of_git(module));
        }
        for worktree in folders_of(&git.join("worktrees")) {
            let files = ["commondir", "gitdir", "config.worktree"].map(|name| worktree.join(name));
            self.read_only.extend(files.into_iter().filter(|file| exists(file)));
        }
    }

    fn note_settings_of_git(&mut self, git: &Path) {
        let names = ["hooks", "config", "config.worktree", "commondir"].map(|name| git.join(name));
        self.read_only.extend(names.into_iter().filter(|path| exists(path)));
    }
}

fn is_dotted(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
}

fn exists(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

fn folders_of(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    folders.map(|folder| folder.path()).take(FOLDERS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn protected_names_are_found_at_some_depth() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let files = [
            "src/main.rs",
            ".git/config",
            ".git/hooks/pre-commit",
            ".git/HEAD",
            ".git/index",
            ".git/modules/sub/config",
            ".git/worktrees/tree/commondir",
            ".robota/settings.json",
            ".robota/memory/MEMORY.md",
            "package/.envrc",
            "package/a/.vscode/launch.json",
            "package/.config/mise/config.toml",
            "node_modules/pkg/.vscode/settings.json",
            "bare.git/HEAD",
            "bare.git/config",
            "a/b/c/d/.envrc",
            "lefthook.yml",
        ];
        for file in files {
            let path = root.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::OpenOptions::new().create(true).append(true).open(path).unwrap();
        }
        let Guarded { mut read_only, open } = find(root);
        read_only.sort();
        let expected = [
            ".git/config",
            ".git/hooks",
            ".git/modules/sub/config",
            ".git/worktrees/tree/commondir",
            ".robota",
            "bare.git/config",
            "lefthook.yml",
            "package/.config/mise",
            "package/.envrc",
            "package/a/.vscode",
        ];
        assert_eq!(read_only, expected.map(|path| root.join(path)));
        assert_eq!(open, [root.join(".robota/memory")]);
    }
}
