//! The rules of Anthropic's Messages API.

use serde_json::Value;

use super::tools::{self, Offered, Pairing};
use super::{Report, Rule, check_text, list, text};
use crate::RecordedRequest;

pub(super) fn check(request: &RecordedRequest, body: &Value, report: &mut Report) {
    if request.header("anthropic-version").is_none() {
        report.add(Rule::Headers, "the header `anthropic-version` is missing");
    }
    if body["max_tokens"].as_u64().is_none_or(|tokens| tokens == 0) {
        report.add(Rule::MaxTokens, "`max_tokens` is not a positive number");
    }
    match &body["system"] {
        Value::Null => {}
        Value::Array(blocks) => {
            for block in blocks {
                check_text(&block["text"], "a block of `system`", report);
            }
        }
        text => check_text(text, "`system`", report),
    }
    // Tools that the service runs itself have a type of their own and no schema.
    let own = |tool: &&Value| matches!(tool["type"].as_str(), None | Some("custom"));
    let offered = list(&body["tools"]).iter().filter(own);
    let offered = offered.map(|tool| Offered { name: &tool["name"], schema: &tool["input_schema"] });
    tools::check_offered(offered, report);
    let choice = &body["tool_choice"];
    let forced = (choice["type"] == "tool").then_some(&choice["name"]);
    let names = list(&body["tools"]).iter().map(|tool| text(&tool["name"])).collect::<Vec<_>>();
    tools::check_choice(choice, forced, &names, !names.is_empty(), report);
    check_messages(list(&body["messages"]), report);
    let marks = count_marks(body);
    if marks > 4 {
        report.add(Rule::CacheMarks, format!("{marks} `cache_control` marks, at most 4 are allowed"));
    }
}

fn check_messages(messages: &[Value], report: &mut Report) {
    let mut pairing = Pairing::default();
    let mut previous = None;
    for (index, message) in messages.iter().enumerate() {
        let place = format!("message {}", index + 1);
        let role = message["role"].as_str().unwrap_or_default();
        if !matches!(role, "user" | "assistant") {
            report.add(Rule::Roles, format!("{place} has the role `{role}`; expected user or assistant"));
        }
        if previous.is_none() && role == "assistant" {
            report.add(Rule::Roles, format!("{place} is the model's; the first must be the user's"));
        }
        if previous == Some(role) {
            report.add(Rule::Alternation, format!("{place} has the role `{role}` like the one before"));
        }
        previous = Some(role);
        check_message(role, &message["content"], &place, &mut pairing, report);
    }
    pairing.close("the end of the request", report);
}

fn check_message<'a>(
    role: &str,
    content: &'a Value,
    place: &str,
    pairing: &mut Pairing<'a>,
    report: &mut Report,
) {
    if content.is_string() {
        check_text(content, place, report);
    } else if list(content).is_empty() {
        report.add(Rule::EmptyText, format!("{place} has no content"));
    }
    let blocks = list(content);
    let mut after_results = false;
    for block in blocks {
        if block["type"] == "tool_result" {
            if role != "user" {
                report.add(Rule::ResultPlace, format!("{place} has a tool result but is not the user's"));
            }
            if after_results {
                report.add(Rule::ResultPlace, format!("{place} has a tool result after other content"));
            }
            pairing.result(text(&block["tool_use_id"]), place, report);
        } else {
            after_results = true;
        }
    }
    pairing.close(place, report);
    for block in blocks {
        check_block(role, block, place, pairing, report);
    }
}

fn check_block<'a>(
    role: &str,
    block: &'a Value,
    place: &str,
    pairing: &mut Pairing<'a>,
    report: &mut Report,
) {
    match block["type"].as_str() {
        None => report.add(Rule::Body, format!("a block of {place} has no type")),
        Some("text") => check_text(&block["text"], &format!("a block of {place}"), report),
        Some("tool_result") => {
            for inner in list(&block["content"]).iter().filter(|inner| inner["type"] == "text") {
                check_text(&inner["text"], &format!("a tool result block of {place}"), report);
            }
        }
        Some("tool_use") => {
            if role != "assistant" {
                report.add(Rule::ResultPlace, format!("{place} has a tool call but is not the model's"));
            }
            pairing.call(text(&block["id"]), place, report);
            tools::check_name(text(&block["name"]), report);
            if !block["input"].is_object() {
                report.add(Rule::CallInput, format!("the input of a tool call in {place} is not an object"));
            }
        }
        Some("thinking") if block["signature"].as_str().is_none_or(str::is_empty) => {
            report.add(Rule::ThinkingSignature, format!("a thinking block of {place} has no signature"));
        }
        Some(_) => {}
    }
}

/// Counts the marks in the places where the API knows them.
fn count_marks(body: &Value) -> usize {
    let marked = |value: &Value| usize::from(value.get("cache_control").is_some_and(|mark| !mark.is_null()));
    let in_list = |value: &Value| list(value).iter().map(marked).sum::<usize>();
    let in_messages = list(&body["messages"]).iter().flat_map(|message| list(&message["content"]));
    let in_messages: usize = in_messages.map(|block| marked(block) + in_list(&block["content"])).sum();
    marked(body) + in_list(&body["tools"]) + in_list(&body["system"]) + in_messages
}
