//! The headers of a request that a model may set.

use std::collections::BTreeMap;

use reqwest::header::{self, HeaderMap, HeaderName, HeaderValue};

use crate::failure::Failure;

const ACCEPT: &str = "text/markdown, text/html;q=0.9, application/json;q=0.9, text/*;q=0.8, */*;q=0.1";

/// Headers that say where a request goes, where it ends and how its answer is packed. A `Host` other than that of the address would reach a
/// host that was neither consented to nor judged, at servers that serve many.
const OF_THE_CONNECTION: &[&str] = &[
    "accept-encoding",
    "host",
    "connection",
    "content-length",
    "expect",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// What a model wrote, and what every request has.
pub(super) fn request_headers(
    written: Option<&BTreeMap<String, String>>,
    user_agent: &str,
) -> Result<HeaderMap, Failure> {
    let mut headers = HeaderMap::new();
    if let Ok(user_agent) = user_agent.parse() {
        headers.insert(header::USER_AGENT, user_agent);
    }
    headers.insert(header::ACCEPT, HeaderValue::from_static(ACCEPT));
    for (name, value) in written.into_iter().flatten() {
        let name = name.parse::<HeaderName>().map_err(|_| invalid(name))?;
        if OF_THE_CONNECTION.contains(&name.as_str()) {
            let message =
                format!("the header {:?} belongs to the connection and cannot be set", name.as_str());
            return Err(Failure::new("invalid_argument", message));
        }
        let value = value.parse::<HeaderValue>().map_err(|_| invalid(name.as_str()))?;
        headers.insert(name, value);
    }
    Ok(headers)
}

fn invalid(name: &str) -> Failure {
    Failure::new("invalid_argument", format!("the header {name:?} is not valid in HTTP"))
}
