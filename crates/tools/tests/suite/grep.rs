use std::os::unix::fs::symlink;

use serde_json::json;

use crate::session::Session;

fn project() -> Session {
    let session = Session::new();
    session.put("src/a.rs", "fn alpha() {}\nlet x = 1;\n\n\n\nfn Beta() {}\n");
    session.put("src/b.txt", "fn gamma()\r\n");
    session.put("target/c.rs", "fn ignored() {}\n");
    session.put(".gitignore", "target/\n");
    session.put(".config/d.rs", "fn hidden() {}\n");
    session.put("binary.rs", b"fn binary() {}\n\0\0");
    session
}

#[tokio::test]
async fn files_lines_and_counts() {
    let session = project();
    let files = session.ok("Grep", json!({"pattern": r"fn \w+\("})).await;
    assert_eq!(files, ".config/d.rs\nsrc/a.rs\nsrc/b.txt");
    let lines =
        session.ok("Grep", json!({"pattern": r"fn \w+\(\)", "outputMode": "content", "path": "src"})).await;
    assert_eq!(lines, "src/a.rs:1:fn alpha() {}\nsrc/a.rs:6:fn Beta() {}\nsrc/b.txt:1:fn gamma()");
    let counts =
        session.ok("Grep", json!({"pattern": "^fn", "outputMode": "count", "glob": "*.{rs,md}"})).await;
    assert_eq!(counts, ".config/d.rs:1\nsrc/a.rs:2\n[3 matching lines in 2 files]");
    let one = session.ok("Grep", json!({"pattern": "BETA", "path": "src/a.rs", "ignoreCase": true})).await;
    assert_eq!(one, "src/a.rs");
    assert_eq!(session.ok("Grep", json!({"pattern": r"gamma\(\)$"})).await, "src/b.txt");
    assert_eq!(
        session.ok("Grep", json!({"pattern": "absent"})).await,
        "no matches\n[binary files not searched: 1]"
    );
}

#[tokio::test]
async fn context_is_marked_and_groups_are_separated() {
    let session = project();
    let arguments = json!({"pattern": "^fn", "outputMode": "content", "contextLines": 1, "path": "src"});
    let expected = "src/a.rs:1:fn alpha() {}\nsrc/a.rs-2-let x = 1;\n--\nsrc/a.rs-5-\nsrc/a.rs:6:fn Beta() \
                    {}\n--\nsrc/b.txt:1:fn gamma()";
    assert_eq!(session.ok("Grep", arguments).await, expected);
}

#[tokio::test]
async fn matches_may_span_lines() {
    let session = project();
    let arguments = json!({"pattern": r"alpha.*?x = 1", "multiline": true, "outputMode": "content"});
    let expected = "src/a.rs:1:fn alpha() {}\nsrc/a.rs:2:let x = 1;";
    assert_eq!(session.ok("Grep", arguments).await, expected);
    assert_eq!(session.ok("Grep", json!({"pattern": r"\{\}\nlet"})).await, "src/a.rs");
}

#[tokio::test]
async fn limits_are_told_and_do_not_depend_on_the_order_of_the_search() {
    let session = Session::new();
    for file in 0..40 {
        session.put(&format!("{file:02}"), "hit\n".repeat(3));
    }
    let arguments = json!({"pattern": "hit", "outputMode": "content", "headLimit": 4});
    let expected = "00:1:hit\n00:2:hit\n00:3:hit\n01:1:hit\n[lines 1 to 4; there are more: use offset 4, or narrow the search]";
    for _ in 0..20 {
        assert_eq!(session.ok("Grep", arguments.clone()).await, expected);
    }
    let files = session.call("Grep", json!({"pattern": "hit", "headLimit": 40})).await;
    assert_eq!(files.structured.unwrap(), json!({"shown": 40, "more": false}));
    let files = session.call("Grep", json!({"pattern": "hit", "headLimit": 39})).await;
    assert_eq!(files.structured.unwrap(), json!({"shown": 39, "more": true, "nextOffset": 39}));
    let counts = session.ok("Grep", json!({"pattern": "hit", "outputMode": "count", "headLimit": 1})).await;
    let expected = "00:3\n[120 matching lines in 40 files]\n[files 1 to 1; there are more: use offset 1, or narrow the search]";
    assert_eq!(counts, expected);
}

