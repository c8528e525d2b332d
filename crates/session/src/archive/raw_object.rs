//! A JSON object whose values stay as they were written: numbers, order and unknown fields survive.

use std::fmt;

use serde::de::{Error as _, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

/// The fields of an object, in their order, undecoded.
#[derive(Debug)]
pub(super) struct RawObject<'a> {
    pub(super) fields: Vec<(String, &'a RawValue)>,
}

impl<'a> RawObject<'a> {
    /// The value of the field `name`, as JSON text.
    pub(super) fn get(&self, name: &str) -> Option<&'a RawValue> {
        self.fields.iter().find(|(key, _)| key == name).map(|(_, value)| *value)
    }

    /// Puts `value` in the place of the field `name`, or behind all others.
    pub(super) fn set(&mut self, name: &str, value: &'a RawValue) {
        match self.fields.iter_mut().find(|(key, _)| key == name) {
            Some((_, place)) => *place = value,
            None => self.fields.push((name.to_owned(), value)),
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for RawObject<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields;
        impl<'de> Visitor<'de> for Fields {
            type Value = Vec<(String, &'de RawValue)>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(fields)
            }
        }
        let fields = deserializer.deserialize_map(Fields)?;
        let mut names: Vec<&str> = fields.iter().map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        let twice = names.windows(2).find_map(|pair| match pair {
            [first, second] if first == second => Some((*first).to_owned()),
            _ => None,
        });
        match twice {
            Some(name) => Err(D::Error::custom(format!("the field `{name}` stands there twice"))),
            None => Ok(Self { fields }),
        }
    }
}

impl Serialize for RawObject<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.fields.len()))?;
        for (name, value) in &self.fields {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

/// The same JSON on one line: blanks between tokens are taken out, and nothing else is touched.
pub(super) fn on_one_line(json: &str) -> Vec<u8> {
    if !json.bytes().any(|byte| matches!(byte, b'\n' | b'\r')) {
        return json.as_bytes().to_vec();
    }
    let mut line = Vec::with_capacity(json.len());
    let (mut in_string, mut escaped) = (false, false);
    for byte in json.bytes() {
        if in_string {
            in_string = escaped || byte != b'"';
            escaped = !escaped && byte == b'\\';
        } else if byte.is_ascii_whitespace() {
            continue;
        } else {
            in_string = byte == b'"';
        }
        line.push(byte);
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_through_to_the_letter() {
        let json = r#"{"big":123456789012345678901234567890,"e":1E2,"b":{"z": 1, "a":2},"a":"\u00e4"}"#;
        let mut object: RawObject<'_> = serde_json::from_str(json).unwrap();
        assert_eq!(serde_json::to_string(&object).unwrap(), json);
        let (five, six) = (serde_json::value::to_raw_value(&5), serde_json::value::to_raw_value(&6));
        let (five, six) = (five.unwrap(), six.unwrap());
        object.set("e", &five);
        object.set("new", &six);
        let expected =
            r#"{"big":123456789012345678901234567890,"e":5,"b":{"z": 1, "a":2},"a":"\u00e4","new":6}"#;
        assert_eq!(serde_json::to_string(&object).unwrap(), expected);
        let twice = serde_json::from_str::<RawObject<'_>>(r#"{"a":1,"b":2,"a":3}"#).unwrap_err();
        assert!(twice.to_string().contains("`a` stands there twice"), "{twice}");
    }

    #[test]
    fn only_blanks_between_tokens_go() {
        let json = "{\n  \"a b\": \"x \\\" y\\\\\",\r\n\t\"n\" : 1.50\n}";
        assert_eq!(on_one_line(json), br#"{"a b":"x \" y\\","n":1.50}"#);
        assert_eq!(on_one_line(r#"{"a": 1}"#), br#"{"a": 1}"#);
    }
}
