//! What Grep tells the model.

use robota_core::ToolOutcome;
use serde_json::json;

use super::grep::{OutputMode, Window};
use super::hidden::Hidden;
use super::hits::Kept;
use crate::workspace::Workspace;

/// Bytes of the output; what does not fit counts as not shown.
const MAX_BYTES: usize = 29_000;

/// How a search was asked for and went, apart from its hits.
pub(super) struct Report<'a> {
    pub(super) workspace: &'a Workspace,
    pub(super) mode: OutputMode,
    /// A line stands between the lines of one place and those of another.
    pub(super) separated: bool,
    /// Counts are of matches, which may span lines, not of lines.
    pub(super) across_lines: bool,
    pub(super) window: Window,
    pub(super) unreadable: usize,
    /// Files that were not searched to their end, because they are binary.
    pub(super) binary: usize,
    pub(super) walk_cut: bool,
}

impl Report<'_> {
    pub(super) fn outcome(&self, kept: &Kept, hidden: &Hidden) -> ToolOutcome {
        let Window { offset, limit } = self.window;
        let mut text = String::new();
        let (mut shown, mut more) = (0, kept.more);
        for line in self.lines(kept).skip(offset) {
            if shown == limit || text.len() + line.len() > MAX_BYTES {
                more = true;
                break;
            }
            text.push_str(&line);
            text.push('\n');
            shown += 1;
        }
        let unit = if self.mode == OutputMode::Content { "lines" } else { "files" };
        if kept.found_files == 0 {
            text.push_str("no matches\n");
        } else if shown == 0 && !more {
            text.push_str(&format!("nothing after the first {offset} {unit}\n"));
        }
        if self.mode == OutputMode::Count && shown > 0 {
            let (matches, files) = (kept.matches, kept.found_files);
            let what = if self.across_lines { "matches" } else { "matching lines" };
            text.push_str(&format!("[{matches} {what} in {files} files]\n"));
        }
        let next = offset + shown;
        if more {
            let first = offset + 1;
            text.push_str(&format!(
                "[{unit} {first} to {next}; there are more: use offset {next}, or narrow the search]\n"
            ));
        }
        self.note(&mut text, kept.found_files == 0);
        hidden.note(&mut text);
        text.truncate(text.trim_end_matches('\n').len());
        let mut facts = json!({"shown": shown, "more": more});
        if let Some(facts) = facts.as_object_mut().filter(|_| more) {
            facts.insert("nextOffset".to_owned(), next.into());
        }
        ToolOutcome::success(text).with_structured(facts)
    }

    /// Says what was not searched.
    fn note(&self, text: &mut String, nothing: bool) {
        if self.binary > 0 && nothing {
            text.push_str(&format!("[binary files not searched: {}]\n", self.binary));
        }
        if self.unreadable > 0 {
            text.push_str(&format!("[{} folders or files could not be searched]\n", self.unreadable));
        }
        if self.walk_cut {
            text.push_str("[there are too many files: not all were searched; search a subfolder]\n");
        }
    }

    /// The lines for the model, one after the other.
    fn lines<'a>(&'a self, kept: &'a Kept) -> impl Iterator<Item = String> + 'a {
        kept.files.iter().enumerate().flat_map(move |(at, (path, hits))| {
            let path = self.workspace.display(path);
            let heading = match self.mode {
                OutputMode::FilesWithMatches => Some(path.clone()),
                OutputMode::Count => Some(format!("{path}:{}", hits.matches)),
                OutputMode::Content if at > 0 && self.separated => Some("--".to_owned()),
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
