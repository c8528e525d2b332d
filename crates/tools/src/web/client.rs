//! The one place that builds HTTP clients of the tools.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use reqwest::ClientBuilder;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::redirect::Policy;

use super::address::Destination;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const USER_AGENT: &str = concat!("robota/", env!("CARGO_PKG_VERSION"));

/// A client that follows no redirects; deadlines over whole transfers are the caller's.
pub(crate) fn builder() -> ClientBuilder {
    reqwest::Client::builder()
        .user_agent(USER_AGENT)
        .connect_timeout(CONNECT_TIMEOUT)
        .redirect(Policy::none())
}

/// A client that connects to the addresses of `destination` and nowhere else. A proxy would look the name up again
/// and reach what was not judged: none is used, whatever the environment says.
pub(super) fn bound_to(destination: &Destination) -> ClientBuilder {
    let judged = Judged { host: destination.host().to_owned(), addresses: destination.addresses().to_vec() };
    builder().no_proxy().dns_resolver(Arc::new(judged))
}

/// Knows one host.
struct Judged {
    host: String,
    addresses: Vec<SocketAddr>,
}

impl Resolve for Judged {
    fn resolve(&self, name: Name) -> Resolving {
        let judged = name.as_str() == self.host;
        let addresses = self.addresses.clone();
        Box::pin(async move {
            if judged {
                Ok(Box::new(addresses.into_iter()) as Addrs)
            } else {
                Err("the host was not judged".into())
            }
        })
    }
}
