//! What the model should know of this run, besides the system prompt.
//!
//! Folder, day and mode change from one run of a session to the next. In the system prompt, which begins
//! every request, each change would make the provider read the whole conversation anew; as a note
//! beside a prompt it costs a few tokens (design section 1, promise 6).

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use robota_core::{PermissionMode, Timestamp};

/// What plan mode asks of the model.
const PLAN: &str =
    "Plan mode: on. Only look. Change nothing and run nothing; end with a plan that the user can approve.";

/// Where and when a run takes place: the text of [`SessionOptions::context_note`].
///
/// [`SessionOptions::context_note`]: robota_session::SessionOptions::context_note
#[derive(Clone, Debug, Default)]
#[expect(clippy::exhaustive_structs, reason = "plain data, built with `..Default::default()`")]
pub struct ContextNote<'a> {
    /// Working directory.
    pub cwd: PathBuf,
    /// Project root; named when it is not the working directory.
    pub root: PathBuf,
    /// Further folders of the workspace.
    pub additional_directories: &'a [PathBuf],
    /// Operating system, such as `linux`.
    pub platform: &'a str,
    /// Now; only the day shows.
    pub now: Timestamp,
    /// What happens to calls that no rule decides. Plan mode is told, and that it is over; in the others
    /// the model does the same.
    pub mode: PermissionMode,
}

impl ContextNote<'_> {
    /// Writes the note: a few lines, without one at the end. The same values give the same bytes.
    #[must_use]
    pub fn render(&self) -> String {
        let mut text = format!("Working directory: {}\n", one_line(&self.cwd));
        // Writing to a string cannot fail.
        if self.root != self.cwd {
            let _ = writeln!(text, "Project root: {}", one_line(&self.root));
        }
        for folder in self.additional_directories {
            let _ = writeln!(text, "Additional directory: {}", one_line(folder));
        }
        let now = self.now.to_string();
        let day = now.split('T').next().unwrap_or_default();
        let plan = if self.mode == PermissionMode::Plan { PLAN } else { "Plan mode: off" };
        let _ = write!(text, "Platform: {}\nDate: {day}\n{plan}", self.platform);
        text
    }
}

/// The path as text. A folder's name may hold a line break; it must not look like a line of the note.
fn one_line(path: &Path) -> String {
    let text = path.to_string_lossy();
    text.chars().map(|letter| if letter.is_control() { '\u{fffd}' } else { letter }).collect()
}
