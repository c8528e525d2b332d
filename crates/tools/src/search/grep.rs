//! Grep: finds lines by regular expression.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use robota_core::{Access, PathAccess, Tool, ToolClass, ToolContext, ToolOutcome, ToolResult, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use super::file_search::{FileSearch, Plan, Yield};
use super::file_types;
use super::globs::GlobList;
use super::grep_report::Report;
use super::hidden::Hidden;
use super::hits::{FirstHits, Worth};
use super::matcher::{Expression, compile};
use super::walk::Walk;
use crate::blocking;
use crate::failure::Failure;
use crate::files::{Kind, exact, missing_path};
use crate::input::{PathInput, Switch, WholeNumber};
use crate::workspace::Workspace;

const DEFAULT_HEAD_LIMIT: usize = 250;
const MAX_HEAD_LIMIT: usize = 10_000;
/// What is skipped is held in memory until it is known to come first.
const MAX_OFFSET: usize = 100_000;
const MAX_CONTEXT: usize = 50;

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
    glob: Option<GlobList>,
    /// File types of ripgrep, such as `rust,py`.
    #[serde(default, rename = "type", alias = "fileType", alias = "file_type")]
    #[schemars(with = "String")]
    file_type: Option<String>,
    /// Default files_with_matches.
    #[serde(default, alias = "output_mode")]
    #[schemars(with = "OutputMode")]
    output_mode: Option<OutputMode>,
    /// Lines around each match in content mode.
    #[serde(default, alias = "context_lines", alias = "context", alias = "-C")]
    #[schemars(with = "WholeNumber")]
    context_lines: Option<WholeNumber>,
    /// Lines before each match.
    #[serde(default, alias = "before_context", alias = "-B")]
    #[schemars(with = "WholeNumber")]
    before_context: Option<WholeNumber>,
    /// Lines after each match.
    #[serde(default, alias = "after_context", alias = "-A")]
    #[schemars(with = "WholeNumber")]
    after_context: Option<WholeNumber>,
    /// Default true.
    #[serde(default, alias = "line_numbers", alias = "-n")]
    #[schemars(with = "Switch")]
    line_numbers: Option<Switch>,
    /// Lines or files to return; default 250.
    #[serde(default, alias = "head_limit", alias = "max_results", alias = "limit")]
    #[schemars(with = "WholeNumber")]
    head_limit: Option<WholeNumber>,
    /// Lines or files to skip.
    #[serde(default)]
    #[schemars(with = "WholeNumber")]
    offset: Option<WholeNumber>,
    #[serde(default, alias = "ignore_case", alias = "case_insensitive", alias = "-i")]
    ignore_case: Switch,
    /// Let matches span lines; `.` then matches line breaks.
    #[serde(default)]
    multiline: Switch,
    /// The pattern is plain text.
    #[serde(default, alias = "fixed_strings", alias = "-F")]
    fixed_strings: Switch,
    /// Search ignored files, too.
    #[serde(default, alias = "no_ignore")]
    no_ignore: Switch,
    /// Found once: what is checked is what is searched.
    #[serde(skip)]
    target: OnceLock<PathBuf>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(super) enum OutputMode {
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
            ("type", &["fileType", "file_type"]),
            ("output_mode", &["outputMode"]),
            ("-C", &["contextLines", "context_lines", "context"]),
            ("-B", &["beforeContext", "before_context"]),
            ("-A", &["afterContext", "after_context"]),
            ("-n", &["lineNumbers", "line_numbers"]),
            ("head_limit", &["headLimit", "max_results", "limit"]),
            ("-i", &["ignoreCase", "ignore_case", "case_insensitive"]),
            ("fixedStrings", &["fixed_strings", "-F"]),
            ("noIgnore", &["no_ignore"]),
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
        let window = Window::of(input)?;
        let mut plan = plan(input, window)?;
        let types = input.file_type.as_deref().map(file_types::select).transpose()?.flatten();
        let target = self.target(input);
        let is_folder = self.check_target(target)?;
        plan.binary = !is_folder;
        let globs = input.glob.as_ref().filter(|_| is_folder);
        let hidden = Arc::new(Hidden::new(&self.workspace, requested(input), target));
        let walk = Walk {
            workspace: &self.workspace,
            root: target,
            only: globs.map(|globs| globs.filter(target)).transpose()?,
            types: types.filter(|_| is_folder),
            no_ignore: input.no_ignore.0,
            max_depth: None,
            hidden: &hidden,
            stop,
        };

        let first = FirstHits::new(window.end());
        let (failed, binary) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let walked = walk.each_file(|| {
            let mut files = FileSearch::new(&plan, &self.workspace, stop);
            let (plan, first, hidden, failed, binary) = (&plan, &first, &hidden, &failed, &binary);
            move |path: PathBuf| {
                if hidden.hides(&path) {
                    return;
                }
                let worth = first.worth(&path);
                if worth == Worth::Nothing && plan.wanted != Yield::Count {
                    return;
                }
                match files.search(&path, worth) {
                    Ok(hits) if hits.matches == 0 && hits.binary_from.is_some() => {
                        binary.fetch_add(1, Ordering::Relaxed);
                    }
                    Ok(hits) => first.add(path, hits),
                    Err(_) => {
                        failed.fetch_add(1, Ordering::Relaxed);
                    }
                }
            }
        });
        if stop.is_cancelled() {
            return Err(Failure::cancelled());
        }
        let report = Report {
            workspace: &self.workspace,
            mode: input.output_mode.unwrap_or_default(),
            separated: matches!(plan.wanted, Yield::Lines { before, after, .. } if before + after > 0),
            across_lines: plan.across_lines,
            window,
            unreadable: walked.unreadable + failed.into_inner(),
            binary: binary.into_inner(),
            walk_cut: walked.cut,
        };
        Ok(report.outcome(&first.into_kept(), &hidden))
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
}

