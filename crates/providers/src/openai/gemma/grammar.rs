//! Calls in Gemma's own grammar, `call:Name{key:<|"|>text<|"|>,other:[1,true]}`, and as JSON objects.

use serde_json::{Map, Value};

use super::literal::{Cursor, MAX_DEPTH};
use super::{Call, QUOTE};

/// The call written between the marks.
pub(super) fn call(text: &str) -> Option<Call> {
    let text = text.trim();
    if text.starts_with('{') {
        return envelope(text);
    }
    let mut cursor = Cursor(text.strip_prefix("call:")?);
    let name = cursor.name()?.to_owned();
    if cursor.is_done() {
        return Some((name, Map::new()));
    }
    let Value::Object(arguments) = value(&mut cursor, 0)? else { return None };
    cursor.is_done().then_some((name, arguments))
}

/// The call in an object that holds the name of a tool, its arguments, and nothing else.
pub(super) fn envelope(text: &str) -> Option<Call> {
    let Value::Object(mut fields) = serde_json::from_str(text).ok()? else { return None };
    let mut take = |names: &[&str]| names.iter().find_map(|name| fields.shift_remove(*name));
    let name = take(&["command", "name"])?;
    let arguments = take(&["args", "arguments", "parameters"])?;
    match (name, arguments) {
        (Value::String(name), Value::Object(arguments)) if fields.is_empty() => Some((name, arguments)),
        _ => None,
    }
}

fn value(cursor: &mut Cursor<'_>, depth: usize) -> Option<Value> {
    if depth > MAX_DEPTH {
        return None;
    }
    if cursor.take(QUOTE) {
        return Some(cursor.until(QUOTE)?.into());
    }
    if cursor.take("{") {
        return object(cursor, depth);
    }
    if cursor.take("[") {
        return list(cursor, depth);
    }
    if cursor.0.starts_with('"') {
        return string(cursor).map(Value::String);
    }
    let bare = cursor.all(|c| !matches!(c, ',' | '}' | ']')).trim();
    (!bare.is_empty()).then(|| serde_json::from_str(bare).unwrap_or_else(|_| bare.into()))
}

fn object(cursor: &mut Cursor<'_>, depth: usize) -> Option<Value> {
    let mut fields = Map::new();
    loop {
        if cursor.take("}") {
            return Some(Value::Object(fields));
        }
        let key = if cursor.take(QUOTE) {
            cursor.until(QUOTE)?.to_owned()
        } else if cursor.0.starts_with('"') {
            string(cursor)?
        } else {
            cursor.all(|c| !matches!(c, ':' | ',' | '{' | '}')).trim().to_owned()
        };
        if key.is_empty() || !cursor.take(":") {
            return None;
        }
        fields.insert(key, value(cursor, depth + 1)?);
        cursor.take(",");
    }
}

fn list(cursor: &mut Cursor<'_>, depth: usize) -> Option<Value> {
    let mut items = Vec::new();
    loop {
        if cursor.take("]") {
            return Some(Value::Array(items));
        }
        items.push(value(cursor, depth + 1)?);
        cursor.take(",");
    }
}

/// A string as JSON has it.
fn string(cursor: &mut Cursor<'_>) -> Option<String> {
    let mut values = serde_json::Deserializer::from_str(cursor.0).into_iter::<String>();
    let text = values.next()?.ok()?;
    let end = values.byte_offset();
    cursor.0 = cursor.0.get(end..)?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(text: &str) -> Option<(String, Value)> {
        call(text).map(|(name, arguments)| (name, Value::Object(arguments)))
    }

    #[test]
    fn calls_are_read_with_every_kind_of_value() {
        let text = r#"call:Edit{path:<|"|>a "b" {c}<|"|>,count:2,all:true,none:null,lines:[1,-2.5,<|"|>x<|"|>],nested:{<|"|>k y<|"|>:{}},plain: "q\n",word:abc}"#;
        let expected = json!({"path": "a \"b\" {c}", "count": 2, "all": true, "none": null, "lines": [1, -2.5, "x"], "nested": {"k y": {}}, "plain": "q\n", "word": "abc"});
        assert_eq!(read(text), Some(("Edit".into(), expected)));
        assert_eq!(read(" call:Glob{} "), Some(("Glob".into(), json!({}))));
        assert_eq!(read("call:Glob"), Some(("Glob".into(), json!({}))));
        assert_eq!(read(r#"{"name":"Read","arguments":{"a":1}}"#), Some(("Read".into(), json!({"a": 1}))));
        for broken in
            ["", "call:", "call:Read{", "call:Read{a}", "call:Read{a:1}x", "call:Read{a:<|\"|>x}", "Read{}"]
        {
            assert_eq!(read(broken), None, "{broken}");
        }
        assert_eq!(read(&format!("call:R{{a:{}", "[".repeat(100_000))), None);
    }

    #[test]
    fn an_envelope_holds_nothing_else() {
        assert!(envelope(r#"{"command":"Read","args":{"a":1}}"#).is_some());
        for other in
            [r#"{"command":"Read"}"#, r#"{"command":"Read","args":[]}"#, r#"{"name":"Read","args":{},"x":1}"#]
        {
            assert!(envelope(other).is_none(), "{other}");
        }
    }
}
