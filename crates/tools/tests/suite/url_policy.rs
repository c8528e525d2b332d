//! Addresses as models write them, with the verdicts of the address policy.

use robota_tools::{UrlVerdict, check_url_row};
use serde_json::{Value, json};

/// What the hosts of the corpus resolve to.
fn dns() -> Value {
    json!({
        "public.example": [["93.184.216.34", "2606:4700::1111"]],
        "www.public.example": [["93.184.216.35"]],
        "bücher.example": [["93.184.216.36"]],
        "intranet": [["10.0.0.5"]],
        "short": [["93.184.216.37"]],
        "mixed.example": [["93.184.216.34", "127.0.0.1"]],
        "mixed6.example": [["93.184.216.34", "::1"]],
        "rebind.example": [["93.184.216.34"], ["127.0.0.1"]],
        "turncoat.example": [["127.0.0.1"], ["93.184.216.34"]],
        "private.example": [["192.168.1.1"]],
        "carrier.example": [["100.64.0.1"]],
        "metadata.example": [["169.254.169.254"]],
        "mapped.example": [["::ffff:8.8.8.8"]],
        "zone.example": [["fe80::1%eth0"]],
        "empty.example": [[]],
        "none.example": [],
        "127.0.0.1.nip.example": [["127.0.0.1"]],
        "localhost": [["93.184.216.34"]],
        "app.localhost": [["93.184.216.34"]],
        "printer.local": [["93.184.216.34"]],
        "metadata.google.internal": [["93.184.216.34"]],
        // A literal address is not looked up, whatever a table says.
        "127.0.0.1": [["93.184.216.34"]],
        "[::1]": [["93.184.216.34"]],
    })
}

const ALLOWED: &[&str] = &[
    "https://public.example/",
    "http://public.example",
    "HTTPS://PUBLIC.EXAMPLE/Path?q=1#part",
    "https://public.example./",
    "https://public.example:8443/",
    "http://public.example:8080/a?next=http://127.0.0.1/",
    "https://public.example/@user:name",
    "https://public.example/#@127.0.0.1",
    "https://public.example?@127.0.0.1",
    "https://public.example/a?b=c\\d",
    "  https://public.example/  ",
    "https://www.public.example/%7Eada/",
    "https://bücher.example/",
    "https://xn--bcher-kva.example/",
    "https://pub%6Cic.example/",
    "https://ｐｕｂｌｉｃ。example/",
    "http://short/",
    "https://rebind.example/",
    "https://1.1.1.1/",
    "http://8.8.8.8:8080/",
    "http://134744072/",
    "https://[2606:4700::1111]/",
    "https://[2606:4700:0:0::1111]:8443/",
];

