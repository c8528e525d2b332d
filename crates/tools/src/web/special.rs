//! Which addresses are not of the public internet, and what they are.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What an address is that the public internet does not have, or that stands for another one.
///
/// After the special-purpose address registries of IANA; only what they give to the public as a whole is public.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SpecialRange {
    /// "This host", "this network": connects to the machine itself.
    Unspecified,
    /// The machine itself.
    Loopback,
    /// Private networks, unique local addresses included.
    Private,
    /// The network segment, site-local addresses included.
    Local,
    /// Between a carrier and its customers.
    Carrier,
    /// Where clouds tell a machine its credentials.
    Metadata,
    /// Groups of machines.
    Multicast,
    /// All machines of the segment.
    Broadcast,
    /// For examples in documents.
    Documentation,
    /// For measurements of network devices.
    Benchmark,
    /// Translated to IPv4 on the way (NAT64).
    Translated,
    /// IPv6 forms that lead to an IPv4 address.
    Embedded,
    /// Packets to it are thrown away.
    Discard,
    /// Protocols' own, or not given out.
    Reserved,
}

impl fmt::Display for SpecialRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unspecified => "an unspecified address, which is this machine",
            Self::Loopback => "a loopback address",
            Self::Private => "a private address",
            Self::Local => "a link-local address",
            Self::Carrier => "an address inside a carrier's network",
            Self::Metadata => "the address of a cloud's metadata service",
            Self::Multicast => "a multicast address",
            Self::Broadcast => "the broadcast address",
            Self::Documentation => "an address for documentation",
            Self::Benchmark => "an address for benchmarks",
            Self::Translated => "an IPv6 address that is translated to IPv4",
            Self::Embedded => "an IPv6 address with an IPv4 address in it",
            Self::Discard => "a discard address",
            Self::Reserved => "a reserved address",
        })
    }
}

/// What `address` is; `None` for a public one.
pub(super) fn special_range(address: IpAddr) -> Option<SpecialRange> {
    match address {
        IpAddr::V4(v4) => of_v4(v4),
        IpAddr::V6(v6) => of_v6(v6),
    }
}

/// Whether a host that the user allows by name may be at `address`, which is in `range`. Metadata services and what
/// else is local to the segment are named by address or not at all: the name's owner could choose them.
pub(super) fn may_be_named(address: IpAddr, range: SpecialRange) -> bool {
    use SpecialRange::*;
    match (range, address) {
        (Loopback | Private | Carrier | Benchmark | Documentation, _) => true,
        (Translated, IpAddr::V6(v6)) => v4_of_nat64(v6).is_some_and(|v4| of_v4(v4).is_none()),
        _ => false,
    }
}

/// A network, by its first address and the number of bits that its addresses share.
type Network<A> = (A, u32, SpecialRange);

/// The first that fits counts.
const V4: &[Network<Ipv4Addr>] = {
    use SpecialRange::*;
    &[
        (Ipv4Addr::new(169, 254, 169, 254), 32, Metadata), // AWS, Azure, Google and most others
        (Ipv4Addr::new(169, 254, 170, 2), 32, Metadata),   // AWS, containers
        (Ipv4Addr::new(169, 254, 170, 23), 32, Metadata),  // AWS, pods
        (Ipv4Addr::new(168, 63, 129, 16), 32, Metadata),   // Azure
        (Ipv4Addr::new(100, 100, 100, 200), 32, Metadata), // Alibaba
        (Ipv4Addr::new(192, 0, 0, 192), 32, Metadata),     // Oracle
        (Ipv4Addr::new(0, 0, 0, 0), 8, Unspecified),
        (Ipv4Addr::new(10, 0, 0, 0), 8, Private),
        (Ipv4Addr::new(100, 64, 0, 0), 10, Carrier),
        (Ipv4Addr::new(127, 0, 0, 0), 8, Loopback),
        (Ipv4Addr::new(169, 254, 0, 0), 16, Local),
        (Ipv4Addr::new(172, 16, 0, 0), 12, Private),
        (Ipv4Addr::new(192, 0, 0, 0), 24, Reserved),
        (Ipv4Addr::new(192, 0, 2, 0), 24, Documentation),
        (Ipv4Addr::new(192, 88, 99, 0), 24, Reserved), // relays of 6to4, given up
        (Ipv4Addr::new(192, 168, 0, 0), 16, Private),
        (Ipv4Addr::new(198, 18, 0, 0), 15, Benchmark),
        (Ipv4Addr::new(198, 51, 100, 0), 24, Documentation),
        (Ipv4Addr::new(203, 0, 113, 0), 24, Documentation),
        (Ipv4Addr::new(224, 0, 0, 0), 4, Multicast),
        (Ipv4Addr::BROADCAST, 32, Broadcast),
        (Ipv4Addr::new(240, 0, 0, 0), 4, Reserved),
    ]
};

