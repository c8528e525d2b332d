//! The sandbox's way to the network, with the programs that commands use.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::process::{Output, Stdio};
use std::sync::Arc;

use robota_tools::{AddressPolicy, DomainAllowList, NetworkProxy, TableNames};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::process::Command;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::server::{Server, response};

struct Proxy {
    proxy: Arc<NetworkProxy>,
    address: String,
    cancel: CancellationToken,
    served: JoinHandle<()>,
}

/// Names of the tests, all on loopback; the policy stands for what a user allows for WebFetch too.
fn network_proxy(allow: &[&str], policy: &[&str]) -> Arc<NetworkProxy> {
    let loopback: IpAddr = "127.0.0.1".parse().unwrap();
    let metadata: IpAddr = "169.254.169.254".parse().unwrap();
    let names = TableNames::new(BTreeMap::from([
        ("site.example".to_owned(), vec![vec![loopback]]),
        ("rebind.example".to_owned(), vec![vec![loopback], vec![metadata]]),
        ("meta.example".to_owned(), vec![vec![metadata]]),
        ("localhost".to_owned(), vec![vec![loopback]]),
    ]));
    let allow = DomainAllowList::new(allow).unwrap();
    Arc::new(NetworkProxy::new(allow, &AddressPolicy::new(policy).unwrap(), Arc::new(names)))
}

async fn proxy(allow: &[&str], policy: &[&str]) -> Proxy {
    let proxy = network_proxy(allow, policy);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let cancel = CancellationToken::new();
    let served = tokio::spawn(Arc::clone(&proxy).serve(listener, cancel.clone()));
    Proxy { proxy, address, cancel, served }
}

impl Proxy {
    async fn curl(&self, arguments: &[&str]) -> (String, String, i32) {
        let proxied = format!("http://{}", self.address);
        text(Command::new("curl").args(["-sS", "-v", "-m", "20", "-x", &proxied]).args(arguments)).await
    }

    /// Sends raw bytes and reads to the end.
    async fn raw(&self, bytes: &[u8]) -> String {
        let mut stream = TcpStream::connect(&self.address).await.unwrap();
        stream.write_all(bytes).await.unwrap();
        let mut answer = Vec::new();
        // A connection that was reset has said what it had to say.
        drop(stream.read_to_end(&mut answer).await);
        String::from_utf8_lossy(&answer).into_owned()
    }
}

async fn text(command: &mut Command) -> (String, String, i32) {
    let command = command.stdin(Stdio::null()).kill_on_drop(true);
    for name in ["all_proxy", "no_proxy", "ALL_PROXY", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"] {
        command.env_remove(name);
    }
    let Output { stdout, stderr, status } = command.output().await.unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (text(stdout), text(stderr), status.code().unwrap())
}

fn port(server: &Server) -> &str {
    server.host.rsplit(':').next().unwrap()
}

#[tokio::test]
async fn curl_reaches_what_is_allowed_both_ways() {
    let server = Server::start([
        ("/page", response("200 OK", "text/plain", "arrived")),
        ("/big", response("200 OK", "text/plain", vec![b'x'; 3_000_000])),
    ])
    .await;
    let proxy = proxy(&["site.example"], &["site.example"]).await;
    let page = format!("http://site.example:{}/page?q=1", port(&server));
    let (body, log, code) = proxy.curl(&[&page, "-H", "Proxy-Authorization: secret", "-H", "X-Own: 1"]).await;
    assert_eq!((body.as_str(), code), ("arrived", 0), "{log}");
    let (body, log, code) = proxy.curl(&["-p", &page, "-d", "posted"]).await;
    assert_eq!((body.as_str(), code), ("arrived", 0), "{log}");
    let requests = server.requests();
    let lower = requests[0].to_ascii_lowercase();
    assert!(requests[0].starts_with("GET /page?q=1 HTTP/1.1\r\n"), "{lower}");
    assert!(lower.contains(&format!("\r\nhost: site.example:{}\r\n", port(&server))), "{lower}");
    assert!(lower.contains("\r\nx-own: 1\r\n") && !lower.contains("proxy-"), "{lower}");
    assert!(requests[1].starts_with("POST /page?q=1 HTTP/1.1\r\n") && requests[1].ends_with("posted"));
    let big = format!("http://site.example:{}/big", port(&server));
    let (body, log, code) =
        proxy.curl(&[&big, "--next", "-x", &format!("http://{}", proxy.address), "-p", &big]).await;
    assert_eq!((body.len(), code), (6_000_000, 0), "{log}");
    assert_eq!(proxy.proxy.take_refused(), []);
}

