//! Glob: finds files by name.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use globset::GlobSet;
use robota_core::{Access, PathAccess, Tool, ToolClass, ToolContext, ToolOutcome, ToolResult, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::globs;
use super::hidden::Hidden;
use super::newest::Newest;
use super::reach::Reach;
use super::walk::{Walk, Walked};
use crate::blocking;
use crate::failure::Failure;
use crate::files::{Kind, exact, missing_path};
use crate::input::{PathInput, Switch, WholeNumber};
use crate::workspace::Workspace;

const DEFAULT_LIMIT: usize = 1_000;
const MAX_LIMIT: usize = 100_000;
/// What is skipped is held in memory until it is known to be newer.
const MAX_OFFSET: usize = 100_000;
/// Bytes of the list; what does not fit counts as not shown.
const MAX_BYTES: usize = 29_000;

pub(crate) struct Glob {
    pub(crate) workspace: Workspace,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GlobInput {
    /// Such as `src/**/*.{ts,tsx}`.
    #[serde(alias = "glob", alias = "glob_pattern")]
    pattern: String,
    /// Folder; default the project.
    #[serde(default, alias = "directory", alias = "dir", alias = "target_directory")]
    #[schemars(with = "PathInput")]
    path: Option<PathInput>,
    /// Default 1000.
    #[serde(default)]
    #[schemars(with = "WholeNumber")]
    limit: Option<WholeNumber>,
    /// Files to skip.
    #[serde(default)]
    #[schemars(with = "WholeNumber")]
    offset: Option<WholeNumber>,
    /// Find ignored files, too.
    #[serde(default, alias = "no_ignore")]
    no_ignore: Switch,
    /// Found once: what is checked is what is searched.
    #[serde(skip)]
    place: OnceLock<Place>,
}

impl Tool for Glob {
    type Input = GlobInput;

    fn describe(&self) -> ToolSpec {
        ToolSpec::new(
            "Glob",
            ToolClass::Inspect,
            "Finds files by path pattern, newest first. Files ignored by git are left out.",
        )
        .read_only()
        .with_spellings(&[
            ("pattern", &["glob", "glob_pattern"]),
            ("path", &["directory", "dir", "target_directory"]),
            ("noIgnore", &["no_ignore"]),
        ])
    }

    fn access(&self, input: &GlobInput) -> Vec<Access> {
        let place = self.place(input);
        vec![Access::Path {
            kind: PathAccess::Search,
            requested: place.requested.clone(),
            resolved: place.folder.clone(),
        }]
    }

    async fn run(self: Arc<Self>, input: GlobInput, context: ToolContext) -> ToolResult {
        blocking::look(&context, move |stop| self.glob(&input, stop)).await
    }
}

/// A pattern split into the folder it names and the part that has to be looked for.
#[derive(Debug)]
struct Place {
    requested: String,
    folder: PathBuf,
    rest: String,
}

impl Glob {
    fn place<'a>(&self, input: &'a GlobInput) -> &'a Place {
        input.place.get_or_init(|| self.find_place(input))
    }

    fn find_place(&self, input: &GlobInput) -> Place {
        let (fixed, rest) = split_fixed(&input.pattern);
        let base = input.path.as_ref().map_or("", |path| path.written());
        // As with any path, an absolute or home-relative pattern replaces the folder.
        let requested = match (base, fixed) {
            ("", "") => ".".to_owned(),
            ("", fixed) => fixed.to_owned(),
            (base, "") => base.to_owned(),
            (_, fixed) if fixed.starts_with(['/', '~']) => fixed.to_owned(),
            (base, fixed) => format!("{base}/{fixed}"),
        };
        Place { folder: self.workspace.resolve(&requested), requested, rest: rest.to_owned() }
    }

    fn glob(&self, input: &GlobInput, stop: &CancellationToken) -> Result<ToolOutcome, Failure> {
        if input.pattern.trim().is_empty() {
            let message = "the pattern is empty; `**` finds every file";
            return Err(Failure::new("invalid_argument", message));
        }
        let Place { requested, folder, rest } = self.place(input);
        let globs = compile(rest)?;
        self.check_folder(folder)?;
        let limit = input.limit.map_or(DEFAULT_LIMIT, |limit| limit.count().clamp(1, MAX_LIMIT));
        let offset = input.offset.map_or(0, WholeNumber::count).min(MAX_OFFSET);
        let hidden = Arc::new(Hidden::new(&self.workspace, requested, folder));
        let walk = Walk {
            workspace: &self.workspace,
            root: folder,
            only: None,
            types: None,
            no_ignore: input.no_ignore.0,
            max_depth: depth_of(rest),
            hidden: &hidden,
            stop,
        };
        let (newest, walked) = self.find(walk, &globs, offset + limit);
        if stop.is_cancelled() {
            return Err(Failure::cancelled());
        }
        let found = newest.seen();
        let mut text = String::new();
        let shown = self.list(newest, offset, &mut text);
        if found == 0 {
            let hint = hint(&self.workspace, &folder.join(rest), input);
            text.push_str(&format!("no files match {}{hint}\n", input.pattern));
        }
        tell(&mut text, (offset, shown, found), walked);
        hidden.note(&mut text);
        text.truncate(text.trim_end_matches('\n').len());
        let facts = json!({"found": found, "shown": shown, "truncated": offset + shown < found});
        Ok(ToolOutcome::success(text).with_structured(facts))
    }

    /// The `keep` newest files that the globs fit.
    fn find(&self, walk: Walk<'_>, globs: &GlobSet, keep: usize) -> (Newest, Walked) {
        let newest = Mutex::new(Newest::new(keep));
        let failed = AtomicUsize::new(0);
        let (hidden, skip) = (Arc::clone(walk.hidden), length_of_folder(walk.root));
        let mut walked = walk.each_file(|| {
            let globs = globs.clone();
            let mut reach = Reach::new(&self.workspace);
            let mut share = Share { own: Newest::new(keep), all: &newest };
            let (hidden, failed) = (&hidden, &failed);
            move |path: PathBuf| {
                let inside = path.as_os_str().as_bytes().get(skip..).unwrap_or_default();
                if !globs.is_match(OsStr::from_bytes(inside)) || hidden.hides(&path) {
                    return;
                }
                match reach.modified(&path) {
                    Ok(modified) => share.own.show(modified, path),
                    Err(_) => {
                        failed.fetch_add(1, Ordering::Relaxed);
                    }
                }
            }
        });
        walked.unreadable += failed.into_inner();
        (newest.into_inner().unwrap_or_else(PoisonError::into_inner), walked)
    }

    fn check_folder(&self, folder: &Path) -> Result<(), Failure> {
        match self.workspace.look(folder) {
            Ok(found) if found.kind == Kind::Folder => Ok(()),
            Ok(_) => {
                let message = format!("{} is not a folder", self.workspace.display(folder));
                Err(Failure::new("not_folder", message))
            }
            Err(error) if exact::is_link_error(&error) => {
                Err(exact::failure(&self.workspace, "search", folder, &error))
            }
            Err(_) => Err(missing_path(&self.workspace, folder)),
        }
    }

    /// Writes the paths behind the first `offset`, as far as there is room; returns how many.
    fn list(&self, newest: Newest, offset: usize, text: &mut String) -> usize {
        let mut shown = 0;
        for path in newest.into_paths().iter().skip(offset) {
            let line = self.workspace.display(path);
            if text.len() + line.len() > MAX_BYTES {
                break;
            }
            text.push_str(&line);
            text.push('\n');
            shown += 1;
        }
        shown
    }
}

