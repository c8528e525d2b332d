//! Schemas in the API's own words: a subset of the schema objects of OpenAPI 3.0, for servers that take no
//! JSON Schema.

use serde_json::{Map, Value, json};

/// Keywords that mean the same in both.
const SAME: [&str; 11] = [
    "title",
    "description",
    "pattern",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
    "minimum",
    "maximum",
];

/// Formats that the API knows.
const FORMATS: [&str; 6] = ["date-time", "enum", "float", "double", "int32", "int64"];

/// Writes a JSON Schema without references as far as the API's own words go. What they cannot say is left
/// out, so that the model is told less but the request is taken.
pub(super) fn own(schema: &Value) -> Value {
    let Value::Object(fields) = schema else { return json!({"type": "string"}) };
    if let Some(parts) = list(fields, "allOf") {
        return own(&Value::Object(joined(fields, parts)));
    }
    let mut result = Map::new();
    for name in SAME {
        if let Some(value) = fields.get(name) {
            result.insert(name.to_owned(), value.clone());
        }
    }
    let choices = list(fields, "anyOf").or_else(|| list(fields, "oneOf"));
    if let Some(choices) = choices {
        return choice(result, choices);
    }
    let kinds = kinds(fields);
    if kinds.contains(&"null") {
        result.insert("nullable".to_owned(), true.into());
    }
    let mut kinds = kinds.into_iter().filter(|kind| *kind != "null");
    match (kinds.next(), kinds.next()) {
        (Some(first), Some(second)) => {
            let of_kind = |kind: &str| {
                let mut fields = fields.clone();
                fields.insert("type".to_owned(), kind.into());
                own(&Value::Object(fields))
            };
            let choices: Vec<Value> = [first, second].into_iter().chain(kinds).map(of_kind).collect();
            result.retain(|name, _| name == "description" || name == "nullable");
            result.insert("anyOf".to_owned(), choices.into());
        }
        (kind, _) => of_one_kind(kind.unwrap_or("string"), fields, &mut result),
    }
    Value::Object(result)
}

fn list<'a>(fields: &'a Map<String, Value>, name: &str) -> Option<&'a Vec<Value>> {
    fields.get(name)?.as_array().filter(|list| !list.is_empty())
}

/// One schema of all `parts` of `fields`: their properties together, of the rest what comes last.
fn joined(fields: &Map<String, Value>, parts: &[Value]) -> Map<String, Value> {
    let mut whole = Map::new();
    let own = fields.iter().filter(|(name, _)| *name != "allOf");
    for (name, value) in parts.iter().filter_map(Value::as_object).flatten().chain(own) {
        match (whole.get_mut(name), value) {
            (Some(Value::Object(known)), Value::Object(more)) if name == "properties" => {
                known.extend(more.clone());
            }
            (Some(Value::Array(known)), Value::Array(more)) if name == "required" => {
                known.extend(more.iter().cloned());
            }
            _ => {
                whole.insert(name.clone(), value.clone());
            }
        }
    }
    whole
}

/// One of several: `null` among them only makes the others nullable.
fn choice(mut result: Map<String, Value>, choices: &[Value]) -> Value {
    let is_null = |choice: &&Value| choice["type"] == "null";
    let nullable = choices.iter().any(|choice| is_null(&choice));
    let mut others: Vec<Value> = choices.iter().filter(|choice| !is_null(choice)).map(own).collect();
    result.retain(|name, _| name == "description" || name == "title");
    if others.len() == 1
        && let Some(Value::Object(only)) = others.pop()
    {
        let said = std::mem::replace(&mut result, only);
        result.extend(said);
    } else if others.is_empty() {
        result.insert("type".to_owned(), "string".into());
    } else {
        result.insert("anyOf".to_owned(), others.into());
    }
    if nullable {
        result.insert("nullable".to_owned(), true.into());
    }
    Value::Object(result)
}

