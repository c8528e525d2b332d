//! The rules of Google's Gemini API.

use std::collections::BTreeSet;

use serde_json::Value;

use super::tools::{self, Offered};
use super::{Report, Rule, check_text, list, text};
use crate::RecordedRequest;

/// What `parameters` may hold: a subset of the schema objects of OpenAPI 3.0.
const SCHEMA_FIELDS: [&str; 22] = [
    "type",
    "format",
    "title",
    "description",
    "nullable",
    "enum",
    "maxItems",
    "minItems",
    "properties",
    "required",
    "minProperties",
    "maxProperties",
    "minLength",
    "maxLength",
    "pattern",
    "example",
    "anyOf",
    "propertyOrdering",
    "default",
    "items",
    "minimum",
    "maximum",
];

pub(super) fn check(request: &RecordedRequest, body: &Value, report: &mut Report) {
    let keyed = ["x-goog-api-key", "authorization"].iter().any(|name| request.header(name).is_some());
    if !keyed && !request.query.as_deref().unwrap_or_default().contains("key=") {
        report.add(Rule::Headers, "there is no key: the header `x-goog-api-key` is missing");
    }
    if request.path.ends_with(":streamGenerateContent")
        && !request.query.as_deref().unwrap_or_default().contains("alt=sse")
    {
        report.add(Rule::Body, "without `alt=sse` the answer is no event stream");
    }
    if list(&body["contents"]).is_empty() {
        report.add(Rule::Body, "`contents` is not a list with at least one content");
    }
    for part in list(&body["systemInstruction"]["parts"]) {
        check_text(&part["text"], "`systemInstruction`", report);
    }
    check_tools(list(&body["tools"]), report);
    check_contents(list(&body["contents"]), report);
    let thinks = request.model().is_some_and(|model| model.starts_with("gemini-3"));
    if thinks {
        check_signatures(list(&body["contents"]), report);
    }
}

fn check_tools(tools: &[Value], report: &mut Report) {
    let declared: Vec<&Value> = tools.iter().flat_map(|tool| list(&tool["functionDeclarations"])).collect();
    let standard = declared.iter().filter(|function| function.get("parametersJsonSchema").is_some());
    let offered = standard
        .map(|function| Offered { name: &function["name"], schema: &function["parametersJsonSchema"] });
    tools::check_offered(offered, report);
    for function in declared.iter().filter(|function| function.get("parameters").is_some()) {
        let name = text(&function["name"]);
        if function.get("parametersJsonSchema").is_some() {
            let message = format!("`{name}` has both `parameters` and `parametersJsonSchema`");
            report.add(Rule::ToolSchemas, message);
        }
        tools::check_name(name, report);
        if !text(&function["parameters"]["type"]).eq_ignore_ascii_case("object") {
            report.add(Rule::ToolSchemas, format!("the schema of `{name}` is not of type `object`"));
        }
        check_schema(&function["parameters"], name, report);
    }
    let mut names = BTreeSet::new();
    for name in declared.iter().map(|function| text(&function["name"])) {
        if name.starts_with(|first: char| !first.is_ascii_alphabetic() && first != '_') {
            report.add(Rule::ToolNames, format!("`{name}` begins neither with a letter nor with `_`"));
        }
        if !names.insert(name) {
            report.add(Rule::ToolNames, format!("two functions are called `{name}`"));
        }
    }
}

/// Checks a schema in `parameters`, which the service reads into fields of its own.
fn check_schema(schema: &Value, tool: &str, report: &mut Report) {
    let Some(fields) = schema.as_object() else {
        return report.add(Rule::ToolSchemas, format!("a schema of `{tool}` is not an object"));
    };
    for field in fields.keys().filter(|field| !SCHEMA_FIELDS.contains(&field.as_str())) {
        report.add(Rule::ToolSchemas, format!("the schema of `{tool}` has the unknown field `{field}`"));
    }
    let kind = text(&schema["type"]).to_ascii_lowercase();
    if schema.get("type").is_some_and(|kind| !kind.is_string()) {
        report.add(Rule::ToolSchemas, format!("a `type` in the schema of `{tool}` is not a string"));
    }
    if kind == "array" && schema.get("items").is_none() {
        report.add(Rule::ToolSchemas, format!("a list in the schema of `{tool}` has no `items`"));
    }
    let strings = list(&schema["enum"]).iter().all(Value::is_string);
    if !strings {
        report.add(Rule::ToolSchemas, format!("an `enum` in the schema of `{tool}` has more than strings"));
    }
    if schema["properties"].as_object().is_some_and(serde_json::Map::is_empty) {
        report.add(Rule::ToolSchemas, format!("`properties` in the schema of `{tool}` is empty"));
    }
    let properties = schema["properties"].as_object().into_iter().flat_map(|properties| properties.values());
    for inner in properties.chain(list(&schema["anyOf"])).chain(schema.get("items")) {
        check_schema(inner, tool, report);
    }
}

/// A call that waits for its result.
struct Open<'a> {
    id: &'a str,
    name: &'a str,
}

