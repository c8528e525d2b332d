//! Keeping secrets out of logs and events.

use std::borrow::Cow;
use std::fmt;

use serde_json::Value;

/// What stands in the place of a secret.
const REDACTED: &str = "[REDACTED]";

/// The shortest value that is looked for, in bytes; shorter ones would be found everywhere.
const SHORTEST_SECRET: usize = 8;

/// How often JSON may have been put into a string of JSON for a secret in it to be found.
const NESTED_JSON: usize = 3;

/// Removes secrets from JSON by the name of their key and by their value (facts sheet 4.3, design
/// section 6).
///
/// By name: strings and numbers under keys such as `apiKey`, `authorization`, `access_token`,
/// `password`, or ending in `_API_KEY`, `_TOKEN`, `_SECRET` or `_PASSWORD`, without regard to case.
/// Objects under such keys are looked through, so that the schema of a tool with an argument
/// `password` stays whole. By value: every registered secret, wherever it stands in a string, also
/// as it looks inside JSON that is itself in a string.
#[derive(Clone, Default)]
pub struct Redactor {
    /// The secrets as they look in plain text, longest first.
    in_text: Vec<Box<str>>,
    /// The secrets as they look between the quotes of a JSON string, longest first.
    in_json: Vec<Box<str>>,
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redactor").field("forms", &self.in_text.len()).finish_non_exhaustive()
    }
}

impl Redactor {
    /// A redactor that knows `secrets`.
    pub fn new(secrets: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        let mut redactor = Self::default();
        for secret in secrets {
            redactor.add_secret(secret.as_ref());
        }
        redactor
    }

    /// Registers a secret value, without the blanks around it. False when it is too short, below 8
    /// bytes, to be told from other text.
    pub fn add_secret(&mut self, secret: &str) -> bool {
        let mut form = secret.trim().to_owned();
        if form.len() < SHORTEST_SECRET || REDACTED.contains(&form) {
            return false;
        }
        for level in 0..=NESTED_JSON {
            if level < NESTED_JSON {
                insert_by_length(&mut self.in_text, &form);
            }
            if level > 0 {
                insert_by_length(&mut self.in_json, &form);
            }
            form = escaped(&form);
        }
        true
    }

