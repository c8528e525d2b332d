//! WebFetch under the address policy, against servers on loopback.

use std::collections::BTreeMap;
use std::env;
use std::io;
use std::net::IpAddr;
use std::process::Command;
use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use robota_tools::{AddressPolicy, NameService, TableNames};
use serde_json::json;

use crate::server::{Server, redirect, response};
use crate::session::Session;

/// A table that remembers what it was asked for.
struct Asked {
    table: TableNames,
    hosts: Mutex<Vec<String>>,
}

impl Asked {
    fn new(answers: &[(&str, &[&str])]) -> Arc<Self> {
        let addresses = |texts: &[&str]| -> Vec<Vec<IpAddr>> {
            texts.iter().map(|text| vec![text.parse().unwrap()]).collect()
        };
        let table = answers.iter().map(|(host, texts)| ((*host).to_owned(), addresses(texts)));
        Arc::new(Self { table: TableNames::new(table.collect::<BTreeMap<_, _>>()), hosts: Mutex::default() })
    }

    fn hosts(&self) -> Vec<String> {
        self.hosts.lock().unwrap().clone()
    }
}

impl NameService for Asked {
    fn look_up<'a>(&'a self, host: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        self.hosts.lock().unwrap().push(host.to_owned());
        self.table.look_up(host)
    }
}

fn session(names: &Arc<Asked>, allowed: &[String]) -> Session {
    Session::with(|options| {
        options.names = Arc::clone(names) as Arc<dyn NameService>;
        options.address_policy = AddressPolicy::new(allowed).unwrap();
    })
}

fn port(server: &Server) -> &str {
    server.host.rsplit(':').next().unwrap()
}

#[tokio::test]
async fn private_addresses_are_refused_before_a_connection() {
    let server = Server::start([("/", response("200 OK", "text/plain", "secret"))]).await;
    let names = Asked::new(&[("page.example", &["127.0.0.1"])]);
    let session = session(&names, &[]);
    let by_address = session.refused("WebFetch", json!({"url": server.url("/")})).await;
    assert_eq!(by_address.0, "address_refused");
    assert!(by_address.1.starts_with("127.0.0.1 is a loopback address; only public"), "{}", by_address.1);
    let url = format!("http://page.example:{}/", port(&server));
    let by_name = session.refused("WebFetch", json!({"url": url})).await;
    assert_eq!(by_name.0, "address_refused");
    assert!(by_name.1.starts_with("page.example is at 127.0.0.1, a loopback address"), "{}", by_name.1);
    let local = format!("http://localhost:{}/", port(&server));
    assert_eq!(session.refused("WebFetch", json!({"url": local})).await.0, "address_refused");
    assert_eq!(names.hosts(), ["page.example"]);
    assert_eq!(server.requests().len(), 0);
}