fn check_contents(contents: &[Value], report: &mut Report) {
    let mut open: Vec<Open<'_>> = Vec::new();
    let mut ids = BTreeSet::new();
    let mut previous = None;
    for (index, content) in contents.iter().enumerate() {
        let place = format!("content {}", index + 1);
        let role = text(&content["role"]);
        match (role, previous) {
            ("user" | "model", Some(before)) if before == role => {
                report.add(Rule::Alternation, format!("{place} has the role `{role}` like the one before"));
            }
            ("model", None) => {
                report.add(Rule::Roles, format!("{place} is the model's; the first must be the user's"));
            }
            ("user" | "model", _) => {}
            _ => report.add(Rule::Roles, format!("{place} has the role `{role}`; expected user or model")),
        }
        let goes_on = previous.replace(role) == Some(role);
        let parts = list(&content["parts"]);
        if parts.is_empty() {
            report.add(Rule::EmptyText, format!("{place} has no parts"));
        }
        take_results(role, parts, &place, &mut open, report);
        let ended = if goes_on && role == "model" { Vec::new() } else { std::mem::take(&mut open) };
        for call in ended {
            let Open { id, name } = call;
            report.add(Rule::PairedCalls, format!("the call `{id}` of `{name}` has no result in {place}"));
        }
        for part in parts {
            // An answer may go back with the empty text that it ended with.
            let last_words = role == "model" && (goes_on || parts.len() > 1) && part["text"] == "";
            if !last_words {
                check_part(role, part, &place, &mut open, &mut ids, report);
            }
        }
    }
    for Open { id, name } in open {
        report.add(Rule::PairedCalls, format!("the call `{id}` of `{name}` has no result"));
    }
}

/// Pairs the results of a content with the calls of the one before.
fn take_results<'a>(
    role: &str,
    parts: &'a [Value],
    place: &str,
    open: &mut Vec<Open<'a>>,
    report: &mut Report,
) {
    let mut after_results = false;
    for part in parts {
        let result = &part["functionResponse"];
        if !result.is_object() {
            after_results = true;
            continue;
        }
        if role != "user" {
            report.add(Rule::ResultPlace, format!("{place} has a result but is not the user's"));
        }
        if after_results {
            report.add(Rule::ResultPlace, format!("{place} has a result after other parts"));
        }
        if !result["response"].is_object() {
            report.add(Rule::Body, format!("a `response` in {place} is not an object"));
        }
        let (id, name) = (text(&result["id"]), text(&result["name"]));
        match open.iter().position(|call| call.id == id && call.name == name) {
            Some(at) => {
                if at > 0 {
                    report.add(Rule::ResultPlace, format!("the results in {place} are not in call order"));
                }
                open.remove(at);
            }
            None => report.add(
                Rule::PairedCalls,
                format!(
                    "{place} has a result for the call `{id}` of `{name}`, which the content before has not"
                ),
            ),
        }
    }
}

fn check_part<'a>(
    role: &str,
    part: &'a Value,
    place: &str,
    open: &mut Vec<Open<'a>>,
    ids: &mut BTreeSet<&'a str>,
    report: &mut Report,
) {
    let signed = part["thoughtSignature"].is_string();
    if part.get("text").is_some() && !signed {
        check_text(&part["text"], &format!("a part of {place}"), report);
    }
    let call = &part["functionCall"];
    if call.is_object() {
        if role != "model" {
            report.add(Rule::ResultPlace, format!("{place} has a call but is not the model's"));
        }
        let (id, name) = (text(&call["id"]), text(&call["name"]));
        tools::check_name(name, report);
        if !id.is_empty() && !ids.insert(id) {
            report.add(Rule::PairedCalls, format!("the call id `{id}` in {place} was used before"));
        }
        if !call["args"].is_object() {
            report.add(Rule::CallInput, format!("the arguments of a call in {place} are not an object"));
        }
        open.push(Open { id, name });
    }
    let data = &part["inlineData"];
    if data.is_object() && (text(&data["mimeType"]).is_empty() || text(&data["data"]).is_empty()) {
        report.add(Rule::Body, format!("`inlineData` in {place} has no data or no type"));
    }
    if part.as_object().is_none_or(serde_json::Map::is_empty) {
        report.add(Rule::Body, format!("{place} has an empty part"));
    }
}

/// In the current turn, which begins with the user's last text, the first call of each step must have its proof.
fn check_signatures(contents: &[Value], report: &mut Report) {
    let is_text = |content: &Value| {
        content["role"] == "user" && list(&content["parts"]).iter().any(|part| part["text"].is_string())
    };
    let begins = contents.iter().rposition(is_text).unwrap_or_default();
    for (index, content) in contents.iter().enumerate().skip(begins) {
        let first = list(&content["parts"]).iter().find(|part| part["functionCall"].is_object());
        if first.is_some_and(|part| !part["thoughtSignature"].is_string()) {
            let place = index + 1;
            report.add(
                Rule::ThinkingSignature,
                format!("the first call in content {place} has no `thoughtSignature`"),
            );
        }
    }
}
