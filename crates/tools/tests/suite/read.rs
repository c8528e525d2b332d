use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use crate::session::Session;

#[tokio::test]
async fn a_file_comes_with_line_numbers() {
    let session = Session::new();
    session.put("a.txt", "\u{FEFF}one\r\ntwo\nthree");
    let outcome = session.call("Read", json!({"filePath": "a.txt"})).await;
    assert_eq!(outcome.content, "1\tone\n2\ttwo\n3\tthree");
    let facts = json!({
        "type": "text", "startLine": 1, "lines": 3, "endOfFile": true, "encoding": "UTF-8 with BOM"
    });
    assert_eq!(outcome.structured.unwrap(), facts);
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
    let hole = session.ok("Read", json!({"filePath": "huge", "offset": 2_001})).await;
    assert!(hole.ends_with("[line 2001 is longer than 64 MiB; what follows it was not looked at]"), "{hole}");
}

#[tokio::test]
async fn long_lines_and_long_slices_are_cut_within_the_budget() {
    let session = Session::new();
    session.put("it's.txt", format!("{}\nshort\n", "é".repeat(5_000)));
    let text = session.ok("Read", json!({"filePath": "it's.txt"})).await;
    let expected = format!(
        "1\t{} [line cut]\n2\tshort\n[1 line cut at 2000 characters; for the rest: sed -n 1p 'it'\\''s.txt' | cut \
         -c2001-]",
        "é".repeat(2_000)
    );
    assert_eq!(text, expected);

    let lines: Vec<String> = (1..=9_000).map(|line| format!("line {line} é")).collect();
    session.put("many", lines.join("\n"));
    let (mut offset, mut seen) = (1, Vec::new());
    loop {
        let arguments = json!({"filePath": "many", "offset": offset, "limit": 9_000});
        let text = session.ok("Read", arguments).await;
        assert!(text.chars().count() <= 30_000);
        let (numbered, notice) = text.rsplit_once('\n').unwrap();
        let shown = numbered.lines().map(|line| line.split_once('\t').unwrap().1.to_owned());
        seen.extend(shown);
        match notice.strip_prefix("[more lines follow: use offset ") {
            Some(next) => offset = next.trim_end_matches(']').parse().unwrap(),
            None => break assert_eq!(notice, "[end of file]"),
        }
    }
    assert_eq!(seen, lines);
}

#[tokio::test]
async fn paging_on_counts_from_where_it_was_until_the_file_changes() {
    let session = Session::new();
    let content: String = (1..=400_000).map(|line| format!("line {line}\n")).collect();
    session.put("long", &content);
    let at = |offset: usize| json!({"filePath": "long", "offset": offset, "limit": 1});
    for line in [390_000, 390_001, 200_000, 399_999, 1] {
        let text = session.ok("Read", at(line)).await;
        assert_eq!(text, format!("{line}\tline {line}\n[more lines follow: use offset {}]", line + 1));
    }
    session.put("long", format!("first\n{content}"));
    let text = session.ok("Read", at(390_001)).await;
    assert!(text.starts_with("390001\tline 390000\n"), "{text}");
}

#[tokio::test]
async fn other_encodings_are_shown_as_text_and_named() {
    let session = Session::new();
    let text = "Größe\r\nfür alle Fälle, schöne Grüße\r\n";
    let utf16 = |unit: fn(u16) -> [u8; 2]| text.encode_utf16().flat_map(unit).collect::<Vec<u8>>();
    let latin1: Vec<u8> = text.chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect();
    let cases = [
        (text.as_bytes().to_vec(), "UTF-8"),
        (latin1, "windows-1252"),
        (utf16(u16::to_le_bytes), "UTF-16LE"),
        (utf16(u16::to_be_bytes), "UTF-16BE"),
        ([b"\xFF\xFE".as_slice(), &utf16(u16::to_le_bytes)].concat(), "UTF-16LE with BOM"),
        ([b"\xFE\xFF".as_slice(), &utf16(u16::to_be_bytes)].concat(), "UTF-16BE with BOM"),
    ];
    for (content, name) in cases {
        session.put("a", content);
        let outcome = session.call("Read", json!({"filePath": "a"})).await;
        let note = if name == "UTF-8" { String::new() } else { format!("\n[encoding: {name}]") };
        assert_eq!(outcome.content, format!("1\tGröße\n2\tfür alle Fälle, schöne Grüße{note}"));
        assert_eq!(outcome.structured.unwrap()["encoding"], name);
        let second = session.ok("Read", json!({"filePath": "a", "offset": 2, "limit": 1})).await;
        assert!(second.starts_with("2\tfür alle Fälle, schöne Grüße\n"), "{second}");
        let (_, beyond) = session.refused("Read", json!({"filePath": "a", "offset": 4})).await;
        assert_eq!(beyond, "a has only 2 lines; there is no line 4");
    }
    // Latin-1 far behind a beginning in ASCII.
    session.put("late", [&b"x = 1\n".repeat(90_000), b"# \xFCber\n".as_slice()].concat());
    let late = session.ok("Read", json!({"filePath": "late", "offset": 90_001})).await;
    assert_eq!(late, "90001\t# über\n[end of file]\n[encoding: windows-1252]");
}

