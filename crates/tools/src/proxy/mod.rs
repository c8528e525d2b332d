//! The way to the network for commands in a sandbox: an HTTP proxy that reaches the hosts of an allow list.
//!
//! A command that has no network of its own gets the address of a [`NetworkProxy`] in `http_proxy` and `https_proxy`.
//! The proxy looks each name up once, judges what it finds, and connects to these addresses: nothing that the
//! command or a name server says later leads elsewhere. It sees no more of encrypted connections than their host.

mod allow_list;
mod body;
mod connection;
mod idle;
mod listener;
mod refusal;
mod server;
mod upstream;

pub use allow_list::{DomainAllowList, NotADomain};
pub use listener::ProxyListener;
pub use refusal::RefusedHost;
pub use server::NetworkProxy;
