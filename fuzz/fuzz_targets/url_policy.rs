//! Whatever a model, a server and a name service say, an address that is reached is a public one.
//!
//! The input is lines: the address, then where it redirects to, in order; behind a NUL byte, the addresses that names
//! resolve to: four bytes each, or sixteen behind a byte 6.

#![no_main]

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Mutex;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use libfuzzer_sys::fuzz_target;
use robota_tools::{AddressPolicy, NameService, Redirect, check_route, check_url_row};

/// Gives one address for each look-up, and remembers which.
struct Given {
    left: Mutex<Vec<IpAddr>>,
    given: Mutex<Vec<IpAddr>>,
}

impl NameService for Given {
    fn look_up<'a>(&'a self, _: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        let answer: Vec<IpAddr> = self.left.lock().unwrap().pop().into_iter().collect();
        self.given.lock().unwrap().extend(&answer);
        std::future::ready(Ok(answer)).boxed()
    }
}

fuzz_target!(|bytes: &[u8]| {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    let (text, rest) = bytes.split_at(end);
    let text = String::from_utf8_lossy(text);
    let answers = addresses(rest.get(1..).unwrap_or_default());
    // Nothing waits for anything: every future is ready at once.
    if let Ok(verdict) = check_url_row(&text).now_or_never().unwrap() {
        assert!(!verdict.reason.is_empty());
    }
    let mut lines = text.lines();
    let url = lines.next().unwrap_or_default();
    let policy = AddressPolicy::default();
    let names = Given { left: Mutex::new(answers.clone()), given: Mutex::default() };
    match policy.judge(url, &names).now_or_never().unwrap() {
        Ok(destination) => {
            assert!(!destination.addresses().is_empty());
            assert!(destination.url().starts_with("http://") || destination.url().starts_with("https://"));
            for address in destination.addresses() {
                assert!(is_public(address.ip()), "{url:?} leads to {address}");
            }
        }
        Err(refused) => assert!(!refused.to_string().is_empty()),
    }
    let redirects: Vec<Redirect> = lines
        .map(|location| Redirect { from: url.to_owned(), status: 302, location: Some(location.to_owned()) })
        .collect();
    let names = Given { left: Mutex::new(answers), given: Mutex::default() };
    let verdict = check_route(&policy, url, &names, &redirects).now_or_never().unwrap();
    if verdict.allowed {
        for address in names.given.lock().unwrap().iter() {
            assert!(is_public(*address), "{url:?} goes by {address}");
        }
    }
});

fn addresses(mut bytes: &[u8]) -> Vec<IpAddr> {
    let mut found = Vec::new();
    loop {
        if let Some((v6, rest)) = bytes.strip_prefix(&[6]).and_then(|rest| rest.split_first_chunk::<16>()) {
            found.push(Ipv6Addr::from(*v6).into());
            bytes = rest;
        } else if let Some((v4, rest)) = bytes.split_first_chunk::<4>() {
            found.push(Ipv4Addr::from(*v4).into());
            bytes = rest;
        } else {
            return found;
        }
    }
}

/// Public by comparison of numbers, apart from how the policy finds it.
fn is_public(address: IpAddr) -> bool {
    let number = |text: &str| text.parse::<IpAddr>().unwrap();
    let within = |(first, last): &(&str, &str)| number(first) <= address && address <= number(last);
    match address {
        IpAddr::V4(v4) => {
            let special = v4.is_private() || v4.is_loopback() || v4.is_link_local() || v4.is_documentation();
            !special && !v4.is_multicast() && !NOT_PUBLIC_V4.iter().any(within)
        }
        IpAddr::V6(v6) => {
            within(&("2000::", "3fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"))
                && !is_isatap(v6)
                && !NOT_PUBLIC_V6.iter().any(within)
        }
    }
}

fn is_isatap(address: Ipv6Addr) -> bool {
    let octets = address.octets();
    octets[8] & 0b1111_1100 == 0 && octets[9..12] == [0, 0x5E, 0xFE]
}

const NOT_PUBLIC_V4: &[(&str, &str)] = &[
    ("0.0.0.0", "0.255.255.255"),
    ("100.64.0.0", "100.127.255.255"),
    ("168.63.129.16", "168.63.129.16"),
    ("192.0.0.0", "192.0.0.255"),
    ("192.88.99.0", "192.88.99.255"),
    ("198.18.0.0", "198.19.255.255"),
    ("240.0.0.0", "255.255.255.255"),
];

const NOT_PUBLIC_V6: &[(&str, &str)] = &[
    ("2001::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff"),
    ("2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff"),
    ("2002::", "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
    ("3ffe::", "3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
    ("3fff::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff"),
];
