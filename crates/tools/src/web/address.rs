//! The one policy for addresses that a model chooses: public ones, and what the user allows by name.

use std::io;
use std::net::{IpAddr, SocketAddr};

use reqwest::Url;

use super::allowed::{AllowedHost, NotAHost};
use super::form;
use super::names::NameService;
use super::special::{SpecialRange, may_be_named, special_range};

/// Decides which addresses a model may make this machine reach.
///
/// Reached is what is http or https, carries no user name or password, is not at a port of another protocol, and
/// whose host has public addresses only; a name that stands for the local machine or network by definition is not
/// even looked up. Hosts that the user names may be private ones.
///
/// A name is looked up once, and the [`Destination`] holds what was judged: whoever connects must connect to these
/// addresses, by no proxy, and let every redirect be judged again.
#[derive(Clone, Debug, Default)]
pub struct AddressPolicy {
    allowed: Vec<AllowedHost>,
}

/// An address that may be reached, and where its host is.
#[derive(Clone, Debug)]
pub struct Destination {
    url: Url,
    addresses: Vec<SocketAddr>,
}

/// Why an address is not reached.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Refused {
    /// The text does not say how the host is to be reached.
    #[error("{text} is not a web address: it begins with neither `https://` nor `http://`")]
    Relative {
        /// Its beginning.
        text: String,
    },
    /// The text cannot be read as an absolute address.
    #[error("{text} is not a web address: {source}")]
    NotAnAddress {
        /// Its beginning.
        text: String,
        /// What is wrong.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// Programs understand the text in different ways.
    #[error("{text} is not a web address: it holds {what}, which programs read differently")]
    Spelling {
        /// What makes the difference.
        what: &'static str,
        /// The beginning of the text.
        text: String,
    },
    /// The address is longer than any server takes.
    #[error("this is not a web address: it has {bytes} bytes; the limit is {limit}")]
    TooLong {
        /// Its length.
        bytes: usize,
        /// The longest there may be.
        limit: usize,
    },
    /// Not http and not https.
    #[error("addresses with `{scheme}:` are not fetched, only http and https")]
    Scheme {
        /// The scheme.
        scheme: String,
    },
    /// User name or password in the address.
    #[error("the address at {host} carries a user name or password; leave them out")]
    Credentials {
        /// The host.
        host: String,
    },
    /// The host is no name that could be looked up.
    #[error("{host} is not the name of a host: a part of it is empty")]
    Gap {
        /// The host.
        host: String,
    },
    /// The port belongs to another protocol than HTTP.
    #[error(
        "port {port} of {host} is for another protocol than HTTP; the user can allow it in `web.allowedHosts` \
         with `{host}:{port}`"
    )]
    Port {
        /// The host.
        host: String,
        /// The port.
        port: u16,
    },
    /// The name stands for the machine or its network, whatever its addresses.
    #[error(
        "{host} is a name of the local machine or network; the user can allow it by name in `web.allowedHosts`"
    )]
    LocalName {
        /// The host.
        host: String,
    },
    /// The name was not found.
    #[error("the name {host} cannot be resolved: {source}")]
    Unresolved {
        /// The host.
        host: String,
        /// Why.
        source: io::Error,
    },
    /// The name has no address.
    #[error("the name {host} has no address")]
    NoAddress {
        /// The host.
        host: String,
    },
    /// The host, or one of its addresses, is not public.
    #[error("{}", not_public(host, *address, *range))]
    NotPublic {
        /// The host.
        host: String,
        /// The address.
        address: IpAddr,
        /// What it is.
        range: SpecialRange,
    },
    /// There was one redirect more than is followed.
    #[error("more than {limit} redirects")]
    TooManyRedirects {
        /// How many are followed.
        limit: usize,
    },
}

impl AddressPolicy {
    /// A policy under which the hosts in `allowed` (`host` or `host:port`, each named in full) may also be loopback
    /// and private ones. An entry with a port is about that port only, and may open one of another protocol.
    ///
    /// A name that is allowed still does not lead to link-local addresses, such as the metadata services of clouds,
    /// to multicast or reserved ones: these are allowed by address or not at all.
    ///
    /// # Errors
    ///
    /// [`NotAHost`] for the first entry that is something else.
    pub fn new<I>(allowed: I) -> Result<Self, NotAHost>
    where
        I: IntoIterator,
        I::Item: AsRef<str>,
    {
        let allowed: Result<_, _> =
            allowed.into_iter().map(|entry| AllowedHost::parse(entry.as_ref())).collect();
        Ok(Self { allowed: allowed? })
    }