/// And what the reason says.
#[rustfmt::skip]
const BLOCKED: &[(&str, &str)] = &[
    // Schemes and spellings.
    ("", "not a web address"),
    ("public.example/page", "not a web address: it begins with neither `https://` nor `http://`"),
    ("//public.example/", "not a web address"),
    ("localhost:8080/", "`localhost:`"),
    ("file:///etc/passwd", "`file:`"),
    ("FILE:///etc/passwd", "`file:`"),
    ("ftp://public.example/", "`ftp:`"),
    ("gopher://public.example:70/", "`gopher:`"),
    ("ws://public.example/", "`ws:`"),
    ("data:text/html,x", "`data:`"),
    ("javascript:alert(1)", "`javascript:`"),
    ("view-source:https://public.example/", "`view-source:`"),
    ("http://", "not a web address"),
    ("http://public.example:99999/", "not a web address"),
    ("http://public .example/", "not a web address"),
    ("http://public\n.example/", "control characters"),
    ("http://127.0.0.1\t.public.example/", "control characters"),
    ("http://public.example\\@127.0.0.1/", "a backslash"),
    ("http:\\\\127.0.0.1/", "a backslash"),
    ("http://localhost%00.public.example/", "not a web address"),
    ("http://public..example/", "a part of it is empty"),
    ("http://public.example../", "a part of it is empty"),
    // User names and passwords.
    ("http://ada@public.example/", "user name or password"),
    ("https://ada:secret@public.example/", "user name or password"),
    ("https://:secret@public.example/", "user name or password"),
    ("http://public.example@127.0.0.1/", "user name or password"),
    ("http://127.0.0.1:80@public.example/", "user name or password"),
    ("http://public.example%2f@127.0.0.1/", "user name or password"),
    // Ports of other protocols.
    ("http://public.example:22/", "port 22"),
    ("http://public.example:25/", "port 25"),
    ("https://public.example:0/", "port 0"),
    ("http://public.example:6667/", "port 6667"),
    // Spellings of loopback and others.
    ("http://127.0.0.1/", "a loopback address"),
    ("http://127.0.0.1./", "a loopback address"),
    ("http://127.0.0.1:8080/", "a loopback address"),
    ("http://127.255.255.254/", "a loopback address"),
    ("http://127.1/", "a loopback address"),
    ("http://127.0.1/", "a loopback address"),
    ("http://2130706433/", "a loopback address"),
    ("http://017700000001/", "a loopback address"),
    ("http://0x7f000001/", "a loopback address"),
    ("http://0x7f.0.0.1/", "a loopback address"),
    ("http://0177.0.0.01/", "a loopback address"),
    ("http://0X7F.1/", "a loopback address"),
    ("http:127.0.0.1/", "a loopback address"),
    ("http:/127.0.0.1/", "a loopback address"),
    ("http:///127.0.0.1/", "a loopback address"),
    ("http://１２７.0.0.1/", "a loopback address"),
    ("http://127。0。0。1/", "a loopback address"),
    ("http://①②⑦.⓪.⓪.①/", "a loopback address"),
    ("http://%31%32%37.0.0.1/", "a loopback address"),
    ("http://127.0.0.1%2e/", "a loopback address"),
    ("http://0/", "an unspecified address"),
    ("http://0.0.0.0:8080/", "an unspecified address"),
    ("http://256.1.1.1/", "not a web address"),
    ("http://127.0.0.08/", "not a web address"),
    ("http://[::1]/", "a loopback address"),
    ("http://[0:0:0:0:0:0:0:1]/", "a loopback address"),
    ("http://[::]/", "an unspecified address"),
    ("http://[fe80::1%25eth0]/", "not a web address"),
    ("http://[::1%25lo]/", "not a web address"),
    ("http://[::1/", "not a web address"),
    // Ranges.
    ("http://10.0.0.1/", "a private address"),
    ("http://172.16.0.1/", "a private address"),
    ("http://192.168.0.1/", "a private address"),
    ("http://3232235521/", "a private address"),
    ("http://100.64.0.1/", "inside a carrier's network"),
    ("http://169.254.1.1/", "a link-local address"),
    ("http://169.254.169.254/latest/meta-data/", "metadata service"),
    ("http://2852039166/", "metadata service"),
    ("http://0xa9fea9fe/", "metadata service"),
    ("http://168.63.129.16/", "metadata service"),
    ("http://100.100.100.200/", "metadata service"),
    ("http://192.0.0.192/", "metadata service"),
    ("http://[fd00:ec2::254]/", "metadata service"),
    ("http://192.0.2.1/", "documentation"),
    ("http://198.18.0.1/", "benchmarks"),
    ("http://224.0.0.1/", "a multicast address"),
    ("http://240.0.0.1/", "a reserved address"),
    ("http://255.255.255.255/", "the broadcast address"),
    ("http://[fd12::1]/", "a private address"),
    ("http://[fe80::1]/", "a link-local address"),
    ("http://[fec0::1]/", "a link-local address"),
    ("http://[ff02::1]/", "a multicast address"),
    ("http://[100::1]/", "a discard address"),
    ("http://[5f00::1]/", "a reserved address"),
    ("http://[2001:db8::1]/", "documentation"),
    ("http://[::ffff:127.0.0.1]/", "an IPv4 address in it"),
    ("http://[::ffff:7f00:1]/", "an IPv4 address in it"),
    ("http://[::127.0.0.1]/", "an IPv4 address in it"),
    ("http://[::ffff:0:127.0.0.1]/", "an IPv4 address in it"),
    ("http://[2002:7f00:1::]/", "an IPv4 address in it"),
    ("http://[2001:0:7f00:1::]/", "an IPv4 address in it"),
    ("http://[2606:4700::5efe:127.0.0.1]/", "an IPv4 address in it"),
    ("http://[64:ff9b::127.0.0.1]/", "translated to IPv4"),
    ("http://[64:ff9b:1::7f00:1]/", "translated to IPv4"),
    // Names.
    ("http://localhost/", "local machine or network"),
    ("http://LOCALHOST:3000/", "local machine or network"),
    ("http://localhost./", "local machine or network"),
    ("http://loc\u{ad}alhost/", "local machine or network"),
    ("http://ⓛocalhost/", "local machine or network"),
    ("http://app.localhost/", "local machine or network"),
    ("http://printer.local/", "local machine or network"),
    ("http://metadata.google.internal/computeMetadata/v1/", "local machine or network"),
    ("http://intranet/", "a private address"),
    ("https://mixed.example/", "at 127.0.0.1, a loopback address"),
    ("https://mixed6.example/", "at ::1, a loopback address"),
    ("https://turncoat.example/", "a loopback address"),
    ("https://private.example/", "a private address"),
    ("https://carrier.example/", "inside a carrier's network"),
    ("https://metadata.example/", "metadata service"),
    ("https://mapped.example/", "an IPv4 address in it"),
    ("https://zone.example/", "a link-local address"),
    ("https://127.0.0.1.nip.example/", "a loopback address"),
    ("https://empty.example/", "has no address"),
    ("https://none.example/", "has no address"),
    ("https://unknown.example/", "cannot be resolved"),
];