/// What one thread found; all learn of it in the end.
struct Share<'a> {
    own: Newest,
    all: &'a Mutex<Newest>,
}

impl Drop for Share<'_> {
    fn drop(&mut self) {
        let own = std::mem::replace(&mut self.own, Newest::new(0));
        self.all.lock().unwrap_or_else(PoisonError::into_inner).merge(own);
    }
}

/// Says what the list does not hold.
fn tell(text: &mut String, (offset, shown, found): (usize, usize, usize), walked: Walked) {
    let next = offset + shown;
    if shown == 0 && offset > 0 && found > 0 {
        text.push_str(&format!("nothing after the first {offset} of {found} files\n"));
    } else if offset > 0 && next < found {
        let first = offset + 1;
        text.push_str(&format!("[files {first} to {next} of {found}; the next: offset {next}]\n"));
    } else if next < found {
        text.push_str(&format!(
            "[the newest {shown} of {found} files; use a narrower pattern, or offset {next}]\n"
        ));
    }
    if walked.unreadable > 0 {
        text.push_str(&format!("[{} folders or files could not be read]\n", walked.unreadable));
    }
    if walked.cut {
        text.push_str("[there are too many files: not all were met; look in a subfolder]\n");
    }
}

/// How a pattern that matches nothing may have been meant.
fn hint(workspace: &Workspace, place: &Path, input: &GlobInput) -> String {
    let pattern = &input.pattern;
    let there = workspace.look(place).ok().filter(|_| !workspace.is_left_out(place)).map(|found| found.kind);
    match there {
        Some(Kind::Folder) => format!("; it is a folder: use {}/**", pattern.trim_end_matches('/')),
        Some(Kind::File) if !input.no_ignore.0 => "; it is there, but ignored: set noIgnore".to_owned(),
        _ if !pattern.contains('/') => format!("; to look in subfolders use **/{pattern}"),
        _ => String::new(),
    }
}

/// Splits off the leading folders that hold no pattern character.
fn split_fixed(pattern: &str) -> (&str, &str) {
    let special = pattern.find(['*', '?', '[', '{', '\\']).unwrap_or(pattern.len());
    match pattern.get(..special).unwrap_or_default().rfind('/') {
        Some(0) => ("/", pattern.get(1..).unwrap_or_default()),
        Some(slash) => {
            (pattern.get(..slash).unwrap_or_default(), pattern.get(slash + 1..).unwrap_or_default())
        }
        None => ("", pattern),
    }
}

/// How many levels below its folder a pattern reaches at most.
fn depth_of(rest: &str) -> Option<usize> {
    if rest.contains("**") { None } else { Some(rest.matches('/').count() + 1) }
}

/// Bytes of a path in `folder` before the part below it.
fn length_of_folder(folder: &Path) -> usize {
    let length = folder.as_os_str().len();
    if folder.as_os_str().as_bytes().ends_with(b"/") { length } else { length + 1 }
}

fn compile(pattern: &str) -> Result<GlobSet, Failure> {
    if pattern.split('/').any(|part| part == "..") {
        let message = "`..` may only stand before the first `*`, `?`, `[` or `{` of a pattern";
        return Err(Failure::new("invalid_argument", message));
    }
    globs::compile(pattern)
}