#[tokio::test]
async fn what_is_not_allowed_is_refused_with_a_sentence() {
    let server = Server::start([("/", response("200 OK", "text/plain", "secret"))]).await;
    let (own, port) = (server.url("/"), port(&server));
    let allow = ["*.site.example", "site.example", "meta.example", "*.localhost", "[::1]"];
    let proxy = proxy(&allow, &[]).await;
    let cases = [
        ("http://other.example/".to_owned(), "other.example is not in sandbox.network.allowedDomains"),
        ("http://site.example:25/".to_owned(), "site.example:25 is not in sandbox.network.allowedDomains"),
        (format!("http://site.example:{port}/"), "site.example is at 127.0.0.1, a loopback address, which"),
        (
            "http://meta.example/latest".to_owned(),
            "meta.example is at 169.254.169.254, the address of a cloud's",
        ),
        ("http://a.localhost/".to_owned(), "a.localhost is a name of the local machine or network, which"),
        (own, "127.0.0.1 is not in sandbox.network.allowedDomains"),
        ("http://2130706433/".to_owned(), "127.0.0.1 is not in sandbox.network.allowedDomains"),
    ];
    for (url, sentence) in &cases {
        let (body, log, _) = proxy.curl(&[url]).await;
        assert!(body.starts_with(&format!("robota: {sentence}")) && body.ends_with('\n'), "{url}: {body}");
        assert!(log.contains("< HTTP/1.1 403 robota: "), "{log}");
        let (_, log, code) = proxy.curl(&["-p", url]).await;
        assert!(
            code == 56 && log.contains(&format!("< HTTP/1.1 403 robota: {sentence}")),
            "{url} {code}: {log}"
        );
    }
    assert_eq!(server.requests().len(), 0);
    let refused = proxy.proxy.take_refused();
    let hosts: Vec<_> = refused.iter().map(|refused| (refused.host.as_str(), refused.port)).collect();
    let site = port.parse().unwrap();
    let expected = [
        ("other.example", 80),
        ("site.example", 25),
        ("site.example", site),
        ("meta.example", 80),
        ("a.localhost", 80),
        ("127.0.0.1", site),
        ("127.0.0.1", 80),
    ];
    assert_eq!(hosts, expected);
    assert_eq!(refused[0].reason, "other.example is not in sandbox.network.allowedDomains");
    assert_eq!(proxy.proxy.take_refused(), []);
}

#[tokio::test]
async fn private_hosts_are_reached_by_their_own_entry() {
    let server = Server::start([("/", response("200 OK", "text/plain", "arrived"))]).await;
    let by_address = proxy(&[&server.host], &[]).await;
    assert_eq!(by_address.curl(&["-p", &server.url("/")]).await.0, "arrived");
    let by_name = proxy(&["localhost"], &[]).await;
    let url = format!("http://localhost:{}/", port(&server));
    assert_eq!(by_name.curl(&[&url]).await.0, "arrived");
}

