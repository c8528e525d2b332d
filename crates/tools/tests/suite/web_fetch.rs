use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use robota_core::{Clock, Timestamp};
use robota_tools::{AddressPolicy, TableNames};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::server::{Server, redirect, response};
use crate::session::Session;

/// A clock that stands where it is set, in milliseconds.
#[derive(Default)]
struct Hands(AtomicI64);

impl Clock for Hands {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.load(Ordering::Relaxed))
    }
}

fn allowing(server: &Server) -> Session {
    Session::with(|options| options.address_policy = AddressPolicy::new([&server.host]).unwrap())
}

#[tokio::test]
async fn pages_become_text() {
    let html = "<html><body><nav>menu</nav><h1>Title</h1><p>One <em>two</em>.</p></body></html>";
    let server = Server::start([
        ("/page", response("200 OK", "text/html; charset=utf-8", html)),
        ("/data", response("200 OK", "application/json", r#"{"b":1,"a":[2]}"#)),
        ("/text", response("200 OK", "text/plain; charset=iso-8859-1", b"caf\xE9")),
    ])
    .await;
    let session = allowing(&server);
    let page =
        session.call("WebFetch", json!({"url": server.url("/page"), "headers": {"X-Test": "1"}})).await;
    assert_eq!(page.content, format!("{} (200, text/html)\n\n# Title\n\nOne *two*.", server.url("/page")));
    let facts = json!({
        "url": server.url("/page"), "finalUrl": server.url("/page"), "status": 200, "mediaType": "text/html",
        "bytes": html.len(), "cached": false, "title": null,
    });
    assert_eq!(page.structured.unwrap(), facts);
    assert!(server.requests()[0].to_ascii_lowercase().contains("\r\nx-test: 1\r\n"));
    let data = session.ok("WebFetch", json!({"url": server.url("/data")})).await;
    assert!(data.ends_with("json)\n\n{\n  \"b\": 1,\n  \"a\": [\n    2\n  ]\n}"), "{data}");
    let text = session.ok("WebFetch", json!({"url": server.url("/text")})).await;
    assert!(text.ends_with("\n\ncafé"), "{text}");
}

#[tokio::test]
async fn what_is_no_page_is_refused_with_the_reason() {
    let server = Server::start([("/image", response("200 OK", "image/png", "\u{1}PNG"))]).await;
    let session = allowing(&server);
    let (code, text) = session.refused("WebFetch", json!({"url": server.url("/image")})).await;
    let expected = format!(
        "{} (200 OK): the response is image/png of 4 bytes, not text; to keep it, download it into a file with Bash",
        server.url("/image")
    );
    assert_eq!((code, text), ("no_text", expected));
    let missing = session.call("WebFetch", json!({"url": server.url("/gone")})).await;
    assert_eq!(missing.content, format!("{} answered 404 Not Found\n\nno such page", server.url("/gone")));
    assert_eq!((missing.is_error, missing.error_code), (true, Some("http_status")));
    let cases = [("ftp://x/y", "address_refused"), ("not an address", "invalid_argument")];
    for (url, code) in cases {
        assert_eq!(session.refused("WebFetch", json!({"url": url})).await.0, code);
    }
    let header = json!({"url": server.url("/"), "headers": {"a b": "c"}});
    assert_eq!(session.refused("WebFetch", header).await.0, "invalid_argument");
}

#[tokio::test]
async fn headers_of_the_connection_are_not_the_models_to_set() {
    let server = Server::start([("/", response("200 OK", "text/plain", "secret"))]).await;
    let session = allowing(&server);
    for name in ["Host", "host", "Accept-Encoding", "Connection", "Transfer-Encoding", "Proxy-Authorization"]
    {
        let call = json!({"url": server.url("/"), "headers": {name: "other.example"}});
        assert_eq!(session.refused("WebFetch", call).await.0, "invalid_argument", "{name}");
    }
    assert_eq!(server.requests().len(), 0);
}

#[tokio::test]
async fn a_long_body_is_cut_while_it_comes() {
    // The server promises more than it sends: only a client that stops by itself gets an answer.
    let mut endless =
        b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 9000000\r\n\r\n".to_vec();
    endless.extend(vec![b'x'; 5_500_000]);
    let server = Server::start([("/endless", endless)]).await;
    let session = allowing(&server);
    let url = server.url("/endless");
    let text = session.ok("WebFetch", json!({"url": url, "offset": 4_999_999})).await;
    assert!(text.ends_with("text/plain)\n\nx\n[only the first 5000000 bytes were fetched]"), "{text}");
}

#[tokio::test]
async fn a_body_is_as_long_as_it_is_unpacked() {
    // 400 kB of gzip that unpack to 400 MB.
    let packed = tokio::task::spawn_blocking(|| {
        let unpacked = "head -c 400000000 /dev/zero | tr '\\0' x | gzip -9";
        Command::new("sh").args(["-c", unpacked]).output().unwrap().stdout
    });
    let packed = packed.await.unwrap();
    let length = packed.len();
    assert!(length > 1000 && length < 1_000_000, "{length}");
    let answer = |coding: &str, body: &[u8]| {
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Encoding: {coding}\r\nContent-Length: {}\r\n\
             Connection: close\r\n\r\n",
            body.len()
        );
        [head.as_bytes(), body].concat()
    };
    let server =
        Server::start([("/bomb", answer("gzip", &packed)), ("/br", answer("br", b"\x0b\x02\x80xyz\x03"))]);
    let server = server.await;
    let session = allowing(&server);
    let page = session.call("WebFetch", json!({"url": server.url("/bomb"), "offset": 4_999_990})).await;
    assert!(
        page.content.ends_with("\n\nxxxxxxxxxx\n[only the first 5000000 bytes were fetched]"),
        "{}",
        page.content
    );
    assert_eq!(page.structured.unwrap()["bytes"], 5_000_000);
    let (code, text) = session.refused("WebFetch", json!({"url": server.url("/br")})).await;
    assert!(
        code == "no_text" && text.ends_with("compressed as br, which was not asked for"),
        "{code}: {text}"
    );
}

#[tokio::test]
async fn a_long_page_is_read_on_without_fetching_it_again() {
    let long = format!("{}é{}", "a".repeat(100_000), "b".repeat(150_000));
    let html = "<title>Guide &amp; more</title><p>See <a href='../x?a=1&amp;b=2'>this</a>.";
    let server = Server::start([
        ("/long", response("200 OK", "text/plain; charset=utf-8", long)),
        ("/old", redirect("/docs/new")),
        ("/docs/new", response("200 OK", "text/html", html)),
    ])
    .await;
    let session = allowing(&server);
    let url = server.url("/long");
    let first = session.call("WebFetch", json!({"url": url})).await;
    let told = "a\n[text cut here, at 100000 of 250001 characters; offset 100000 goes on]";
    assert!(first.content.ends_with(told), "{}", &first.content[100_000..]);
    assert_eq!(first.structured.unwrap()["nextOffset"], 100_000);
    let second = session.call("WebFetch", json!({"url": url, "offset": "100000"})).await;
    assert!(second.content.contains("\n\néb"));
    let facts = second.structured.unwrap();
    assert_eq!((&facts["cached"], &facts["nextOffset"]), (&json!(true), &json!(200_000)));
    let beyond = session.refused("WebFetch", json!({"url": url, "offset": 250_002})).await;
    assert_eq!(beyond.0, "invalid_argument");
    assert_eq!(server.requests().len(), 1);
    // What may have changed is fetched again from its beginning.
    assert_eq!(session.call("WebFetch", json!({"url": url})).await.structured.unwrap()["cached"], false);
    assert_eq!(server.requests().len(), 2);

    let page = session.call("WebFetch", json!({"url": server.url("/old")})).await;
    let link = server.url("/x?a=1&b=2");
    let expected =
        format!("{} (200, text/html)\nTitle: Guide & more\n\nSee [this]({link}).", server.url("/docs/new"));
    assert_eq!(page.content, expected);
    let facts = json!({
        "url": server.url("/old"), "finalUrl": server.url("/docs/new"), "status": 200, "mediaType": "text/html",
        "bytes": html.len(), "cached": false, "title": "Guide & more",
    });
    assert_eq!(page.structured.unwrap(), facts);
}

#[tokio::test]
async fn a_page_is_used_again_for_fifteen_minutes() {
    let server = Server::start([
        ("/page", response("200 OK", "text/plain", "text")),
        ("/gone", response("404 Not Found", "text/plain", "gone")),
        (
            "/private",
            b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nCache-Control: private, No-Store\r\n\
              Content-Length: 1\r\nConnection: close\r\n\r\nx"
                .to_vec(),
        ),
    ])
    .await;
    let clock = Arc::new(Hands::default());
    let hands = Arc::clone(&clock);
    let session = Session::with(|options| {
        options.address_policy = AddressPolicy::new([&server.host]).unwrap();
        options.web_fetch.clock = hands;
        options.web_fetch.reuse_private = true;
        options.web_fetch.user_agent = "tester/1".to_owned();
    });
    let fetch = async |path: &str, headers: serde_json::Value| {
        let call = json!({"url": server.url(path), "headers": headers});
        session.call("WebFetch", call).await.structured.unwrap()["cached"] == true
    };
    assert!(!fetch("/page", json!({})).await);
    assert!(server.requests()[0].to_ascii_lowercase().contains("\r\nuser-agent: tester/1\r\n"));
    clock.0.store(899_999, Ordering::Relaxed);
    assert!(fetch("/page#part", json!({})).await);
    assert!(!fetch("/page", json!({"Accept-Language": "de"})).await);
    assert!(!fetch("/page", json!({"Cache-Control": "no-cache"})).await);
    assert!(!fetch("/page", json!({"Cache-Control": "no-cache"})).await);
    clock.0.store(900_000, Ordering::Relaxed);
    assert!(!fetch("/page", json!({})).await);
    for path in ["/private", "/gone"] {
        assert!(!fetch(path, json!({})).await && !fetch(path, json!({})).await, "{path}");
    }
    assert_eq!(server.requests().len(), 9);
}

#[tokio::test]
async fn what_keeps_a_server_from_being_reached_is_told_apart() {
    let plain = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let without_tls = plain.local_addr().unwrap().to_string();
    tokio::spawn(async move {
        let (mut stream, _) = plain.accept().await.unwrap();
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
        // The client has to have said what it has to say before the connection is closed.
        drop(stream.read_to_end(&mut Vec::new()).await);
    });
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().to_string();
    let session = Session::with(|options| {
        options.address_policy = AddressPolicy::new([&without_tls, &closed]).unwrap();
        options.names = Arc::new(TableNames::default());
    });
    let cases = [
        (format!("http://{closed}/"), "connection_refused", "nothing listens there; check host and port"),
        (format!("https://{without_tls}/"), "tls_failed", "no encrypted connection could be made"),
        (
            "http://unknown.example/".to_owned(),
            "name_not_found",
            "the name unknown.example cannot be resolved",
        ),
    ];
    for (url, code, told) in cases {
        let failure = session.refused("WebFetch", json!({"url": url})).await;
        assert!(failure.0 == code && failure.1.contains(told), "{failure:?}");
    }
    let cut = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 9\r\n\r\nhalf".to_vec();
    let server = Server::start([("/cut", cut)]).await;
    let failure = allowing(&server).refused("WebFetch", json!({"url": server.url("/cut")})).await;
    assert!(
        failure.0 == "network" && failure.1.contains("(200 OK): the transfer broke off: "),
        "{failure:?}"
    );
}

#[tokio::test]
async fn a_body_that_trickles_is_given_up_at_the_deadline() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let host = listener.local_addr().unwrap().to_string();
    let session = Session::with(|options| options.address_policy = AddressPolicy::new([&host]).unwrap());
    let url = format!("http://{host}/");
    let call = session.refused("WebFetch", json!({"url": url}));
    let trickle = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = [0; 1];
        stream.read_exact(&mut request).await.unwrap();
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n").await.unwrap();
        tokio::time::pause();
        // A byte every second keeps any timer alive that looks for silence only.
        while stream.write_all(b"x").await.is_ok() {
            tokio::time::advance(Duration::from_secs(1)).await;
        }
    };
    let ((code, text), ()) = tokio::join!(call, trickle);
    assert_eq!(
        (code, text),
        ("timed_out", format!("{url} did not answer in full within 30 s; it may be slow or very large"))
    );
}

#[tokio::test]
async fn a_silent_server_is_left_when_the_turn_is_cancelled() {
    let server = Server::start([("/silent", Vec::new())]).await;
    let session = allowing(&server);
    let cancel = session.cancel.clone();
    let call = session.refused("WebFetch", json!({"url": server.url("/silent")}));
    let asked = async {
        while server.requests().is_empty() {
            tokio::task::yield_now().await;
        }
        cancel.cancel();
    };
    let ((code, _), ()) = tokio::join!(call, asked);
    assert_eq!(code, "cancelled");
}
