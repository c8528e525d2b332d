//! Schemas of answers in the part of JSON Schema that the API takes.

use serde_json::{Map, Value};

/// Keywords that are taken as they are.
const KEPT: [&str; 8] = ["type", "description", "title", "default", "const", "$ref", "enum", "required"];

/// Formats of strings that are taken.
const FORMATS: [&str; 10] =
    ["date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"];

/// `schema` as far as the API takes it. Objects have the properties that are listed and no others; what else cannot be
/// said, such as a range of numbers, is said in the description, so that the model knows of it at least.
pub(super) fn supported(schema: &Value) -> Value {
    let Value::Object(fields) = schema else { return schema.clone() };
    let mut out = Map::new();
    let mut unsaid = Map::new();
    for (name, value) in fields {
        match (name.as_str(), value) {
            ("$schema" | "$id" | "$comment" | "additionalProperties", _) => {}
            ("enum", Value::Array(values))
                if values.iter().any(|value| value.is_object() || value.is_array()) =>
            {
                unsaid.insert(name.clone(), value.clone());
            }
            ("$defs" | "definitions" | "properties", Value::Object(schemas)) => {
                let schemas = schemas.iter().map(|(name, schema)| (name.clone(), supported(schema)));
                out.insert(name.clone(), Value::Object(schemas.collect()));
            }
            ("anyOf" | "allOf", Value::Array(schemas)) => {
                out.insert(name.clone(), schemas.iter().map(supported).collect());
            }
            ("oneOf", Value::Array(schemas)) => {
                out.insert("anyOf".into(), schemas.iter().map(supported).collect());
            }
            ("items", Value::Object(_)) => {
                out.insert(name.clone(), supported(value));
            }
            ("minItems", Value::Number(least)) if least.as_u64().is_some_and(|least| least <= 1) => {
                out.insert(name.clone(), value.clone());
            }
            ("format", Value::String(format)) if FORMATS.contains(&format.as_str()) => {
                out.insert(name.clone(), value.clone());
            }
            (kept, _) if KEPT.contains(&kept) => {
                out.insert(name.clone(), value.clone());
            }
            _ => {
                unsaid.insert(name.clone(), value.clone());
            }
        }
    }
    if is_object(&out) {
        out.insert("additionalProperties".into(), Value::Bool(false));
    }
    if !unsaid.is_empty() {
        describe(&mut out, &unsaid);
    }
    Value::Object(out)
}

fn is_object(schema: &Map<String, Value>) -> bool {
    match schema.get("type") {
        Some(Value::String(kind)) => kind == "object",
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "object"),
        _ => schema.contains_key("properties"),
    }
}

fn describe(schema: &mut Map<String, Value>, unsaid: &Map<String, Value>) {
    // A reference stands alone.
    if schema.contains_key("$ref") {
        return;
    }
    let rules: Vec<String> = unsaid.iter().map(|(name, value)| format!("{name}: {value}")).collect();
    let rules = format!("({})", rules.join(", "));
    let description = match schema.get("description").and_then(Value::as_str) {
        Some(text) => format!("{text} {rules}"),
        None => rules,
    };
    schema.insert("description".into(), Value::String(description));
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn objects_are_closed_and_what_cannot_be_said_is_described() {
        let schema = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "properties": {
                "age": {"type": "integer", "minimum": 0, "description": "In years."},
                "mail": {"type": "string", "format": "email"},
                "code": {"type": "string", "format": "plate", "pattern": "^[A-Z]+$"},
                "tags": {"type": "array", "minItems": 1, "maxItems": 3, "items": {"$ref": "#/$defs/tag"}},
                "owner": {"type": ["object", "null"], "properties": {}, "additionalProperties": true},
                "kind": {"oneOf": [{"const": "a"}, {"type": "object", "properties": {"b": {"enum": ["c"]}}}]},
            },
            "required": ["age"],
            "$defs": {"tag": {"type": "string", "maxLength": 9}},
        });
        let expected = json!({
            "type": "object",
            "properties": {
                "age": {"type": "integer", "description": "In years. (minimum: 0)"},
                "mail": {"type": "string", "format": "email"},
                "code": {"type": "string", "description": "(format: \"plate\", pattern: \"^[A-Z]+$\")"},
                "tags": {
                    "type": "array", "minItems": 1, "items": {"$ref": "#/$defs/tag"}, "description": "(maxItems: 3)",
                },
                "owner": {"type": ["object", "null"], "properties": {}, "additionalProperties": false},
                "kind": {"anyOf": [
                    {"const": "a"},
                    {"type": "object", "properties": {"b": {"enum": ["c"]}}, "additionalProperties": false},
                ]},
            },
            "required": ["age"],
            "$defs": {"tag": {"type": "string", "description": "(maxLength: 9)"}},
            "additionalProperties": false,
        });
        assert_eq!(supported(&schema), expected);
    }
}
