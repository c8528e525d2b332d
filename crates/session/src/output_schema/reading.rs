//! JSON in the words of a model, and references in a schema.

use serde_json::{Map, Value};

const FENCE: &str = "```";

/// The JSON that `text` is or holds: all of it, its last fenced block, or what stands between its first and its last
/// brace. The error is a sentence about "it".
pub(super) fn json_of(text: &str) -> Result<Value, String> {
    let text = text.trim();
    if text.is_empty() {
        return Err("it is empty".to_owned());
    }
    let whole = match serde_json::from_str(text) {
        Ok(value) => return Ok(value),
        Err(error) => error,
    };
    let parts = [last_block(text), braces(text)];
    let found = parts.into_iter().flatten().find_map(|part| serde_json::from_str(part).ok());
    found.ok_or_else(|| match text.contains('{') {
        true => format!("it is no JSON: {}", innermost(text, &whole)),
        false => "there is no JSON object in it".to_owned(),
    })
}

/// The error that tells most: that of what looks like an object, where that is not the whole text.
fn innermost(text: &str, whole: &serde_json::Error) -> String {
    let object = text.find('{').and_then(|at| text.get(at..)).filter(|object| object.len() < text.len());
    let object = object.map(|object| object.rfind('}').and_then(|end| object.get(..=end)).unwrap_or(object));
    let error = object.and_then(|object| serde_json::from_str::<Value>(object).err());
    error.as_ref().unwrap_or(whole).to_string()
}

/// What stands in the last fenced block of `text`.
fn last_block(text: &str) -> Option<&str> {
    let (before, _) = text.rsplit_once(FENCE)?;
    let (_, block) = before.rsplit_once(FENCE)?;
    // The first line names the language.
    block.split_once('\n').map(|(_, content)| content)
}

fn braces(text: &str) -> Option<&str> {
    text.get(text.find('{')?..=text.rfind('}')?)
}

/// The first reference of `schema` that leads out of it: its place, and what it refers to.
pub(super) fn reference_outside(schema: &Value) -> Option<(String, String)> {
    find(schema, &mut |place, fields| {
        let reference =
            ["$ref", "$dynamicRef"].into_iter().find_map(|key| Some((key, fields.get(key)?.as_str()?)));
        let (key, target) = reference.filter(|(_, target)| !target.starts_with('#'))?;
        Some((format!("{place}/{key}"), target.to_owned()))
    })
}

/// Looks at all objects in `value`, the outer ones first; places are JSON pointers.
fn find<'a, T>(
    value: &'a Value,
    look: &mut impl FnMut(&str, &'a Map<String, Value>) -> Option<T>,
) -> Option<T> {
    let mut waiting = vec![(String::new(), value)];
    while let Some((place, value)) = waiting.pop() {
        match value {
            Value::Object(fields) => {
                if let Some(found) = look(&place, fields) {
                    return Some(found);
                }
                let inner = fields.iter().rev();
                waiting.extend(inner.map(|(key, value)| (format!("{place}/{}", escaped(key)), value)));
            }
            Value::Array(items) => {
                let inner = items.iter().enumerate().rev();
                waiting.extend(inner.map(|(at, value)| (format!("{place}/{at}"), value)));
            }
            _ => {}
        }
    }
    None
}

fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}