/// Which of the lines or files found are returned.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    pub(super) offset: usize,
    pub(super) limit: usize,
}

impl Window {
    fn of(input: &GrepInput) -> Result<Self, Failure> {
        let limit = match input.head_limit {
            None => DEFAULT_HEAD_LIMIT,
            Some(WholeNumber(0)) => MAX_HEAD_LIMIT,
            Some(limit) => limit.count().min(MAX_HEAD_LIMIT),
        };
        let offset = input.offset.map_or(0, WholeNumber::count);
        if offset > MAX_OFFSET {
            let message = format!("the offset may be at most {MAX_OFFSET}; narrow the search instead");
            return Err(Failure::new("invalid_argument", message));
        }
        Ok(Self { offset, limit })
    }

    fn end(self) -> usize {
        self.offset + self.limit
    }
}

fn plan(input: &GrepInput, window: Window) -> Result<Plan, Failure> {
    if input.pattern.is_empty() {
        return Err(Failure::new("invalid_pattern", "the pattern is empty"));
    }
    let (matcher, across_lines) = compile(Expression {
        pattern: &input.pattern,
        fixed: input.fixed_strings.0,
        ignore_case: input.ignore_case.0,
        multiline: input.multiline.0,
    })?;
    let around = |lines: Option<WholeNumber>| {
        lines.or(input.context_lines).map_or(0, |lines| lines.count().min(MAX_CONTEXT))
    };
    let wanted = match input.output_mode.unwrap_or_default() {
        OutputMode::FilesWithMatches => Yield::Presence,
        OutputMode::Count => Yield::Count,
        OutputMode::Content => Yield::Lines {
            limit: window.end(),
            before: around(input.before_context),
            after: around(input.after_context),
            numbers: input.line_numbers.is_none_or(|numbers| numbers.0),
        },
    };
    Ok(Plan { matcher, across_lines, wanted, binary: false })
}
