//! A small HTTP server on loopback that answers by path and remembers the requests.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

pub(crate) struct Server {
    pub(crate) host: String,
    requests: Arc<Mutex<Vec<String>>>,
    arrived: Arc<Notify>,
}

impl Server {
    /// Answers `path` with the raw response; an empty one is never finished.
    pub(crate) async fn start(answers: impl IntoIterator<Item = (&'static str, Vec<u8>)>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let host = listener.local_addr().unwrap().to_string();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let answers: Arc<HashMap<_, _>> = Arc::new(answers.into_iter().collect());
        let arrived = Arc::new(Notify::new());
        let (seen, arrival) = (Arc::clone(&requests), Arc::clone(&arrived));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(answer(stream, Arc::clone(&answers), Arc::clone(&seen), Arc::clone(&arrival)));
            }
        });
        Self { host, requests, arrived }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.host)
    }

    /// Waits for a request.
    pub(crate) async fn requested(&self) {
        self.arrived.notified().await;
    }

    /// Every request, with its body.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

async fn answer(
    mut stream: TcpStream,
    answers: Arc<HashMap<&'static str, Vec<u8>>>,
    seen: Arc<Mutex<Vec<String>>>,
    arrived: Arc<Notify>,
) {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        request.push(stream.read_u8().await.unwrap());
    }
    let length = String::from_utf8_lossy(&request).to_ascii_lowercase();
    let length = length.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
    let mut body = vec![0; length.unwrap_or_default()];
    stream.read_exact(&mut body).await.unwrap();
    request.extend(body);
    let request = String::from_utf8(request).unwrap();
    let path = request.split([' ', '?']).nth(1).unwrap().to_owned();
    seen.lock().unwrap().push(request);
    arrived.notify_one();
    match answers.get(path.as_str()) {
        Some(answer) if answer.is_empty() => std::future::pending().await,
        // The client may have gone away; that is for its test to judge.
        Some(answer) => drop(stream.write_all(answer).await),
        None => drop(stream.write_all(&response("404 Not Found", "text/plain", "no such page")).await),
    }
}

pub(crate) fn response(status: &str, content_type: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    [head.as_bytes(), body].concat()
}

pub(crate) fn redirect(to: &str) -> Vec<u8> {
    let head =
        format!("HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    head.into_bytes()
}
