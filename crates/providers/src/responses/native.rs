//! Answers kept in the words of the API: which need to be, and how they are sent again.

use robota_core::ToolCall;
use serde_json::{Map, Value};

use super::dialect::Spoken;
use crate::{ProviderKind, carried, json};

/// Names the words of the API of `kind`, and the encoded form kept with each message. Vendors do not take each
/// other's items: their reasoning is encrypted, their tools are their own.
pub(super) const fn format(kind: ProviderKind) -> &'static str {
    match kind {
        ProviderKind::OpenAi | ProviderKind::Azure => "openai-responses",
        ProviderKind::Qwen => "qwen-responses",
        ProviderKind::XAi => "xai-responses",
        ProviderKind::OpenRouter => "openrouter-responses",
        _ => "other-responses",
    }
}

/// Whether `items` say more than one text and the calls after it.
pub(super) fn say_more(items: &[Value]) -> bool {
    // Reasoning alone is nothing that could be sent again.
    if !items.iter().any(|item| kind(item) != "reasoning") {
        return false;
    }
    let mut before = "";
    items.iter().any(|item| {
        let more = match kind(item) {
            "message" => {
                !before.is_empty() || has_other_fields(item, &["type", "id", "role", "content", "status"])
            }
            "function_call" => {
                has_other_fields(item, &["type", "id", "call_id", "name", "arguments", "status"])
            }
            "reasoning" => return carries_reasoning(item),
            _ => true,
        };
        before = kind(item);
        more
    })
}

/// Writes the items of an answer with commas between them, the calls under the ids they have in `calls`. `None` when
/// they cannot be sent, such as when calls have been taken out of the answer.
pub(super) fn encode(items: &[Value], calls: &[ToolCall], spoken: Spoken) -> Option<Vec<u8>> {
    let called = items.iter().filter(|item| kind(item) == "function_call").count();
    if called != calls.len() {
        return None;
    }
    // Reasoning that cannot be read again would be looked up by its id, and what followed it by theirs.
    let whole = spoken.reasoning_items
        && items.iter().all(|item| kind(item) != "reasoning" || carries_reasoning(item));
    let ids = spoken.item_ids && whole;
    // Reasoning has to be followed by what it led to.
    let end = items.iter().rposition(|item| kind(item) != "reasoning").map_or(0, |last| last + 1);
    let mut calls = calls.iter();
    let mut out = Vec::new();
    for item in items.get(..end).unwrap_or_default() {
        let reasoning = kind(item) == "reasoning";
        let Some(fields) = item.as_object() else { continue };
        if reasoning && !(spoken.reasoning_items && carries_reasoning(item)) {
            continue;
        }
        if !out.is_empty() {
            out.push(b',');
        }
        let call = (kind(item) == "function_call").then(|| calls.next()).flatten();
        push_item(&mut out, fields, call, ids);
    }
    (!out.is_empty()).then_some(out)
}

fn push_item(out: &mut Vec<u8>, fields: &Map<String, Value>, call: Option<&ToolCall>, ids: bool) {
    let reasoning = fields.get("type").is_some_and(|kind| kind == "reasoning");
    let mut first = true;
    let mut begin = |out: &mut Vec<u8>, name: &str| {
        out.push(if std::mem::take(&mut first) { b'{' } else { b',' });
        json::push(out, name);
        out.push(b':');
    };
    for (name, value) in fields {
        // The API gives out fields that it does not take back empty.
        let left_out = value.is_null() || (name == "id" && !ids) || (name == "status" && reasoning);
        if left_out {
            continue;
        }
        begin(out, name);
        match (name.as_str(), call) {
            ("call_id" | "name" | "arguments", Some(call)) => push_of_call(out, fields, name, call),
            ("content", None) => push_content(out, value),
            _ => json::push(out, value),
        }
    }
    // Without one of these a call would be refused.
    let missing = |name: &&str| fields.get(*name).is_none_or(Value::is_null);
    for name in ["call_id", "name", "arguments"].into_iter().filter(missing) {
        if let Some(call) = call {
            begin(out, name);
            push_of_call(out, fields, name, call);
        }
    }
    out.extend_from_slice(if first { b"{}" } else { b"}" });
}

/// A field of a call: as the history has it, and the name as one that a tool can have, whatever the model wrote.
fn push_of_call(out: &mut Vec<u8>, fields: &Map<String, Value>, field: &str, call: &ToolCall) {
    match field {
        "call_id" => json::push(out, carried::short_id(&call.id)),
        "arguments" => json::push(out, &carried::arguments(&call.arguments)),
        _ => {
            let name = fields.get("name").and_then(Value::as_str).unwrap_or(&call.name);
            json::push(out, &carried::name(name));
        }
    }
}

/// Content without empty `logprobs`, which not all servers take back.
fn push_content(out: &mut Vec<u8>, content: &Value) {
    let Some(parts) = content.as_array() else { return json::push(out, content) };
    json::push_list(out, parts, |out, part| match part.as_object() {
        Some(fields) => {
            let kept = |(name, value): &(&String, &Value)| {
                !value.is_null()
                    && (*name != "logprobs" || value.as_array().is_none_or(|list| !list.is_empty()))
            };
            let mut first = true;
            for (name, value) in fields.iter().filter(kept) {
                out.push(if std::mem::take(&mut first) { b'{' } else { b',' });
                json::push(out, name);
                out.push(b':');
                json::push(out, value);
            }
            out.extend_from_slice(if first { b"{}" } else { b"}" });
        }
        None => json::push(out, part),
    });
}

