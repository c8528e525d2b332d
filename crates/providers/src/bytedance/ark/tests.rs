//! Against a small server on this machine.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::mpsc;

use secrecy::SecretString;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::ProviderKind;
use crate::bytedance::{Video, VideoDeadline};

/// A server that gives these answers, one after the other. Hands over what it was asked: request line, key, and body.
fn server(answers: Vec<(u16, Value)>) -> (String, mpsc::Receiver<(String, String, Value)>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/api/v3", listener.local_addr().unwrap());
    let (sender, requests) = mpsc::channel();
    std::thread::spawn(move || {
        for (status, answer) in answers {
            let (stream, _) = listener.accept().unwrap();
            let mut reader = BufReader::new(&stream);
            let mut line = || {
                let mut line = String::new();
                reader.read_line(&mut line).unwrap();
                line.trim().to_owned()
            };
            let begin = line().replace(" HTTP/1.1", "");
            let (mut key, mut length) = (String::new(), 0);
            loop {
                let header = line();
                match header.split_once(": ") {
                    Some(("authorization", value)) => key = value.to_owned(),
                    Some(("content-length", value)) => length = value.parse().unwrap(),
                    Some(_) => {}
                    None => break,
                }
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            sender.send((begin, key, serde_json::from_slice(&body).unwrap_or_default())).unwrap();
            let answer = answer.to_string();
            let head = format!(
                "HTTP/1.1 {status} X\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
                answer.len()
            );
            (&stream).write_all(format!("{head}{answer}").as_bytes()).unwrap();
        }
    });
    (address, requests)
}

fn ark(base_url: String) -> ArkVideo {
    let mut spec = ProviderSpec::new(ProviderKind::ByteDance);
    spec.api_key = Some(SecretString::from("ark-secret-0123"));
    spec.connection.base_url = Some(base_url);
    ArkVideo::new(spec).unwrap()
}

fn request() -> VideoRequest {
    VideoRequest {
        model: "seedance".into(),
        prompt: "A dog runs.".into(),
        image_url: Some("https://a.example/dog.png".into()),
        ratio: Some("16:9".into()),
        duration: Some(5),
        ..VideoRequest::default()
    }
}

#[tokio::test]
async fn a_task_is_begun_asked_about_and_done() {
    let (address, requests) = server(vec![
        (200, json!({"id": "cgt-1"})),
        (200, json!({"id": "cgt-1", "status": "running"})),
        (
            200,
            json!({"id": "cgt-1", "status": "succeeded", "content": {"video_url": "https://v.example/1.mp4"}}),
        ),
    ]);
    let wait = VideoDeadline { poll_every: Duration::ZERO, ..VideoDeadline::default() };
    let video = Video::generate(&ark(address), &request(), wait, &CancellationToken::new()).await.unwrap();
    assert_eq!((video.task.as_str(), video.url.as_str()), ("cgt-1", "https://v.example/1.mp4"));
    let content = json!([
        {"type": "text", "text": "A dog runs."},
        {"type": "image_url", "image_url": {"url": "https://a.example/dog.png"}},
    ]);
    let tasks = "/api/v3/contents/generations/tasks";
    let asked = |line: String, body| (line, "Bearer ark-secret-0123".to_owned(), body);
    let expected = [
        asked(
            format!("POST {tasks}"),
            json!({"model": "seedance", "content": content, "ratio": "16:9", "duration": 5}),
        ),
        asked(format!("GET {tasks}/cgt-1"), Value::Null),
        asked(format!("GET {tasks}/cgt-1"), Value::Null),
    ];
    assert_eq!(requests.iter().collect::<Vec<_>>(), expected);
}

#[tokio::test]
async fn a_task_is_taken_back_and_refusals_are_typed() {
    let refused = json!({"error": {"code": "InvalidParameter", "message": "duration is too long", "param": "duration"}});
    let (address, requests) = server(vec![
        (200, json!({})),
        (400, refused),
        (
            401,
            json!({"error": {"code": "AuthenticationError", "message": "the key ark-secret-0123 is wrong"}}),
        ),
        (200, json!("unexpected")),
    ]);
    let ark = ark(address);
    ark.cancel("cgt/1").await.unwrap();
    let error = ark.create(&request()).await.unwrap_err();
    assert_eq!((error.kind(), error.field()), (ProviderErrorKind::InvalidRequest, Some("duration")));
    let error = ark.poll("cgt-1").await.unwrap_err();
    assert_eq!(error.kind(), ProviderErrorKind::Authentication);
    assert!(!error.to_string().contains("ark-secret-0123"), "{error}");
    assert_eq!(ark.poll("cgt-1").await.unwrap_err().kind(), ProviderErrorKind::Protocol);
    assert_eq!(requests.recv().unwrap().0, "DELETE /api/v3/contents/generations/tasks/cgt%2F1");
}
