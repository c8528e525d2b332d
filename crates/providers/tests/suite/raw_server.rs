//! A server that answers one request after another with fixed bytes.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::Value;

/// Status, content type and body.
pub(crate) type RawReply = (u16, &'static str, String);

/// A request as it came.
#[derive(Clone, Debug)]
pub(crate) struct Heard {
    pub(crate) line: String,
    /// Names in lower case.
    pub(crate) headers: Vec<String>,
    pub(crate) body: String,
    pub(crate) json: Value,
}

/// A document.
pub(crate) fn document(value: &Value) -> RawReply {
    (200, "application/json", value.to_string())
}

pub(crate) struct RawServer {
    url: String,
    heard: Arc<Mutex<Vec<Heard>>>,
}

impl RawServer {
    /// A server on loopback that gives `replies`, each on a connection of its own.
    pub(crate) fn start(replies: impl IntoIterator<Item = RawReply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let heard = Arc::new(Mutex::new(Vec::new()));
        let (replies, all) = (replies.into_iter().collect::<Vec<_>>(), Arc::clone(&heard));
        std::thread::spawn(move || {
            for ((status, content_type, body), connection) in replies.into_iter().zip(listener.incoming()) {
                let mut connection = connection.unwrap();
                all.lock().unwrap().push(hear(&connection));
                let head = format!(
                    "HTTP/1.1 {status} X\r\ncontent-type: {content_type}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
                    body.len()
                );
                connection.write_all(format!("{head}{body}").as_bytes()).unwrap();
            }
        });
        Self { url, heard }
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// The requests so far.
    pub(crate) fn heard(&self) -> Vec<Heard> {
        self.heard.lock().unwrap().clone()
    }
}

fn hear(connection: &TcpStream) -> Heard {
    let mut reader = BufReader::new(connection);
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        match line.trim_end() {
            "" => break,
            line => lines.push(line.to_owned()),
        }
    }
    let line = lines.remove(0);
    let length = lines.iter().find_map(|header| header.strip_prefix("content-length: "));
    let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
    reader.read_exact(&mut body).unwrap();
    let body = String::from_utf8(body).unwrap();
    Heard { line, headers: lines, json: serde_json::from_str(&body).unwrap_or_default(), body }
}
