//! The hosts that commands in a sandbox may reach.

use crate::web::{canonical_host, has_gap, is_for_another_protocol, is_local_name, literal};

/// An entry of an allow list that is no domain.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{entry}` is not a domain: {problem}")]
pub struct NotADomain {
    entry: String,
    problem: &'static str,
}

impl NotADomain {
    /// The entry as it was written.
    #[must_use]
    pub fn entry(&self) -> &str {
        &self.entry
    }
}

/// Hosts by name: `example.com` is that host alone, `*.example.com` every host below it and not itself, `*` every
/// host. Each may have a port, as in `example.com:8443` or `[::1]:3000`; without one, it is about all ports but those
/// of protocols older than HTTP or unlike it, such as 22 and 25.
///
/// What an entry says of a name holds for its public addresses. Loopback and private addresses are reached by an
/// entry that is such an address, or a name that stands for the machine or its network by definition, such as
/// `localhost`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DomainAllowList {
    entries: Vec<Entry>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    hosts: Hosts,
    port: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Hosts {
    All,
    One(String),
    /// Holds the domain with the dot before it.
    Below(String),
}

impl DomainAllowList {
    /// A list of these entries; an empty one allows nothing.
    ///
    /// # Errors
    ///
    /// [`NotADomain`] for the first entry that is something else.
    pub fn new<I>(entries: I) -> Result<Self, NotADomain>
    where
        I: IntoIterator,
        I::Item: AsRef<str>,
    {
        let entries: Result<_, _> = entries.into_iter().map(|entry| Entry::parse(entry.as_ref())).collect();
        Ok(Self { entries: entries? })
    }

    /// Whether `host`, a name or an address in any spelling, may be reached at `port`.
    #[must_use]
    pub fn allows(&self, host: &str, port: u16) -> bool {
        let Some(host) = canonical_host(host).filter(|host| !has_gap(host)) else { return false };
        self.allows_canonical(without_dot(&host), port)
    }

    pub(super) fn allows_canonical(&self, host: &str, port: u16) -> bool {
        self.entries.iter().any(|entry| entry.covers(host, port))
    }

    /// The entries that open loopback and private addresses, as [`AddressPolicy`](crate::AddressPolicy) takes them.
    pub(super) fn private_hosts(&self) -> Vec<String> {
        let private = |entry: &Entry| match (&entry.hosts, entry.port) {
            (Hosts::One(host), port) if literal(host).is_some() || is_local_name(host) => {
                Some(port.map_or_else(|| host.clone(), |port| format!("{host}:{port}")))
            }
            _ => None,
        };
        self.entries.iter().filter_map(private).collect()
    }
}

impl Entry {
    fn parse(entry: &str) -> Result<Self, NotADomain> {
        let error = |problem| NotADomain { entry: entry.to_owned(), problem };
        let text = entry.trim();
        if text.contains("://") {
            return Err(error("leave the scheme away and write `example.com` or `*.example.com`"));
        }
        if text.contains(['/', '\\', '?', '#', '@']) {
            return Err(error("leave path and user name away and write `example.com` or `*.example.com`"));
        }
        let (host, port) = match text.rsplit_once(':') {
            // The colons of an IPv6 address without brackets are its own.
            Some((host, port)) if !host.contains(':') || host.ends_with(']') => (host, Some(port)),
            _ => (text, None),
        };
        let port = port.map(|port| {
            let digits = port.bytes().all(|byte| byte.is_ascii_digit());
            port.parse().ok().filter(|port| digits && *port != 0)
        });
        let port =
            port.map(|port| port.ok_or_else(|| error("the port is a number from 1 to 65535"))).transpose()?;
        if host == "*" {
            return Ok(Self { hosts: Hosts::All, port });
        }
        let (below, host) = host.strip_prefix("*.").map_or((false, host), |host| (true, host));
        if host.contains('*') {
            return Err(error("`*` stands alone or before the first dot, as in `*.example.com`"));
        }
        let host = canonical_host(host).filter(|host| !has_gap(host));
        let host = host.ok_or_else(|| error("write `example.com`, `*.example.com` or an address"))?;
        let host = without_dot(&host);
        if below && literal(host).is_some() {
            return Err(error("there is nothing below an address"));
        }
        let hosts = if below { Hosts::Below(format!(".{host}")) } else { Hosts::One(host.to_owned()) };
        Ok(Self { hosts, port })
    }

    fn covers(&self, host: &str, port: u16) -> bool {
        let is_host = match &self.hosts {
            Hosts::All => true,
            Hosts::One(own) => own == host,
            // A name is not below its own end alone.
            Hosts::Below(end) => host.len() > end.len() && host.ends_with(end.as_str()),
        };
        is_host && self.port.map_or_else(|| !is_for_another_protocol(port), |own| own == port)
    }
}

pub(super) fn without_dot(host: &str) -> &str {
    host.strip_suffix('.').unwrap_or(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_allowed_by_name_by_domain_and_by_port() {
        let list = DomainAllowList::new([
            "Example.com",
            "*.docs.example",
            "git.example:22",
            "bücher.example",
            "127.0.0.1:3000",
            "[::1]",
        ])
        .unwrap();
        let cases = [
            ("example.com", 443, true),
            ("EXAMPLE.com.", 80, true),
            ("www.example.com", 443, false),
            ("example.com.evil.example", 443, false),
            ("notexample.com", 443, false),
            ("example.com", 25, false),
            ("a.docs.example", 443, true),
            ("a.b.docs.example", 8443, true),
            ("docs.example", 443, false),
            (".docs.example", 443, false),
            ("evildocs.example", 443, false),
            ("git.example", 22, true),
            ("git.example", 443, false),
            ("xn--bcher-kva.example", 443, true),
            ("127.1", 3000, true),
            ("0x7f000001", 3000, true),
            ("127.0.0.1", 80, false),
            ("::1", 9000, true),
            ("[0::1]", 9000, true),
            ("a b", 443, false),
            ("example.com/..", 443, false),
            ("", 443, false),
        ];
        for (host, port, expected) in cases {
            assert_eq!(list.allows(host, port), expected, "{host}:{port}");
        }
        assert!(!DomainAllowList::default().allows("example.com", 443));
        let all = DomainAllowList::new(["*"]).unwrap();
        assert!(all.allows("anything.example", 8080) && !all.allows("anything.example", 25));
        assert_eq!(list.private_hosts(), ["127.0.0.1:3000", "[::1]"]);
    }

    #[test]
    fn what_is_no_domain_is_refused_with_what_to_write() {
        let cases = [
            ("https://example.com", "scheme"),
            ("example.com/x", "path"),
            ("ada@example.com", "user name"),
            ("exa*mple.com", "`*` stands"),
            ("*.*.example.com", "`*` stands"),
            ("*.127.0.0.1", "below an address"),
            ("example.com:0", "port"),
            ("example.com:+1", "port"),
            ("", "write `example.com`"),
            ("a..b", "write `example.com`"),
            ("*.", "write `example.com`"),
        ];
        for (entry, problem) in cases {
            let error = DomainAllowList::new([entry]).unwrap_err();
            assert!(error.entry() == entry && error.to_string().contains(problem), "{entry}: {error}");
        }
    }
}
