//! A question about an address, as one line of JSON.

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::address::AddressPolicy;
use super::allowed::NotAHost;
use super::names::TableNames;
use super::route::{Redirect, RouteVerdict, check_route};

/// The answer to one row of [`check_url_row`], as JSON has it.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct UrlRowVerdict<'a> {
    /// The row's own.
    pub id: &'a RawValue,
    /// Whether all of the route may be taken.
    pub verdict: UrlVerdict,
    /// Where the route ends, or what is in its way.
    pub reason: String,
}

/// `allow` or `block`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[expect(clippy::exhaustive_enums, reason = "there is no third verdict")]
pub enum UrlVerdict {
    /// Every address on the way may be reached.
    Allow,
    /// One may not.
    Block,
}

/// A row that asks nothing that can be answered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UrlRowError {
    /// The line is something else than a JSON object.
    #[error("the line is not a JSON object")]
    NotAnObject,
    /// The line is no JSON, or an object without a field that it needs.
    #[error("the line is not a row: {0}")]
    Row(#[source] serde_json::Error),
    /// A field holds something of another shape.
    #[error("`{field}`: {}", without_place(source))]
    Field {
        /// Its name.
        field: &'static str,
        /// What is wrong.
        source: serde_json::Error,
    },
    /// An answer of a name service is no address.
    #[error("`dns`: {text:?}, given for {host}, is not an address")]
    Address {
        /// The name that was asked for.
        host: String,
        /// The answer.
        text: String,
    },
    /// An allowed host is none.
    #[error("`allowedHosts`: {0}")]
    AllowedHost(#[from] NotAHost),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Row<'a> {
    #[serde(borrow)]
    id: &'a RawValue,
    #[serde(borrow)]
    url: &'a RawValue,
    #[serde(borrow)]
    dns: Option<&'a RawValue>,
    #[serde(borrow)]
    redirects: Option<&'a RawValue>,
    #[serde(borrow)]
    env: Option<&'a RawValue>,
    #[serde(borrow)]
    allowed_hosts: Option<&'a RawValue>,
}

/// Judges the route that one line of JSON describes:
/// `{"id", "url", "dns": {"host": [["ip", …], …]}, "redirects": [{"from", "status", "location"}], "env": {},
/// "allowedHosts": []}`.
///
/// `id` may be anything and comes back. `dns` has the answers of successive look-ups of each host and replaces name
/// servers: a host that is not in it does not resolve. `redirects` are what servers would answer. `env` are variables
/// of the environment; none of them, proxies included, changes the verdict. `allowedHosts` are hosts that the user
/// names. All but `id` and `url` may be left out; other fields do not count.
///
/// # Errors
///
/// [`UrlRowError`] when the row itself is broken. An address that cannot be read is no error but blocked.
pub async fn check_url_row(line: &str) -> Result<UrlRowVerdict<'_>, UrlRowError> {
    if !line.trim_start().starts_with('{') {
        return Err(UrlRowError::NotAnObject);
    }
    let row: Row<'_> = serde_json::from_str(line).map_err(UrlRowError::Row)?;
    let url: String = field("url", Some(row.url))?;
    let names = names(field("dns", row.dns)?)?;
    let redirects = redirects(field("redirects", row.redirects)?)?;
    field::<BTreeMap<String, IgnoredAny>>("env", row.env)?;
    let policy = AddressPolicy::new(field::<Vec<String>>("allowedHosts", row.allowed_hosts)?)?;
    let RouteVerdict { allowed, reason } = check_route(&policy, &url, &names, &redirects).await;
    let verdict = if allowed { UrlVerdict::Allow } else { UrlVerdict::Block };
    Ok(UrlRowVerdict { id: row.id, verdict, reason })
}

fn field<T: DeserializeOwned + Default>(
    name: &'static str,
    raw: Option<&RawValue>,
) -> Result<T, UrlRowError> {
    let Some(raw) = raw else { return Ok(T::default()) };
    serde_json::from_str(raw.get()).map_err(|source| UrlRowError::Field { field: name, source })
}

/// What is wrong, without the place, which is counted from the beginning of the field.
fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.rsplit_once(" at line ").map_or(text.as_str(), |(problem, _)| problem).to_owned()
}

fn redirects(written: Vec<Map<String, Value>>) -> Result<Vec<Redirect>, UrlRowError> {
    let redirect = |object| serde_json::from_value(Value::Object(object));
    let redirects: Result<_, _> = written.into_iter().map(redirect).collect();
    redirects.map_err(|source| UrlRowError::Field { field: "redirects", source })
}

