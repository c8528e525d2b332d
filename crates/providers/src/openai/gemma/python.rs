//! Calls as Python, the way older Gemma models write them: `print(Read(file_path="a", limit=5))`.

use std::sync::Arc;

use robota_core::ToolSpec;
use serde_json::{Map, Number, Value};

use super::Call;
use super::literal::{Cursor, MAX_DEPTH};

/// The calls that `code` consists of; `None` when there is anything else in it than calls of `tools`.
pub(super) fn calls(code: &str, tools: &[Arc<ToolSpec>]) -> Option<Vec<Call>> {
    let mut cursor = Cursor(code);
    let mut calls = Vec::new();
    loop {
        while cursor.take("#") {
            cursor.all(|c| c != '\n');
        }
        if cursor.is_done() {
            return (!calls.is_empty()).then_some(calls);
        }
        calls.push(statement(&mut cursor, tools)?);
        cursor.take(";");
    }
}

fn statement(cursor: &mut Cursor<'_>, tools: &[Arc<ToolSpec>]) -> Option<Call> {
    let mut name = cursor.name()?;
    // The result may be kept in a variable.
    if cursor.take("=") {
        name = cursor.name()?;
    }
    if name == "print" && cursor.take("(") {
        let name = cursor.name()?;
        let call = call(cursor, name, tools)?;
        return cursor.take(")").then_some(call);
    }
    call(cursor, name, tools)
}

fn call(cursor: &mut Cursor<'_>, name: &str, tools: &[Arc<ToolSpec>]) -> Option<Call> {
    let name = name.rsplit('.').next().unwrap_or(name);
    let tool = tools.iter().find(|tool| tool.name == name)?;
    let mut order = tool.input_schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    let mut arguments = Map::new();
    if !cursor.take("(") {
        return None;
    }
    while !cursor.take(")") {
        let mut ahead = *cursor;
        let key = ahead.name().filter(|_| ahead.take("=")).map(str::to_owned);
        if key.is_some() {
            *cursor = ahead;
        }
        let value = value(cursor, 0)?;
        let key = key.or_else(|| order.next().map(|(name, _)| name.clone()))?;
        arguments.insert(key, value);
        if !cursor.take(",") && !cursor.0.trim_start().starts_with(')') {
            return None;
        }
    }
    Some((name.to_owned(), arguments))
}

fn value(cursor: &mut Cursor<'_>, depth: usize) -> Option<Value> {
    if depth > MAX_DEPTH {
        return None;
    }
    for (open, close) in [("[", "]"), ("(", ")")] {
        if cursor.take(open) {
            let mut items = Vec::new();
            while !cursor.take(close) {
                items.push(value(cursor, depth + 1)?);
                cursor.take(",");
            }
            return Some(Value::Array(items));
        }
    }
    if cursor.take("{") {
        let mut fields = Map::new();
        while !cursor.take("}") {
            let Value::String(key) = value(cursor, depth + 1)? else { return None };
            if !cursor.take(":") {
                return None;
            }
            fields.insert(key, value(cursor, depth + 1)?);
            cursor.take(",");
        }
        return Some(Value::Object(fields));
    }
    if let Some(text) = string(cursor) {
        return Some(Value::String(text));
    }
    match cursor.all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '+' | '.')) {
        "True" | "true" => Some(true.into()),
        "False" | "false" => Some(false.into()),
        "None" | "null" => Some(Value::Null),
        number => number.parse::<Number>().ok().map(Value::Number),
    }
}

/// A string in any of Python's quotes.
fn string(cursor: &mut Cursor<'_>) -> Option<String> {
    cursor.space();
    let raw = ["r\"", "r'"].iter().any(|beginning| cursor.0.starts_with(beginning)) && cursor.take("r");
    let quote = ["\"\"\"", "'''", "\"", "'"].into_iter().find(|quote| cursor.0.starts_with(quote))?;
    cursor.0 = cursor.0.get(quote.len()..)?;
    let mut text = String::new();
    loop {
        let plain = cursor.all(|c| c != '\\' && !quote.starts_with(c));
        text.push_str(plain);
        if let Some(rest) = cursor.0.strip_prefix(quote) {
            cursor.0 = rest;
            return Some(text);
        }
        let mut rest = cursor.0.chars();
        match (rest.next()?, raw) {
            ('\\', false) => {
                let escaped = rest.next()?;
                cursor.0 = rest.as_str();
                push_escaped(&mut text, escaped, cursor)?;
            }
            (c, _) => {
                text.push(c);
                cursor.0 = rest.as_str();
            }
        }
    }
}

fn push_escaped(text: &mut String, escaped: char, cursor: &mut Cursor<'_>) -> Option<()> {
    let plain = match escaped {
        'n' => "\n",
        't' => "\t",
        'r' => "\r",
        '\n' => "",
        '\\' => "\\",
        '\'' => "'",
        '"' => "\"",
        'x' => return push_code(text, 2, cursor),
        'u' => return push_code(text, 4, cursor),
        // Python keeps what it does not know.
        other => {
            text.extend(['\\', other]);
            return Some(());
        }
    };
    text.push_str(plain);
    Some(())
}

/// Appends the character with the code in the next `digits` hex digits.
fn push_code(text: &mut String, digits: usize, cursor: &mut Cursor<'_>) -> Option<()> {
    let code = u32::from_str_radix(cursor.0.get(..digits)?, 16).ok()?;
    cursor.0 = cursor.0.get(digits..)?;
    text.push(char::from_u32(code)?);
    Some(())
}

#[cfg(test)]
mod tests {
    use robota_core::ToolClass;
    use serde_json::json;

    use super::*;

    fn read(code: &str) -> Option<Value> {
        let schema = json!({"type": "object", "properties": {"path": {}, "limit": {}}});
        let tool = ToolSpec::new("Read", ToolClass::Inspect, "").with_input_schema(schema);
        let calls = calls(code, &[Arc::new(tool)])?;
        Some(calls.into_iter().map(|(name, arguments)| json!([name, arguments])).collect())
    }

    #[test]
    fn calls_with_python_literals_are_read() {
        assert_eq!(
            read("print(Read(path=\"a\\n\", limit=5))\n"),
            Some(json!([["Read", {"path": "a\n", "limit": 5}]]))
        );
        let several = "# first\nresult = default_api.Read('a', 3)\nRead(path='''x\n\"y\"''', opts={'k': [True, None, -1.5]})";
        let expected = json!([
            ["Read", {"path": "a", "limit": 3}],
            ["Read", {"path": "x\n\"y\"", "opts": {"k": [true, null, -1.5]}}],
        ]);
        assert_eq!(read(several), Some(expected));
        assert_eq!(read(r"Read(r'\d\'')"), None);
        assert_eq!(read(r"Read(r'\d')"), Some(json!([["Read", {"path": "\\d"}]])));
        for other in [
            "",
            "x = 1",
            "Other()",
            "Read(path=open)",
            "Read(path='a'",
            "for i in x: Read()",
            "Read(1, 2, 3)",
        ] {
            assert_eq!(read(other), None, "{other}");
        }
    }
}
