use std::fs::File;
use std::os::unix::fs::symlink;
use std::time::{Duration, UNIX_EPOCH};

use serde_json::json;

use crate::session::Session;

/// Files whose time stamps are in the order of the names.
fn tree(session: &Session, names: &[&str]) {
    for (age, name) in names.iter().enumerate() {
        let path = session.put(name, "");
        let modified = UNIX_EPOCH + Duration::from_secs(1_000_000 - age as u64);
        File::options().write(true).open(path).unwrap().set_modified(modified).unwrap();
    }
}

#[tokio::test]
async fn the_newest_come_first_and_ignored_files_not_at_all() {
    let session = Session::new();
    tree(&session, &["src/b.rs", ".hidden/c.rs", "a.rs", "src/d.txt", "target/x.rs", ".git/y.rs"]);
    session.put(".gitignore", "target/\na.log\n");
    session.put("a.log", "");
    let find = |pattern: &str| session.ok("Glob", json!({"pattern": pattern}));
    assert_eq!(find("**/*.rs").await, "src/b.rs\n.hidden/c.rs\na.rs");
    assert_eq!(find("*.rs").await, "a.rs");
    assert_eq!(find("src/*.{rs,txt}").await, "src/b.rs\nsrc/d.txt");
    assert_eq!(find("s?c/[a-c].rs").await, "src/b.rs");
    assert_eq!(find("a.rs").await, "a.rs");
    assert_eq!(find("*.md").await, "no files match *.md; to look in subfolders use **/*.md");
    assert_eq!(find("src/").await, "no files match src/; it is a folder: use src/**");
    assert_eq!(find("target/x.rs").await, "target/x.rs");
    assert_eq!(find("a.log").await, "no files match a.log; it is there, but ignored: set noIgnore");
    let all = session.ok("Glob", json!({"pattern": "**/*.rs", "noIgnore": true})).await;
    assert_eq!(all, "src/b.rs\n.hidden/c.rs\na.rs\ntarget/x.rs");
    let absolute = session.path("").canonicalize().unwrap().join("src/**");
    assert_eq!(find(absolute.to_str().unwrap()).await, "src/b.rs\nsrc/d.txt");
    let inside = session.ok("Glob", json!({"pattern": "*.rs", "path": "src"})).await;
    assert_eq!(inside, "src/b.rs");
}

#[tokio::test]
async fn a_limit_is_told() {
    let session = Session::new();
    tree(&session, &["a", "b", "c", "d"]);
    let outcome = session.call("Glob", json!({"pattern": "*", "limit": 2})).await;
    assert_eq!(outcome.content, "a\nb\n[the newest 2 of 4 files; use a narrower pattern, or offset 2]");
    assert_eq!(outcome.structured.unwrap(), json!({"found": 4, "shown": 2, "truncated": true}));
    let page = async |offset: u64, limit: u64| {
        session.ok("Glob", json!({"pattern": "*", "limit": limit, "offset": offset})).await
    };
    assert_eq!(page(1, 2).await, "b\nc\n[files 2 to 3 of 4; the next: offset 3]");
    assert_eq!(page(3, 2).await, "d");
    assert_eq!(page(4, 2).await, "nothing after the first 4 of 4 files");
}

#[tokio::test]
async fn loops_and_wrong_places_do_no_harm() {
    let session = Session::new();
    session.put("a/file", "");
    symlink("..", session.path("a/up")).unwrap();
    symlink("nowhere", session.path("a/dangling")).unwrap();
    assert_eq!(session.ok("Glob", json!({"pattern": "**"})).await, "a/file");
    let cases = [
        (json!({"pattern": "a/{b"}), "invalid_argument"),
        (json!({"pattern": "*/../x"}), "invalid_argument"),
        (json!({"pattern": ""}), "invalid_argument"),
        (json!({"pattern": "*", "path": "b"}), "not_found"),
        (json!({"pattern": "*", "path": "a/file"}), "not_folder"),
    ];
    for (arguments, code) in cases {
        assert_eq!(session.refused("Glob", arguments).await.0, code);
    }
    session.cancel.cancel();
    assert_eq!(session.refused("Glob", json!({"pattern": "**"})).await.0, "cancelled");
}

#[tokio::test]
async fn patterns_are_taken_as_they_are_written() {
    let session = Session::new();
    let names = [
        "app/[id]/page.tsx",
        "app/i/page.tsx",
        "app/(group)/@slot/page.tsx",
        "a b/$c.ts",
        "a b/{d}.ts",
        "Case/x.TS",
    ];
    tree(&session, &names);
    let find = |pattern: &str, path: &str| session.ok("Glob", json!({"pattern": pattern, "path": path}));
    assert_eq!(find("app/[id]/page.tsx", ".").await, "app/[id]/page.tsx\napp/i/page.tsx");
    assert_eq!(find("app/\\[id\\]/*", ".").await, "app/[id]/page.tsx");
    assert_eq!(find("app/(group)/@slot/*.tsx", ".").await, "app/(group)/@slot/page.tsx");
    assert_eq!(find("../{a b,app}/*.ts", "Case").await, "a b/$c.ts\na b/{d}.ts");
    assert_eq!(find("*/x.{ts,TS}", ".").await, "Case/x.TS");
    assert_eq!(find("**/x.ts", ".").await, "no files match **/x.ts");
    assert_eq!(find("{app/{i,j},Case}/*", ".").await, "app/i/page.tsx\nCase/x.TS");
}
