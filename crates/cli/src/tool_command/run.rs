//! `robota tool run`.

use std::sync::Arc;

use robota_core::{Body, Event, EventKind, Part};
use robota_session::{LineFilter, Session};
use serde::Serialize;
use serde_json::Value;

use super::arguments;
use super::one_call::{CALL_ID, OneCall};
use super::toolbox::Toolbox;
use crate::compose::session_failure;
use crate::exit::{Exit, Failure};
use crate::harmless::{lines, one_line, shell_word};
use crate::print::runtime;
use crate::report::{json_of, written};
use crate::signals::{Asked, Signals};
use crate::stdout::{Output, complain};
use crate::tool_args::ToolRunArgs;

/// What came of the call, as JSON has it.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Outcome {
    tool: String,
    content: String,
    is_error: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_code: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    structured: Option<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    parts: Vec<Part>,
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<Refused>,
    duration_ms: u64,
}

/// Why it did not run.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Refused {
    reason: String,
    allow_rules: Vec<String>,
}

pub(super) fn run(args: &ToolRunArgs) -> Result<Exit, Failure> {
    let mut toolbox = Toolbox::open(&args.policy)?;
    check_name(&toolbox, &args.name)?;
    let arguments = arguments::read(&args.args)?;
    toolbox.notices.iter().for_each(|notice| complain(&format!("note: {notice}")));
    toolbox.assembly.options.provider = Arc::new(OneCall::new(&args.name, arguments));
    let filter = toolbox.assembly.options.line_filter.clone();
    let runtime = runtime()?;
    let (outcome, asked) = runtime.block_on(call(toolbox, &args.name))?;
    runtime.shutdown_timeout(crate::print::RUNTIME_GRACE);
    tell(&outcome, filter.as_ref(), args.json)?;
    Ok(match asked {
        Some(Asked::Interrupt) => Exit::Interrupted,
        Some(Asked::Terminate) => Exit::Terminated,
        None => exit_of(&outcome),
    })
}

/// A tool that a session would not have is none here.
fn check_name(toolbox: &Toolbox, name: &str) -> Result<(), Failure> {
    let options = &toolbox.assembly.options;
    let names: Vec<&str> = options.tools.iter().map(|tool| tool.spec().name.as_str()).collect();
    if names.contains(&name) {
        return Ok(());
    }
    let denied = options.permissions.rules.deny.iter().find(|rule| {
        let text = rule.text().trim_end_matches("(*)");
        text == name || (name == "Write" && text == "Edit")
    });
    Err(match denied {
        Some(rule) => {
            let origin = rule.origin().unwrap_or_default();
            Failure::new(Exit::Refused, format!("{name} is denied as a whole by `{rule}` ({origin})"))
        }
        None => Failure::new(Exit::Usage, format!("there is no tool `{name}`"))
            .with_hint(format!("There are {}.", names.join(", "))),
    })
}

/// Runs the call to its end, or to a signal, which ends the tool and all that it started.
async fn call(toolbox: Toolbox, name: &str) -> Result<(Outcome, Option<Asked>), Failure> {
    let mut signals = Signals::listen()
        .map_err(|error| Failure::new(Exit::Failed, format!("signals cannot be listened to: {error}")))?;
    let session = toolbox.assembly.create().await.map_err(|error| session_failure(&error))?;
    let session = Arc::new(session);
    let mut events = session.subscribe();
    let running = Arc::clone(&session);
    let mut turn = tokio::spawn(async move { running.run("").await });
    let mut outcome = Outcome { tool: name.to_owned(), ..Outcome::default() };
    let mut ended_by = None;
    let result = loop {
        tokio::select! {
            biased;
            asked = signals.next() => {
                if ended_by.replace(asked).is_some() {
                    turn.abort();
                }
                session.abort();
            }
            Some(event) = events.recv() => outcome.note(&event),
            result = &mut turn => break result,
        }
    };
    while let Some(event) = events.try_recv() {
        outcome.note(&event);
    }
    outcome.read(&session);
    if let Ok(Err(error)) = result {
        return Err(session_failure(&error));
    }
    session.shutdown("other").await.map_err(|error| session_failure(&error))?;
    Ok((outcome, ended_by))
}

impl Outcome {
    fn note(&mut self, event: &Event) {
        match &event.kind {
            EventKind::ToolProgress { text, .. } => progress(text),
            EventKind::PermissionDenied { reason, allow_rules, .. } => {
                self.refused = Some(Refused { reason: reason.clone(), allow_rules: allow_rules.clone() });
            }
            EventKind::ToolExecutionResult { success, error_code, result, duration_ms, .. } => {
                self.is_error = !success;
                self.error_code.clone_from(error_code);
                self.structured.clone_from(result);
                self.duration_ms = *duration_ms;
            }
            kind => crate::print::remarks::remarks(kind).iter().for_each(|line| complain(line)),
        }
    }

    /// Takes what the model would read.
    fn read(&mut self, session: &Session) {
        let history = session.history();
        let answer = history.iter().find(|message| message.answers() == Some(CALL_ID));
        if let Some(Body::Tool { content, parts, is_error, .. }) = answer.map(|message| &message.body) {
            self.content.clone_from(content);
            self.parts.clone_from(parts);
            self.is_error = *is_error;
        }
    }
}

/// Output that appears while the tool runs goes to standard error.
fn progress(text: &str) {
    use std::io::Write;
    // Nobody may listen.
    let _ = std::io::stderr().write_all(lines(text).as_bytes());
}

fn tell(outcome: &Outcome, filter: Option<&LineFilter>, json: bool) -> Result<(), Failure> {
    let mut output = Output::new();
    if json {
        output.line(&clean(json_of(outcome)?, filter));
    } else if let Some(refused) = &outcome.refused {
        complain(&format!("not allowed: {}: {}", outcome.tool, one_line(&refused.reason)));
        let rules: Option<Vec<String>> = refused.allow_rules.iter().map(|rule| shell_word(rule)).collect();
        if let Some(rules) = rules.filter(|rules| !rules.is_empty()) {
            let flags: Vec<String> = rules.iter().map(|rule| format!("--allowed-tools {rule}")).collect();
            complain(&format!("  allow it with: {}", flags.join(" ")));
        }
    } else {
        let text = lines(&clean_text(&outcome.content, filter));
        output.write(&text);
        if !text.ends_with('\n') {
            output.write("\n");
        }
    }
    written(output).map(drop)
}

/// A line of JSON without secrets that robota knows, as a log would have it.
fn clean(line: String, filter: Option<&LineFilter>) -> String {
    let mut bytes = line.clone().into_bytes();
    match filter {
        Some(filter) if filter.apply(&mut bytes) => String::from_utf8(bytes).unwrap_or(line),
        _ => line,
    }
}

fn clean_text(text: &str, filter: Option<&LineFilter>) -> String {
    let json = serde_json::to_string(text).unwrap_or_default();
    serde_json::from_str(&clean(json, filter)).unwrap_or_else(|_| text.to_owned())
}

fn exit_of(outcome: &Outcome) -> Exit {
    match (&outcome.refused, outcome.is_error) {
        (Some(_), _) => Exit::Refused,
        (None, true) if outcome.error_code.as_deref() == Some("invalid_arguments") => Exit::Usage,
        (None, true) => Exit::Failed,
        (None, false) => Exit::Success,
    }
}
