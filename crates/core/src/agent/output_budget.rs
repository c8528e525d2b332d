//! Tool results are cut to the host's budget before the model sees them; the whole of them is kept in a file.

use std::io;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::{Access, OutputSpill, PathAccess, ToolOutcome};

/// A cut moves to the end of a line when that costs at most one character in this many.
const LINE_SHARE: usize = 8;

/// The fact that says where the whole output is.
const OUTPUT_FILE: &str = "outputFile";

/// What a result may cost, and where it is kept when it costs more.
pub(super) struct Budget<'a> {
    /// Most characters of a result; 0 for no limit.
    pub(super) characters: usize,
    pub(super) spill: Option<&'a Arc<dyn OutputSpill>>,
}

impl Budget<'_> {
    /// Cuts the middle out of what the call `call_id` has come to, when it is too long, and says there how to see
    /// it. `from_file` says that it is a part of a file, which need not be kept a second time.
    pub(super) async fn fit(&self, mut outcome: ToolOutcome, call_id: &str, from_file: bool) -> ToolOutcome {
        let Some(cut) = middle(&outcome.content, self.characters) else { return outcome };
        let line = outcome.content.get(..cut.start).unwrap_or_default().matches('\n').count() + 1;
        let advice = if let Some(file) = output_file(&outcome) {
            format!("the whole output is in {file}")
        } else if from_file {
            "ask for fewer lines at once, with offset and limit, to see them".to_owned()
        } else {
            match self.keep(&mut outcome, call_id).await {
                Some(Ok(kept)) => kept.advice(line),
                Some(Err(error)) => {
                    format!("they could not be kept ({error}); ask for less at once to see them")
                }
                None => "ask for less at once to see them".to_owned(),
            }
        };
        let count = outcome.content.get(cut.clone()).unwrap_or_default().chars().count();
        let notice = format!("\n[... {count} characters cut from the middle; {advice} ...]\n\n");
        outcome.content.replace_range(cut.clone(), &notice);
        if !outcome.content.get(..cut.start).unwrap_or_default().ends_with('\n') {
            outcome.content.insert(cut.start, '\n');
        }
        outcome
    }

    /// Keeps the whole content; `None` when there is no place for it.
    async fn keep(&self, outcome: &mut ToolOutcome, call_id: &str) -> Option<io::Result<Kept>> {
        let spill = Arc::clone(self.spill?);
        let (call_id, content) = (call_id.to_owned(), Arc::<str>::from(outcome.content.as_str()));
        let write = tokio::task::spawn_blocking(move || write(&*spill, &call_id, &content));
        let kept = write.await.unwrap_or_else(|error| Err(io::Error::other(error)));
        if let Ok(kept) = &kept
            && let Value::Object(facts) = outcome.structured.get_or_insert_with(|| json!({}))
        {
            facts.insert("truncated".to_owned(), true.into());
            facts.insert(OUTPUT_FILE.to_owned(), kept.path.to_string_lossy().into());
        }
        Some(kept)
    }
}

/// Whether a call that touches `access` does nothing but read files: what it shows is in them.
pub(super) fn reads_files(access: &[Access]) -> bool {
    let reads = |access: &Access| matches!(access, Access::Path { kind: PathAccess::Read, .. });
    !access.is_empty() && access.iter().all(reads)
}

/// A result that stands in a file.
struct Kept {
    path: PathBuf,
    /// Bytes that the file had no room for.
    left_out: usize,
}

impl Kept {
    /// How to see what is missing from `line` on.
    fn advice(&self, line: usize) -> String {
        let file = self.path.display();
        let missing = match self.left_out {
            0 => String::new(),
            left_out => format!(" but for the last {left_out} bytes"),
        };
        format!("all of it{missing} is in {file}: Read it with offset {line}")
    }
}

fn write(spill: &dyn OutputSpill, call_id: &str, content: &str) -> io::Result<Kept> {
    let mut file = spill.begin(call_id)?;
    let path = file.path().to_owned();
    let room = usize::try_from(file.capacity()).unwrap_or(usize::MAX).min(content.len());
    let (kept, left_out) = content.split_at(content.floor_char_boundary(room));
    file.write_all(kept.as_bytes())?;
    file.finish()?;
    Ok(Kept { path, left_out: left_out.len() })
}

/// Where the tool itself has kept the whole output.
fn output_file(outcome: &ToolOutcome) -> Option<&str> {
    outcome.structured.as_ref()?.get(OUTPUT_FILE)?.as_str()
}

/// What has to go so that `text` has at most `budget` characters: head and tail stay in equal parts, cut between
/// lines where one ends nearby.
fn middle(text: &str, budget: usize) -> Option<Range<usize>> {
    if budget == 0 || text.len() <= budget {
        return None;
    }
    // Nothing goes when the text is not longer in characters.
    text.char_indices().nth(budget)?;
    let half = budget / 2;
    let start = text.char_indices().nth(half)?.0;
    let end = text.char_indices().rev().nth(half.saturating_sub(1)).map_or(text.len(), |(at, _)| at);
    let near = half / LINE_SHARE;
    let line_end = text.get(..start)?.rfind('\n').map(|at| at + 1).filter(|at| start - at <= near);
    let line_start = text.get(end..)?.find('\n').map(|at| end + at + 1);
    let line_start = line_start.filter(|at| at - end <= near && *at < text.len());
    Some(line_end.unwrap_or(start)..line_start.unwrap_or(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(text: &str, budget: usize) -> Option<[&str; 2]> {
        middle(text, budget).map(|range| [&text[..range.start], &text[range.end..]])
    }

    #[test]
    fn short_text_is_left_alone() {
        assert_eq!(cut("abc", 3), None);
        assert_eq!(cut("abc", 0), None);
        assert_eq!(cut("äöü", 3), None);
    }

    #[test]
    fn both_ends_stay_and_lines_stay_whole_where_they_end_nearby() {
        let text = format!("{}{}{}", "ä".repeat(5), "x".repeat(90), "ü".repeat(5));
        assert_eq!(cut(&text, 10), Some(["äääää", "üüüüü"]));
        assert_eq!(cut("abcd", 1), Some(["", "d"]));
        let lines = "0123456\n".repeat(100);
        let [head, tail] = cut(&lines, 300).unwrap();
        assert_eq!((head, tail), (&lines[..144], &lines[..144]));
        let far = format!("{}\n{}", "x".repeat(100), "y".repeat(300));
        assert_eq!(cut(&far, 300), Some([&far[..150], &far[251..]]));
    }
}
