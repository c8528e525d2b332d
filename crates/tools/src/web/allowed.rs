//! Hosts that the user allows although they are not public.

use super::form;

/// An entry of the list of allowed hosts that is neither `host` nor `host:port`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{entry}` is not a host: {problem}")]
pub struct NotAHost {
    entry: String,
    problem: &'static str,
}

impl NotAHost {
    /// The entry as it was written.
    #[must_use]
    pub fn entry(&self) -> &str {
        &self.entry
    }
}

/// One host, at one port or at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AllowedHost {
    /// As [`form::canonical_host`] has it, without a dot at the end.
    host: String,
    port: Option<u16>,
}

impl AllowedHost {
    pub(super) fn parse(entry: &str) -> Result<Self, NotAHost> {
        let error = |problem| NotAHost { entry: entry.to_owned(), problem };
        if entry.contains("://") {
            return Err(error("leave the scheme away and write `host` or `host:port`"));
        }
        if entry.contains('*') {
            return Err(error("each host is named in full; there are no wildcards"));
        }
        if entry.contains('@') {
            return Err(error("leave the user name away and write `host` or `host:port`"));
        }
        if entry.contains(['/', '\\', '?', '#']) {
            return Err(error("leave the path away and write `host` or `host:port`"));
        }
        let (host, port) = split(entry);
        let port = match port {
            None => None,
            Some(port) => {
                let digits = port.bytes().all(|byte| byte.is_ascii_digit());
                let port = port.parse::<u16>().ok().filter(|port| digits && *port != 0);
                Some(port.ok_or_else(|| error("the port is a number from 1 to 65535"))?)
            }
        };
        let host = form::canonical_host(host).filter(|host| !form::has_gap(host));
        let host = host.ok_or_else(|| error("write `host` or `host:port`, such as `wiki.example:8080`"))?;
        Ok(Self { host: without_dot(&host).to_owned(), port })
    }

    /// Whether this is about `host`, as a URL has it, at `port`.
    pub(super) fn names(&self, host: &str, port: u16) -> bool {
        self.host == without_dot(host) && self.port.is_none_or(|own| own == port)
    }

    pub(super) const fn has_port(&self) -> bool {
        self.port.is_some()
    }

    pub(super) fn is_address(&self) -> bool {
        form::literal(&self.host).is_some()
    }
}

/// Host and port; the colons of an IPv6 address without brackets are its own.
fn split(entry: &str) -> (&str, Option<&str>) {
    match entry.rsplit_once(':') {
        Some((host, port)) if !host.contains(':') || host.ends_with(']') => (host, Some(port)),
        _ => (entry, None),
    }
}

fn without_dot(host: &str) -> &str {
    host.strip_suffix('.').unwrap_or(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_hosts_with_or_without_a_port() {
        let cases = [
            ("Wiki.Corp.Example.", "wiki.corp.example", None),
            ("localhost:3000", "localhost", Some(3000)),
            ("127.1:80", "127.0.0.1", Some(80)),
            ("::1", "[::1]", None),
            ("[::1]:443", "[::1]", Some(443)),
            ("[fd00::1]", "[fd00::1]", None),
        ];
        for (entry, host, port) in cases {
            let expected = AllowedHost { host: host.to_owned(), port };
            assert_eq!(AllowedHost::parse(entry).unwrap(), expected, "{entry}");
        }
    }

    #[test]
    fn what_is_no_host_is_refused_with_what_to_write() {
        let cases = [
            ("http://a.example", "scheme"),
            ("*.a.example", "wildcards"),
            ("ada@a.example", "user name"),
            ("a.example/wiki", "path"),
            ("a.example:", "port"),
            ("a.example:0", "port"),
            ("a.example:+80", "port"),
            ("a.example:http", "port"),
            ("a.example:65536", "port"),
            ("", "write `host`"),
            (":80", "write `host`"),
            ("a b", "write `host`"),
            (" a.example", "write `host`"),
            ("a..example", "write `host`"),
            ("1.2.3.256", "write `host`"),
            ("[::1", "write `host`"),
            ("::1::2", "write `host`"),
        ];
        for (entry, problem) in cases {
            let error = AllowedHost::parse(entry).unwrap_err();
            assert_eq!(error.entry(), entry);
            assert!(error.to_string().contains(problem), "{entry}: {error}");
        }
    }
}
