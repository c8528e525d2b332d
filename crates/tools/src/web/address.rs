//! Which addresses a model may reach: public ones, and what the user allows by name.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use reqwest::Url;

/// Hosts that may be reached although their address is not a public one.
#[derive(Clone, Debug, Default)]
pub(crate) struct AddressPolicy {
    allowed: Vec<String>,
}

/// An address that is not reached.
#[derive(Debug, thiserror::Error)]
pub(super) enum Refused {
    #[error("{0} is neither an http nor an https address")]
    Scheme(String),
    #[error("the name {host} cannot be resolved: {source}")]
    Unresolved { host: String, source: std::io::Error },
    #[error("{host} is at {address}: private and local addresses are refused")]
    NotPublic { host: String, address: IpAddr },
}

impl AddressPolicy {
    /// A policy that also lets through `allowed`: `host`, or `host:port`.
    pub(crate) fn new(allowed: impl IntoIterator<Item = String>) -> Self {
        Self { allowed: allowed.into_iter().map(|host| host.to_ascii_lowercase()).collect() }
    }

    /// Resolves the host of `url`; every address it has must be allowed.
    pub(super) async fn resolve(&self, url: &Url) -> Result<Vec<SocketAddr>, Refused> {
        let scheme = || Refused::Scheme(url.to_string());
        if !matches!(url.scheme(), "http" | "https") {
            return Err(scheme());
        }
        let host = url.host_str().ok_or_else(scheme)?;
        let port = url.port_or_known_default().ok_or_else(scheme)?;
        // An IPv6 literal stands in brackets.
        let name = host.trim_start_matches('[').trim_end_matches(']');
        let found = tokio::net::lookup_host((name, port)).await;
        let unresolved = |source| Refused::Unresolved { host: host.to_owned(), source };
        let addresses: Vec<SocketAddr> = found.map_err(unresolved)?.collect();
        if self.is_named(host, port) {
            return Ok(addresses);
        }
        match addresses.iter().find(|address| !is_public(address.ip())) {
            Some(address) => Err(Refused::NotPublic { host: host.to_owned(), address: address.ip() }),
            None => Ok(addresses),
        }
    }

    fn is_named(&self, host: &str, port: u16) -> bool {
        let with_port = format!("{host}:{port}");
        self.allowed.iter().any(|allowed| allowed == host || *allowed == with_port)
    }
}

/// Whether an address belongs to the public internet.
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => is_public_v4(v4),
        IpAddr::V6(v6) => is_public_v6(v6),
    }
}

fn is_public_v4(v4: Ipv4Addr) -> bool {
    let [a, b, c, _] = v4.octets();
    let special = v4.is_loopback()
        || v4.is_private()
        || v4.is_link_local()
        || v4.is_broadcast()
        || v4.is_documentation()
        || v4.is_multicast()
        || a == 0
        || a >= 240
        || (a == 100 && (b & 0xC0) == 64) // shared address space of carriers
        || (a, b, c) == (192, 0, 0) // protocol assignments
        || (a == 198 && (b & 0xFE) == 18) // benchmarks
        || v4 == Ipv4Addr::new(168, 63, 129, 16); // metadata of a large cloud
    !special
}

fn is_public_v6(v6: Ipv6Addr) -> bool {
    let segments = v6.segments();
    let embedded = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        is_public_v4(Ipv4Addr::new(a, b, c, d))
    };
    match segments {
        // Forms that carry an IPv4 address: mapped, compatible (with `::` and `::1`), NAT64, 6to4.
        [0, 0, 0, 0, 0, 0 | 0xFFFF, high, low] => embedded(high, low),
        [0x64, 0xFF9B, 0, 0, 0, 0, high, low] => embedded(high, low),
        [0x2002, high, low, ..] => embedded(high, low),
        // Only 2000::/3 is given out to the public; Teredo and documentation lie in it.
        [0x2001, 0 | 0xDB8, ..] => false,
        [first, ..] => first & 0xE000 == 0x2000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_public_addresses_are_public() {
        let public = ["1.1.1.1", "93.184.216.34", "172.32.0.1", "2606:4700::1111", "::ffff:8.8.8.8"];
        let special = [
            "127.0.0.1",
            "0.0.0.0",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "100.100.100.200",
            "192.0.0.192",
            "198.18.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "168.63.129.16",
            "::",
            "::1",
            "fe80::1",
            "fd00:ec2::254",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "64:ff9b::a9fe:a9fe",
            "2002:7f00:1::",
            "2001:db8::1",
            "ff02::1",
            "::7f00:1",
        ];
        let public_ones = |texts: &[&str]| -> Vec<bool> {
            texts.iter().map(|text| is_public(text.parse().unwrap())).collect()
        };
        assert_eq!(public_ones(&public), vec![true; public.len()]);
        assert_eq!(public_ones(&special), vec![false; special.len()]);
    }

    #[tokio::test]
    async fn odd_spellings_of_loopback_are_seen_through() {
        let policy = AddressPolicy::new(["127.0.0.1:8080".to_owned()]);
        let spellings = [
            "http://127.1/",
            "http://2130706433/",
            "http://0x7f.1:80/",
            "http://[::1]/",
            "http://localhost:8080/",
            "http://127.0.0.1:8081/",
            "http://[::ffff:127.0.0.1]:8080/",
        ];
        for text in spellings {
            let refused = policy.resolve(&Url::parse(text).unwrap()).await.unwrap_err();
            assert!(matches!(refused, Refused::NotPublic { .. }), "{text}: {refused}");
        }
        let allowed = policy.resolve(&Url::parse("http://127.1:8080/").unwrap()).await.unwrap();
        assert_eq!(allowed, ["127.0.0.1:8080".parse().unwrap()]);
        let file = policy.resolve(&Url::parse("file:///etc/passwd").unwrap()).await.unwrap_err();
        assert!(matches!(file, Refused::Scheme(_)));
    }
}
