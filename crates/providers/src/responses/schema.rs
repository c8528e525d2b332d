//! JSON Schemas in the subset that can be kept to strictly (protocols F2).

use serde_json::{Map, Value};

/// Keywords that are taken over as they are.
const KEPT: [&str; 13] = [
    "type",
    "enum",
    "const",
    "description",
    "title",
    "pattern",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minItems",
    "maxItems",
];

/// Keywords that can be left out: they say nothing about the form, or forbid what may then be written all the same.
/// Whoever asked for the form checks the answer against the whole schema.
const LEFT_OUT: [&str; 13] = [
    "$schema",
    "$id",
    "$comment",
    "default",
    "examples",
    "deprecated",
    "readOnly",
    "writeOnly",
    "minLength",
    "maxLength",
    "uniqueItems",
    "contentEncoding",
    "contentMediaType",
];

/// Formats of strings that can be kept to.
const FORMATS: [&str; 9] =
    ["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"];

/// A copy of `schema` with every object closed and all of its properties required. What fits the copy fits the
/// original in its form. `None` when there is no such copy: for maps, unions by `allOf`, anything open.
pub(super) fn strict(schema: &Value) -> Option<Value> {
    let strict = strict_part(schema)?;
    (strict.get("type").and_then(Value::as_str) == Some("object")).then_some(strict)
}

fn strict_part(schema: &Value) -> Option<Value> {
    let mut copy = Map::new();
    for (keyword, value) in schema.as_object()? {
        match keyword.as_str() {
            "properties" | "$defs" | "definitions" => {
                let parts = value.as_object()?.iter();
                let parts: Option<Map<_, _>> =
                    parts.map(|(name, part)| Some((name.clone(), strict_part(part)?))).collect();
                copy.insert(keyword.clone(), parts?.into());
            }
            "items" => _ = copy.insert(keyword.clone(), strict_part(value)?),
            "anyOf" | "oneOf" => {
                let parts: Option<Vec<_>> = value.as_array()?.iter().map(strict_part).collect();
                if copy.insert("anyOf".to_owned(), parts?.into()).is_some() {
                    return None;
                }
            }
            // Beside a reference nothing else may stand.
            "$ref" => return Some(Value::from_iter([("$ref", value.as_str()?)])).filter(|_| is_local(value)),
            "format" => {
                if value.as_str().is_some_and(|format| FORMATS.contains(&format)) {
                    copy.insert(keyword.clone(), value.clone());
                }
            }
            // Written anew below; a schema in it means a map.
            "additionalProperties" if value.is_boolean() => {}
            "required" => {}
            kept if KEPT.contains(&kept) => _ = copy.insert(keyword.clone(), value.clone()),
            left_out if LEFT_OUT.contains(&left_out) => {}
            _ => return None,
        }
    }
    if is_object(&copy) {
        let properties = copy.get("properties")?.as_object()?;
        let names: Vec<Value> = properties.keys().cloned().map(Value::from).collect();
        let required = schema.get("required").and_then(Value::as_array);
        if required.is_some_and(|required| required.iter().any(|name| !names.contains(name))) {
            return None;
        }
        copy.insert("required".to_owned(), names.into());
        copy.insert("additionalProperties".to_owned(), false.into());
    }
    let says_what = ["type", "enum", "const", "anyOf"].iter().any(|keyword| copy.contains_key(*keyword));
    says_what.then(|| copy.into())
}

fn is_local(reference: &Value) -> bool {
    reference.as_str().is_some_and(|reference| reference.starts_with('#'))
}

/// Also of a type such as `["object", "null"]`.
fn is_object(schema: &Map<String, Value>) -> bool {
    match schema.get("type") {
        Some(Value::String(r#type)) => r#type == "object",
        Some(Value::Array(types)) => types.iter().any(|r#type| r#type == "object"),
        _ => schema.contains_key("properties"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn objects_are_closed_and_their_properties_required() {
        let schema = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": "Report",
            "type": "object",
            "properties": {
                "count": {"type": "integer", "format": "uint32", "minimum": 0, "default": 1},
                "when": {"type": "string", "format": "date"},
                "parts": {"type": "array", "items": {"$ref": "#/$defs/Part", "description": "One."}},
                "kind": {"oneOf": [{"const": "a"}, {"type": "null"}]},
            },
            "required": ["count"],
            "$defs": {"Part": {"type": ["object", "null"], "properties": {"a": {"type": "string", "maxLength": 3}}}},
        });
        let expected = json!({
            "title": "Report",
            "type": "object",
            "properties": {
                "count": {"type": "integer", "minimum": 0},
                "when": {"type": "string", "format": "date"},
                "parts": {"type": "array", "items": {"$ref": "#/$defs/Part"}},
                "kind": {"anyOf": [{"const": "a"}, {"type": "null"}]},
            },
            "$defs": {"Part": {"type": ["object", "null"], "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": false}},
            "required": ["count", "when", "parts", "kind"],
            "additionalProperties": false,
        });
        assert_eq!(strict(&schema), Some(expected));
    }

    #[test]
    fn what_is_open_cannot_be_strict() {
        let property = |schema: Value| json!({"type": "object", "properties": {"p": schema}});
        for schema in [
            json!({"type": "array", "items": {"type": "string"}}),
            json!({"type": "object"}),
            json!({"anyOf": [{"type": "object", "properties": {}}]}),
            json!({"type": "object", "properties": {}, "required": ["q"]}),
            property(json!({"type": "object", "additionalProperties": {"type": "string"}})),
            property(json!({"type": "object", "properties": {}, "patternProperties": {}})),
            property(json!({"allOf": [{"type": "string"}]})),
            property(json!({"type": "array", "items": true})),
            property(json!({"$ref": "https://a.example/schema"})),
            property(json!({})),
            property(json!(true)),
        ] {
            assert_eq!(strict(&schema), None, "{schema}");
        }
    }
}
