//! The rules of OpenAI's Responses API.

use std::collections::BTreeSet;

use serde_json::Value;

use super::tools::{self, Offered, Pairing};
use super::{Report, Rule, check_text, list, text};

pub(super) fn check(body: &Value, report: &mut Report) {
    check_tools(body, report);
    check_state(body, report);
    if let input @ Value::String(_) = &body["input"] {
        return check_text(input, "`input`", report);
    }
    let items = list(&body["input"]);
    if !items.is_empty() && !items.iter().any(|item| item["role"] == "user") {
        report.add(Rule::Roles, "no item is the user's");
    }
    let mut ids = BTreeSet::new();
    let mut reader = Reader { pairing: Pairing::default(), answered: false, stored: body["store"] != false };
    for (index, item) in items.iter().enumerate() {
        let place = format!("item {}", index + 1);
        if let Some(id) = item["id"].as_str()
            && !ids.insert(id)
        {
            report.add(Rule::Items, format!("{place} has the id `{id}`, as one before"));
        }
        reader.item(item, items.get(index + 1), &place, report);
    }
    reader.pairing.close("the end of the request", report);
}

/// What the API keeps by itself, and what the client must therefore send.
fn check_state(body: &Value, report: &mut Report) {
    if body["store"] == false && !body["previous_response_id"].is_null() {
        report.add(Rule::Items, "`previous_response_id` names a response that `store: false` did not keep");
    }
}

fn check_tools(body: &Value, report: &mut Report) {
    if body["tools"].as_array().is_some_and(Vec::is_empty) {
        report.add(Rule::Body, "`tools` is an empty list; the service wants it left out");
    }
    // Tools that the service runs itself have a type of their own and no schema.
    let functions = || list(&body["tools"]).iter().filter(|tool| tool["type"] == "function");
    let offered = functions().map(|tool| Offered { name: &tool["name"], schema: &tool["parameters"] });
    tools::check_offered(offered, report);
    for tool in functions().filter(|tool| tool["strict"] == true) {
        check_strict(text(&tool["name"]), &tool["parameters"], report);
    }
    if let Some(tool) = list(&body["tools"]).iter().find(|tool| !tool["type"].is_string()) {
        report.add(Rule::Body, format!("a tool has no type: {tool}"));
    }
    let forced = (body["tool_choice"]["type"] == "function").then_some(&body["tool_choice"]["name"]);
    let names = functions().map(|tool| text(&tool["name"])).collect::<Vec<_>>();
    tools::check_choice(&body["tool_choice"], forced, &names, !list(&body["tools"]).is_empty(), report);
}

/// Strict schemas: every object is closed, and all it has is required.
fn check_strict(name: &str, schema: &Value, report: &mut Report) {
    match schema {
        Value::Object(fields) => {
            if let Some(Value::Object(properties)) = fields.get("properties") {
                let required = list(&schema["required"]);
                let open = schema["additionalProperties"] != false;
                if open || properties.keys().any(|key| !required.iter().any(|name| name == key)) {
                    report.add(Rule::ToolSchemas, format!("the strict schema of `{name}` is not closed"));
                }
            }
            fields.values().for_each(|value| check_strict(name, value, report));
        }
        Value::Array(values) => values.iter().for_each(|value| check_strict(name, value, report)),
        _ => {}
    }
}

/// Reads the items of a conversation in order.
struct Reader<'a> {
    pairing: Pairing<'a>,
    /// Results stood right before: calls that are still open have none.
    answered: bool,
    /// Earlier responses are kept by the service.
    stored: bool,
}

impl<'a> Reader<'a> {
    fn item(&mut self, item: &'a Value, next: Option<&Value>, place: &str, report: &mut Report) {
        let kind = item["type"].as_str().unwrap_or("message");
        if kind != "function_call_output" && (self.answered || (kind == "message" && !is_models(item))) {
            self.pairing.close(place, report);
        }
        self.answered = kind == "function_call_output";
        match kind {
            "message" => check_message(item, place, report),
            "function_call" => self.call(item, place, report),
            "function_call_output" => {
                self.pairing.result(text(&item["call_id"]), place, report);
                if !matches!(item["output"], Value::String(_) | Value::Array(_)) {
                    report.add(Rule::Body, format!("{place} is a result without `output`"));
                }
            }
            "reasoning" => self.reasoning(item, next, place, report),
            "item_reference" if !self.stored => {
                report
                    .add(Rule::Items, format!("{place} refers to an item that `store: false` did not keep"));
            }
            _ => {}
        }
    }

    fn call(&mut self, item: &'a Value, place: &str, report: &mut Report) {
        self.pairing.call(text(&item["call_id"]), place, report);
        tools::check_name(text(&item["name"]), report);
        let arguments = item["arguments"].as_str().map(serde_json::from_str::<Value>);
        if !matches!(arguments, Some(Ok(Value::Object(_)))) {
            report
                .add(Rule::CallInput, format!("the arguments of {place} are not the text of a JSON object"));
        }
    }

    fn reasoning(&self, item: &Value, next: Option<&Value>, place: &str, report: &mut Report) {
        if !item["summary"].is_array() {
            report.add(Rule::Body, format!("{place} is reasoning without `summary`"));
        }
        if !self.stored && item["encrypted_content"].as_str().is_none_or(str::is_empty) {
            let message =
                format!("{place} is reasoning that `store: false` did not keep, without its content");
            report.add(Rule::Items, message);
        }
        if !next.is_some_and(is_models) {
            report.add(Rule::Items, format!("{place} is reasoning without what it led to"));
        }
    }
}

/// Whether the model wrote the item.
fn is_models(item: &Value) -> bool {
    match item["type"].as_str() {
        None | Some("message") => item["role"] == "assistant",
        Some(kind) => !kind.ends_with("_output"),
    }
}

fn check_message(item: &Value, place: &str, report: &mut Report) {
    let kinds: &[&str] = match item["role"].as_str() {
        Some("user" | "system" | "developer") => &["input_text", "input_image", "input_file"],
        Some("assistant") => &["output_text", "refusal"],
        role => {
            let role = role.unwrap_or_default();
            return report.add(Rule::Roles, format!("{place} has the unknown role `{role}`"));
        }
    };
    match &item["content"] {
        Value::Array(parts) if !parts.is_empty() => {
            for part in parts {
                let kind = text(&part["type"]);
                if !kinds.contains(&kind) {
                    report
                        .add(Rule::Body, format!("{place} has a part of type `{kind}`; expected {kinds:?}"));
                }
                if matches!(kind, "input_text" | "output_text") {
                    check_text(&part["text"], &format!("a part of {place}"), report);
                }
            }
        }
        content @ Value::String(_) => check_text(content, place, report),
        _ => report.add(Rule::EmptyText, format!("{place} has no content")),
    }
}
