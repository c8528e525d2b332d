//! Connections to the hosts that commands ask for.

use std::net::SocketAddr;
use std::time::Duration;
use std::{fmt, io};

use hyper::StatusCode;
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::allow_list::{DomainAllowList, without_dot};
use super::refusal::RefusedHost;
use crate::web::{AddressPolicy, NameService, Refused, canonical_host};

/// For looking a name up, and for each address.
const DEADLINE: Duration = Duration::from_secs(15);
const SETTING: &str = "sandbox.network.allowedDomains";

/// A host at a port, as a request names it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Target {
    /// As addresses have it, without a dot at the end.
    pub(super) host: String,
    pub(super) port: u16,
}

/// Why there is no connection.
#[derive(Debug)]
pub(super) enum NoWay {
    Refused(RefusedHost),
    Failed { target: String, error: io::Error },
}

impl Target {
    /// `None` for what is no host.
    pub(super) fn new(host: &str, port: u16) -> Option<Self> {
        let host = canonical_host(host)?;
        Some(Self { host: without_dot(&host).to_owned(), port })
    }

    fn refused(&self, reason: String) -> NoWay {
        NoWay::Refused(RefusedHost { host: self.host.clone(), port: self.port, reason })
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

impl NoWay {
    pub(super) const fn status(&self) -> StatusCode {
        match self {
            Self::Refused(_) => StatusCode::FORBIDDEN,
            Self::Failed { .. } => StatusCode::BAD_GATEWAY,
        }
    }
}

impl fmt::Display for NoWay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(refused) => f.write_str(&refused.reason),
            Self::Failed { target, error } => write!(f, "cannot connect to {target}: {error}"),
        }
    }
}

/// Connects to what `target` is, if it may be reached: the name is looked up once, all its addresses are judged, and
/// they are what is connected to.
pub(super) async fn connect(
    target: &Target,
    allow: &DomainAllowList,
    policy: &AddressPolicy,
    names: &dyn NameService,
) -> Result<TcpStream, NoWay> {
    if !allow.allows_canonical(&target.host, target.port) {
        let by_port = allow.allows_canonical(&target.host, 443);
        let what = if by_port { target.to_string() } else { target.host.clone() };
        return Err(target.refused(format!("{what} is not in {SETTING}")));
    }
    let failed = |error| NoWay::Failed { target: target.to_string(), error };
    let too_slow = || io::Error::from(io::ErrorKind::TimedOut);
    let judged = timeout(DEADLINE, policy.reach(&target.host, target.port, names)).await;
    let addresses = match judged.map_err(|_| failed(too_slow()))? {
        Ok(addresses) => addresses,
        Err(Refused::Unresolved { source, .. }) => return Err(failed(source)),
        Err(refused) => return Err(target.refused(reason(&refused))),
    };
    let mut last = too_slow();
    for address in addresses {
        match timeout(DEADLINE, connect_to(address)).await.unwrap_or_else(|_| Err(too_slow())) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(failed(last))
}

async fn connect_to(address: SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

fn reason(refused: &Refused) -> String {
    match refused {
        Refused::NotPublic { host, address, range } if host.contains(&address.to_string()) => {
            format!("{host} is {range}, which {SETTING} has to name itself")
        }
        Refused::NotPublic { host, address, range } => {
            format!("{host} is at {address}, {range}, which {SETTING} has to name itself")
        }
        Refused::LocalName { host } => {
            format!("{host} is a name of the local machine or network, which {SETTING} has to name itself")
        }
        other => other.to_string(),
    }
}