#[tokio::test]
async fn the_address_that_was_judged_is_the_one_connected_to() {
    let server = Server::start([("/", response("200 OK", "text/plain", "arrived"))]).await;
    // Whoever asked a second time would get an address where nobody listens.
    let names = Asked::new(&[("page.example", &["127.0.0.1", "127.0.0.2"])]);
    let allowed = format!("page.example:{}", port(&server));
    let url = format!("http://Page.Example.:{}/", port(&server));
    let page = session(&names, &[allowed]).ok("WebFetch", json!({"url": url})).await;
    assert!(page.ends_with("\n\narrived"), "{page}");
    assert_eq!(names.hosts(), ["page.example."]);
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn every_hop_is_looked_up_and_judged_anew() {
    let server =
        Server::start([("/near", redirect("/end")), ("/end", response("200 OK", "text/plain", "arrived"))])
            .await;
    let names = Asked::new(&[("page.example", &["127.0.0.1", "169.254.169.254"])]);
    let allowed = format!("page.example:{}", port(&server));
    let url = format!("http://page.example:{}/near", port(&server));
    let (code, text) = session(&names, &[allowed]).refused("WebFetch", json!({"url": url})).await;
    assert_eq!(code, "address_refused");
    let expected =
        format!("{url} redirects (302): page.example is at 169.254.169.254, the address of a cloud's");
    assert!(text.starts_with(&expected), "{text}");
    assert_eq!(names.hosts(), ["page.example", "page.example"]);
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn redirects_stay_on_the_site_and_within_the_policy() {
    let inner = Server::start([("/secret", response("200 OK", "text/plain", "secret"))]).await;
    let target = inner.url("/secret");
    let outer = Server::start([
        ("/near", redirect("/end")),
        ("/end", response("200 OK", "text/plain", "arrived")),
        ("/inner", redirect(&target)),
        ("/elsewhere", redirect("http://page.example/x")),
        ("/metadata", redirect("http://169.254.169.254/latest")),
        ("/local", redirect("http://metadata.google.internal/")),
        ("/file", redirect("file:///etc/passwd")),
        ("/password", redirect("http://ada:secret@page.example/")),
        ("/broken", redirect("http://[::1")),
        ("/loop", redirect("/loop")),
    ])
    .await;
    let names = Asked::new(&[]);
    let strict = session(&names, std::slice::from_ref(&outer.host));
    let near = strict.ok("WebFetch", json!({"url": outer.url("/near")})).await;
    assert_eq!(near, format!("{} (200, text/plain)\n\narrived", outer.url("/end")));
    let far = strict.ok("WebFetch", json!({"url": outer.url("/elsewhere")})).await;
    assert!(far.contains("redirects (302) to another host: http://page.example/x\n"), "{far}");
    for path in ["/inner", "/metadata", "/local", "/file", "/password"] {
        let (code, text) = strict.refused("WebFetch", json!({"url": outer.url(path)})).await;
        assert_eq!(code, "address_refused", "{path}");
        assert!(text.starts_with(&format!("{} redirects (302): ", outer.url(path))), "{text}");
        assert!(!text.contains("secret@"), "{text}");
    }
    assert_eq!(strict.refused("WebFetch", json!({"url": outer.url("/broken")})).await.0, "invalid_argument");
    assert_eq!(strict.refused("WebFetch", json!({"url": outer.url("/loop")})).await.0, "too_many_redirects");
    // Even where both may be reached, what was sent to one server is not sent to another one.
    let both = session(&names, &["127.0.0.1".to_owned()]);
    let told = both.ok("WebFetch", json!({"url": outer.url("/inner")})).await;
    assert!(told.contains(&format!("redirects (302) to another port: {target}\n")), "{told}");
    assert_eq!(inner.requests().len(), 0);
    assert_eq!(names.hosts(), Vec::<String>::new());
}

#[tokio::test]
async fn proxies_of_the_environment_are_not_used() {
    let page = Server::start([("/", response("200 OK", "text/plain", "direct"))]).await;
    let proxy = Server::start([]).await;
    let proxied = format!("http://{}", proxy.host);
    let mut child = Command::new(env::current_exe().unwrap());
    child.args(["--exact", "web_addresses::a_page_is_fetched_with_proxies_around", "--ignored"]);
    child.env("PAGE", &page.host).env_remove("NO_PROXY").env_remove("no_proxy");
    for name in ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"] {
        child.env(name, &proxied);
    }
    let ended = tokio::task::spawn_blocking(move || child.output().unwrap()).await.unwrap();
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stdout));
    assert_eq!((page.requests().len(), proxy.requests().len()), (1, 0));
}

#[tokio::test]
#[ignore = "a part of the test above: the environment of its own process names proxies"]
async fn a_page_is_fetched_with_proxies_around() {
    let host = env::var("PAGE").unwrap();
    let (_, port) = host.rsplit_once(':').unwrap();
    let names = Asked::new(&[("page.example", &["127.0.0.1"])]);
    let session = session(&names, &[format!("page.example:{port}")]);
    let page = session.ok("WebFetch", json!({"url": format!("http://page.example:{port}/")})).await;
    assert!(page.ends_with("\n\ndirect"), "{page}");
}