fn names(dns: BTreeMap<String, Vec<Vec<String>>>) -> Result<TableNames, UrlRowError> {
    let mut table = BTreeMap::new();
    for (host, answers) in dns {
        let address = |text: String| {
            // Name services give link-local addresses with the network interface they are at.
            let bare = text.split('%').next().unwrap_or_default();
            bare.parse::<IpAddr>().map_err(|_| UrlRowError::Address { host: host.clone(), text })
        };
        let answer = |answer: Vec<String>| answer.into_iter().map(address).collect::<Result<Vec<_>, _>>();
        let answers = answers.into_iter().map(answer).collect::<Result<Vec<_>, _>>()?;
        table.insert(host, answers);
    }
    Ok(TableNames::new(table))
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn answer(line: &str) -> String {
        match check_url_row(line).await {
            Ok(verdict) => serde_json::to_string(&verdict).unwrap(),
            Err(error) => format!("error: {error}"),
        }
    }

    #[tokio::test]
    async fn a_row_is_answered_with_its_own_id() {
        let cases = [
            (
                r#"{"id":"a","url":"https://x.example/","dns":{"x.example":[["1.1.1.1"]]},"redirects":[],"env":{"HTTP_PROXY":"http://127.0.0.1:1"}}"#,
                r#"{"id":"a","verdict":"allow","reason":"x.example is at 1.1.1.1, which is public"}"#,
            ),
            (
                r#"{"id":{"n":1.50},"url":"https://x.example/"}"#,
                r#"{"id":{"n":1.50},"verdict":"block","reason":"the name x.example cannot be resolved: the name is not known"}"#,
            ),
            (
                r#"{"id":null,"url":"http://x.example/","dns":{"x.example":[["fe80::1%eth0"]]},"redirects":null,"env":null}"#,
                r#"{"id":null,"verdict":"block","reason":"x.example is at fe80::1, a link-local address; only public addresses are reached, and hosts that the user names in `web.allowedHosts`"}"#,
            ),
            (
                r#"{"id":1,"url":"http://x.example/","dns":{"x.example":[["10.0.0.1"]]},"allowedHosts":["x.example:80"]}"#,
                r#"{"id":1,"verdict":"allow","reason":"x.example is at 10.0.0.1, which is not public; the user allows this host"}"#,
            ),
        ];
        for (line, expected) in cases {
            assert_eq!(answer(line).await, expected);
        }
    }

    #[tokio::test]
    async fn a_broken_row_is_told_by_its_field() {
        let cases = [
            ("nonsense", "error: the line is not a JSON object"),
            (r#"[1,"http://x/",null,null,null,null]"#, "error: the line is not a JSON object"),
            (r#"{"id":1"#, "error: the line is not a row: EOF while parsing an object at line 1 column 7"),
            (
                r#"{"id":1,"url":"http://x/","redirects":[["http://x/",302,"/"]]}"#,
                "error: `redirects`: invalid type",
            ),
            (r#"{"url":"http://x.example/"}"#, "error: the line is not a row: missing field `id`"),
            (r#"{"id":1}"#, "error: the line is not a row: missing field `url`"),
            (r#"{"id":1,"url":7}"#, "error: `url`: invalid type"),
            (r#"{"id":1,"url":null}"#, "error: `url`: invalid type"),
            (r#"{"id":1,"url":"http://x/","dns":[]}"#, "error: `dns`: invalid type"),
            (r#"{"id":1,"url":"http://x/","dns":{"x":["1.1.1.1"]}}"#, "error: `dns`: invalid type"),
            (
                r#"{"id":1,"url":"http://x/","dns":{"x":[["1.1.1"]]}}"#,
                r#"error: `dns`: "1.1.1", given for x, is not an address"#,
            ),
            (
                r#"{"id":1,"url":"http://x/","redirects":[{"status":302}]}"#,
                "error: `redirects`: missing field `from`",
            ),
            (r#"{"id":1,"url":"http://x/","env":[]}"#, "error: `env`: invalid type"),
            (
                r#"{"id":1,"url":"http://x/","allowedHosts":["http://x"]}"#,
                "error: `allowedHosts`: `http://x` is not",
            ),
        ];
        for (line, expected) in cases {
            let answer = answer(line).await;
            assert!(answer.starts_with(expected), "{line}: {answer}");
        }
    }
}
