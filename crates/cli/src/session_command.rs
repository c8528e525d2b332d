//! `robota session …`: look at recorded sessions.

use robota_core::{Body, Event, EventKind, HistoryMutation, Message, MessageState, ToolCall};
use robota_session::{FileStore, LogItem, SessionHead, SessionStore};
use serde_json::Value;

use crate::args::SessionCommand;
use crate::compose::session_failure;
use crate::exit::{Exit, Failure};
use crate::harmless::one_line as plain;
use crate::host::Host;
use crate::print::runtime;
use crate::print::text::first_argument;
use crate::stdout::{Output, complain};

/// Most lines of one tool result in a transcript.
const RESULT_LINES: usize = 6;

/// Runs a session command.
pub(crate) fn run(command: &SessionCommand) -> Result<Exit, Failure> {
    let paths = Host::of_process()?.paths()?;
    let store = FileStore::new(&paths.state_dir);
    match command {
        SessionCommand::List { json } => list(&store, *json),
        SessionCommand::Show { session, json } => show(&store, session, *json),
        SessionCommand::Replay { session } => replay(&store, session),
    }
}

fn list(store: &FileStore, json: bool) -> Result<Exit, Failure> {
    let listing = runtime()?.block_on(store.list()).map_err(|error| session_failure(&error))?;
    let mut output = Output::new();
    for head in &listing.sessions {
        if json {
            output.line(&serde_json::to_string(head).unwrap_or_default());
        } else {
            output.line(&row(head));
        }
    }
    for skipped in &listing.skipped {
        complain(&format!("note: {}: {}", skipped.path.display(), skipped.reason));
    }
    if listing.sessions.is_empty() && !json {
        complain("no sessions in this project yet");
    }
    written(output)
}

fn row(head: &SessionHead) -> String {
    let title = head.name.as_deref().or(head.preview.as_deref()).unwrap_or_default();
    let day = head.updated_at.to_string().replace('T', " ");
    let minute = day.get(..16).unwrap_or(&day);
    format!("{}  {minute}  {}", head.id, plain(title))
}

/// Reads the log of the session that `query` names; what cannot be read is remarked upon.
fn read_log(store: &FileStore, query: &str, mut take: impl FnMut(Event)) -> Result<(), Failure> {
    let failed = |error: &robota_session::Error| session_failure(error);
    let head = runtime()?.block_on(<dyn SessionStore>::find(store, query)).map_err(|error| failed(&error))?;
    for item in store.read_log(&head.id).map_err(|error| failed(&error))? {
        match item {
            Ok(LogItem::Event(event)) => take(*event),
            Ok(LogItem::Defect(defect)) => complain(&format!("note: {defect}")),
            Ok(_) => {}
            Err(error) => {
                let path = store.log_path(&head.id);
                return Err(Failure::new(Exit::Storage, format!("{}: {error}", path.display())));
            }
        }
    }
    Ok(())
}

fn show(store: &FileStore, query: &str, json: bool) -> Result<Exit, Failure> {
    let mut output = Output::new();
    read_log(store, query, |event| {
        if json {
            output.line(&serde_json::to_string(&event).unwrap_or_default());
        } else {
            transcript(&event).iter().for_each(|line| output.line(line));
        }
    })?;
    written(output)
}

fn written(output: Output) -> Result<Exit, Failure> {
    output.finish().map_err(|error| Failure::output(&error))?;
    Ok(Exit::Success)
}

/// What a person sees of an event.
fn transcript(event: &Event) -> Vec<String> {
    match &event.kind {
        EventKind::SessionInit { provider, model, cwd, .. } => {
            let (id, time) = (&event.session_id, event.timestamp);
            vec![format!("session {id}  {time}"), format!("  {model} ({provider}) in {}", cwd.display())]
        }
        EventKind::HistoryMutation(HistoryMutation::AppendMessage { message, .. }) => lines_of(message),
        EventKind::HistoryMutation(_) => vec!["(the history was changed)".to_owned()],
        EventKind::PermissionDenied { reason, .. } => vec![format!("  not allowed: {}", plain(reason))],
        EventKind::ProviderRetry { reason, attempt, .. } => {
            vec![format!("  … {}; attempt {attempt}", plain(reason))]
        }
        EventKind::Error { code, message, .. } => vec![format!("error {code}: {}", plain(message))],
        EventKind::Complete { ended, rounds, usage, duration_ms, .. } => {
            let ended = serde_json::to_value(ended).unwrap_or_default();
            let (input, output) = (usage.total_input(), usage.output_tokens);
            let seconds = *duration_ms as f64 / 1000.0;
            let ended = ended.as_str().unwrap_or_default();
            vec![format!("-- {ended}: {rounds} rounds, {input} tokens in, {output} out, {seconds:.1} s")]
        }
        _ => Vec::new(),
    }
}

fn lines_of(message: &Message) -> Vec<String> {
    match &message.body {
        Body::User { content, .. } => marked("> ", content, usize::MAX),
        Body::System { content } => marked("# ", content, RESULT_LINES),
        Body::Assistant { content, tool_calls, .. } => {
            let mut lines = marked("", content.as_deref().unwrap_or_default(), usize::MAX);
            if message.state == MessageState::Interrupted {
                lines.push("(interrupted)".to_owned());
            }
            lines.extend(tool_calls.iter().map(call_line));
            lines
        }
        Body::Tool { content, .. } => marked("  | ", content, RESULT_LINES),
    }
}

fn call_line(call: &ToolCall) -> String {
    let parameters = serde_json::from_str::<Value>(&call.arguments).unwrap_or_default();
    format!("● {} {}", call.name, first_argument(&parameters))
}

/// The lines of a text behind a mark; the rest is counted.
fn marked(mark: &str, text: &str, most: usize) -> Vec<String> {
    let mut lines: Vec<String> =
        text.lines().take(most).map(|line| format!("{mark}{}", plain(&line.replace('\t', "    ")))).collect();
    let rest = text.lines().count().saturating_sub(most);
    if rest > 0 {
        lines.push(format!("{mark}… {rest} more lines"));
    }
    lines
}

fn replay(store: &FileStore, query: &str) -> Result<Exit, Failure> {
    let mut events = Vec::new();
    read_log(store, query, |event| events.push(event))?;
    let report = runtime()?.block_on(robota_session::replay(&events));
    let mut output = Output::new();
    for turn in &report.turns {
        let verdict = if turn.divergence.is_none() { "as recorded" } else { "another way" };
        output.line(&format!("turn {}: {} requests, {verdict}", turn.turn, turn.requests));
    }
    match report.first_divergence() {
        None => {
            output.line("every request came out as it was recorded");
            written(output)
        }
        Some(divergence) => written(output).and(Err(Failure::new(Exit::Failed, divergence.to_string()))),
    }
}
