//! The answer as text on standard output, and what happens meanwhile on standard error.

use std::io::{IsTerminal, stderr, stdout};

use robota_core::{EventKind, TurnEnd};
use serde_json::Value;

use super::ending::Ending;
use super::remarks::remarks;
use crate::harmless::{lines, one_line, shell_word};
use crate::stdout::Printer;

/// The longest argument shown of a call, in characters.
const MAX_ARGUMENT: usize = 80;

/// Writes text as it arrives.
pub(crate) struct TextView {
    pub(super) printer: Printer,
    /// Show tool calls as they happen.
    activity: bool,
    /// Text goes to a terminal.
    terminal: bool,
    /// Both streams are one terminal, so lines must not run into each other.
    shared_terminal: bool,
    color: bool,
    /// Something was written since the last line end.
    mid_line: bool,
    /// Text of an earlier answer stands before the coming one.
    separate: bool,
    /// The model has said something in this turn.
    spoke: bool,
    /// The answer is a value, and its words are not shown.
    structured: bool,
    denied: Vec<(String, Vec<String>)>,
    /// What was said last of another model that answers: each of its calls tells it again.
    fallback: Vec<String>,
    ending: Ending,
}

impl TextView {
    /// A view that shows tool calls when standard error is a terminal, or when `verbose`.
    /// With `structured`, standard output gets the value that the answer is, and nothing else.
    pub(crate) fn new(verbose: bool, no_color: bool, structured: bool) -> Self {
        let (out, err) = (stdout().is_terminal(), stderr().is_terminal());
        Self {
            printer: Printer::start(),
            activity: err || verbose,
            terminal: out,
            shared_terminal: out && err,
            color: err && !no_color,
            mid_line: false,
            separate: false,
            spoke: false,
            structured,
            denied: Vec::new(),
            fallback: Vec::new(),
            ending: Ending::default(),
        }
    }

    /// Shows one event.
    pub(crate) fn show(&mut self, kind: &EventKind) {
        self.ending.note(kind);
        match kind {
            EventKind::TextDelta { .. } if self.structured => self.spoke = true,
            EventKind::TextDelta { delta } => self.text(delta),
            EventKind::StructuredOutput { value, .. } => self.out(&format!("{value}\n")),
            EventKind::ProviderRequest { .. } => self.separate = self.separate || self.mid_line,
            EventKind::ToolExecutionRequest { tool_name, parameters, .. } if self.activity => {
                self.note(&format!("● {} {}", one_line(tool_name), first_argument(parameters)));
            }
            EventKind::ToolExecutionResult { success: false, error_code, result, .. } if self.activity => {
                self.note(&format!("  ✗ {}", failure(error_code.as_deref(), result.as_ref())));
            }
            EventKind::ServerTool { tool, query } if self.activity => {
                self.note(&format!("● {} {} (run by the provider)", one_line(tool), shortened(query)));
            }
            EventKind::PermissionDenied { tool_name, parameters, reason, allow_rules, .. } => {
                let call = format!("{} {}", one_line(tool_name), first_argument(parameters));
                self.denied.push((format!("{call}: {}", one_line(reason)), allow_rules.clone()));
            }
            EventKind::Complete { ended, .. } => self.end(*ended),
            EventKind::ProviderRetry { abandoned: true, .. }
            | EventKind::ProviderFallback { abandoned: true, .. } => self.begin_anew(kind),
            EventKind::ProviderFallback { .. } => {
                let lines = remarks(kind);
                if lines != self.fallback {
                    lines.iter().for_each(|line| self.note(line));
                    self.fallback = lines;
                }
            }
            kind => remarks(kind).iter().for_each(|line| self.note(line)),
        }
    }

    /// Says that Ctrl-C was heard.
    pub(crate) fn interrupting(&mut self) {
        self.note("interrupting … press Ctrl-C again to quit at once");
    }

    /// Ends the answer, and says what was not allowed to run and how to allow it.
    pub(crate) fn finish(&mut self) {
        self.end_line();
        for (call, rules) in std::mem::take(&mut self.denied) {
            self.printer.err(&format!("not allowed: {call}"));
            let words: Option<Vec<String>> = rules.iter().map(|rule| shell_word(rule)).collect();
            if let Some(words) = words.filter(|words| !words.is_empty()) {
                self.printer
                    .err(&format!("  allow it with: --allowed-tools {}", words.join(" --allowed-tools ")));
            }
        }
    }

