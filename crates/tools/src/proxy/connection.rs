//! One connection of a command to the proxy, and the requests on it.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hyper::body::Incoming;
use hyper::header::{CONNECTION, HOST, HeaderMap, HeaderName, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::upgrade::{self, OnUpgrade};
use hyper::{Method, Request, Response, StatusCode, Uri, client};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite, copy_bidirectional};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::body::{Body, none, passed_on, told};
use super::idle::Watched;
use super::server::NetworkProxy;
use super::upstream::Target;

/// For the head of a request, and for the next request on a connection.
const HEAD_DEADLINE: Duration = Duration::from_secs(60);
/// Bytes of a head.
const MAX_HEAD: usize = 64 * 1024;
const MAX_HEADERS: usize = 200;
/// Without a byte in either direction.
const IDLE: Duration = Duration::from_secs(300);

/// Headers that are about one connection and not about the request.
const OF_ONE_HOP: [HeaderName; 8] = [
    CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-authenticate"),
    HeaderName::from_static("proxy-authorization"),
    HeaderName::from_static("proxy-connection"),
    HeaderName::from_static("te"),
    HeaderName::from_static("trailer"),
    HeaderName::from_static("upgrade"),
];

/// Answers what comes over `stream` until its end.
pub(super) async fn answer<S>(stream: S, proxy: Arc<NetworkProxy>)
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let hop = Arc::new(Hop { proxy, upstreams: Mutex::default(), tunnel: Mutex::default() });
    let service = service_fn(|request| {
        let hop = Arc::clone(&hop);
        async move { Ok::<_, Infallible>(hop.respond(request).await) }
    });
    let mut server = http1::Builder::new();
    server.timer(TokioTimer::new()).header_read_timeout(HEAD_DEADLINE);
    server.max_buf_size(MAX_HEAD).max_headers(MAX_HEADERS).half_close(true).preserve_header_case(true);
    // What is wrong with a connection was answered on it, as far as that was possible.
    let served = server.serve_connection(TokioIo::new(stream), service).with_upgrades().await;
    let tunnel = hop.tunnel.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let (Ok(()), Some(tunnel)) = (served, tunnel) {
        tunnel.run().await;
    }
}

/// What belongs to one connection; all of it ends with it.
struct Hop {
    proxy: Arc<NetworkProxy>,
    /// The connections of forwarded requests.
    upstreams: Mutex<JoinSet<()>>,
    tunnel: Mutex<Option<Tunnel>>,
}

/// A connection that was agreed on, and becomes bytes in both directions.
struct Tunnel {
    client: OnUpgrade,
    host: TcpStream,
}

/// A request that gets a status and a sentence, and why.
struct Declined(StatusCode, String);

fn bad_request(sentence: &str) -> Declined {
    Declined(StatusCode::BAD_REQUEST, sentence.to_owned())
}

impl Hop {
    async fn respond(&self, request: Request<Incoming>) -> Response<Body> {
        let done = if request.method() == Method::CONNECT {
            self.open_tunnel(request).await
        } else {
            self.forward(request).await
        };
        done.unwrap_or_else(|Declined(status, sentence)| told(status, &sentence))
    }

    async fn open_tunnel(&self, mut request: Request<Incoming>) -> Result<Response<Body>, Declined> {
        let target = target_of(request.uri(), None)?;
        let host = self.reach(&target).await?;
        let tunnel = Tunnel { client: upgrade::on(&mut request), host };
        *self.tunnel.lock().unwrap_or_else(PoisonError::into_inner) = Some(tunnel);
        Ok(Response::new(none()))
    }

    async fn forward(&self, mut request: Request<Incoming>) -> Result<Response<Body>, Declined> {
        if request.uri().scheme_str() != Some("http") {
            let how = "this is a proxy: it takes CONNECT, and requests with an absolute http: address";
            return Err(bad_request(how));
        }
        let target = target_of(request.uri(), Some(80))?;
        let stream = self.reach(&target).await?;
        aim(&mut request)?;
        drop_hop_headers(request.headers_mut());
        let failed = |error| Declined(StatusCode::BAD_GATEWAY, format!("{target} did not answer: {error}"));
        let (stream, watch) = Watched::new(stream);
        let (mut sender, connection) = client::conn::http1::Builder::new()
            .preserve_header_case(true)
            .handshake(TokioIo::new(stream))
            .await
            .map_err(failed)?;
        self.keep(async move {
            tokio::select! {
                // The request sees what went wrong with its connection.
                _ = connection => {}
                () = watch.idle(IDLE) => {}
            }
        });
        let mut response = sender.send_request(request).await.map_err(failed)?;
        drop_hop_headers(response.headers_mut());
        Ok(response.map(passed_on))
    }

    async fn reach(&self, target: &Target) -> Result<TcpStream, Declined> {
        self.proxy.connect(target).await.map_err(|no_way| Declined(no_way.status(), no_way.to_string()))
    }

    fn keep(&self, upstream: impl Future<Output = ()> + Send + 'static) {
        let mut upstreams = self.upstreams.lock().unwrap_or_else(PoisonError::into_inner);
        while upstreams.try_join_next().is_some() {}
        upstreams.spawn(upstream);
    }
}

impl Tunnel {
    async fn run(self) {
        let Ok(mut client) = self.client.await.map(TokioIo::new) else { return };
        let (mut host, watch) = Watched::new(self.host);
        tokio::select! {
            // An end that breaks off ends the other one; there is nobody left to tell.
            _ = copy_bidirectional(&mut client, &mut host) => {}
            () = watch.idle(IDLE) => {}
        }
    }
}

fn target_of(uri: &Uri, port: Option<u16>) -> Result<Target, Declined> {
    let bad = || bad_request("the request names no host and port");
    let authority = uri.authority().filter(|authority| !authority.as_str().contains('@')).ok_or_else(bad)?;
    let port = authority.port_u16().or(port).filter(|port| *port != 0).ok_or_else(bad)?;
    Target::new(authority.host(), port).ok_or_else(bad)
}

/// Makes a request to a proxy one to the server itself. The server is the one of the address, whatever `Host` says.
fn aim(request: &mut Request<Incoming>) -> Result<(), Declined> {
    let bad = || bad_request("the address of the request is not valid");
    let uri = request.uri();
    let host = uri
        .authority()
        .and_then(|authority| HeaderValue::from_str(authority.as_str()).ok())
        .ok_or_else(bad)?;
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
    *request.uri_mut() = path.parse().map_err(|_| bad())?;
    request.headers_mut().insert(HOST, host);
    Ok(())
}

fn drop_hop_headers(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    // Framing is for HTTP itself, on either side.
    let framing = ["content-length", "transfer-encoding"];
    for name in named.iter().chain(&OF_ONE_HOP).filter(|name| !framing.contains(&name.as_str())) {
        headers.remove(name);
    }
}
