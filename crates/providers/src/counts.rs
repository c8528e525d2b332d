//! Token counts as servers write them.

use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// A count: a whole number by the book, with a fraction or a sign on some servers. What is no number counts nothing;
/// no answer is lost for how it is counted.
pub(crate) fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates, which is meant")]
    let whole = |number: f64| number as u64;
    let value = Value::deserialize(deserializer)?;
    Ok(value.as_u64().or_else(|| value.as_f64().map(whole)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize)]
    struct Usage {
        #[serde(default, deserialize_with = "count")]
        tokens: Option<u64>,
    }

    #[test]
    fn odd_counts_lose_no_answer() {
        let read = |json: &str| serde_json::from_str::<Usage>(json).unwrap().tokens;
        let max = r#"{"tokens":18446744073709551615}"#;
        for (json, tokens) in [
            (r#"{"tokens":12}"#, Some(12)),
            (r#"{"tokens":12.0}"#, Some(12)),
            (r#"{"tokens":-1}"#, Some(0)),
            (r#"{"tokens":1e300}"#, Some(u64::MAX)),
            (max, Some(u64::MAX)),
            (r#"{"tokens":null}"#, None),
            (r#"{"tokens":"12"}"#, None),
            (r#"{"tokens":{"a":[]}}"#, None),
            ("{}", None),
        ] {
            assert_eq!(read(json), tokens, "{json}");
        }
    }
}
