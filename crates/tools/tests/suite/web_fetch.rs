use robota_tools::AddressPolicy;
use serde_json::json;

use crate::server::{Server, response};
use crate::session::Session;

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
async fn headers_of_the_connection_are_not_the_models_to_set() {
    let server = Server::start([("/", response("200 OK", "text/plain", "secret"))]).await;
    let session = allowing(&server);
    for name in ["Host", "host", "Connection", "Transfer-Encoding", "Proxy-Authorization"] {
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
