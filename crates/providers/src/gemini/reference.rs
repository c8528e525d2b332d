//! JSON Schemas without references: what they refer to stands in their place.

use std::borrow::Cow;

use serde_json::{Map, Value};

/// How often one reference may stand within itself before it is left open.
const MAX_RECURSION: usize = 2;

/// Most schemas that the result is made of; references beyond it are left open.
const MAX_SCHEMAS: usize = 5000;

/// Keywords that say nothing about values.
const ADMINISTRATION: [&str; 7] =
    ["$schema", "$id", "$defs", "definitions", "$comment", "$anchor", "$dynamicAnchor"];

/// Keywords with one schema.
const WITH_SCHEMA: [&str; 12] = [
    "items",
    "additionalProperties",
    "additionalItems",
    "contains",
    "propertyNames",
    "not",
    "if",
    "then",
    "else",
    "unevaluatedItems",
    "unevaluatedProperties",
    "contentSchema",
];

/// Keywords with a list of schemas.
const WITH_LIST: [&str; 5] = ["anyOf", "oneOf", "allOf", "prefixItems", "items"];

/// Keywords with schemas by name.
const WITH_NAMES: [&str; 3] = ["properties", "patternProperties", "dependentSchemas"];

/// The schema of an object, with what it refers to in itself in place of the references. Recursion is cut,
/// and what refers to elsewhere is left open: any value.
pub(super) fn inlined(schema: &Value) -> Cow<'_, Value> {
    let whole = schema.get("type").is_some_and(|kind| kind == "object");
    if whole && !administers(schema) {
        return Cow::Borrowed(schema);
    }
    let mut inliner = Inliner { root: schema, open: Vec::new(), left: MAX_SCHEMAS };
    let mut inlined = match inliner.schema(schema) {
        Value::Object(fields) => fields,
        _ => Map::new(),
    };
    if !whole {
        inlined.insert("type".to_owned(), "object".into());
        inlined.entry("properties").or_insert_with(|| Map::new().into());
    }
    Cow::Owned(Value::Object(inlined))
}

/// Whether anything in `value` may have to be taken away.
fn administers(value: &Value) -> bool {
    match value {
        Value::Object(fields) => fields
            .iter()
            .any(|(name, value)| name.starts_with('$') || name == "definitions" || administers(value)),
        Value::Array(values) => values.iter().any(administers),
        _ => false,
    }
}

struct Inliner<'a> {
    root: &'a Value,
    /// The references that the schema in hand stands in.
    open: Vec<&'a str>,
    left: usize,
}

impl<'a> Inliner<'a> {
    fn schema(&mut self, schema: &'a Value) -> Value {
        let Value::Object(fields) = schema else { return schema.clone() };
        let Some(left) = self.left.checked_sub(1) else { return Value::Object(Map::new()) };
        self.left = left;
        let mut result = match fields.get("$ref").and_then(Value::as_str) {
            Some(reference) => self.target(reference),
            None => Map::new(),
        };
        for (name, value) in fields {
            if name != "$ref" && !ADMINISTRATION.contains(&name.as_str()) {
                let value = self.keyword(name, value);
                result.insert(name.clone(), value);
            }
        }
        Value::Object(result)
    }

    /// What `reference` refers to; nothing when it is elsewhere, or recursion has gone far enough.
    fn target(&mut self, reference: &'a str) -> Map<String, Value> {
        let again = self.open.iter().filter(|open| **open == reference).count();
        let pointer = reference.strip_prefix('#').filter(|_| again < MAX_RECURSION);
        let Some(target) = pointer.and_then(|pointer| self.root.pointer(pointer)) else { return Map::new() };
        self.open.push(reference);
        let target = self.schema(target);
        self.open.pop();
        match target {
            Value::Object(fields) => fields,
            _ => Map::new(),
        }
    }

    fn keyword(&mut self, name: &str, value: &'a Value) -> Value {
        match value {
            Value::Array(schemas) if WITH_LIST.contains(&name) => {
                schemas.iter().map(|schema| self.schema(schema)).collect()
            }
            Value::Object(schemas) if WITH_NAMES.contains(&name) => {
                let schemas = schemas.iter().map(|(name, schema)| (name.clone(), self.schema(schema)));
                Value::Object(schemas.collect())
            }
            schema if WITH_SCHEMA.contains(&name) => self.schema(schema),
            other => other.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn plain_schemas_are_left_alone() {
        let plain = json!({"type": "object", "properties": {"a": {"type": "string"}}});
        assert!(matches!(inlined(&plain), Cow::Borrowed(_)));
        for odd in [json!({}), json!(null), json!(true)] {
            assert_eq!(*inlined(&odd), json!({"type": "object", "properties": {}}), "{odd}");
        }
    }

    #[test]
    fn references_are_replaced_by_what_they_refer_to() {
        let schema = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "properties": {
                "definitions": {"$ref": "#/$defs/list", "description": "A property of that name."},
                "elsewhere": {"$ref": "https://a.example/schema.json"},
                "again": {"anyOf": [{"$ref": "#/properties/definitions"}, {"type": "null"}]},
                "literal": {"enum": [{"$ref": "kept"}]},
            },
            "$defs": {"list": {"type": "array", "items": {"$ref": "#/$defs/item"}}, "item": {"type": "string"}},
        });
        let list =
            json!({"type": "array", "items": {"type": "string"}, "description": "A property of that name."});
        let expected = json!({
            "type": "object",
            "properties": {
                "definitions": list,
                "elsewhere": {},
                "again": {"anyOf": [list, {"type": "null"}]},
                "literal": {"enum": [{"$ref": "kept"}]},
            },
        });
        assert_eq!(*inlined(&schema), expected);
    }

    #[test]
    fn recursion_ends() {
        let tree = json!({
            "type": "object",
            "properties": {"tree": {"$ref": "#/$defs/node"}},
            "$defs": {"node": {"type": "object", "properties": {
                "name": {"type": "string"}, "left": {"$ref": "#/$defs/node"}, "self": {"$ref": "#/$defs/loop"},
            }}, "loop": {"$ref": "#/$defs/loop"}},
        });
        let name = json!({"type": "string"});
        let inner = json!({"type": "object", "properties": {"name": name, "left": {}, "self": {}}});
        let outer = json!({"type": "object", "properties": {"name": name, "left": inner, "self": {}}});
        assert_eq!(inlined(&tree)["properties"]["tree"], outer);
        // Each definition refers to the next one twice.
        let mut definitions = Map::new();
        for at in 0..40 {
            let next = json!({"$ref": format!("#/$defs/d{}", at + 1)});
            definitions.insert(format!("d{at}"), json!({"anyOf": [next, next]}));
        }
        let wide =
            json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": definitions});
        assert!(inlined(&wide).to_string().len() < 1_000_000);
    }
}
