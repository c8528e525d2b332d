//! What permission rules deny reading stays out of searches, and results are one file a line.

use std::os::unix::fs::symlink;
use std::sync::Arc;

use serde_json::json;

use crate::session::Session;

/// A folder in which `.env` at any depth and everything in `secrets` is not to be read.
fn project() -> Session {
    let session = Session::with(|options| {
        let secrets = options.workspace.root().join("secrets");
        let named = options.workspace.root().join("link/inner");
        options.unreadable = Some(Arc::new(move |path| {
            path.file_name().is_some_and(|name| name == ".env")
                || path.starts_with(&secrets)
                || path.starts_with(&named)
        }));
    });
    for name in
        [".env", "sub/.env", "sub/open.txt", "secrets/a.txt", "secrets/deep/b.txt", "real/inner/c.txt"]
    {
        session.put(name, "token\n");
    }
    symlink("real", session.path("link")).unwrap();
    session
}

#[tokio::test]
async fn searches_leave_out_what_must_not_be_read_and_say_so() {
    let session = project();
    let grep = async |arguments| session.ok("Grep", arguments).await;
    let note =
        |count: usize| format!("[{count} files or folders left out: permission rules deny reading them]");
    let one = "[1 file or folder left out: permission rules deny reading it]";
    let all = grep(json!({"pattern": "token"})).await;
    assert_eq!(all, format!("real/inner/c.txt\nsub/open.txt\n{}", note(3)));
    let lines = grep(json!({"pattern": "token", "path": "sub", "outputMode": "content"})).await;
    assert_eq!(lines, format!("sub/open.txt:1:token\n{one}"));
    let by_glob = grep(json!({"pattern": "token", "glob": ".env"})).await;
    assert_eq!(by_glob, format!("no matches\n{}", note(3)));
    assert_eq!(grep(json!({"pattern": "token", "path": ".env"})).await, format!("no matches\n{one}"));
    assert_eq!(grep(json!({"pattern": "token", "path": "link"})).await, format!("no matches\n{one}"));

    let glob = async |pattern: &str| session.ok("Glob", json!({"pattern": pattern})).await;
    assert_eq!(glob("sub/*").await, format!("sub/open.txt\n{one}"));
    assert_eq!(glob("**/*.env").await, format!("no files match **/*.env\n{}", note(3)));
    assert_eq!(
        glob("secrets").await,
        "no files match secrets; to look in subfolders use **/secrets\n".to_owned() + one
    );
    assert_eq!(glob("sub/open.*").await, "sub/open.txt");
}

#[tokio::test]
async fn similar_names_do_not_give_away_what_must_not_be_read() {
    let session = project();
    session.put("sub/open.tx", "");
    symlink("../secrets/a.txt", session.path("sub/opex.txt")).unwrap();
    let (_, text) = session.refused("Read", json!({"filePath": "sub/opeq.txt"})).await;
    assert_eq!(text, "sub/opeq.txt does not exist; did you mean sub/open.txt or sub/open.tx?");
    let (_, text) = session.refused("Read", json!({"filePath": ".envv"})).await;
    assert_eq!(text, ".envv does not exist");
}

#[tokio::test]
async fn a_file_is_one_line_whatever_its_name() {
    let session = Session::new();
    session.put("a\nb\u{1b}.txt", "token\n");
    assert_eq!(session.ok("Glob", json!({"pattern": "*"})).await, "a\\nb\\u{1b}.txt");
    let arguments = json!({"pattern": "token", "outputMode": "content"});
    assert_eq!(session.ok("Grep", arguments).await, "a\\nb\\u{1b}.txt:1:token");
}
