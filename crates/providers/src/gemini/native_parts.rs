//! An answer of this API in its own words, sent back.

use std::borrow::Cow;

use robota_core::{Body, Message, MessageState, Part, ToolCall};
use serde_json::Value;

use super::parts::{Form, NO_SIGNATURE};
use crate::carried;
use crate::json;

/// Mark of answers in the words of this API.
pub(super) const FORMAT: &str = "gemini";

/// The parts of the answer as they came, with the ids that its calls have in the history; `None` when the
/// message is no answer of this API, or has other calls than it had.
pub(super) fn encode(message: &Message, form: Form) -> Option<Vec<u8>> {
    let Body::Assistant { parts, tool_calls, .. } = &message.body else { return None };
    let items = parts.iter().find_map(|part| match part {
        Part::Native { format, items } if format == FORMAT => Some(items),
        _ => None,
    })?;
    let calls = items.iter().filter(|item| is_call(item)).count();
    if message.state != MessageState::Complete || calls != tool_calls.len() {
        return None;
    }
    let mut out = Vec::with_capacity(json::room_for(message) + 1024);
    let mut calls = tool_calls.iter();
    let mut unproven = form.demands_signatures;
    for item in items.iter().filter(|item| form.demands_signatures || !is_server_tool(item)) {
        let item = &*if form.drops_signatures { unsigned(item) } else { Cow::Borrowed(item) };
        if says_nothing(item) {
            continue;
        }
        if !out.is_empty() {
            out.push(b',');
        }
        match calls.as_slice().first().filter(|_| is_call(item)) {
            Some(call) => {
                calls.next();
                json::push(&mut out, &with_id(item, call, std::mem::take(&mut unproven)));
            }
            None => json::push(&mut out, item),
        }
    }
    (!out.is_empty()).then_some(out)
}

/// The part without the proof that it came with.
fn unsigned(item: &Value) -> Cow<'_, Value> {
    let mut item = item.clone();
    if let Some(fields) = item.as_object_mut() {
        fields.remove("thoughtSignature");
    }
    Cow::Owned(item)
}

/// Whether it is a text that only carried a proof.
fn says_nothing(item: &Value) -> bool {
    item.get("text").is_some_and(|text| text == "") && item.get("thoughtSignature").is_none()
}

fn is_call(item: &Value) -> bool {
    item.get("functionCall").is_some_and(Value::is_object)
}

/// What tools of the service did; models that cannot use them beside functions do not know these parts.
fn is_server_tool(item: &Value) -> bool {
    ["toolCall", "toolResponse"].iter().any(|name| item.get(name).is_some())
}

/// The part of a call with the id that it has in the history. Where the model that made it gave no proof of
/// its thinking and the next one wants some, it gets what stands for it.
fn with_id(item: &Value, call: &ToolCall, unproven: bool) -> Value {
    let mut item = item.clone();
    if let Some(call_part) = item.get_mut("functionCall").and_then(Value::as_object_mut) {
        let name = call_part.get("name").and_then(Value::as_str).unwrap_or(&call.name);
        let name = carried::name(name).into_owned();
        call_part.insert("id".to_owned(), call.id.as_str().into());
        // A model may have called what no tool can be named.
        call_part.insert("name".to_owned(), name.into());
    }
    let proven = item.get("thoughtSignature").is_some_and(Value::is_string);
    if let Some(fields) = item.as_object_mut().filter(|_| unproven && !proven) {
        fields.insert("thoughtSignature".to_owned(), NO_SIGNATURE.into());
    }
    item
}

#[cfg(test)]
mod tests {
    use robota_core::Timestamp;
    use serde_json::json;

    use super::*;
    use crate::gemini::generation::Generation;
    use crate::gemini::parts;
    use crate::gemini::spoken::Spoken;