/// The first that fits counts; what is outside 2000::/3 and not here is reserved.
const V6: &[Network<Ipv6Addr>] = {
    use SpecialRange::*;
    &[
        (Ipv6Addr::new(0xFD00, 0xEC2, 0, 0, 0, 0, 0, 0x254), 128, Metadata), // AWS
        (Ipv6Addr::new(0xFD00, 0xEC2, 0, 0, 0, 0, 0, 0x23), 128, Metadata),  // AWS, pods
        (Ipv6Addr::new(0xFD20, 0xCE, 0, 0, 0, 0, 0, 0x254), 128, Metadata),  // Google
        (Ipv6Addr::new(0xFE80, 0, 0, 0, 0, 0, 0xA9FE, 0xA9FE), 128, Metadata), // OpenStack
        (Ipv6Addr::UNSPECIFIED, 128, Unspecified),
        (Ipv6Addr::LOCALHOST, 128, Loopback),
        (Ipv6Addr::UNSPECIFIED, 96, Embedded), // IPv4-compatible
        (Ipv6Addr::new(0, 0, 0, 0, 0, 0xFFFF, 0, 0), 96, Embedded), // IPv4-mapped
        (Ipv6Addr::new(0, 0, 0, 0, 0xFFFF, 0, 0, 0), 96, Embedded), // IPv4-translated
        (Ipv6Addr::new(0x64, 0xFF9B, 0, 0, 0, 0, 0, 0), 96, Translated),
        (Ipv6Addr::new(0x64, 0xFF9B, 1, 0, 0, 0, 0, 0), 48, Translated),
        (Ipv6Addr::new(0x100, 0, 0, 0, 0, 0, 0, 0), 64, Discard),
        (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 32, Embedded), // Teredo
        (Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 0), 48, Benchmark),
        (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23, Reserved), // protocols' own
        (Ipv6Addr::new(0x2001, 0xDB8, 0, 0, 0, 0, 0, 0), 32, Documentation),
        (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16, Embedded), // 6to4
        (Ipv6Addr::new(0x3FFE, 0, 0, 0, 0, 0, 0, 0), 16, Reserved), // the 6bone, given up
        (Ipv6Addr::new(0x3FFF, 0, 0, 0, 0, 0, 0, 0), 20, Documentation),
        (Ipv6Addr::new(0x5F00, 0, 0, 0, 0, 0, 0, 0), 16, Reserved), // segment routing
        (Ipv6Addr::new(0xFC00, 0, 0, 0, 0, 0, 0, 0), 7, Private),
        (Ipv6Addr::new(0xFE80, 0, 0, 0, 0, 0, 0, 0), 10, Local),
        (Ipv6Addr::new(0xFEC0, 0, 0, 0, 0, 0, 0, 0), 10, Local),
        (Ipv6Addr::new(0xFF00, 0, 0, 0, 0, 0, 0, 0), 8, Multicast),
    ]
};

fn of_v4(address: Ipv4Addr) -> Option<SpecialRange> {
    let apart = |network: Ipv4Addr| (address.to_bits() ^ network.to_bits()).leading_zeros();
    V4.iter().find(|(network, bits, _)| apart(*network) >= *bits).map(|(.., range)| *range)
}

fn of_v6(address: Ipv6Addr) -> Option<SpecialRange> {
    let apart = |network: Ipv6Addr| (address.to_bits() ^ network.to_bits()).leading_zeros();
    let listed = V6.iter().find(|(network, bits, _)| apart(*network) >= *bits).map(|(.., range)| *range);
    listed.or_else(|| match address.segments() {
        // ISATAP, below any prefix.
        [.., flags, 0x5EFE, _, _] if flags & !0x0300 == 0 => Some(SpecialRange::Embedded),
        // The part of the space that is given out to the public.
        [first, ..] if first & 0xE000 == 0x2000 => None,
        _ => Some(SpecialRange::Reserved),
    })
}

