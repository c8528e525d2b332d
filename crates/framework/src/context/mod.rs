//! Instructions that people leave in files: AGENTS.md and CLAUDE.md.
//!
//! Files are looked for from the root of the file system down to the working directory (facts sheet
//! 6.3), and in the user's own folders. What reaches the model is bounded: a file that is nearer to
//! the working directory gets its share before one farther away.

mod compact;
mod file;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use file::Candidate;

use crate::ProjectPaths;
use crate::settings::TRUST_HINT;

/// Most bytes taken from one file.
pub const MAX_CONTEXT_FILE: usize = 40 * 1024;

/// Most bytes taken from all files together.
pub const MAX_CONTEXT_TOTAL: usize = 100 * 1024;

/// A file that had to be cut to fewer bytes than this is left out instead.
const SMALLEST_PIECE: usize = 1024;

/// The instruction files of a session, outermost first, the user's own before all others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ContextFiles {
    /// The files, in the order in which they are given to the model.
    pub files: Vec<ContextFile>,
    /// What was cut or passed over: one sentence each, for a person.
    pub notices: Vec<String>,
}

/// One instruction file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ContextFile {
    /// Where it was found.
    pub path: PathBuf,
    /// Which of the two names it has.
    pub kind: ContextKind,
    /// Whose it is.
    pub origin: ContextOrigin,
    /// Its text, without white space around it, cut to the limits.
    pub text: String,
    /// The text goes on in the file.
    pub cut: bool,
}

/// Which instruction file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ContextKind {
    /// AGENTS.md: instructions for any agent.
    Agents,
    /// CLAUDE.md: notes on the project.
    Claude,
}

impl ContextKind {
    /// The file's name.
    #[must_use]
    pub const fn file_name(self) -> &'static str {
        match self {
            Self::Agents => "AGENTS.md",
            Self::Claude => "CLAUDE.md",
        }
    }
}

/// Whose word an instruction file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ContextOrigin {
    /// The user's own folder: it goes wherever the user goes.
    User,
    /// The working directory or a folder above it: it may have come with a repository.
    Project,
}

impl ContextFiles {
    /// Collects the instruction files of a session.
    ///
    /// Files that cannot be read never stop a session; each is named in a notice. In a folder that
    /// is not `trusted`, a file that links to one outside of the project is passed over, so that
    /// a repository cannot make a private file part of the prompt.
    #[must_use]
    pub fn load(paths: &ProjectPaths, trusted: bool) -> Self {
        let mut notices = Vec::new();
        let mut found = Vec::new();
        let mut seen = HashSet::new();
        for candidate in candidates(paths) {
            match candidate.read(paths, trusted) {
                Ok(Some(file)) if seen.insert(file.resolved.clone()) => found.push(file.context),
                Ok(_) => {}
                Err(notice) => notices.push(notice),
            }
        }
        drop_imports(&mut found);
        drop_copies(&mut found);
        share_budget(&mut found, &mut notices);
        Self { files: found, notices }
    }

    /// The sections "Compact Instructions" of all files, in their order, and without their headings;
    /// `None` when there is none.
    ///
    /// A summary takes the place of what it stands for, so a project's files have a say in it only when
    /// they are `trusted`; otherwise each that has such a section is named in a notice. What files lost
    /// to the limits does not count.
    pub(crate) fn compact_instructions(&self, trusted: bool, notices: &mut Vec<String>) -> Option<String> {
        let mut text = String::new();
        for file in &self.files {
            let sections = compact::sections(&file.text);
            if !sections.is_empty() && file.origin == ContextOrigin::Project && !trusted {
                let path = file.path.display();
                notices.push(format!(
                    "{path} has compact instructions; ignored because this folder is not trusted; {TRUST_HINT}"
                ));
                continue;
            }
            for section in sections {
                if !text.is_empty() {
                    text.push_str("\n\n");
                }
                text.push_str(section);
            }
        }
        (!text.is_empty()).then_some(text)
    }
}

/// The places to look at, in the order in which the model reads them.
fn candidates(paths: &ProjectPaths) -> Vec<Candidate> {
    let mut places = Vec::new();
    let mut look = |folder: &Path, kind: ContextKind, origin| {
        places.push(Candidate { path: folder.join(kind.file_name()), kind, origin });
    };
    if let Some(user_dir) = &paths.user_dir {
        look(user_dir, ContextKind::Agents, ContextOrigin::User);
    }
    if let Some(home) = &paths.home {
        look(&home.join(".claude"), ContextKind::Claude, ContextOrigin::User);
    }
    let mut folders: Vec<&Path> = paths.cwd.ancestors().collect();
    folders.reverse();
    for folder in folders {
        look(folder, ContextKind::Agents, ContextOrigin::Project);
        look(folder, ContextKind::Claude, ContextOrigin::Project);
    }
    places
}

/// Takes out lines that import a file which is loaded anyway, as in a CLAUDE.md that says `@AGENTS.md`.
fn drop_imports(files: &mut Vec<ContextFile>) {
    let loaded: HashSet<PathBuf> = files.iter().map(|file| file.path.clone()).collect();
    for file in files.iter_mut() {
        let Some(folder) = file.path.parent() else { continue };
        let is_loaded_import = |line: &str| {
            let name = line.trim().strip_prefix('@').map(|name| name.strip_prefix("./").unwrap_or(name));
            name.is_some_and(|name| {
                let path = folder.join(name);
                path != file.path && loaded.contains(&path)
            })
        };
        if file.text.lines().any(is_loaded_import) {
            let kept: Vec<&str> = file.text.lines().filter(|line| !is_loaded_import(line)).collect();
            file.text = kept.join("\n").trim().to_owned();
        }
    }
    // Two files that only import each other say nothing.
    files.retain(|file| !file.text.is_empty());
}

/// Keeps the first of files that say the same.
fn drop_copies(files: &mut Vec<ContextFile>) {
    let first_of_text: Vec<bool> = {
        let mut seen = HashSet::new();
        files.iter().map(|file| seen.insert(file.text.as_str())).collect()
    };
    let mut keep = first_of_text.into_iter();
    files.retain(|_| keep.next().unwrap_or(true));
}

/// Cuts files to the total, nearest to the working directory served first, the user's own before them.
fn share_budget(files: &mut Vec<ContextFile>, notices: &mut Vec<String>) {
    let mut left = MAX_CONTEXT_TOTAL;
    let users = files.iter().take_while(|file| file.origin == ContextOrigin::User).count();
    let order = (0..users).chain((users..files.len()).rev());
    for index in order {
        let Some(file) = files.get_mut(index) else { continue };
        if file.text.len() > left {
            let end = if left < SMALLEST_PIECE { 0 } else { file::line_end_before(&file.text, left) };
            file.text.truncate(end);
            file.cut = true;
        }
        left -= file.text.len();
        if file.cut {
            let path = file.path.display();
            notices.push(match file.text.len() {
                0 => format!(
                    "{path} is not given to the model: nearer files use up the {MAX_CONTEXT_TOTAL} bytes"
                ),
                kept => format!("only the first {kept} bytes of {path} are given to the model"),
            });
        }
    }
    files.retain(|file| !file.text.is_empty());
}
