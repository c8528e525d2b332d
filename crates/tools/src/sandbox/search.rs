//! Searching a sandbox through what it lists and reads.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};
use grep_matcher::Matcher;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use tokio_util::sync::CancellationToken;

use super::error::{SandboxError, SandboxErrorKind};
use super::place;
use super::port::{Sandbox, SandboxFileKind};

/// Characters shown of a line.
const LINE: usize = 500;
/// Folders that no search goes into.
const PASSED_OVER: [&str; 2] = [".git", "node_modules"];

/// What to look for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SandboxQuery {
    /// The folder to look in; the root by default.
    pub folder: PathBuf,
    /// Glob over paths relative to the folder, such as `**/*.rs`; every file by default.
    pub name: Option<String>,
    /// Regular expression that a line must match; without one, the files themselves are found.
    pub content: Option<String>,
    /// The most hits given; 1,000 by default.
    pub limit: usize,
    /// Larger files are passed over where lines are looked for; 4 MiB by default.
    pub max_file_bytes: u64,
}

impl Default for SandboxQuery {
    fn default() -> Self {
        let max_file_bytes = 4 * 1024 * 1024;
        Self { folder: PathBuf::new(), name: None, content: None, limit: 1_000, max_file_bytes }
    }
}

/// Something that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SandboxHit {
    /// The file, absolute in the sandbox.
    pub path: PathBuf,
    /// The line, where lines were looked for.
    pub line: Option<SandboxLine>,
}

/// A line that matched.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SandboxLine {
    /// Its number, from 1 on.
    pub number: u64,
    /// What it says, at most 500 characters.
    pub text: String,
}

/// Lists folder after folder, names in order, `.git` and `node_modules` left out; symlinks are not followed.
pub(super) async fn walk<S: Sandbox + ?Sized>(
    sandbox: &S,
    query: &SandboxQuery,
    cancel: &CancellationToken,
) -> Result<Vec<SandboxHit>, SandboxError> {
    let wanted = Wanted::new(query)?;
    let top = place::inside(sandbox.root(), &query.folder)?;
    let mut folders = VecDeque::from([top.clone()]);
    let mut hits = Vec::new();
    while let Some(folder) = folders.pop_front() {
        if cancel.is_cancelled() {
            return Err(SandboxError::cancelled());
        }
        let mut listed = match sandbox.list(&folder).await {
            Ok(listed) => listed,
            Err(error) if folder == top => return Err(error),
            // One that has gone, or that may not be listed.
            Err(_) => continue,
        };
        listed.sort_by(|a, b| a.name.cmp(&b.name));
        for entry in listed {
            if cancel.is_cancelled() {
                return Err(SandboxError::cancelled());
            }
            let path = folder.join(&entry.name);
            match entry.kind {
                SandboxFileKind::Folder if !is_passed_over(&entry.name) => folders.push_back(path),
                SandboxFileKind::File if wanted.name(&top, &path) => {
                    wanted.look_into(sandbox, path, &mut hits).await;
                    if hits.len() >= query.limit {
                        hits.truncate(query.limit);
                        return Ok(hits);
                    }
                }
                _ => {}
            }
        }
    }
    Ok(hits)
}

fn is_passed_over(name: &OsStr) -> bool {
    PASSED_OVER.iter().any(|known| name == *known)
}

/// The patterns of a query, ready for use.
struct Wanted<'a> {
    query: &'a SandboxQuery,
    name: Option<GlobMatcher>,
    content: Option<RegexMatcher>,
}

impl<'a> Wanted<'a> {
    fn new(query: &'a SandboxQuery) -> Result<Self, SandboxError> {
        let wrong = |what: &str, error: String| {
            SandboxError::new(
                SandboxErrorKind::Failed,
                format!("cannot search: the {what} does not parse: {error}"),
            )
        };
        let glob = |name: &String| GlobBuilder::new(name).literal_separator(true).build();
        let name = query.name.as_ref().map(glob).transpose();
        let name = name.map_err(|error| wrong("glob", error.to_string()))?.map(|glob| glob.compile_matcher());
        let regex = |content: &String| RegexMatcherBuilder::new().line_terminator(Some(b'\n')).build(content);
        let content = query.content.as_ref().map(regex).transpose();
        let content = content.map_err(|error| wrong("regular expression", error.to_string()))?;
        Ok(Self { query, name, content })
    }

    fn name(&self, top: &Path, path: &Path) -> bool {
        self.name.as_ref().is_none_or(|name| name.is_match(path.strip_prefix(top).unwrap_or(path)))
    }

    async fn look_into<S: Sandbox + ?Sized>(&self, sandbox: &S, path: PathBuf, hits: &mut Vec<SandboxHit>) {
        let Some(content) = &self.content else {
            hits.push(SandboxHit { path, line: None });
            return;
        };
        let small = sandbox.stat(&path).await.is_ok_and(|stat| stat.size <= self.query.max_file_bytes);
        if !small {
            return;
        }
        let Ok(bytes) = sandbox.read_file(&path).await else { return };
        if bytes.iter().take(8_192).any(|&byte| byte == 0) {
            return;
        }
        let room = self.query.limit.saturating_sub(hits.len());
        // A line feed ends the last line and begins none.
        let text = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
        let lines = text.split(|&byte| byte == b'\n').zip(1_u64..).filter(|_| !bytes.is_empty());
        let matching = lines.filter(|(line, _)| content.is_match(line).unwrap_or(false)).take(room);
        hits.extend(matching.map(|(line, number)| {
            let text = String::from_utf8_lossy(line).trim_end().chars().take(LINE).collect();
            SandboxHit { path: path.clone(), line: Some(SandboxLine { number, text }) }
        }));
    }
}