/// The types a schema names, or else the one its keywords speak of.
fn kinds(fields: &Map<String, Value>) -> Vec<&str> {
    const KINDS: [&str; 7] = ["string", "number", "integer", "boolean", "array", "object", "null"];
    let named: Vec<&str> = match fields.get("type") {
        Some(Value::String(kind)) => vec![kind.as_str()],
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let known: Vec<&str> = named.into_iter().filter(|kind| KINDS.contains(kind)).collect();
    if !known.is_empty() {
        return known;
    }
    let has = |names: &[&str]| names.iter().any(|name| fields.contains_key(*name));
    let value = fields.get("const").or_else(|| fields.get("enum")?.get(0));
    vec![match value {
        _ if has(&["properties", "additionalProperties"]) => "object",
        _ if has(&["items", "prefixItems"]) => "array",
        Some(Value::Number(_)) => "number",
        Some(Value::Bool(_)) => "boolean",
        _ => "string",
    }]
}

fn of_one_kind(kind: &str, fields: &Map<String, Value>, result: &mut Map<String, Value>) {
    result.insert("type".to_owned(), kind.into());
    if let Some(format) = fields.get("format").filter(|format| FORMATS.iter().any(|known| format == known)) {
        result.insert("format".to_owned(), format.clone());
    }
    match kind {
        "object" => properties(fields, result),
        "array" => {
            let items = fields.get("items").or_else(|| fields.get("prefixItems"));
            let first = items.map(|items| items.as_array().map_or(Some(items), |list| list.first()));
            result.insert("items".to_owned(), own(first.flatten().unwrap_or(&Value::Null)));
        }
        _ => values(kind, fields, result),
    }
}

fn properties(fields: &Map<String, Value>, result: &mut Map<String, Value>) {
    let named = fields.get("properties").and_then(Value::as_object).filter(|named| !named.is_empty());
    let Some(named) = named else { return };
    let properties: Map<String, Value> =
        named.iter().map(|(name, value)| (name.clone(), own(value))).collect();
    let required = fields.get("required").and_then(Value::as_array).into_iter().flatten();
    let known = |name: &&Value| name.as_str().is_some_and(|name| properties.contains_key(name));
    let required: Vec<Value> = required.filter(known).cloned().collect();
    if !required.is_empty() {
        result.insert("required".to_owned(), required.into());
    }
    result.insert("properties".to_owned(), properties.into());
}

/// The values that are allowed. The API knows them of strings only; others are told in words.
fn values(kind: &str, fields: &Map<String, Value>, result: &mut Map<String, Value>) {
    let listed = fields.get("enum").and_then(Value::as_array);
    let one = fields.get("const").map(std::slice::from_ref);
    let Some(values) = listed.map(Vec::as_slice).or(one) else { return };
    if values.contains(&Value::Null) {
        result.insert("nullable".to_owned(), true.into());
    }
    let values: Vec<Value> = values.iter().filter(|value| !value.is_null()).cloned().collect();
    if kind == "string" && !values.is_empty() && values.iter().all(|value| value.is_string()) {
        result.insert("enum".to_owned(), values.into());
    } else if !values.is_empty() {
        let words: Vec<String> = values.iter().map(Value::to_string).collect();
        let words = format!("One of: {}.", words.join(", "));
        let said = result.get("description").and_then(Value::as_str);
        let description = said.map_or_else(|| words.clone(), |said| format!("{said} {words}"));
        result.insert("description".to_owned(), description.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_keyword_is_said_in_the_own_words_or_left_out() {
        let cases = [
            (
                json!({"type": "string", "format": "uri", "default": "x", "minLength": 1}),
                json!({"type": "string", "minLength": 1}),
            ),
            (
                json!({"type": "string", "format": "date-time"}),
                json!({"type": "string", "format": "date-time"}),
            ),
            (json!({"const": "a"}), json!({"type": "string", "enum": ["a"]})),
            (
                json!({"type": ["string", "null"], "enum": ["a", null]}),
                json!({"type": "string", "nullable": true, "enum": ["a"]}),
            ),
            (
                json!({"enum": [1, 2], "description": "How many."}),
                json!({"type": "number", "description": "How many. One of: 1, 2."}),
            ),
            (
                json!({"type": ["string", "integer"], "maximum": 3, "description": "d"}),
                json!({"description": "d", "anyOf": [
                {"type": "string", "maximum": 3, "description": "d"}, {"type": "integer", "maximum": 3, "description": "d"}]}),
            ),
            (
                json!({"oneOf": [{"type": "null"}, {"type": "integer", "description": "inner"}], "description": "outer"}),
                json!({"type": "integer", "nullable": true, "description": "outer"}),
            ),
            (
                json!({"anyOf": [{"type": "string"}, {"type": "array"}], "type": "string"}),
                json!({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}),
            ),
            (
                json!({"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}]}),
                json!({"type": "array", "items": {"type": "integer"}}),
            ),
            (
                json!({"type": "object", "additionalProperties": {"type": "string"}}),
                json!({"type": "object"}),
            ),
            (
                json!({"properties": {"a": true}, "required": ["a", "b"], "additionalProperties": false}),
                json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}),
            ),
            (
                json!({"allOf": [{"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
                    {"properties": {"b": {"type": "boolean"}}, "required": ["b"]}], "description": "both"}),
                json!({"type": "object", "description": "both", "required": ["a", "b"],
                    "properties": {"a": {"type": "string"}, "b": {"type": "boolean"}}}),
            ),
            (json!({"anyOf": []}), json!({"type": "string"})),
            (json!({"not": {}, "if": {}, "type": "nonsense"}), json!({"type": "string"})),
        ];
        for (schema, expected) in cases {
            assert_eq!(own(&schema), expected, "{schema}");
        }
    }
}