    fn answer(items: Vec<Value>, ids: &[&str]) -> Message {
        let call =
            |id: &&str| ToolCall { id: (*id).into(), name: "Read".into(), arguments: "{\"a\":1}".into() };
        let body = Body::Assistant {
            content: Some("Hm.".into()),
            parts: vec![Part::Native { format: FORMAT.into(), items }],
            tool_calls: ids.iter().map(call).collect(),
            reasoning: Vec::new(),
        };
        Message::with_body("m", Timestamp::default(), body)
    }

    fn sent(message: &Message, generation: Generation) -> Value {
        sent_as(message, Form::of(generation, Spoken::default()))
    }

    fn sent_as(message: &Message, form: Form) -> Value {
        let bytes = parts::encode(message, form, None);
        serde_json::from_str(&format!("[{}]", String::from_utf8(bytes).unwrap())).unwrap()
    }

    #[test]
    fn an_answer_goes_back_as_it_came_with_the_ids_of_the_history() {
        let call = |id: Option<&str>, signature: Option<&str>| {
            let mut part = json!({"functionCall": {"name": "Read", "args": {"a": 1}}});
            if let Some(id) = id {
                part["functionCall"]["id"] = id.into();
            }
            if let Some(signature) = signature {
                part["thoughtSignature"] = signature.into();
            }
            part
        };
        let text = json!({"text": "Hm.", "thoughtSignature": "t"});
        let search = json!({"toolCall": {"id": "s", "toolType": "GOOGLE_SEARCH_WEB", "args": {}}});
        let items = vec![search.clone(), text.clone(), call(Some("x"), Some("s")), call(None, None)];
        let message = answer(items, &["c1", "c2"]);
        let calls = [call(Some("c1"), Some("s")), call(Some("c2"), None)];
        assert_eq!(sent(&message, Generation::Three), json!([search, text, calls[0], calls[1]]));
        assert_eq!(sent(&message, Generation::TwoFive), json!([text, calls[0], calls[1]]));

        // A model that does not prove its thinking, and one that wants proof.
        let unproven = answer(vec![text.clone(), call(None, None), call(None, None)], &["c1", "c2"]);
        let expected = json!([text, call(Some("c1"), Some(NO_SIGNATURE)), call(Some("c2"), None)]);
        assert_eq!(sent(&unproven, Generation::Three), expected);
    }

    #[test]
    fn a_call_of_what_no_tool_can_be_named_is_sent_under_the_name_that_its_result_has() {
        let call = json!({"functionCall": {"name": "default_api:Read", "args": {}}, "thoughtSignature": "s"});
        let sent = sent(&answer(vec![call], &["c1"]), Generation::Three);
        assert_eq!(sent[0]["functionCall"]["name"], json!(carried::name("default_api:Read")));
    }

    #[test]
    fn without_all_of_its_calls_it_is_told_in_general_words() {
        let text = json!({"text": "Hm.", "thoughtSignature": "t"});
        let call = json!({"functionCall": {"name": "Read", "args": {}}, "thoughtSignature": "s"});
        let fewer = answer(vec![text, call.clone(), call], &["c1"]);
        let neutral = json!({"functionCall": {"id": "c1", "name": "Read", "args": {"a": 1}},
            "thoughtSignature": NO_SIGNATURE});
        assert_eq!(sent(&fewer, Generation::Three), json!([{"text": "Hm."}, neutral]));
    }

    #[test]
    fn proof_that_is_not_accepted_is_replaced() {
        let proof = json!({"text": "", "thoughtSignature": "t"});
        let call = json!({"functionCall": {"id": "x", "name": "Read", "args": {}}, "thoughtSignature": "s"});
        let message = answer(vec![call, proof], &["c1"]);
        let form = Form::of(Generation::Three, Spoken::OTHER_PROOF);
        let call = json!({"functionCall": {"id": "c1", "name": "Read", "args": {}}, "thoughtSignature": NO_SIGNATURE});
        assert_eq!(sent_as(&message, form), json!([call]));
        // A model whose name does not tell that it wants proof.
        let form = Form::of(Generation::Unknown, Spoken::OTHER_PROOF);
        assert_eq!(sent_as(&message, form)[0]["thoughtSignature"], "s");
    }
}