#[tokio::test]
async fn a_long_line_is_shown_around_its_match() {
    let session = Session::new();
    session.put("min.js", format!("{}needle{}\n", "a".repeat(5_000), "b".repeat(5_000)));
    let text = session.ok("Grep", json!({"pattern": "needle", "outputMode": "content"})).await;
    let expected = format!("min.js:1:[…] {}needle{} […]", "a".repeat(100), "b".repeat(394));
    assert_eq!(text, expected);
}

#[tokio::test]
async fn wrong_patterns_and_places_are_explained() {
    let session = project();
    symlink("..", session.path("src/up")).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, session.path("fifo"), rustix::fs::Mode::RWXU).unwrap();
    let (code, text) = session.refused("Grep", json!({"pattern": "fn main("})).await;
    assert_eq!(code, "invalid_pattern");
    assert!(text.contains("fn main(\nerror: unclosed group"), "{text}");
    let cases = [
        (json!({"pattern": "x", "path": "nowhere"}), "not_found"),
        (json!({"pattern": "x", "path": "fifo"}), "not_regular"),
        (json!({"pattern": "x", "glob": "{a"}), "invalid_argument"),
        (json!({"pattern": ""}), "invalid_pattern"),
    ];
    for (arguments, code) in cases {
        assert_eq!(session.refused("Grep", arguments).await.0, code);
    }
    assert_eq!(session.ok("Grep", json!({"pattern": "gamma"})).await, "src/b.txt");
}

#[tokio::test]
async fn types_and_globs_choose_files() {
    let session = project();
    session.put("web/a.ts", "fn t()\n");
    session.put("web/b.tsx", "fn t()\n");
    session.put("web/[id].js", "fn t()\n");
    let grep = async |more: serde_json::Value| {
        let mut arguments = json!({"pattern": "^fn"});
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        session.ok("Grep", arguments).await
    };
    assert_eq!(grep(json!({"type": "rust"})).await, ".config/d.rs\nsrc/a.rs");
    assert_eq!(grep(json!({"type": "rust,txt"})).await, ".config/d.rs\nsrc/a.rs\nsrc/b.txt");
    assert_eq!(grep(json!({"glob": "*.ts,*.tsx"})).await, "web/a.ts\nweb/b.tsx");
    assert_eq!(grep(json!({"glob": "*.rs !.*"})).await, "src/a.rs");
    assert_eq!(grep(json!({"glob": ["web/**", "!*.ts"]})).await, "web/[id].js\nweb/b.tsx");
    assert_eq!(grep(json!({"glob": "web/[id].js"})).await, "web/[id].js");
    assert_eq!(grep(json!({"path": "target"})).await, "target/c.rs");
    assert_eq!(grep(json!({"noIgnore": true, "glob": "*.rs"})).await, ".config/d.rs\nsrc/a.rs\ntarget/c.rs");
    let (code, text) = session.refused("Grep", json!({"pattern": "x", "type": "tsx"})).await;
    assert_eq!(code, "invalid_argument");
    assert!(text.starts_with("there is no file type tsx; did you mean ts or "), "{text}");
}

#[tokio::test]
async fn context_on_one_side_numbers_and_plain_text() {
    let session = Session::new();
    session.put("a", "one\ntwo (x\nthree\nfour\n");
    let lines = async |more: serde_json::Value| {
        let mut arguments = json!({"pattern": "two", "output_mode": "content"});
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        session.ok("Grep", arguments).await
    };
    assert_eq!(lines(json!({"-A": 1})).await, "a:2:two (x\na-3-three");
    assert_eq!(lines(json!({"-B": "1", "-n": false})).await, "a-one\na:two (x");
    assert_eq!(lines(json!({"-C": 2, "-B": 0})).await, "a:2:two (x\na-3-three\na-4-four");
    assert_eq!(lines(json!({"pattern": "TWO (", "-F": true, "-i": true})).await, "a:2:two (x");
}

