//! What can be said of an address by its form, before any name is looked up.

use std::net::{IpAddr, Ipv6Addr};

use reqwest::Url;

use super::address::Refused;

/// The longest address, in bytes; servers take less.
const MAX_BYTES: usize = 32 * 1024;
/// Bytes of an address that a message repeats.
const MAX_SHOWN: usize = 200;

/// Ports of protocols that are older than HTTP or unlike it, where a request could be taken for a command. The list
/// that browsers keep: "bad port" of the Fetch standard.
#[rustfmt::skip]
const OTHER_PROTOCOLS: &[u16] = &[
    0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109,
    110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531,
    532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060,
    5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
];

/// Ends of names that stand for the machine or its own network by definition (RFC 6761, 6762, 8375; `internal` as
/// ICANN keeps it), or by custom.
const LOCAL_ENDS: &[&str] = &["localhost", "local", "internal", "localdomain", "home.arpa"];

/// Reads an address that a model or a server wrote; `base` is what a relative one is relative to.
pub(super) fn parse(text: &str, base: Option<&Url>) -> Result<Url, Refused> {
    if text.len() > MAX_BYTES {
        return Err(Refused::TooLong { bytes: text.len(), limit: MAX_BYTES });
    }
    let text = text.trim_matches(|letter: char| letter == ' ' || letter.is_ascii_control());
    // Programs do not agree on what these mean: some leave them out, some end the host there.
    if text.contains(char::is_control) {
        return Err(Refused::Spelling { what: "control characters", text: shown(text) });
    }
    if text.split(['?', '#']).next().is_some_and(|path| path.contains('\\')) {
        return Err(Refused::Spelling { what: "a backslash", text: shown(text) });
    }
    Url::options().base_url(base).parse(text).map_err(|error| match text.contains("://") {
        true => Refused::NotAnAddress { text: shown(text), source: Box::new(error) },
        false => Refused::Relative { text: shown(text) },
    })
}

/// A host as addresses have it when they were read: lower case, ASCII, numbers in one spelling, IPv6 in brackets.
/// `None` for what is no host.
pub(crate) fn canonical_host(host: &str) -> Option<String> {
    let bracketed = host.parse::<Ipv6Addr>().map(|v6| format!("[{v6}]"));
    let host = bracketed.as_deref().unwrap_or(host);
    // What an address would take for its other parts, or leave out.
    let is_more = host.contains(['/', '\\', '?', '#', '@']) || host.contains(char::is_control);
    let has_port = host.contains(':') && !host.ends_with(']');
    if is_more || has_port {
        return None;
    }
    let url = Url::parse(&format!("http://{host}/")).ok()?;
    url.host_str().map(str::to_owned)
}

/// The address that a host of a [`Url`] writes out; `None` when it is a name.
pub(crate) fn literal(host: &str) -> Option<IpAddr> {
    let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    bare.unwrap_or(host).parse().ok()
}

/// Whether a name stands for the machine or its own network, whatever it resolves to.
pub(crate) fn is_local_name(host: &str) -> bool {
    let host = host.strip_suffix('.').unwrap_or(host);
    LOCAL_ENDS
        .iter()
        .any(|end| host.strip_suffix(end).is_some_and(|rest| rest.is_empty() || rest.ends_with('.')))
}

/// Whether a name has a part between its dots that is empty; resolvers disagree on what that means.
pub(crate) fn has_gap(host: &str) -> bool {
    host.strip_suffix('.').unwrap_or(host).split('.').any(str::is_empty)
}

/// Whether a port is known for another protocol than HTTP.
pub(crate) fn is_for_another_protocol(port: u16) -> bool {
    OTHER_PROTOCOLS.contains(&port)
}

/// The beginning of a text, for messages.
fn shown(text: &str) -> String {
    if text.len() <= MAX_SHOWN {
        return text.escape_debug().to_string();
    }
    let end = text.floor_char_boundary(MAX_SHOWN);
    format!("{}…", text.get(..end).unwrap_or_default().escape_debug())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_have_one_spelling() {
        let cases = [
            ("Example.COM", Some("example.com")),
            ("127.1", Some("127.0.0.1")),
            ("0x7f000001", Some("127.0.0.1")),
            ("127.0.0.1", Some("127.0.0.1")),
            ("bücher.example", Some("xn--bcher-kva.example")),
            ("::1", Some("[::1]")),
            ("[::0:1]", Some("[::1]")),
            ("localhost.", Some("localhost.")),
            ("", None),
            ("a b", None),
            ("a/b", None),
            ("a@b", None),
            ("a:80", None),
            ("a:8080", None),
            ("[::1]:80", None),
            ("*.example.com", Some("*.example.com")),
        ];
        for (host, expected) in cases {
            assert_eq!(canonical_host(host).as_deref(), expected, "{host}");
        }
    }

    #[test]
    fn local_names_are_known_by_their_ends() {
        for host in [
            "localhost",
            "localhost.",
            "a.localhost",
            "printer.local",
            "metadata.google.internal",
            "x.home.arpa",
        ] {
            assert!(is_local_name(host), "{host}");
        }
        for host in
            ["localhost.example", "mylocalhost", "thelocal", "local.example", "internal.example.com", "arpa"]
        {
            assert!(!is_local_name(host), "{host}");
        }
    }
}
