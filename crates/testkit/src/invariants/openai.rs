//! The rules of OpenAI's Chat Completions API.

use serde_json::Value;

use super::tools::{self, Offered, Pairing};
use super::{Report, Rule, check_text, list, text};

/// Checks a body. With `strict_input`, the arguments of calls in the history must be JSON objects:
/// the service itself takes any text, but chat templates of compatible servers parse it.
pub(super) fn check(body: &Value, strict_input: bool, report: &mut Report) {
    if body["tools"].as_array().is_some_and(Vec::is_empty) {
        report.add(Rule::Body, "`tools` is an empty list; the service wants it left out");
    }
    let functions = list(&body["tools"]).iter().filter(|tool| tool["type"] == "function");
    let offered = functions
        .map(|tool| &tool["function"])
        .map(|function| Offered { name: &function["name"], schema: &function["parameters"] });
    tools::check_offered(offered, report);
    let choice = &body["tool_choice"];
    let forced = (choice["type"] == "function").then_some(&choice["function"]["name"]);
    let names = list(&body["tools"]).iter().map(|tool| text(&tool["function"]["name"])).collect::<Vec<_>>();
    if strict_input {
        tools::check_choice(choice, forced, &names, !names.is_empty(), report);
    }
    let messages = list(&body["messages"]);
    if !messages.is_empty() && !messages.iter().any(|message| message["role"] == "user") {
        report.add(Rule::Roles, "no message is the user's");
    }
    let mut pairing = Pairing::default();
    for (index, message) in messages.iter().enumerate() {
        let place = format!("message {}", index + 1);
        let role = message["role"].as_str().unwrap_or_default();
        if role == "tool" {
            pairing.result(text(&message["tool_call_id"]), &place, report);
        } else {
            pairing.close(&place, report);
        }
        match role {
            "system" | "developer" | "user" => check_content(&message["content"], &place, report),
            "assistant" => check_assistant(message, &place, strict_input, &mut pairing, report),
            "tool" => check_blocks(&message["content"], &place, report),
            _ => report.add(Rule::Roles, format!("{place} has the unknown role `{role}`")),
        }
    }
    pairing.close("the end of the request", report);
}

fn check_assistant<'a>(
    message: &'a Value,
    place: &str,
    strict_input: bool,
    pairing: &mut Pairing<'a>,
    report: &mut Report,
) {
    let calls = list(&message["tool_calls"]);
    match &message["content"] {
        Value::Null | Value::String(_) if !calls.is_empty() => {}
        content => check_content(content, place, report),
    }
    for call in calls {
        pairing.call(text(&call["id"]), place, report);
        let function = &call["function"];
        tools::check_name(text(&function["name"]), report);
        let Some(arguments) = function["arguments"].as_str() else {
            report.add(Rule::CallInput, format!("the arguments of a tool call in {place} are not a string"));
            continue;
        };
        if strict_input && !serde_json::from_str::<Value>(arguments).is_ok_and(|input| input.is_object()) {
            let message =
                format!("the arguments of a tool call in {place} are not the text of a JSON object");
            report.add(Rule::CallInput, message);
        }
    }
}

fn check_content(content: &Value, place: &str, report: &mut Report) {
    match content {
        Value::Array(blocks) if !blocks.is_empty() => check_blocks(content, place, report),
        Value::String(_) => check_text(content, place, report),
        _ => report.add(Rule::EmptyText, format!("{place} has no content")),
    }
}

fn check_blocks(content: &Value, place: &str, report: &mut Report) {
    for block in list(content).iter().filter(|block| block["type"] == "text") {
        check_text(&block["text"], &format!("a block of {place}"), report);
    }
}
