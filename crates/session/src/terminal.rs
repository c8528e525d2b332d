//! Asking on a terminal: `ITerminalOutput` of seed `000`, and the permission questions it is for.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use crate::printable::printable;
use crate::{PermissionAnswer, PermissionHandler, PermissionRequest};

/// How many characters of a call's arguments are shown.
const MOST_SHOWN: usize = 4_000;

/// A terminal, as far as a session needs one. The host brings a real one; an embedder may bring anything
/// that can show lines and let a person choose.
pub trait TerminalOutput: Send + Sync {
    /// Shows text as it is.
    fn write(&self, text: &str);

    /// Shows a line.
    fn write_line(&self, line: &str) {
        self.write(&format!("{line}\n"));
    }

    /// Asks for a line of text; `None` when there is no answer to be had.
    fn prompt<'a>(&'a self, question: &'a str) -> BoxFuture<'a, Option<String>>;

    /// Lets the person choose one of `options` and gives its place; `None` when there is no answer to be
    /// had. `preselected` is where the cursor begins.
    fn select<'a>(&'a self, options: &'a [String], preselected: usize) -> BoxFuture<'a, Option<usize>>;

    /// Shows that something goes on, until the handle is dropped.
    fn spinner(&self, message: &str) -> Box<dyn Spinner>;
}

/// Something that turns while one waits. Dropping it ends it.
pub trait Spinner: Send {
    /// Shows another message.
    fn update(&mut self, message: &str);
}

/// Asks permission questions on a terminal (`promptForApproval` of seed `000`). Without an answer, the
/// call is denied.
#[derive(Clone)]
pub struct TerminalApproval {
    terminal: Arc<dyn TerminalOutput>,
}

impl TerminalApproval {
    /// Asks on `terminal`.
    #[must_use]
    pub fn new(terminal: Arc<dyn TerminalOutput>) -> Self {
        Self { terminal }
    }

    async fn choose(&self, request: PermissionRequest) -> PermissionAnswer {
        // Arguments come from the model: nothing of them may move the cursor or hide what is asked.
        let arguments = shown(&request.arguments);
        self.terminal.write_line(&format!("{} wants to run: {arguments}", printable(&request.tool_name)));
        self.terminal.write_line(&printable(&request.verdict.reason));
        let mut answers = vec![("Allow".to_owned(), PermissionAnswer::Allow)];
        if !request.verdict.allow_rules.is_empty() {
            let rules = printable(&request.verdict.allow_rules.join(" and "));
            answers.push((format!("Allow {rules} for this session"), PermissionAnswer::AllowForSession));
            if request.can_keep {
                let always = format!("Always allow {rules} in this project");
                answers.push((always, PermissionAnswer::AllowForProject));
            }
        }
        let refusal = || PermissionAnswer::Deny { reason: "the user did not allow this".to_owned() };
        answers.push(("Deny".to_owned(), refusal()));
        let (labels, mut answers): (Vec<String>, Vec<PermissionAnswer>) = answers.into_iter().unzip();
        match self.terminal.select(&labels, 0).await {
            Some(chosen) if chosen < answers.len() => answers.swap_remove(chosen),
            _ => refusal(),
        }
    }
}

/// Arguments for a person: harmless, and with a remark where they are too long to be looked at.
fn shown(arguments: &str) -> String {
    let mut shown: String = printable(arguments).chars().take(MOST_SHOWN).collect();
    let more = arguments.chars().count().saturating_sub(MOST_SHOWN);
    if more > 0 {
        shown.push_str(&format!("… and {more} more characters"));
    }
    shown
}

impl PermissionHandler for TerminalApproval {
    fn ask(&self, request: PermissionRequest) -> BoxFuture<'_, PermissionAnswer> {
        Box::pin(self.choose(request))
    }
}