#[tokio::test]
async fn what_is_no_text_file_is_refused_at_once() {
    let session = Session::new();
    session.put("program", b"\x7FELF\x02\x01\x01\0\0\0");
    session.put("photo.avif", b"\0\0\0\x20ftypavif\0\0\0\0");
    session.put("src/lib.rs", "");
    rustix::fs::mkfifoat(rustix::fs::CWD, session.path("fifo"), rustix::fs::Mode::RWXU).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(session.path("socket")).unwrap();
    symlink("/dev/zero", session.path("zeros")).unwrap();
    let avif = "photo.avif is an AVIF image of 16 bytes, which is not shown; make a PNG or JPEG of it with a program \
                through Bash";
    let cases = [
        ("program", "binary", "program is a binary file of 10 bytes"),
        ("photo.avif", "binary", avif),
        ("src", "is_folder", "src is a folder; list it with Glob"),
        ("fifo", "not_regular", "fifo is a named pipe, not a regular file"),
        ("socket", "not_regular", "socket is a socket, not a regular file"),
        ("/dev/zero", "not_regular", "/dev/zero is a device, not a regular file"),
        ("zeros", "not_regular", "/dev/zero is a device, not a regular file"),
        ("src/Lib.rs", "not_found", "src/Lib.rs does not exist; did you mean src/lib.rs?"),
        ("lib/x/y.rs", "not_found", "lib/x/y.rs does not exist; the path exists only up to ."),
    ];
    for (path, code, message) in cases {
        assert_eq!(session.refused("Read", json!({"filePath": path})).await, (code, message.to_owned()));
    }
}

#[tokio::test]
async fn a_file_without_a_size_is_read_to_its_end() {
    let session = Session::new();
    let text = session.ok("Read", json!({"filePath": "/proc/self/limits", "limit": 1})).await;
    assert!(text.starts_with("1\tLimit ") && text.ends_with("[more lines follow: use offset 2]"), "{text}");
}

#[tokio::test]
async fn a_name_that_is_no_text_is_shown_with_escapes_and_taken_back() {
    let session = Session::new();
    let made = fs::write(session.path("").join(OsStr::from_bytes(b"caf\xE9.txt")), "odd");
    if let Err(error) = made {
        println!("skipped: this file system takes no such name: {error}");
        return;
    }
    let listed = session.ok("Glob", json!({"pattern": "*.txt"})).await;
    assert_eq!(listed.lines().next(), Some(r"caf\xE9.txt"));
    assert_eq!(session.ok("Read", json!({"filePath": r"caf\xE9.txt"})).await, "1\todd");
    session.put(r"caf\xE9.txt", "plain");
    assert_eq!(session.ok("Read", json!({"filePath": r"caf\xE9.txt"})).await, "1\tplain");
}

#[tokio::test]
async fn a_file_that_was_read_in_any_way_may_be_changed_only_as_it_is() {
    let session = Session::new();
    let edit = |path: &str| json!({"filePath": path, "oldString": "one", "newString": "two"});
    session.put("a", "one\nmore\n");
    session.ok("Read", json!({"filePath": "a", "limit": 1})).await;
    session.ok("Edit", edit("a")).await;
    session.put("b", "one\nmore\n");
    session.ok("Read", json!({"filePath": "b"})).await;
    session.put("b", "one\nelse\n");
    assert_eq!(session.refused("Edit", edit("b")).await.0, "changed_on_disk");
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
    symlink("loop", session.path("loop")).unwrap();
    let (code, text) = session.refused("Read", json!({"filePath": "loop"})).await;
    assert_eq!(code, "io_error");
    assert!(text.starts_with("cannot look at loop: "), "{text}");
    assert!(fs::symlink_metadata(session.path("loop")).is_ok());
    let pages: Value = json!({"filePath": "a", "pages": "1"});
    session.put("a", "x");
    assert_eq!(session.refused("Read", pages).await.0, "invalid_argument");
}
