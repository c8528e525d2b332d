//! The proxy: what it may reach, and the connections to it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::allow_list::DomainAllowList;
use super::connection;
use super::listener::ProxyListener;
use super::refusal::{RefusedHost, RefusedHosts};
use super::upstream::{NoWay, Target, connect};
use crate::web::{AddressPolicy, NameService};

/// Connections at once; further ones wait.
const MAX_CONNECTIONS: usize = 256;
/// Between attempts to accept a connection when that failed, as without file descriptors.
const PAUSE: Duration = Duration::from_millis(100);

/// An HTTP/1.1 proxy that reaches the hosts of an allow list and no others: `CONNECT` tunnels, and requests with an
/// absolute `http:` address. Bodies are passed on as they come and never held.
///
/// A host that may not be reached is answered with status 403 and a sentence that says so, and noted for
/// [`Self::take_refused`]; one that cannot be reached with 502.
pub struct NetworkProxy {
    allow: DomainAllowList,
    policy: AddressPolicy,
    names: Arc<dyn NameService>,
    refused: RefusedHosts,
}

impl NetworkProxy {
    /// A proxy to the hosts in `allow`, at their public addresses, at those that `policy` allows for them, and at
    /// those that `allow` names itself. Names are looked up in `names`, once for each connection.
    #[must_use]
    pub fn new(allow: DomainAllowList, policy: &AddressPolicy, names: Arc<dyn NameService>) -> Self {
        let policy = policy.with_hosts(&allow.private_hosts());
        Self { allow, policy, names, refused: RefusedHosts::default() }
    }

    /// Answers the connections of `listener` until `cancel` fires; then, or when the future is dropped, all are closed.
    /// Runs in a tokio runtime with time and network.
    pub async fn serve<L: ProxyListener>(self: Arc<Self>, listener: L, cancel: CancellationToken) {
        let mut open = JoinSet::new();
        loop {
            let accepted = tokio::select! {
                biased;
                () = cancel.cancelled() => break,
                Some(_) = open.join_next() => continue,
                accepted = listener.accept(), if open.len() < MAX_CONNECTIONS => accepted,
            };
            match accepted {
                Ok(stream) => drop(open.spawn(connection::answer(stream, Arc::clone(&self)))),
                Err(_) => tokio::time::sleep(PAUSE).await,
            }
        }
        open.shutdown().await;
    }

    /// The hosts that commands tried to reach and may not, since the last call: each once, the first twenty.
    #[must_use]
    pub fn take_refused(&self) -> Vec<RefusedHost> {
        self.refused.take()
    }

    pub(super) async fn connect(&self, target: &Target) -> Result<tokio::net::TcpStream, NoWay> {
        let connected = connect(target, &self.allow, &self.policy, &*self.names).await;
        if let Err(NoWay::Refused(refused)) = &connected {
            self.refused.add(refused.clone());
        }
        connected
    }
}

impl fmt::Debug for NetworkProxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NetworkProxy").field("allow", &self.allow).finish_non_exhaustive()
    }
}