#[tokio::test]
async fn an_offset_reaches_the_rest() {
    let session = Session::new();
    for file in 0..9 {
        session.put(&format!("{file}"), "hit\nand\n\nmiss\nhit\n");
    }
    let arguments = |offset| json!({"pattern": "hit", "outputMode": "content", "-A": 1, "offset": offset, "headLimit": 7});
    let whole = session.ok("Grep", json!({"pattern": "hit", "outputMode": "content", "-A": 1})).await;
    let (mut pages, mut offset) = (Vec::new(), 0);
    loop {
        let outcome = session.call("Grep", arguments(offset)).await;
        let facts = outcome.structured.unwrap();
        let shown = facts["shown"].as_u64().unwrap();
        pages.extend(outcome.content.lines().take(shown as usize).map(str::to_owned));
        if facts["more"] == json!(false) {
            break;
        }
        assert_eq!(facts["nextOffset"], json!(offset + shown));
        offset += shown;
    }
    assert_eq!(pages.join("\n"), whole);
    let behind = session.ok("Grep", json!({"pattern": "hit", "offset": 9})).await;
    assert_eq!(behind, "nothing after the first 9 files");
    assert_eq!(
        session.refused("Grep", json!({"pattern": "x", "offset": 100_001})).await.0,
        "invalid_argument"
    );
}

#[tokio::test]
async fn odd_files_do_no_harm() {
    use std::os::unix::ffi::OsStrExt;

    let session = Session::new();
    let wide: Vec<u8> = "\u{feff}caf\u{e9} hit\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    session.put("wide.txt", wide);
    session.put("late.bin", ["hit\n".repeat(40_000).as_bytes(), b"\0\0"].concat());
    session.put("early.bin", b"hit\0\n");
    let odd = std::ffi::OsStr::from_bytes(b"odd\xff.txt");
    std::fs::write(session.path("").join(odd), "hit\n").unwrap();
    let lines = async |arguments| session.ok("Grep", arguments).await;
    let found = lines(json!({"pattern": "hit", "outputMode": "content", "glob": "*.txt"})).await;
    assert_eq!(found, "odd\\xFF.txt:1:hit\nwide.txt:1:caf\u{e9} hit");
    assert_eq!(session.ok("Glob", json!({"pattern": "odd*"})).await, "odd\\xFF.txt");
    let found = lines(json!({"pattern": "hit", "path": "early.bin", "outputMode": "content"})).await;
    assert_eq!(found, "early.bin: [binary from byte 3 on: lines of that part are not shown]");
    assert_eq!(lines(json!({"pattern": "absent"})).await, "no matches\n[binary files not searched: 2]");
    assert_eq!(lines(json!({"pattern": "hit"})).await, "late.bin\nodd\\xFF.txt\nwide.txt");
}

/// Folders deeper than a path can name: nobody can read them, not even root.
#[tokio::test]
async fn folders_that_cannot_be_read_are_counted() {
    use rustix::fs::{CWD, Mode, OFlags, mkdirat, openat};

    let session = Session::new();
    session.put("a.txt", "hit\n");
    let name = "d".repeat(250);
    let mut place = openat(CWD, session.path(""), OFlags::DIRECTORY, Mode::empty()).unwrap();
    for _ in 0..20 {
        mkdirat(&place, name.as_str(), Mode::RWXU).unwrap();
        place = openat(&place, name.as_str(), OFlags::DIRECTORY, Mode::empty()).unwrap();
    }
    let found = session.ok("Grep", json!({"pattern": "hit"})).await;
    assert_eq!(found, "a.txt\n[1 folders or files could not be searched]");
    let found = session.ok("Glob", json!({"pattern": "**"})).await;
    assert_eq!(found, "a.txt\n[1 folders or files could not be read]");
    let removed = std::process::Command::new("rm").arg("-rf").arg(session.path(&name)).status().unwrap();
    assert!(removed.success());
}
