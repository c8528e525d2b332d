use serde_json::json;

use crate::server::{Server, redirect, response};
use crate::session::Session;

fn allowing(server: &Server) -> Session {
    Session::with(|options| options.allow_hosts = vec![server.host.clone()])
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
        "url": server.url("/page"), "status": 200, "contentType": "text/html", "bytes": html.len(),
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
    let server = Server::start([("/pdf", response("200 OK", "application/pdf", "%PDF"))]).await;
    let session = allowing(&server);
    let (code, text) = session.refused("WebFetch", json!({"url": server.url("/pdf")})).await;
    let expected =
        format!("{} (200 OK): the response is application/pdf of 4 bytes, not text", server.url("/pdf"));
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
async fn private_addresses_are_refused_before_a_connection() {
    let server = Server::start([("/", response("200 OK", "text/plain", "secret"))]).await;
    let (code, text) = Session::new().refused("WebFetch", json!({"url": server.url("/")})).await;
    assert_eq!(code, "address_refused");
    assert!(text.starts_with("127.0.0.1 is at 127.0.0.1: private and local addresses are refused"), "{text}");
    assert_eq!(server.requests().len(), 0);
}

#[tokio::test]
async fn redirects_stay_on_the_host_and_within_the_policy() {
    let inner = Server::start([("/secret", response("200 OK", "text/plain", "secret"))]).await;
    let target = inner.url("/secret");
    let outer = Server::start([
        ("/near", redirect("/end")),
        ("/end", response("200 OK", "text/plain", "arrived")),
        ("/inner", redirect(&target)),
        ("/far", redirect("http://169.254.169.254/latest")),
        ("/loop", redirect("/loop")),
    ])
    .await;
    let session = allowing(&outer);
    let near = session.ok("WebFetch", json!({"url": outer.url("/near")})).await;
    assert_eq!(near, format!("{} (200, text/plain)\n\narrived", outer.url("/end")));
    assert_eq!(session.refused("WebFetch", json!({"url": outer.url("/inner")})).await.0, "address_refused");
    let far = session.ok("WebFetch", json!({"url": outer.url("/far")})).await;
    assert!(far.contains("redirects (302) to another host: http://169.254.169.254/latest"), "{far}");
    assert_eq!(session.refused("WebFetch", json!({"url": outer.url("/loop")})).await.0, "too_many_redirects");
    assert_eq!(inner.requests().len(), 0);
}

#[tokio::test]
async fn a_long_body_is_cut_while_it_comes() {
    // The server promises more than it sends: only a client that stops by itself gets an answer.
    let mut endless =
        b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 9000000\r\n\r\n".to_vec();
    endless.extend(vec![b'x'; 5_500_000]);
    let server = Server::start([("/endless", endless)]).await;
    let text = allowing(&server).ok("WebFetch", json!({"url": server.url("/endless")})).await;
    assert!(text.ends_with("x\n[text cut here]\n[only the first 5000000 bytes were fetched]"));
    assert!(text.len() < 101_000);
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
