use std::fs::{self, File};
use std::io::Write;

use robota_core::Part;
use serde_json::json;

use crate::session::Session;

#[tokio::test]
async fn a_file_comes_with_line_numbers() {
    let session = Session::new();
    session.put("a.txt", "\u{FEFF}one\r\ntwo\nthree");
    let outcome = session.call("Read", json!({"filePath": "a.txt"})).await;
    assert_eq!(outcome.content, "1\tone\n2\ttwo\n3\tthree");
    assert_eq!(
        outcome.structured.unwrap(),
        json!({"type": "text", "startLine": 1, "lines": 3, "endOfFile": true})
    );
    let part = session.ok("Read", json!({"filePath": "a.txt", "offset": 2, "limit": 1})).await;
    assert_eq!(part, "2\ttwo\n[more lines follow: use offset 3]");
    let rest = session.ok("Read", json!({"filePath": "a.txt", "offset": 3})).await;
    assert_eq!(rest, "3\tthree\n[end of file]");
    let (_, beyond) = session.refused("Read", json!({"filePath": "a.txt", "offset": 9})).await;
    assert_eq!(beyond, "a.txt has only 3 lines; there is no line 9");
    session.put("empty", "");
    assert_eq!(session.ok("Read", json!({"filePath": "empty"})).await, "(the file is empty)");
}

#[tokio::test]
async fn a_slice_of_a_huge_file_is_cheap() {
    let session = Session::new();
    let mut file = File::create(session.path("huge")).unwrap();
    file.write_all("some line\n".repeat(2_000).as_bytes()).unwrap();
    file.set_len(10 * 1024 * 1024 * 1024).unwrap();
    let text = session.ok("Read", json!({"filePath": "huge", "offset": 1_999, "limit": 2})).await;
    assert_eq!(text, "1999\tsome line\n2000\tsome line\n[more lines follow: use offset 2001]");
}

#[tokio::test]
async fn what_is_no_text_file_is_refused_at_once() {
    let session = Session::new();
    session.put("program", b"\x7FELF\x02\x01\x01\0\0\0");
    session.put("src/lib.rs", "");
    rustix::fs::mkfifoat(rustix::fs::CWD, session.path("fifo"), rustix::fs::Mode::RWXU).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(session.path("socket")).unwrap();
    let cases = [
        ("program", "binary", "program is a binary file of 10 bytes"),
        ("src", "is_folder", "src is a folder; list it with Glob"),
        ("fifo", "not_regular", "fifo is a named pipe, not a regular file"),
        ("socket", "not_regular", "socket is a socket, not a regular file"),
        ("/dev/zero", "not_regular", "/dev/zero is a device, not a regular file"),
        ("src/Lib.rs", "not_found", "src/Lib.rs does not exist; did you mean src/lib.rs?"),
        ("lib/x/y.rs", "not_found", "lib/x/y.rs does not exist; the path exists only up to ."),
    ];
    for (path, code, message) in cases {
        assert_eq!(session.refused("Read", json!({"filePath": path})).await, (code, message.to_owned()));
    }
}

#[tokio::test]
async fn an_image_is_a_part_of_its_own() {
    let session = Session::new();
    session.put("dot.png", b"\x89PNG\r\n\x1A\n\0rest");
    let outcome = session.call("Read", json!({"filePath": "dot.png"})).await;
    assert_eq!(outcome.content, "dot.png: image (image/png, 13 bytes)");
    let part =
        Part::ImageInline { mime_type: "image/png".to_owned(), data: "iVBORw0KGgoAcmVzdA==".to_owned() };
    assert_eq!(outcome.parts, [part]);

    session.put("big.gif", [b"GIF89a".as_slice(), &vec![0; 4_000_000]].concat());
    assert_eq!(session.refused("Read", json!({"filePath": "big.gif"})).await.0, "too_large");
}

#[tokio::test]
async fn a_cancelled_read_says_so() {
    let session = Session::new();
    session.put("a", "x");
    session.cancel.cancel();
    assert_eq!(session.refused("Read", json!({"filePath": "a"})).await.0, "cancelled");
}

#[tokio::test]
async fn an_unreadable_file_names_the_reason() {
    let session = Session::new();
    std::os::unix::fs::symlink("loop", session.path("loop")).unwrap();
    let (code, text) = session.refused("Read", json!({"filePath": "loop"})).await;
    assert_eq!(code, "io_error");
    assert!(text.starts_with("cannot look at loop: "), "{text}");
    assert!(fs::symlink_metadata(session.path("loop")).is_ok());
}
