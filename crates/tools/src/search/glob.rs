//! Glob: finds files by name.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use globset::{GlobBuilder, GlobMatcher};
use robota_core::{Access, PathAccess, Tool, ToolClass, ToolContext, ToolOutcome, ToolResult, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::hidden::Hidden;
use super::newest::Newest;
use super::walk::each_file;
use crate::blocking;
use crate::failure::Failure;
use crate::files::{Kind, exact, missing_path};
use crate::input::{PathInput, WholeNumber};
use crate::workspace::Workspace;

const DEFAULT_LIMIT: usize = 1_000;
const MAX_LIMIT: usize = 100_000;
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
        let matcher = compile(rest)?;
        self.check_folder(folder)?;
        let limit = input.limit.map_or(DEFAULT_LIMIT, |limit| limit.count().clamp(1, MAX_LIMIT));
        let newest = Mutex::new(Newest::new(limit));
        let hidden = Arc::new(Hidden::new(&self.workspace, requested, folder));
        let failed = AtomicUsize::new(0);
        let unreadable = each_file(folder, None, &hidden, stop, |entry| {
            if !matches(&matcher, folder, entry.path()) || hidden.hides(entry.path()) {
                return;
            }
            // The walk goes by names: what it finds counts when it is where the names say.
            let Ok(found) = self.workspace.look(entry.path()) else {
                failed.fetch_add(1, Ordering::Relaxed);
                return;
            };
            let modified = found.modified;
            newest.lock().unwrap_or_else(PoisonError::into_inner).show(modified, entry.into_path());
        });
        if stop.is_cancelled() {
            return Err(Failure::cancelled());
        }
        let newest = newest.into_inner().unwrap_or_else(PoisonError::into_inner);
        let hint = hint(&self.workspace, &folder.join(rest), &input.pattern);
        let nothing = format!("no files match {}{hint}", input.pattern);
        Ok(self.outcome(newest, unreadable + failed.into_inner(), &hidden, &nothing))
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

    fn outcome(&self, newest: Newest, unreadable: usize, hidden: &Hidden, nothing: &str) -> ToolOutcome {
        let found = newest.seen();
        let mut text = String::new();
        let mut shown = 0;
        for path in newest.into_paths() {
            let line = self.workspace.display(&path);
            if text.len() + line.len() > MAX_BYTES {
                break;
            }
            text.push_str(&line);
            text.push('\n');
            shown += 1;
        }
        if found == 0 {
            text.push_str(nothing);
            text.push('\n');
        } else if shown < found {
            text.push_str(&format!("[the newest {shown} of {found} files; use a narrower pattern]\n"));
        }
        if unreadable > 0 {
            text.push_str(&format!("[{unreadable} folders or files could not be read]\n"));
        }
        hidden.note(&mut text);
        text.truncate(text.trim_end_matches('\n').len());
        ToolOutcome::success(text).with_structured(json!({"found": found, "shown": shown}))
    }
}

/// How a pattern that matches nothing may have been meant.
fn hint(workspace: &Workspace, place: &Path, pattern: &str) -> String {
    if workspace.is_folder(place) && !workspace.is_left_out(place) {
        format!("; it is a folder: use {}/**", pattern.trim_end_matches('/'))
    } else if !pattern.contains('/') {
        format!("; to look in subfolders use **/{pattern}")
    } else {
        String::new()
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

fn compile(pattern: &str) -> Result<GlobMatcher, Failure> {
    if pattern.split('/').any(|part| part == "..") {
        let message = "`..` may only stand before the first `*`, `?`, `[` or `{` of a pattern";
        return Err(Failure::new("invalid_argument", message));
    }
    let glob = GlobBuilder::new(pattern).literal_separator(true).empty_alternates(true).build();
    let glob = glob.map_err(|error| Failure::new("invalid_argument", format!("invalid pattern: {error}")))?;
    Ok(glob.compile_matcher())
}

fn matches(matcher: &GlobMatcher, folder: &Path, path: &Path) -> bool {
    path.strip_prefix(folder).is_ok_and(|inside| matcher.is_match(inside))
}
