//! Grep: finds lines by regular expression.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use grep_matcher::LineTerminator;
use grep_regex::RegexMatcher;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};
use ignore::overrides::{Override, OverrideBuilder};
use robota_core::{Access, PathAccess, Tool, ToolClass, ToolContext, ToolOutcome, ToolResult, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::hidden::Hidden;
use super::hits::{FirstHits, Kept, Worth};
use super::matcher::compile;
use super::sink::{Collector, FileHits};
use super::walk::each_file;
use crate::blocking;
use crate::failure::Failure;
use crate::files::{Content, Kind, exact, missing_path};
use crate::input::{PathInput, Switch, WholeNumber};
use crate::workspace::Workspace;

const DEFAULT_HEAD_LIMIT: usize = 250;
const MAX_HEAD_LIMIT: usize = 10_000;
const MAX_CONTEXT: usize = 50;
/// Bytes of the output; what does not fit counts as not shown.
const MAX_BYTES: usize = 29_000;
/// Memory for one line, or for one file searched across lines.
const HEAP_LIMIT: usize = 64 * 1024 * 1024;

pub(crate) struct Grep {
    pub(crate) workspace: Workspace,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GrepInput {
    /// Rust regular expression.
    #[serde(alias = "query", alias = "regex")]
    pattern: String,
    /// File or folder; default the project.
    #[serde(default, alias = "directory", alias = "dir", alias = "file_path")]
    #[schemars(with = "PathInput")]
    path: Option<PathInput>,
    /// Files to search, such as `*.{js,ts}` or `!tests/**`.
    #[serde(default, alias = "include", alias = "include_pattern")]
    #[schemars(with = "String")]
    glob: Option<String>,
    /// Default files_with_matches.
    #[serde(default, alias = "output_mode")]
    #[schemars(with = "OutputMode")]
    output_mode: Option<OutputMode>,
    /// Lines around each match in content mode.
    #[serde(default, alias = "context_lines", alias = "context", alias = "-C")]
    #[schemars(with = "WholeNumber")]
    context_lines: Option<WholeNumber>,
    /// Lines or files to return; default 250.
    #[serde(default, alias = "head_limit", alias = "max_results", alias = "limit")]
    #[schemars(with = "WholeNumber")]
    head_limit: Option<WholeNumber>,
    #[serde(default, alias = "ignore_case", alias = "case_insensitive", alias = "-i")]
    ignore_case: Switch,
    /// Let matches span lines; `.` then matches line breaks.
    #[serde(default)]
    multiline: Switch,
    /// Found once: what is checked is what is searched.
    #[serde(skip)]
    target: OnceLock<PathBuf>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum OutputMode {
    #[default]
    #[serde(alias = "files")]
    FilesWithMatches,
    #[serde(alias = "lines")]
    Content,
    Count,
}

impl Tool for Grep {
    type Input = GrepInput;

    fn describe(&self) -> ToolSpec {
        ToolSpec::new(
            "Grep",
            ToolClass::Inspect,
            "Searches file contents and returns paths, lines as `path:line:text`, or counts per file, sorted by \
             path. Files ignored by git and binary files are left out.",
        )
        .read_only()
        .with_spellings(&[
            ("pattern", &["query", "regex"]),
            ("path", &["directory", "dir", "file_path"]),
            ("glob", &["include", "include_pattern"]),
            ("output_mode", &["outputMode"]),
            ("-C", &["contextLines", "context_lines", "context"]),
            ("head_limit", &["headLimit", "max_results", "limit"]),
            ("-i", &["ignoreCase", "ignore_case", "case_insensitive"]),
        ])
    }

    fn access(&self, input: &GrepInput) -> Vec<Access> {
        vec![Access::Path {
            kind: PathAccess::Search,
            requested: requested(input).to_owned(),
            resolved: self.target(input).to_owned(),
        }]
    }

    async fn run(self: Arc<Self>, input: GrepInput, context: ToolContext) -> ToolResult {
        blocking::look(&context, move |stop| self.grep(&input, stop)).await
    }
}

/// One search, as it is for every file.
struct Search {
    workspace: Workspace,
    matcher: RegexMatcher,
    settings: SearcherBuilder,
    /// Searchers whose buffers can be used again.
    idle: Mutex<Vec<Searcher>>,
    mode: OutputMode,
    context: usize,
    limit: usize,
    stop: CancellationToken,
}

/// The place to search as the model wrote it.
fn requested(input: &GrepInput) -> &str {
    input.path.as_ref().map_or(".", |path| path.written())
}

impl Grep {
    fn target<'a>(&self, input: &'a GrepInput) -> &'a Path {
        input.target.get_or_init(|| match &input.path {
            Some(path) => path.resolve(&self.workspace).to_owned(),
            None => self.workspace.current_dir(),
        })
    }

    fn grep(&self, input: &GrepInput, stop: &CancellationToken) -> Result<ToolOutcome, Failure> {
        let search = Search::new(&self.workspace, input, stop)?;
        let target = self.target(input);
        let is_folder = self.check_target(target)?;
        let only = if is_folder { input.glob.as_deref() } else { None };
        let only = only.map(|glob| file_filter(target, glob)).transpose()?;

        let first = FirstHits::new(search.limit);
        let failed = AtomicUsize::new(0);
        let hidden = Arc::new(Hidden::new(&self.workspace, requested(input), target));
        let unreadable = each_file(target, only, &hidden, stop, |entry| {
            let path = entry.into_path();
            if hidden.hides(&path) {
                return;
            }
            let worth = first.worth(&path);
            if worth == Worth::Nothing && search.mode != OutputMode::Count {
                return;
            }
            match search.file(&path, worth) {
                Ok(hits) => first.add(path, hits),
                Err(_) => {
                    failed.fetch_add(1, Ordering::Relaxed);
                }
            }
        });
        if stop.is_cancelled() {
            return Err(Failure::cancelled());
        }
        Ok(self.outcome(&first.into_kept(), &search, unreadable + failed.into_inner(), &hidden))
    }

    /// Whether the target is a folder, else a regular file.
    fn check_target(&self, target: &Path) -> Result<bool, Failure> {
        let shown = self.workspace.display(target);
        match self.workspace.look(target) {
            Ok(found) if found.kind == Kind::Folder => Ok(true),
            Ok(found) if found.kind == Kind::File => Ok(false),
            Ok(_) => Err(Failure::new("not_regular", format!("{shown} is neither a file nor a folder"))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(missing_path(&self.workspace, target))
            }
            Err(error) => Err(exact::failure(&self.workspace, "search", target, &error)),
        }
    }

    fn outcome(&self, kept: &Kept, search: &Search, unreadable: usize, hidden: &Hidden) -> ToolOutcome {
        let mut text = String::new();
        let (mut shown, mut more) = (0, kept.more);
        for line in search.output(&self.workspace, kept) {
            if shown == search.limit || text.len() + line.len() > MAX_BYTES {
                more = true;
                break;
            }
            text.push_str(&line);
            text.push('\n');
            shown += 1;
        }
        if shown == 0 {
            text.push_str("no matches\n");
        }
        if search.mode == OutputMode::Count && shown > 0 {
            let (matches, files) = (kept.matches, kept.found_files);
            text.push_str(&format!("[{matches} matching lines in {files} files]\n"));
        }
        if more {
            let unit = if search.mode == OutputMode::Content { "lines" } else { "files" };
            text.push_str(&format!("[the first {shown} {unit}; there are more: narrow the search]\n"));
        }
        if unreadable > 0 {
            text.push_str(&format!("[{unreadable} folders or files could not be searched]\n"));
        }
        hidden.note(&mut text);
        text.truncate(text.trim_end_matches('\n').len());
        ToolOutcome::success(text).with_structured(json!({"shown": shown, "more": more}))
    }
}

impl Search {
    fn new(workspace: &Workspace, input: &GrepInput, stop: &CancellationToken) -> Result<Self, Failure> {
        if input.pattern.is_empty() {
            return Err(Failure::new("invalid_pattern", "the pattern is empty"));
        }
        let (matcher, multiline) = compile(&input.pattern, input.ignore_case.0, input.multiline.0)?;
        let mode = input.output_mode.unwrap_or_default();
        let context = match mode {
            OutputMode::Content => input.context_lines.map_or(0, |lines| lines.count().min(MAX_CONTEXT)),
            OutputMode::FilesWithMatches | OutputMode::Count => 0,
        };
        let limit = match input.head_limit {
            None => DEFAULT_HEAD_LIMIT,
            Some(WholeNumber(0)) => MAX_HEAD_LIMIT,
            Some(limit) => limit.count().min(MAX_HEAD_LIMIT),
        };
        let mut settings = SearcherBuilder::new();
        settings
            .binary_detection(BinaryDetection::quit(0))
            .line_number(mode == OutputMode::Content)
            .multi_line(multiline)
            .heap_limit(Some(HEAP_LIMIT))
            .before_context(context)
            .after_context(context);
        if !multiline {
            // As in the matcher: `$` stands before CRLF, too.
            settings.line_terminator(LineTerminator::crlf());
        }
        let workspace = workspace.clone();
        Ok(Self {
            workspace,
            matcher,
            settings,
            idle: Mutex::default(),
            mode,
            context,
            limit,
            stop: stop.clone(),
        })
    }

    fn file(&self, path: &Path, worth: Worth) -> io::Result<FileHits> {
        let presence = worth == Worth::Presence;
        let mut collector = Collector {
            matcher: &self.matcher,
            limit: if self.mode == OutputMode::Content && !presence { self.limit } else { 0 },
            first_only: self.mode == OutputMode::FilesWithMatches
                || (presence && self.mode == OutputMode::Content),
            hits: FileHits::default(),
        };
        let file = Stoppable { file: self.workspace.open(path)?.0, stop: &self.stop };
        let idle = self.idle().pop();
        let mut searcher = idle.unwrap_or_else(|| self.settings.build());
        let searched = searcher.search_reader(&self.matcher, file, &mut collector);
        self.idle().push(searcher);
        searched.map(|()| collector.hits)
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Searcher>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The lines for the model, one after the other.
    fn output<'a>(&'a self, workspace: &'a Workspace, kept: &'a Kept) -> impl Iterator<Item = String> + 'a {
        kept.files.iter().enumerate().flat_map(move |(at, (path, hits))| {
            let path = workspace.display(path);
            let heading = match self.mode {
                OutputMode::FilesWithMatches => Some(path.clone()),
                OutputMode::Count => Some(format!("{path}:{}", hits.matches)),
                OutputMode::Content if at > 0 && self.context > 0 => Some("--".to_owned()),
                OutputMode::Content => None,
            };
            let lines = hits
                .lines
                .iter()
                .map(move |line| if line == "--" { line.clone() } else { format!("{path}{line}") });
            heading.into_iter().chain(lines)
        })
    }
}

/// A file whose reading ends when the search does.
struct Stoppable<'a> {
    file: Content,
    stop: &'a CancellationToken,
}

impl Read for Stoppable<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.stop.is_cancelled() {
            return Err(io::Error::other("cancelled"));
        }
        self.file.read(buffer)
    }
}

fn file_filter(folder: &Path, glob: &str) -> Result<Override, Failure> {
    let invalid = |error| Failure::new("invalid_argument", format!("invalid glob: {error}"));
    let mut filter = OverrideBuilder::new(folder);
    filter.add(glob).map_err(invalid)?;
    filter.build().map_err(invalid)
}