    /// Judges one request to `url`, an absolute address. Its name, when it has one, is looked up once.
    ///
    /// # Errors
    ///
    /// [`Refused`] says why the address is not reached.
    pub async fn judge(&self, url: &str, names: &dyn NameService) -> Result<Destination, Refused> {
        self.destination(form::parse(url, None)?, names).await
    }

    /// The same for an address that was read already.
    pub(super) async fn destination(
        &self,
        url: Url,
        names: &dyn NameService,
    ) -> Result<Destination, Refused> {
        let addresses = addresses(self.judge_form(&url)?, names).await?;
        Ok(Destination { url, addresses })
    }

    /// Judges a connection to `host` at `port`, whatever goes over it: which ports there may be is for the caller to
    /// say.
    pub(crate) async fn reach(
        &self,
        host: &str,
        port: u16,
        names: &dyn NameService,
    ) -> Result<Vec<SocketAddr>, Refused> {
        addresses(self.judge_host(host, port)?, names).await
    }

    /// The same policy with further hosts; what is no host is left out.
    pub(crate) fn with_hosts(&self, hosts: &[String]) -> Self {
        let further = hosts.iter().filter_map(|host| AllowedHost::parse(host).ok());
        Self { allowed: self.allowed.iter().cloned().chain(further).collect() }
    }

    /// Judges all that can be judged without looking a name up.
    pub(super) fn judge_form<'a>(&'a self, url: &'a Url) -> Result<Host<'a>, Refused> {
        let scheme = || Refused::Scheme { scheme: url.scheme().to_owned() };
        if !matches!(url.scheme(), "http" | "https") {
            return Err(scheme());
        }
        let name = url.host_str().ok_or_else(scheme)?;
        let port = url.port_or_known_default().ok_or_else(scheme)?;
        let host = || name.to_owned();
        if !url.username().is_empty() || url.password().is_some() {
            return Err(Refused::Credentials { host: host() });
        }
        if form::is_for_another_protocol(port) && !self.entries(name, port).any(AllowedHost::has_port) {
            return Err(Refused::Port { host: host(), port });
        }
        self.judge_host(name, port)
    }

    /// What the user says of a host.
    fn entries<'a>(&'a self, name: &'a str, port: u16) -> impl Iterator<Item = &'a AllowedHost> {
        self.allowed.iter().filter(move |entry| entry.names(name, port))
    }

    fn judge_host<'a>(&'a self, name: &'a str, port: u16) -> Result<Host<'a>, Refused> {
        let host = || name.to_owned();
        let allowed = self.entries(name, port).next();
        match form::literal(name) {
            Some(address) => judge_address(name, address, allowed)?,
            None if form::has_gap(name) => return Err(Refused::Gap { host: host() }),
            None if form::is_local_name(name) && allowed.is_none() => {
                return Err(Refused::LocalName { host: host() });
            }
            None => {}
        }
        Ok(Host { name, port, allowed })
    }
}

/// The host of an address whose form is in order.
pub(super) struct Host<'a> {
    name: &'a str,
    port: u16,
    /// What the user says of it.
    allowed: Option<&'a AllowedHost>,
}

impl Destination {
    /// The address as it was understood.
    #[must_use]
    pub fn url(&self) -> &str {
        self.url.as_str()
    }

    /// Where to connect to, and nowhere else; never empty.
    #[must_use]
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Whether all addresses are of the public internet.
    pub(super) fn is_public(&self) -> bool {
        self.addresses.iter().all(|address| special_range(address.ip()).is_none())
    }

    pub(super) const fn parsed(&self) -> &Url {
        &self.url
    }

    pub(super) fn host(&self) -> &str {
        self.url.host_str().unwrap_or_default()
    }
}