fn kind(item: &Value) -> &str {
    item.get("type").and_then(Value::as_str).unwrap_or_default()
}

/// Whether an item of reasoning holds the reasoning, rather than just the id of it.
fn carries_reasoning(item: &Value) -> bool {
    let encrypted = item.get("encrypted_content").and_then(Value::as_str);
    let readable = item.get("content").and_then(Value::as_array);
    encrypted.is_some_and(|text| !text.is_empty()) || readable.is_some_and(|parts| !parts.is_empty())
}

fn has_other_fields(item: &Value, known: &[&str]) -> bool {
    let mut fields = item.as_object().into_iter().flatten();
    fields.any(|(name, value)| !value.is_null() && !known.contains(&name.as_str()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn answer() -> Vec<Value> {
        vec![
            json!({"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "gAAA", "status": null}),
            json!({"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "phase": "commentary",
                "content": [{"type": "output_text", "text": "I look.", "annotations": [], "logprobs": []}]}),
            json!({"id": "fc_1", "type": "function_call", "call_id": "call_1", "name": "Read", "arguments": "{\"a\":", "status": "completed"}),
            json!({"id": "rs_2", "type": "reasoning", "summary": [], "encrypted_content": "gBBB"}),
        ]
    }

    fn calls(ids: &[&str]) -> Vec<ToolCall> {
        let call =
            |id: &&str| ToolCall { id: (*id).into(), name: "Read".into(), arguments: "{\"a\":".into() };
        ids.iter().map(call).collect()
    }

    fn sent(items: &[Value], ids: &[&str], spoken: Spoken) -> Option<Value> {
        let bytes = encode(items, &calls(ids), spoken)?;
        Some(serde_json::from_str(&format!("[{}]", String::from_utf8(bytes).unwrap())).unwrap())
    }

    #[test]
    fn items_go_back_as_they_came_with_the_ids_of_the_history() {
        let message = json!({"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "phase": "commentary",
            "content": [{"type": "output_text", "text": "I look.", "annotations": []}]});
        let call = json!({"id": "fc_1", "type": "function_call", "call_id": "renamed", "name": "Read", "arguments": "{}", "status": "completed"});
        let expected = json!([
            {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "gAAA"}, message, call
        ]);
        assert_eq!(sent(&answer(), &["renamed"], Spoken::default()), Some(expected));
        assert_eq!(sent(&answer(), &[], Spoken::default()), None);
    }

    #[test]
    fn a_call_that_a_model_wrote_badly_is_sent_as_one_that_is_taken() {
        let odd = json!({"type": "function_call", "name": "functions.Read"});
        let items = [json!({"type": "web_search_call"}), odd];
        let name = carried::name("functions.Read");
        let call = json!({"type": "function_call", "call_id": "call_1", "name": name, "arguments": "{}"});
        let expected = json!([items[0], call]);
        assert_eq!(sent(&items, &["call_1"], Spoken::default()), Some(expected));
    }

    #[test]
    fn ids_go_where_the_reasoning_behind_them_does_not() {
        let message = json!({"type": "message", "role": "assistant", "status": "completed", "phase": "commentary",
            "content": [{"type": "output_text", "text": "I look.", "annotations": []}]});
        let call = json!({"type": "function_call", "call_id": "call_1", "name": "Read", "arguments": "{}", "status": "completed"});
        let without_ids =
            json!([{"type": "reasoning", "summary": [], "encrypted_content": "gAAA"}, message, call]);
        let spoken = Spoken { item_ids: false, ..Spoken::default() };
        assert_eq!(sent(&answer(), &["call_1"], spoken), Some(without_ids));
        let spoken = Spoken { reasoning_items: false, ..Spoken::default() };
        assert_eq!(sent(&answer(), &["call_1"], spoken), Some(json!([message, call])));
        let mut unread = answer();
        unread[0]["encrypted_content"] = Value::Null;
        unread.pop();
        assert_eq!(sent(&unread, &["call_1"], Spoken::default()), Some(json!([message, call])));
    }

    #[test]
    fn a_text_and_calls_after_it_need_no_words_of_the_api() {
        let text = json!({"id": "m", "type": "message", "role": "assistant", "status": "completed", "phase": null, "content": []});
        let call =
            json!({"id": "f", "type": "function_call", "call_id": "c", "name": "Read", "arguments": "{}"});
        let search = json!({"id": "w", "type": "web_search_call"});
        let id_alone = json!({"id": "r", "type": "reasoning", "summary": []});
        for (items, more) in [
            (vec![], false),
            (vec![&text, &call, &call], false),
            (vec![&id_alone, &text], false),
            (vec![&answer()[0]], false),
            (vec![&answer()[0], &call], true),
            (vec![&text, &text], true),
            (vec![&call, &text], true),
            (vec![&search, &text], true),
            (vec![&answer()[1]], true),
        ] {
            let items: Vec<Value> = items.into_iter().cloned().collect();
            assert_eq!(say_more(&items), more, "{items:?}");
        }
    }
}
