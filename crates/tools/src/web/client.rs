//! The one place that builds HTTP clients of the tools.

use std::time::Duration;

use reqwest::ClientBuilder;
use reqwest::redirect::Policy;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const USER_AGENT: &str = concat!("robota/", env!("CARGO_PKG_VERSION"));

/// A client that follows no redirects; deadlines over whole transfers are the caller's.
pub(crate) fn builder() -> ClientBuilder {
    reqwest::Client::builder()
        .user_agent(USER_AGENT)
        .connect_timeout(CONNECT_TIMEOUT)
        .redirect(Policy::none())
}
