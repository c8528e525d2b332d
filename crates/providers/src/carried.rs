//! Names, ids and arguments in a form that the next API accepts, whoever wrote them.
//!
//! A history may come from another provider, or from a model that wrote nonsense. It must stay
//! sendable (design section 1, promise 4), so what an API would refuse is replaced, always in the
//! same way.

use std::borrow::Cow;

use robota_core::{ToolSpec, read_arguments};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::tool_names::wire_name;

/// Stands for arguments that are no JSON object.
const NO_ARGUMENTS: &str = "{}";

/// The arguments of a call as the text of a JSON object: as written, or as the tool ran with them where slips were
/// mended, or `{}` when they are none.
pub(crate) fn arguments(written: &str) -> Cow<'_, str> {
    read_arguments(written).unwrap_or(Cow::Borrowed(NO_ARGUMENTS))
}

/// The arguments of a call as JSON to be embedded.
pub(crate) fn raw_arguments(written: &str) -> Cow<'_, RawValue> {
    // The fall-back is not reached: the text has just been parsed.
    match arguments(written) {
        Cow::Borrowed(text) => Cow::Borrowed(serde_json::from_str(text).unwrap_or(RawValue::NULL)),
        Cow::Owned(text) => RawValue::from_string(text).map_or(Cow::Borrowed(RawValue::NULL), Cow::Owned),
    }
}

/// `id` with everything but letters, digits, `_` and `-` replaced; the same for a call and its result.
pub(crate) fn id(id: &str) -> Cow<'_, str> {
    restricted(id)
}

/// The last 40 bytes of `id`, as many as OpenAI takes; the end is what tells ids apart.
pub(crate) fn short_id(id: &str) -> &str {
    id.get(id.ceil_char_boundary(id.len().saturating_sub(40))..).unwrap_or(id)
}

/// A tool's name as tools are declared by.
pub(crate) fn name(name: &str) -> Cow<'_, str> {
    wire_name(name)
}

/// The schema of a tool's arguments, as all APIs want one: where there is none, that of no arguments.
pub(crate) fn parameters(tool: &ToolSpec) -> Cow<'_, Value> {
    if tool.input_schema.is_object() {
        return Cow::Borrowed(&tool.input_schema);
    }
    Cow::Owned(json!({"type": "object", "properties": {}}))
}

fn restricted(text: &str) -> Cow<'_, str> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if text.is_empty() {
        return Cow::Borrowed("unnamed");
    }
    if text.chars().all(allowed) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().map(|c| if allowed(c) { c } else { '_' }).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_objects_are_sent_as_arguments() {
        assert_eq!(arguments(" {\"a\": 1.50} "), "{\"a\": 1.50}");
        for malformed in ["", "{\"a\": ", "[1]", "null", "{} x", r#"{"a":"\ud800"}"#, "{\"a\":1e999}"] {
            assert_eq!(arguments(malformed), "{}", "{malformed}");
        }
        assert_eq!(raw_arguments("{\"b\":2,\"a\":1}").get(), "{\"b\":2,\"a\":1}");
        assert_eq!(raw_arguments("{\"b\":True,}").get(), "{\"b\":true}");
    }

    #[test]
    fn foreign_names_and_ids_become_acceptable() {
        assert_eq!(id("functions.Read:0"), "functions_Read_0");
        assert_eq!(short_id("call_1"), "call_1");
        assert_eq!(short_id(&"ä".repeat(50)), "ä".repeat(20));
        assert_eq!(name("Read"), "Read");
        assert!(name("files.read").starts_with("files_read_"));
    }
}
