//! Names, ids and arguments in a form that the next API accepts, whoever wrote them.
//!
//! A history may come from another provider, or from a model that wrote nonsense. It must stay
//! sendable (design section 1, promise 4), so what an API would refuse is replaced, always in the
//! same way.

use std::borrow::Cow;

use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// Stands for arguments that are no JSON object.
const NO_ARGUMENTS: &str = "{}";

/// The arguments of a call as the text of a JSON object: as written, or `{}` when they are none.
pub(crate) fn arguments(written: &str) -> &str {
    // Parsed as a value, because that also finds lone surrogates and numbers out of range.
    match serde_json::from_str::<Map<String, Value>>(written) {
        Ok(_) => written.trim(),
        Err(_) => NO_ARGUMENTS,
    }
}

/// The arguments of a call as JSON to be embedded.
pub(crate) fn raw_arguments(written: &str) -> &RawValue {
    // The fall-back is not reached: the text has just been parsed.
    serde_json::from_str(arguments(written)).unwrap_or(RawValue::NULL)
}

/// `id` with everything but letters, digits, `_` and `-` replaced; the same for a call and its result.
pub(crate) fn id(id: &str) -> Cow<'_, str> {
    restricted(id, usize::MAX)
}

/// The last 40 bytes of `id`, as many as OpenAI takes; the end is what tells ids apart.
pub(crate) fn short_id(id: &str) -> &str {
    id.get(id.ceil_char_boundary(id.len().saturating_sub(40))..).unwrap_or(id)
}

/// A tool's name with everything but letters, digits, `_` and `-` replaced, at most 64 characters. Names of declared tools pass unchanged.
pub(crate) fn name(name: &str) -> Cow<'_, str> {
    restricted(name, 64)
}

fn restricted(text: &str, limit: usize) -> Cow<'_, str> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if text.is_empty() {
        return Cow::Borrowed("unnamed");
    }
    if text.len() <= limit && text.chars().all(allowed) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().take(limit).map(|c| if allowed(c) { c } else { '_' }).collect())
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
    }

    #[test]
    fn foreign_names_and_ids_become_acceptable() {
        assert_eq!(id("functions.Read:0"), "functions_Read_0");
        assert_eq!(short_id("call_1"), "call_1");
        assert_eq!(short_id(&"ä".repeat(50)), "ä".repeat(20));
        assert_eq!(name("Read"), "Read");
        assert_eq!(name(""), "unnamed");
        assert_eq!(name(&"ö".repeat(100)), "_".repeat(64));
    }
}
