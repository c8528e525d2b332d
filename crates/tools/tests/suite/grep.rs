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
