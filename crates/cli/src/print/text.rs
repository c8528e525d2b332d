//! The answer as text on standard output, and what happens meanwhile on standard error.

use std::io::{IsTerminal, stderr, stdout};

use robota_core::{Event, EventKind};
use serde_json::Value;

use crate::stdout::{Output, complain};

/// The longest argument shown of a call, in characters.
const MAX_ARGUMENT: usize = 80;

/// Writes text as it arrives.
pub(crate) struct TextView {
    output: Output,
    /// Show tool calls as they happen.
    activity: bool,
    /// Both streams are one terminal, so lines must not run into each other.
    shared_terminal: bool,
    color: bool,
    /// Something was written since the last line end.
    mid_line: bool,
    /// Text of an earlier answer stands before the coming one.
    separate: bool,
    denied: Vec<(String, Option<String>)>,
}

impl TextView {
    /// A view that shows tool calls when standard error is a terminal, or when `verbose`.
    pub(crate) fn new(verbose: bool, no_color: bool) -> Self {
        let terminal = stderr().is_terminal();
        Self {
            output: Output::new(),
            activity: terminal || verbose,
            shared_terminal: terminal && stdout().is_terminal(),
            color: terminal && !no_color,
            mid_line: false,
            separate: false,
            denied: Vec::new(),
        }
    }

    /// Shows one event.
    pub(crate) fn show(&mut self, event: &Event) {
        match &event.kind {
            EventKind::TextDelta { delta } => self.text(delta),
            EventKind::ProviderRequest { .. } => self.separate = self.separate || self.mid_line,
            EventKind::ToolExecutionRequest { tool_name, parameters, .. } if self.activity => {
                self.note(&format!("● {tool_name} {}", first_argument(parameters)));
            }
            EventKind::ToolExecutionResult { success: false, error_code, result, .. } if self.activity => {
                self.note(&format!("  ✗ {}", failure(error_code.as_deref(), result.as_ref())));
            }
            EventKind::PermissionDenied { tool_name, parameters, reason, allow_rule, .. } => {
                let call = format!("{tool_name} {}: {}", first_argument(parameters), plain(reason));
                self.denied.push((call, allow_rule.clone()));
            }
            EventKind::ProviderRetry { attempt, max_attempts, delay_ms, reason, .. } => {
                let seconds = *delay_ms as f64 / 1000.0;
                let reason = plain(reason);
                self.note(&format!("… {reason}; attempt {attempt} of {max_attempts} in {seconds:.1} s"));
            }
            _ => {}
        }
    }

    /// Ends the answer, and says what was not allowed to run and how to allow it.
    pub(crate) fn finish(&mut self) {
        if self.mid_line {
            self.output.write("\n");
            self.mid_line = false;
        }
        for (call, allow_rule) in std::mem::take(&mut self.denied) {
            complain(&format!("not allowed: {call}"));
            if let Some(rule) = allow_rule {
                complain(&format!("  allow it with: --allowed-tools '{}'", plain(&rule)));
            }
        }
    }

    fn text(&mut self, delta: &str) {
        if self.separate && !delta.is_empty() {
            self.output.write(if self.mid_line { "\n\n" } else { "\n" });
            self.separate = false;
        }
        self.output.write(delta);
        if !delta.is_empty() {
            self.mid_line = !delta.ends_with('\n');
            self.separate = false;
        }
    }

    fn note(&mut self, line: &str) {
        if self.shared_terminal && self.mid_line {
            self.output.write("\n");
            self.mid_line = false;
            self.separate = true;
        }
        if self.color { complain(&format!("\x1b[2m{line}\x1b[0m")) } else { complain(line) }
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
    let line = plain(&text);
    match line.char_indices().nth(MAX_ARGUMENT) {
        Some((cut, _)) => format!("{}…", line.get(..cut).unwrap_or_default()),
        None => line,
    }
}

/// Text of a model or a tool, without anything a terminal would act on.
pub(crate) fn plain(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
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