#[tokio::test]
async fn every_connection_is_looked_up_and_judged_once() {
    let server = Server::start([("/", response("200 OK", "text/plain", "arrived"))]).await;
    let proxy = proxy(&["rebind.example"], &["rebind.example"]).await;
    let url = format!("http://rebind.example:{}/", port(&server));
    assert_eq!(proxy.curl(&[&url]).await.0, "arrived");
    let (body, _, _) = proxy.curl(&[&url]).await;
    assert!(body.starts_with("robota: rebind.example is at 169.254.169.254"), "{body}");
    // The request goes where its address says, whatever else it says.
    let smuggled = format!(
        "GET http://other.example/ HTTP/1.1\r\nHost: rebind.example:{}\r\nConnection: close\r\n\r\n",
        port(&server)
    );
    let answer = proxy.raw(smuggled.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 403 robota: other.example is not in"), "{answer}");
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn garbage_is_answered_or_dropped() {
    let proxy = proxy(&["*"], &[]).await;
    let long = format!("GET http://a.example/ HTTP/1.1\r\nX: {}", "x".repeat(1_000_000));
    let many = format!("GET http://a.example/ HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(300));
    let cases: [(&[u8], &str); 10] = [
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xFC\x03\x03\r\n\r\n", "HTTP/1.1 400"),
        (b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", "HTTP/1.1 400 robota: this is a proxy"),
        (
            b"GET https://a.example/ HTTP/1.1\r\nConnection: close\r\n\r\n",
            "HTTP/1.1 400 robota: this is a proxy",
        ),
        (
            b"CONNECT a.example HTTP/1.1\r\nConnection: close\r\n\r\n",
            "HTTP/1.1 400 robota: the request names no host",
        ),
        (b"CONNECT u@a.example:443 HTTP/1.1\r\nConnection: close\r\n\r\n", "HTTP/1.1 400"),
        (
            b"CONNECT a..example:443 HTTP/1.1\r\nConnection: close\r\n\r\n",
            "HTTP/1.1 403 robota: a..example is not the name",
        ),
        (b"CONNECT [::1:443 HTTP/1.1\r\n\r\n", "HTTP/1.1 400"),
        (
            b"CONNECT unknown.example:443 HTTP/1.1\r\nConnection: close\r\n\r\n",
            "HTTP/1.1 502 robota: cannot connect to unknown.example:443: the name is not known",
        ),
        (long.as_bytes(), "HTTP/1.1 431"),
        (many.as_bytes(), "HTTP/1.1 431"),
    ];
    for (bytes, start) in cases {
        let answer = proxy.raw(bytes).await;
        assert!(answer.starts_with(start), "{:?}: {answer}", bytes.get(..40));
    }
    assert!(!proxy.served.is_finished());
}

#[tokio::test]
async fn a_tunnel_carries_bytes_until_it_is_cancelled() {
    let host = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = host.local_addr().unwrap().to_string();
    let proxy = proxy(&[&address], &[]).await;
    let mut client = TcpStream::connect(&proxy.address).await.unwrap();
    client.write_all(format!("CONNECT {address} HTTP/1.1\r\n\r\n").as_bytes()).await.unwrap();
    let (mut server, _) = host.accept().await.unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(client.read_u8().await.unwrap());
    }
    assert!(head.starts_with(b"HTTP/1.1 200 OK\r\n"));
    client.write_all(b"ping").await.unwrap();
    let mut four = [0; 4];
    server.read_exact(&mut four).await.unwrap();
    server.write_all(b"pong").await.unwrap();
    let mut pong = [0; 4];
    client.read_exact(&mut pong).await.unwrap();
    proxy.cancel.cancel();
    proxy.served.await.unwrap();
    let mut rest = Vec::new();
    server.read_to_end(&mut rest).await.unwrap();
    assert_eq!((&four, &pong, rest.len()), (b"ping", b"pong", 0));
    assert!(TcpStream::connect(&proxy.address).await.is_err());
}

#[tokio::test]
async fn bodies_are_passed_on_as_they_come() {
    async fn until(stream: &mut TcpStream, end: &str) -> String {
        let mut text = String::new();
        while !text.ends_with(end) {
            text.push(char::from(stream.read_u8().await.unwrap()));
        }
        text
    }
    let host = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = host.local_addr().unwrap().to_string();
    let proxy = proxy(&[&address], &[]).await;
    let mut client = TcpStream::connect(&proxy.address).await.unwrap();
    let head = format!(
        "POST http://{address} HTTP/1.1\r\nTransfer-Encoding: chunked\r\nConnection: X-Own\r\nX-Own: 1\r\n\r\n"
    );
    client.write_all(head.as_bytes()).await.unwrap();
    client.write_all(b"3\r\none\r\n").await.unwrap();
    let (mut server, _) = host.accept().await.unwrap();
    let seen = until(&mut server, "3\r\none\r\n").await;
    assert_eq!(
        seen,
        format!("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nhost: {address}\r\n\r\n3\r\none\r\n")
    );
    client.write_all(b"3\r\ntwo\r\n0\r\n\r\n").await.unwrap();
    until(&mut server, "two\r\n0\r\n\r\n").await;
    server
        .write_all(b"HTTP/1.1 201 Made\r\nKeep-Alive: 5\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nred\r\n")
        .await
        .unwrap();
    let answer = until(&mut client, "3\r\nred\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 201 Made\r\n") && !answer.contains("Keep-Alive"), "{answer}");
    server.write_all(b"4\r\nblue\r\n0\r\n\r\n").await.unwrap();
    assert_eq!(until(&mut client, "0\r\n\r\n").await, "4\r\nblue\r\n0\r\n\r\n");
}

#[tokio::test]
async fn python_is_told_why_and_a_socket_will_do() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("proxy.sock");
    let proxy = network_proxy(&["site.example"], &[]);
    let listener = UnixListener::bind(&path).unwrap();
    let cancel = CancellationToken::new();
    let served = tokio::spawn(Arc::clone(&proxy).serve(listener, cancel.clone()));
    let mut stream = UnixStream::connect(&path).await.unwrap();
    stream.write_all(b"CONNECT other.example:443 HTTP/1.1\r\nConnection: close\r\n\r\n").await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 403 robota: other.example is not in sandbox.network."), "{answer}");
    cancel.cancel();
    served.await.unwrap();

    let proxy = self::proxy(&["site.example"], &[]).await;
    let script = "import urllib.request as r, sys\n\
                  try: r.urlopen('https://other.example/', timeout=20)\n\
                  except Exception as e: print(e)\n\
                  try: r.urlopen('http://other.example/', timeout=20)\n\
                  except Exception as e: print(e, e.read().decode())";
    let proxied = format!("http://{}", proxy.address);
    let mut python = Command::new("python3");
    python.args(["-c", script]).env("http_proxy", &proxied).env("https_proxy", &proxied);
    let (output, log, _) = text(&mut python).await;
    let sentence = "robota: other.example is not in sandbox.network.allowedDomains";
    assert_eq!(output.matches(sentence).count(), 3, "{output} {log}");
}
