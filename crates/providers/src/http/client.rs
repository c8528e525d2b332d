//! The HTTP client, built when it is first needed.

use std::net::IpAddr;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use reqwest::redirect::Policy;
use reqwest::{Client, Url};

/// Names this program to the services.
const USER_AGENT: &str = concat!("robota/", env!("CARGO_PKG_VERSION"));

/// A client for one service, built once, at first use.
///
/// Building loads the certificates of the system, which takes some milliseconds; a client for an
/// address on this machine over plain HTTP does without them and without proxies.
pub(crate) struct LazyClient {
    client: OnceLock<Result<Client, String>>,
    connect_timeout: Duration,
    /// Plain HTTP to this machine.
    local: bool,
    /// HTTP/2 from the first byte.
    http2: bool,
}

impl LazyClient {
    pub(crate) fn new(url: &Url, connect_timeout: Duration) -> Self {
        let local = url.scheme() == "http" && url.host_str().is_some_and(is_loopback);
        Self { client: OnceLock::new(), connect_timeout, local, http2: false }
    }

    /// The same client, which speaks HTTP/2 from the first byte if `http2`.
    pub(crate) fn with_http2(mut self, http2: bool) -> Self {
        self.http2 = http2;
        self
    }

    /// The client, or why there cannot be one.
    pub(crate) fn get(&self) -> Result<&Client, &str> {
        self.client.get_or_init(|| self.build()).as_ref().map_err(String::as_str)
    }

    fn build(&self) -> Result<Client, String> {
        let begun = Instant::now();
        let builder = Client::builder()
            .user_agent(USER_AGENT)
            .connect_timeout(self.connect_timeout)
            .tcp_keepalive(Duration::from_secs(60))
            .http2_keep_alive_interval(Duration::from_secs(30))
            .http2_keep_alive_timeout(Duration::from_secs(20))
            // Followed, a redirect would carry the key to an address nobody configured.
            .redirect(Policy::none());
        let builder = if self.local { builder.no_proxy().tls_certs_only([]) } else { builder };
        let builder = if self.http2 { builder.http2_prior_knowledge() } else { builder };
        let client = builder.build().map_err(|error| error.without_url().to_string());
        tracing::debug!(micros = begun.elapsed().as_micros(), local = self.local, "HTTP client built");
        client
    }
}

fn is_loopback(host: &str) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    match host.parse::<IpAddr>() {
        Ok(address) => address.is_loopback(),
        Err(_) => host == "localhost" || host.ends_with(".localhost"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_http_to_this_machine_counts_as_local() {
        let local = |url: &str| LazyClient::new(&url.parse().unwrap(), Duration::from_secs(1)).local;
        for url in ["http://127.0.0.1:8080/v1", "http://localhost/v1", "http://[::1]:1/"] {
            assert!(local(url), "{url}");
        }
        for url in ["https://127.0.0.1/v1", "http://192.168.0.7:11434/v1", "http://localhost.example/"] {
            assert!(!local(url), "{url}");
        }
    }
}