    /// `text` without registered secrets.
    #[must_use]
    pub fn redact_text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        replace(text, &self.in_text, |_| true).map_or(Cow::Borrowed(text), Cow::Owned)
    }

    /// How much of `text`, in bytes, is no part of a secret whose rest is still to come: all of it, unless it
    /// ends with the beginning of a registered secret.
    #[must_use]
    pub fn settled(&self, text: &str) -> usize {
        let begun = |form: &str| {
            let longest = text.len().min(form.len().saturating_sub(1));
            (1..=longest).rev().find(|length| form.get(..*length).is_some_and(|begun| text.ends_with(begun)))
        };
        let open = self.in_text.iter().filter_map(|form| begun(form)).max();
        text.len() - open.unwrap_or_default()
    }

    /// Removes secrets from `value`.
    pub fn redact_value(&self, value: &mut Value) {
        self.redact_under(value, false);
    }

    /// `under_secret_key` says whether `value`, or the list it stands in, has the key of a secret.
    fn redact_under(&self, value: &mut Value, under_secret_key: bool) {
        match value {
            Value::String(text) if under_secret_key && !text.is_empty() => REDACTED.clone_into(text),
            Value::Number(_) if under_secret_key => *value = Value::String(REDACTED.to_owned()),
            Value::String(text) => {
                if let Cow::Owned(redacted) = self.redact_text(text) {
                    *text = redacted;
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| match item {
                Value::Array(_) | Value::Object(_) => self.redact_under(item, false),
                leaf => self.redact_under(leaf, under_secret_key),
            }),
            Value::Object(fields) => {
                if fields.keys().any(|key| matches!(self.redact_text(key), Cow::Owned(_))) {
                    let named = std::mem::take(fields).into_iter();
                    fields.extend(named.map(|(key, field)| (self.redact_text(&key).into_owned(), field)));
                }
                for (key, field) in fields {
                    self.redact_under(field, is_secret_key(key));
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// `line`, one serialised JSON value, without secrets: the same as
    /// [`redact_value`](Self::redact_value) on the value, in one pass over the text. Takes no copy
    /// when there is nothing to remove. A text that is no JSON stays the text it is, apart from
    /// what looks like a secret in it.
    #[must_use]
    pub fn redact_line<'a>(&self, line: &'a str) -> Cow<'a, str> {
        let has_secret = self.in_json.iter().any(|form| line.contains(&**form));
        let scan = LineScan {
            line,
            secrets: if has_secret { &self.in_json } else { &[] },
            redacted: String::new(),
            copied: 0,
            lists: Vec::new(),
            under_secret_key: false,
        };
        scan.run()
    }
}

/// `text` as it stands between the quotes of a JSON string.
fn escaped(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    quoted.get(1..quoted.len() - 1).unwrap_or_default().to_owned()
}

fn insert_by_length(forms: &mut Vec<Box<str>>, form: &str) {
    if !forms.iter().any(|known| **known == *form) {
        let at = forms.partition_point(|known| known.len() > form.len());
        forms.insert(at, form.into());
    }
}

/// `text` with every one of `forms` replaced that begins where `may_begin` holds; `None` when there is none.
fn replace(text: &str, forms: &[Box<str>], may_begin: impl Fn(usize) -> bool) -> Option<String> {
    let find = |form: &str, mut from: usize| loop {
        let start = from + text.get(from..)?.find(form)?;
        if may_begin(start) {
            return Some(start);
        }
        from = start + form.chars().next()?.len_utf8();
    };
    let mut found: Vec<(Option<usize>, &str)> = forms.iter().map(|form| (find(form, 0), &**form)).collect();
    let mut redacted = String::new();
    let mut copied = 0;
    // Of several that begin at one place the first, longest one counts.
    while let Some((start, form)) =
        found.iter().filter_map(|(at, form)| Some(((*at)?, *form))).min_by_key(|(at, _)| *at)
    {
        redacted.push_str(text.get(copied..start).unwrap_or_default());
        redacted.push_str(REDACTED);
        copied = start + form.len();
        for (next, form) in &mut found {
            if next.is_some_and(|at| at < copied) {
                *next = find(form, copied);
            }
        }
    }
    redacted.push_str(text.get(copied..).unwrap_or_default());
    (copied > 0).then_some(redacted)
}

/// Whether the value under `key` is a secret.
fn is_secret_key(key: &str) -> bool {
    const WHOLE: [&str; 7] =
        ["apikey", "authorization", "accesstoken", "refreshtoken", "secret", "password", "xapikey"];
    const ENDINGS: [&str; 4] = ["_api_key", "_token", "_secret", "_password"];
    // All of these names end in one of four letters, most others do not.
    if !key.ends_with(['y', 'Y', 'n', 'N', 't', 'T', 'd', 'D']) {
        return false;
    }
    let letters = |name: &str| {
        let joined = key.bytes().filter(|byte| !matches!(byte, b'-' | b'_'));
        joined.map(|byte| byte.to_ascii_lowercase()).eq(name.bytes())
    };
    let ends_with = |ending: &str| {
        let matches = |(found, wanted): (u8, u8)| match wanted {
            b'_' => matches!(found, b'_' | b'-'),
            _ => found.eq_ignore_ascii_case(&wanted),
        };
        key.len() >= ending.len() && key.bytes().rev().zip(ending.bytes().rev()).all(matches)
    };
    WHOLE.iter().any(|name| letters(name)) || ENDINGS.iter().any(|ending| ends_with(ending))
}

/// One pass over a line of JSON.
struct LineScan<'a, 's> {
    line: &'a str,
    secrets: &'s [Box<str>],
    redacted: String,
    /// How much of the line is in `redacted`.
    copied: usize,
    /// For every object and list around the position, whether it is a list under a secret's key.
    lists: Vec<bool>,
    /// Whether the next value stands under a secret's key.
    under_secret_key: bool,
}

impl<'a> LineScan<'a, '_> {
    fn run(mut self) -> Cow<'a, str> {
        let bytes = self.line.as_bytes();
        let mut position = 0;
        while let Some(byte) = bytes.get(position) {
            position = match byte {
                b'"' => self.string(position),
                b'{' | b'[' => {
                    self.lists.push(*byte == b'[' && self.under_secret_key);
                    self.under_secret_key = false;
                    position + 1
                }
                b'}' | b']' => {
                    self.lists.pop();
                    position + 1
                }
                b'-' | b'0'..=b'9' | b'a'..=b'z' => self.bare_word(position),
                _ => position + 1,
            };
        }
        if self.copied == 0 {
            return Cow::Borrowed(self.line);
        }
        self.redacted.push_str(self.line.get(self.copied..).unwrap_or_default());
        Cow::Owned(self.redacted)
    }

    /// Takes the mark of a secret's key from the value that begins here.
    fn is_secret_value(&mut self) -> bool {
        std::mem::take(&mut self.under_secret_key) || self.lists.last() == Some(&true)
    }

    fn put(&mut self, from: usize, to: usize, text: &str) {
        self.redacted.push_str(self.line.get(self.copied..from).unwrap_or_default());
        self.redacted.push_str(text);
        self.copied = to;
    }

    /// Passes the string whose opening quote stands at `open`; gives the position behind it.
    fn string(&mut self, open: usize) -> usize {
        let bytes = self.line.as_bytes();
        let mut close = open + 1;
        while let Some(byte) = bytes.get(close)
            && *byte != b'"'
        {
            close += if *byte == b'\\' { 2 } else { 1 };
        }
        let close = close.min(bytes.len());
        let text = self.line.get(open + 1..close).unwrap_or_default();
        let mut behind = close + 1;
        while matches!(bytes.get(behind), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            behind += 1;
        }
        let is_key = bytes.get(behind) == Some(&b':');
        if !is_key && self.is_secret_value() && !text.is_empty() {
            self.put(open + 1, close, REDACTED);
            return behind;
        }
        if is_key {
            self.under_secret_key = is_secret_key(text);
        }
        if !self.secrets.is_empty()
            && let Some(redacted) = replace(text, self.secrets, |start| !splits_escape(text, start))
        {
            self.put(open + 1, close, &redacted);
        }
        behind
    }

    /// Passes a number or a name such as `true`.
    fn bare_word(&mut self, start: usize) -> usize {
        let rest = self.line.as_bytes().get(start..).unwrap_or_default();
        let in_word = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.');
        let end = start + rest.iter().take_while(|byte| in_word(byte)).count();
        let is_number = rest.first().is_some_and(|byte| !byte.is_ascii_lowercase());
        if self.is_secret_value() && is_number {
            self.put(start, end, "\"[REDACTED]\"");
        }
        end
    }
}

