//! A file that is another one than the model saw: what changed, so that it can go on without reading it again.

use std::path::Path;

use super::changes::difference;
use super::decoded::Decoded;
use super::diff::unified;
use super::matching::to_lf;
use super::seen::Known;
use crate::failure::Failure;
use crate::workspace::Workspace;

/// The longest change that is shown, in bytes.
const MAX_SHOWN: usize = 6 * 1024;
/// Larger files are not compared, in bytes.
const MAX_COMPARED: usize = 1024 * 1024;

/// The failure for the file at `path`, which is `now` another one than the model saw: then it had the content `kept`,
/// where that is known.
///
/// A change that is shown from the first to the last line counts as read. Anything less does not.
pub(super) fn changed_failure(
    workspace: &Workspace,
    path: &Path,
    kept: Option<&[u8]>,
    now: &Known,
) -> Failure {
    let shown = workspace.display(path);
    let story = format!("{shown} was changed on disk since it was last read");
    let Some(change) = kept.and_then(|kept| what_changed(&shown, kept, &now.content)) else {
        return Failure::new("changed_on_disk", format!("{story}; read it again"));
    };
    let message = match change {
        Shown::Whole(change) => {
            workspace.reads().record_content(path, now.stat, &now.content);
            format!(
                "{story}, and nothing was done. {change}\nThis counts as read: repeat the call if it still fits."
            )
        }
        Shown::Part(change) => {
            format!("{story}, and nothing was done. {change}\n[not all of it is shown: read the file again]")
        }
    };
    Failure::new("changed_on_disk", message)
}

enum Shown {
    Whole(String),
    Part(String),
}

/// `None` when it cannot be told by lines.
fn what_changed(name: &str, before: &[u8], now: &[u8]) -> Option<Shown> {
    if now.len() > MAX_COMPARED {
        return None;
    }
    let (before, now) = (Decoded::new(before.to_vec())?, Decoded::new(now.to_vec())?);
    let (old, new) = (to_lf(before.text()), to_lf(now.text()));
    let mut notes = Vec::new();
    if before.special() != now.special() {
        let encoding = now.special().unwrap_or("UTF-8 without BOM");
        notes.push(format!("It is encoded as {encoding} now. "));
    }
    if old == new {
        if before.text() != now.text() {
            notes.push("Line endings differ. ".to_owned());
        }
        return Some(Shown::Whole(format!("{}The lines are the same.", notes.concat())));
    }
    let mut diff = unified(name, &old, &new, &difference(&old, &new));
    let part = diff.cut || diff.text.len() > MAX_SHOWN;
    diff.text.truncate(diff.text.floor_char_boundary(MAX_SHOWN));
    let text = format!("{}What changed:\n{}", notes.concat(), diff.text.trim_end_matches('\n'));
    Some(if part { Shown::Part(text) } else { Shown::Whole(text) })
}