    /// Says why an answer is not the model's last word, where the text alone would not show it.
    fn end(&mut self, ended: TurnEnd) {
        if ended == TurnEnd::Completed {
            self.sources();
        }
        let note = match ended {
            TurnEnd::MaxRounds => "note: stopped after the rounds that --max-turns allows",
            TurnEnd::ContextFull => {
                "error: the context window is nearly full, so the model was not called\n  hint: start a new session (without -c or -r) and say what matters from this one"
            }
            TurnEnd::Blocked => &format!("error: {}", lines(&self.ending.blocked())),
            TurnEnd::Stopped => &format!("error: {}", lines(&self.ending.stopped())),
            TurnEnd::Completed if self.ending.is_stopped() => {
                &format!("note: {}", lines(&self.ending.stopped()))
            }
            TurnEnd::Interrupted if !self.ending.is_users_wish() => {
                &format!("error: {}", self.ending.aborted())
            }
            TurnEnd::OutputLimit => "note: the answer reached the model's output limit and is cut",
            TurnEnd::Refused => "note: the model declined to go on",
            TurnEnd::Completed if !self.spoke => "note: the model ended its turn without saying anything",
            _ => return,
        };
        self.end_line();
        self.printer.err(note);
    }

    /// What stands there of the answer is void: says so, and lets the answer begin on a line of its own.
    fn begin_anew(&mut self, kind: &EventKind) {
        self.end_line();
        self.separate = false;
        remarks(kind).iter().for_each(|line| self.note(line));
    }

    /// The sources of the answer, which are a part of it.
    fn sources(&mut self) {
        let sources = self.ending.sources();
        if sources.is_empty() || self.structured {
            return;
        }
        self.end_line();
        let lines: String = sources.iter().map(|source| format!("- {source}\n")).collect();
        self.out(&format!("\nSources:\n{lines}"));
    }

    fn out(&self, text: &str) {
        self.printer.out(if self.terminal { lines(text) } else { text.to_owned() });
    }

    fn end_line(&mut self) {
        if self.mid_line {
            self.printer.out("\n");
            self.mid_line = false;
        }
    }

    fn text(&mut self, delta: &str) {
        if delta.is_empty() {
            return;
        }
        if self.separate {
            self.printer.out(if self.mid_line { "\n\n" } else { "\n" });
            self.separate = false;
        }
        self.out(delta);
        self.mid_line = !delta.ends_with('\n');
        self.spoke = true;
    }

    fn note(&mut self, line: &str) {
        if self.shared_terminal && self.mid_line {
            self.end_line();
            self.separate = true;
        }
        if self.color {
            self.printer.err(&format!("\x1b[2m{line}\x1b[0m"));
        } else {
            self.printer.err(line);
        }
    }
}

/// The argument that tells a person most, on one line.
pub(crate) fn first_argument(parameters: &Value) -> String {
    const TELLING: [&str; 6] = ["command", "filePath", "file_path", "pattern", "url", "query"];
    let named = TELLING.iter().find_map(|name| parameters.get(name));
    let any = || parameters.as_object().and_then(|fields| fields.values().next());
    let text = match named.or_else(any) {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => String::new(),
    };
    shortened(&text)
}

/// `text` on one line, and not too long.
fn shortened(text: &str) -> String {
    let line = one_line(text);
    match line.char_indices().nth(MAX_ARGUMENT) {
        Some((cut, _)) => format!("{}…", line.get(..cut).unwrap_or_default()),
        None => line,
    }
}

fn failure(code: Option<&str>, result: Option<&Value>) -> String {
    let exit = result.and_then(|result| result.get("exitCode")).and_then(Value::as_i64);
    match (exit, code) {
        (Some(exit), _) => format!("exit code {exit}"),
        (None, Some(code)) => code.replace('_', " "),
        (None, None) => "failed".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_call_is_shown_by_its_telling_argument_on_one_harmless_line() {
        let parameters = json!({"timeout": 5, "command": "printf '\x1b[2J'\nrm x"});
        assert_eq!(first_argument(&parameters), "printf ' [2J' rm x");
        assert_eq!(first_argument(&json!({"n": 3})), "3");
        let long = first_argument(&json!({"query": "ä".repeat(100)}));
        assert_eq!(long.chars().count(), MAX_ARGUMENT + 1);
    }
}