/// Whether the byte at `start` stands within an escape of a JSON string, as the `n` of `\n`.
fn splits_escape(text: &str, start: usize) -> bool {
    let escapes = |end: usize| {
        let before = text.as_bytes().get(..end).unwrap_or_default();
        before.iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 1
    };
    let in_number = |back: usize| {
        let letter = start.checked_sub(back);
        letter.is_some_and(|letter| text.as_bytes().get(letter) == Some(&b'u') && escapes(letter))
    };
    escapes(start) || (1..=4).any(in_number)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    /// Both ways to redact a value, which must agree.
    fn redacted(redactor: &Redactor, value: &Value) -> Value {
        let mut by_value = value.clone();
        redactor.redact_value(&mut by_value);
        for line in [value.to_string(), serde_json::to_string_pretty(value).unwrap()] {
            let by_line = redactor.redact_line(&line);
            assert_eq!(serde_json::from_str::<Value>(&by_line).unwrap(), by_value, "{line}");
        }
        by_value
    }

    #[test]
    fn a_text_is_settled_up_to_what_may_begin_a_secret() {
        let redactor = Redactor::new(["sk-ant-12345678", "a\"quote\"d"]);
        for (text, settled) in [
            ("", 0),
            ("plain word", 10),
            ("key: sk-ant-1234567", 5),
            ("key: sk-ant-12345678", 20),
            ("key: sk-ant-x", 13),
            ("ends with s", 10),
            ("nested a\\\"quote", 7),
        ] {
            assert_eq!(redactor.settled(text), settled, "{text}");
        }
        assert_eq!(Redactor::default().settled("sk-ant-"), 7);
    }

    #[test]
    fn values_under_keys_of_secrets_are_removed() {
        let value = json!({
            "apiKey": "a", "API-KEY": "a", "x-api-key": "a", "Authorization": ["Bearer a", 1, {"b": "c"}],
            "access_token": 1.5e3, "OPENAI_API_KEY": "a", "x-goog-api-key": "a", "db_password": "a", "secret": "",
            "GITHUB_TOKEN": null, "refreshToken": true, "max_tokens": 5, "key": "a", "secretary": "a",
            "properties": {"password": {"type": "string", "maxLength": 8}},
        });
        assert_eq!(
            redacted(&Redactor::default(), &value),
            json!({
                "apiKey": "[REDACTED]", "API-KEY": "[REDACTED]", "x-api-key": "[REDACTED]",
                "Authorization": ["[REDACTED]", "[REDACTED]", {"b": "c"}],
                "access_token": "[REDACTED]", "OPENAI_API_KEY": "[REDACTED]", "x-goog-api-key": "[REDACTED]",
                "db_password": "[REDACTED]", "secret": "",
                "GITHUB_TOKEN": null, "refreshToken": true, "max_tokens": 5, "key": "a", "secretary": "a",
                "properties": {"password": {"type": "string", "maxLength": 8}},
            })
        );
    }

    #[test]
    fn registered_secrets_are_removed_wherever_they_stand() {
        let redactor = Redactor::new(["sk-12345678", "  quo\"te\\and\nmore ", "12345678", "short"]);
        let nested = json!({"command": "echo quo\"te\\and\nmore"}).to_string();
        let value = json!({
            "text": "key sk-12345678, again sk-12345678!", "nested": nested, "sk-12345678": 12345678, "short": "short",
        });
        assert_eq!(
            redacted(&redactor, &value),
            json!({
                "text": "key [REDACTED], again [REDACTED]!", "nested": "{\"command\":\"echo [REDACTED]\"}",
                "[REDACTED]": 12345678, "short": "short",
            })
        );
        assert_eq!(redactor.redact_text("curl -H 'x: sk-12345678'"), "curl -H 'x: [REDACTED]'");
        assert!(!format!("{redactor:?}").contains("sk-"));
    }

    #[test]
    fn escapes_stay_whole() {
        let redactor = Redactor::new(["nabcdefgh", "babcdefgh", "\\nabcdef"]);
        for text in
            ["\nabcdefgh", "\u{b}abcdefgh", "\u{1b}abcdefgh", "\\nabcdefgh", "\\\\nabcdef", "\\\nabcdefgh"]
        {
            redacted(&redactor, &json!([text]));
        }
    }

    #[test]
    fn what_needs_no_change_is_not_copied() {
        let redactor = Redactor::new(["sk-12345678"]);
        for line in ["", "{\"a\":[1,\"b\"]}", "no JSON \"", "{\"password\":", "\"\\", "]}"] {
            assert!(matches!(redactor.redact_line(line), Cow::Borrowed(same) if same == line));
        }
    }

    fn json() -> impl Strategy<Value = Value> {
        let text = prop_oneof![
            "[a\\\\\"\n\u{1b}]{0,4}(secret\"1|\\\\nsecret)?[n\\\\ü]{0,3}",
            Just("password".to_owned()),
            Just(json!(["secret\"1"]).to_string())
        ];
        let leaf = prop_oneof![
            text.clone().prop_map(Value::from),
            any::<i32>().prop_map(Value::from),
            Just(Value::Null)
        ];
        leaf.prop_recursive(4, 24, 4, move |inner| {
            let key = prop_oneof![text.clone(), Just("api_key".to_owned())];
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                proptest::collection::vec((key, inner), 0..4)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn a_line_is_redacted_like_its_value(value in json()) {
            let redactor = Redactor::new(["secret\"1", "\\nsecret"]);
            let left = redacted(&redactor, &value).to_string();
            prop_assert!(!left.contains("secret\\\"1") && !left.contains("\\\\nsecret"), "{}", left);
        }
    }
}