/// Where the host is, with its name looked up once and every answer judged.
async fn addresses(host: Host<'_>, names: &dyn NameService) -> Result<Vec<SocketAddr>, Refused> {
    let Host { name, port, allowed } = host;
    let found = match form::literal(name) {
        Some(address) => vec![address],
        None => {
            let unresolved = |source| Refused::Unresolved { host: name.to_owned(), source };
            names.look_up(name).await.map_err(unresolved)?
        }
    };
    if found.is_empty() {
        return Err(Refused::NoAddress { host: name.to_owned() });
    }
    found.iter().try_for_each(|address| judge_address(name, *address, allowed))?;
    Ok(found.into_iter().map(|address| SocketAddr::new(address, port)).collect())
}

fn judge_address(host: &str, address: IpAddr, allowed: Option<&AllowedHost>) -> Result<(), Refused> {
    let Some(range) = special_range(address) else { return Ok(()) };
    let is_allowed = allowed.is_some_and(|entry| entry.is_address() || may_be_named(address, range));
    if is_allowed { Ok(()) } else { Err(Refused::NotPublic { host: host.to_owned(), address, range }) }
}

fn not_public(host: &str, address: IpAddr, range: SpecialRange) -> String {
    let what = match form::literal(host) {
        Some(_) => format!("{host} is {range}"),
        None => format!("{host} is at {address}, {range}"),
    };
    format!("{what}; only public addresses are reached, and hosts that the user names in `web.allowedHosts`")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::web::names::TableNames;

    async fn judge(allowed: &[&str], url: &str, address: &str) -> Result<Vec<SocketAddr>, Refused> {
        let answers = vec![vec!["93.184.216.34".parse().unwrap(), address.parse().unwrap()]];
        let names = TableNames::new(BTreeMap::from(
            ["wiki.example", "localhost", "wiki"].map(|host| (host.to_owned(), answers.clone())),
        ));
        let policy = AddressPolicy::new(allowed).unwrap();
        Ok(policy.judge(url, &names).await?.addresses().to_vec())
    }

    #[tokio::test]
    async fn an_allowed_host_may_be_private_and_nothing_else_is() {
        let allowed = ["wiki.example", "127.0.0.1:8080", "LOCALHOST.:22", "[::1]", "169.254.169.254"];
        let cases = [
            ("http://wiki.example/", "10.0.0.1", true),
            ("https://WIKI.example.:8443/", "fd00::1", true),
            ("http://wiki.example/", "64:ff9b::808:808", true),
            ("http://wiki.example/", "64:ff9b::a00:1", false),
            ("http://wiki.example/", "169.254.169.254", false),
            ("http://wiki.example/", "fd00:ec2::254", false),
            ("http://wiki.example/", "169.254.0.1", false),
            ("http://wiki.example/", "::ffff:10.0.0.1", false),
            ("http://wiki.example/", "224.0.0.1", false),
            ("http://wiki.example/", "0.0.0.0", false),
            ("ftp://wiki.example/", "10.0.0.1", false),
            ("http://ada@wiki.example/", "10.0.0.1", false),
            ("http://wiki.example:25/", "10.0.0.1", false),
            ("http://wiki/", "10.0.0.1", false),
            ("http://localhost:22/", "127.0.0.1", true),
            ("http://localhost/", "127.0.0.1", false),
            ("http://a.localhost:22/", "127.0.0.1", false),
            ("http://127.1:8080/", "10.0.0.1", true),
            ("http://127.0.0.1:8081/", "10.0.0.1", false),
            ("http://[::ffff:127.0.0.1]:8080/", "10.0.0.1", false),
            ("http://[0::1]:9000/", "10.0.0.1", true),
            ("http://169.254.169.254/", "10.0.0.1", true),
        ];
        for (url, address, expected) in cases {
            let judged = judge(&allowed, url, address).await;
            assert_eq!(judged.is_ok(), expected, "{url} at {address}: {judged:?}");
        }
    }

    #[tokio::test]
    async fn every_answer_is_judged_and_all_are_connected_to() {
        let public = judge(&[], "https://wiki.example/", "2606:4700::1111").await.unwrap();
        assert_eq!(public, ["93.184.216.34:443", "[2606:4700::1111]:443"].map(|text| text.parse().unwrap()));
        let mixed = judge(&[], "https://wiki.example/", "10.0.0.1").await.unwrap_err();
        assert_eq!(
            mixed.to_string(),
            "wiki.example is at 10.0.0.1, a private address; only public addresses are reached, and hosts that \
             the user names in `web.allowedHosts`"
        );
    }
}