/// The IPv4 address behind the prefix that all networks with NAT64 share.
fn v4_of_nat64(address: Ipv6Addr) -> Option<Ipv4Addr> {
    match address.segments() {
        [0x64, 0xFF9B, 0, 0, 0, 0, ..] => {
            let [.., a, b, c, d] = address.octets();
            Some(Ipv4Addr::new(a, b, c, d))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::SpecialRange::*;
    use super::*;

    #[test]
    fn every_special_range_is_known_from_its_first_to_its_last_address() {
        let cases = [
            ("0.0.0.0 0.255.255.255", Unspecified),
            ("10.0.0.0 10.255.255.255", Private),
            ("100.64.0.0 100.127.255.255", Carrier),
            ("127.0.0.0 127.0.0.1 127.255.255.255", Loopback),
            ("169.254.0.0 169.254.255.255", Local),
            ("172.16.0.0 172.31.255.255", Private),
            ("192.0.0.0 192.0.0.255 192.88.99.1 240.0.0.0 255.255.255.254", Reserved),
            ("192.0.2.0 192.0.2.255 198.51.100.7 203.0.113.255", Documentation),
            ("192.168.0.0 192.168.255.255", Private),
            ("198.18.0.0 198.19.255.255", Benchmark),
            ("224.0.0.0 239.255.255.255", Multicast),
            ("255.255.255.255", Broadcast),
            ("169.254.169.254 169.254.170.2 168.63.129.16 100.100.100.200 192.0.0.192", Metadata),
            ("fd00:ec2::254 fd20:ce::254 fe80::a9fe:a9fe", Metadata),
            ("::", Unspecified),
            ("::1", Loopback),
            ("::127.0.0.1 ::2 ::ffff:127.0.0.1 ::ffff:8.8.8.8 ::ffff:0:8.8.8.8", Embedded),
            ("64:ff9b::a9fe:a9fe 64:ff9b::808:808 64:ff9b:1::1 64:ff9b:1:ffff::", Translated),
            ("100::1 100::ffff:ffff:ffff:ffff", Discard),
            ("2001::1 2001:0:ffff::1 2002:7f00:1:: 2002:808:808::1", Embedded),
            ("2606:4700::5efe:7f00:1 2606:4700::200:5efe:8.8.8.8 2606::100:5efe:0:1", Embedded),
            ("2001:2::1", Benchmark),
            ("2001:10::1 2001:20::1 2001:1ff:ffff::1 3ffe::1 5f00::1", Reserved),
            ("2001:db8::1 3fff::1 3fff:fff:ffff::1", Documentation),
            ("fc00::1 fdff:ffff::1", Private),
            ("fe80::1 febf::1 fec0::1 feff::1", Local),
            ("ff00::1 ff02::1 ffff::1", Multicast),
            ("64:ff9b:2::1 100:0:0:1::1 200::1 1fff::1 4000::1 8000::1", Reserved),
        ];
        for (texts, range) in cases {
            for text in texts.split(' ') {
                assert_eq!(special_range(text.parse().unwrap()), Some(range), "{text}");
            }
        }
    }

    #[test]
    fn what_lies_beside_them_is_public() {
        let v4 = "1.1.1.1 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0 \
                  168.63.129.17 169.253.255.255 169.255.0.0 172.15.255.255 172.32.0.0 192.0.1.0 192.0.3.0 \
                  192.167.255.255 192.169.0.0 198.17.255.255 198.20.0.0 223.255.255.255";
        let v6 = "2000::1 2001:200::1 2001:db7:: 2001:db9:: 2003::1 2606:4700::1111 2606:4700::400:5efe:0:1 \
                  2a00:1450:4001::200e 3fff:1000::1 3ffd::1";
        for text in v4.split(' ').chain(v6.split(' ')) {
            assert_eq!(special_range(text.parse().unwrap()), None, "{text}");
        }
    }
}
