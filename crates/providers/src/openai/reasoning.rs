//! `reasoning_details`: thinking that a gateway wants back exactly as it came (protocols F4).
//!
//! The neutral events have no place for it, so that it is kept beside them: as native content with one item, which
//! names the provider, the ids of the calls and the details. An encoder adds the details to what the message says.

use robota_core::{ModelEvent, Part, ToolCall};
use serde_json::{Map, Value, json};

/// Name of the native content.
const FORMAT: &str = "openai-chat";

/// Details that come in turns at most. Earlier ones are complete.
const AT_ONCE: usize = 64;

/// Details of one answer, put together from deltas.
#[derive(Default)]
pub(super) struct Details(Vec<Map<String, Value>>);

impl Details {
    /// Takes the details of one delta and gives the text in them.
    pub(super) fn take(&mut self, details: Vec<Map<String, Value>>) -> String {
        let mut said = String::new();
        for detail in details {
            let text =
                ["text", "summary"].iter().find_map(|field| detail.get(*field).and_then(Value::as_str));
            said.push_str(text.unwrap_or_default());
            match self.0.iter_mut().rev().take(AT_ONCE).find(|known| continues(known, &detail)) {
                Some(known) => extend(known, detail),
                None => self.0.push(detail),
            }
        }
        said
    }

    /// What keeps the details of an answer with calls of these ids.
    pub(super) fn native(&mut self, provider: &str, calls: &[String]) -> Option<ModelEvent> {
        let details = std::mem::take(&mut self.0);
        if details.is_empty() {
            return None;
        }
        let item = json!({"provider": provider, "calls": calls, "reasoning_details": details});
        Some(ModelEvent::NativeContent { format: FORMAT.to_owned(), items: vec![item] })
    }
}

/// Whether `detail` is more of `known`.
fn continues(known: &Map<String, Value>, detail: &Map<String, Value>) -> bool {
    let same = |field| known.get(field) == detail.get(field);
    let agrees = |field| {
        detail.get(field).is_none_or(Value::is_null)
            || known.get(field).is_none_or(Value::is_null)
            || same(field)
    };
    same("type") && same("index") && agrees("id") && !detail.contains_key("data")
}

fn extend(known: &mut Map<String, Value>, detail: Map<String, Value>) {
    for (field, value) in detail {
        match (known.get_mut(&field), value) {
            (_, Value::Null) => {}
            (Some(Value::String(text)), Value::String(more)) if field == "text" || field == "summary" => {
                text.push_str(&more);
            }
            (_, value) => {
                known.insert(field, value);
            }
        }
    }
}

/// The details that `provider` gave with an answer that has `calls` now; `None` when there are none, or some of its
/// calls are gone.
pub(super) fn details_of(parts: &[Part], provider: &str, calls: &[ToolCall]) -> Option<Vec<Value>> {
    let item = parts.iter().find_map(|part| match part {
        Part::Native { format, items } if format == FORMAT => items.first(),
        _ => None,
    })?;
    if item.get("provider")?.as_str()? != provider {
        return None;
    }
    let given = item.get("calls")?.as_array()?;
    if given.len() != calls.len() {
        return None;
    }
    let mut details = item.get("reasoning_details")?.as_array()?.clone();
    // Signatures of calls go by the id of the call, which may have been renamed.
    for detail in &mut details {
        let Some(id) = detail.get_mut("id") else { continue };
        let renamed = given.iter().zip(calls).find(|(given, _)| !id.is_null() && *given == &*id);
        if let Some((_, call)) = renamed {
            *id = crate::carried::short_id(&call.id).into();
        }
    }
    Some(details)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(value: Value) -> Map<String, Value> {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn details_are_put_together_and_given_back_under_the_new_ids_of_the_calls() {
        let mut details = Details::default();
        let text =
            |text: &str| map(json!({"type": "reasoning.text", "index": 0, "text": text, "signature": null}));
        assert_eq!(details.take(vec![text("I ")]), "I ");
        assert_eq!(details.take(vec![text("look.")]), "look.");
        details.take(vec![map(json!({"type": "reasoning.text", "index": 0, "signature": "sig"}))]);
        details.take(vec![map(json!({"type": "reasoning.encrypted", "index": 1, "id": "c1", "data": "xx"}))]);
        details.take(vec![map(json!({"type": "reasoning.encrypted", "index": 1, "id": "c2", "data": "yy"}))]);
        let Some(ModelEvent::NativeContent { format, items }) =
            details.native("openrouter", &["c1".into(), "c2".into()])
        else {
            panic!("there are details")
        };
        let parts = [Part::Native { format, items }];
        let call = |id: &str| ToolCall { id: id.into(), name: "Read".into(), arguments: "{}".into() };
        let calls = [call("new"), call("c2")];
        let expected = json!([
            {"type": "reasoning.text", "index": 0, "text": "I look.", "signature": "sig"},
            {"type": "reasoning.encrypted", "index": 1, "id": "new", "data": "xx"},
            {"type": "reasoning.encrypted", "index": 1, "id": "c2", "data": "yy"},
        ]);
        assert_eq!(json!(details_of(&parts, "openrouter", &calls)), expected);
        assert_eq!(details_of(&parts, "openrouter", &calls[..1]), None);
        assert_eq!(details_of(&parts, "xai", &calls), None);
    }
}
