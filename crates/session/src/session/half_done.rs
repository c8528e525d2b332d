//! Tool calls that were cut off: answered in the history, and never run again by themselves.

use std::collections::BTreeSet;

use robota_core::{Ambient, Body, History, HistoryMutation, Message, ToolCall};
use serde_json::Value;

/// Why tool calls have no result when a session is opened or copied.
pub(crate) const PROCESS_STOPPED: &str = "the process stopped";

/// Answers the calls at the end of `history` that have no result, and returns the mutations.
///
/// `started` are the ids of the calls that began; `cause` says what cut them off.
pub(crate) fn answer(
    history: &mut History,
    started: &BTreeSet<String>,
    cause: &str,
    ambient: &Ambient,
) -> Vec<HistoryMutation> {
    let open = unanswered(history);
    open.iter().map(|call| history.append(result(call, started.contains(&call.id), cause, ambient))).collect()
}

/// The calls of the last answer that have no result, when nothing but results follows it.
fn unanswered(history: &History) -> Vec<ToolCall> {
    let messages = history.messages();
    let results = messages.iter().rev().take_while(|message| message.answers().is_some()).count();
    let (before, results) = messages.split_at(messages.len() - results);
    let answered: BTreeSet<&str> = results.iter().filter_map(|message| message.answers()).collect();
    let calls = before.last().map(|message| message.tool_calls()).unwrap_or_default();
    calls.iter().filter(|call| !answered.contains(call.id.as_str())).cloned().collect()
}

fn result(call: &ToolCall, started: bool, cause: &str, ambient: &Ambient) -> Message {
    let (content, code) = if started {
        (format!("outcome unknown: {cause} while this was running"), "outcome_unknown")
    } else {
        (format!("not run: {cause} before it could run"), "not_run")
    };
    let body = Body::Tool {
        content,
        tool_call_id: call.id.clone(),
        name: Some(call.name.clone()),
        is_error: true,
        parts: Vec::new(),
    };
    let mut message = Message::with_body(ambient.next_id(), ambient.now(), body);
    message.metadata.insert("errorCode".into(), Value::from(code));
    message
}
