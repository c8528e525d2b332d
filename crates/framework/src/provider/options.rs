//! `options` of a profile: what every request to its service carries besides what the API asks for.

use secrecy::SecretString;
use serde_json::{Map, Value};

/// Further headers and fields of a provider's requests.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct RequestOptions {
    /// Further request headers, such as `anthropic-beta`; a value may be a key.
    pub headers: Vec<(String, SecretString)>,
    /// Further fields of the request's JSON.
    pub body: Map<String, Value>,
}

impl RequestOptions {
    /// Reads the `options` of a profile.
    ///
    /// # Errors
    ///
    /// What is wrong with them, in words that follow the name of the profile.
    pub(super) fn parse(options: &Value) -> Result<Self, String> {
        let Value::Object(options) = options else { return Err("`options` must be an object".to_owned()) };
        let mut parsed = Self::default();
        for (key, value) in options {
            match (key.as_str(), value) {
                ("headers", Value::Object(headers)) => {
                    parsed.headers = headers.iter().map(header).collect::<Result<_, _>>()?;
                }
                ("body", Value::Object(body)) => parsed.body.clone_from(body),
                ("headers" | "body", _) => return Err(format!("`{key}` in `options` must be an object")),
                _ => {
                    return Err(format!("`{key}` in `options` is not known; there are `headers` and `body`"));
                }
            }
        }
        Ok(parsed)
    }
}

fn header((name, value): (&String, &Value)) -> Result<(String, SecretString), String> {
    match value {
        Value::String(value) => Ok((name.clone(), SecretString::from(value.as_str()))),
        _ => Err(format!("the header `{name}` in `options` must be a string")),
    }
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret;
    use serde_json::json;

    use super::*;

    #[test]
    fn options_are_headers_and_fields_or_are_refused() {
        let options = json!({"headers": {"anthropic-beta": "x"}, "body": {"service_tier": "auto"}});
        let parsed = RequestOptions::parse(&options).unwrap();
        let [(name, value)] = &parsed.headers[..] else { panic!("{parsed:?}") };
        assert_eq!((name.as_str(), value.expose_secret()), ("anthropic-beta", "x"));
        assert_eq!(json!(parsed.body), json!({"service_tier": "auto"}));
        let refusals = [
            (json!([]), "`options` must be an object"),
            (json!({"hedaers": {}}), "`hedaers` in `options` is not known; there are `headers` and `body`"),
            (json!({"body": 1}), "`body` in `options` must be an object"),
            (json!({"headers": {"a": 1}}), "the header `a` in `options` must be a string"),
        ];
        for (options, message) in refusals {
            assert_eq!(RequestOptions::parse(&options).unwrap_err(), message);
        }
    }
}