/// Verdict and reason about `url`; proxies and their exceptions make no difference.
async fn judge(url: &str) -> (UrlVerdict, String) {
    let proxy = "http://127.0.0.1:3128";
    let environments = [
        json!({}),
        json!({"HTTP_PROXY": proxy, "HTTPS_PROXY": proxy, "ALL_PROXY": proxy, "NO_PROXY": "*", "no_proxy": url}),
    ];
    let mut answers = Vec::new();
    for env in environments {
        let row = json!({"id": 1, "url": url, "dns": dns(), "redirects": [], "env": env}).to_string();
        let answer = check_url_row(&row).await.unwrap();
        answers.push((answer.verdict, answer.reason));
    }
    let last = answers.pop().unwrap();
    assert_eq!(answers, std::slice::from_ref(&last));
    last
}

#[tokio::test]
async fn every_address_of_the_corpus_has_its_verdict() {
    let mut wrong = Vec::new();
    for url in ALLOWED {
        let (verdict, reason) = judge(url).await;
        if verdict != UrlVerdict::Allow {
            wrong.push(format!("{url} is blocked: {reason}"));
        }
    }
    for (url, expected) in BLOCKED {
        let (verdict, reason) = judge(url).await;
        if verdict != UrlVerdict::Block || !reason.contains(expected) {
            wrong.push(format!("{url:?}: {verdict:?}, {reason}"));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

/// A redirect is judged like an address that the model wrote.
#[tokio::test]
async fn a_redirect_is_no_way_around() {
    for (target, expected) in BLOCKED.iter().filter(|(target, _)| target.contains("://")) {
        let row = json!({
            "id": "r", "url": "https://public.example/go", "dns": dns(),
            "redirects": [{"from": "https://public.example/go", "status": 302, "location": target}],
        });
        let row = row.to_string();
        let answer = check_url_row(&row).await.unwrap();
        let told =
            (answer.verdict, answer.reason.contains("redirect 1 (302): "), answer.reason.contains(expected));
        assert_eq!(told, (UrlVerdict::Block, true, true), "{target}: {}", answer.reason);
    }
}
