use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use serde_json::json;

use crate::session::Session;

#[tokio::test]
async fn a_file_is_created_with_its_folders() {
    let session = Session::new();
    let outcome = session.call("Write", json!({"filePath": "a/b/c.txt", "content": "one\ntwo\n"})).await;
    assert_eq!(outcome.content, "created a/b/c.txt (8 bytes, 2 lines)");
    let diff = "--- a/b/c.txt\n+++ a/b/c.txt\n@@ -0,0 +1,2 @@\n+one\n+two\n";
    assert_eq!(outcome.structured.unwrap(), json!({"type": "create", "bytes": 8, "lines": 2, "diff": diff}));
    assert_eq!(session.content("a/b/c.txt"), "one\ntwo\n");
    // What was just written is known, so that it can be replaced.
    let outcome = session.call("Write", json!({"filePath": "a/b/c.txt", "content": "three"})).await;
    assert_eq!(outcome.content, "replaced a/b/c.txt (5 bytes, 1 lines)");
    assert_eq!(outcome.structured.unwrap()["type"], "update");
}

#[tokio::test]
async fn only_a_known_file_is_replaced() {
    let session = Session::new();
    session.put("notes", "precious");
    let write = json!({"filePath": "notes", "content": "new"});
    let (code, text) = session.refused("Write", write.clone()).await;
    assert_eq!(
        (code, text.as_str()),
        ("not_read", "notes exists but was not read in this session; read it first")
    );
    session.ok("Read", json!({"filePath": "notes"})).await;
    session.put("notes", "precious, and changed by the user");
    assert_eq!(session.refused("Write", write.clone()).await.0, "changed_on_disk");
    assert_eq!(session.content("notes"), "precious, and changed by the user");
    session.ok("Read", json!({"filePath": "notes"})).await;
    session.ok("Write", write).await;
    assert_eq!(session.content("notes"), "new");
}

#[tokio::test]
async fn an_empty_file_has_nothing_to_lose() {
    let session = Session::new();
    session.put("empty", "");
    session.ok("Write", json!({"filePath": "empty", "content": "x"})).await;
}

#[tokio::test]
async fn links_are_followed_and_modes_kept() {
    let session = Session::new();
    let script = session.put("real/run.sh", "old");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    symlink("real/run.sh", session.path("link")).unwrap();
    symlink("real/new", session.path("dangling")).unwrap();
    session.ok("Read", json!({"filePath": "real/run.sh"})).await;
    session.ok("Write", json!({"filePath": "link", "content": "new"})).await;
    session.ok("Write", json!({"filePath": "dangling", "content": "made"})).await;
    assert_eq!((session.content("real/run.sh"), session.content("real/new")), ("new".into(), "made".into()));
    assert_eq!(script.metadata().unwrap().permissions().mode() & 0o777, 0o755);
    assert!(session.path("link").is_symlink() && session.path("dangling").is_symlink());
}

#[tokio::test]
async fn a_failure_changes_nothing() {
    let session = Session::new();
    session.put("folder/file", "kept");
    let (code, text) = session.refused("Write", json!({"filePath": "folder", "content": "x"})).await;
    assert_eq!((code, text.as_str()), ("is_folder", "folder is a folder; list it with Glob"));
    let (_, text) = session.refused("Write", json!({"filePath": "folder/file/below", "content": "x"})).await;
    assert!(text.contains("folder/file/below"), "{text}");
    // A folder of the kernel takes no files, not even from root.
    let (_, text) = session.refused("Write", json!({"filePath": "/proc/self/new", "content": "x"})).await;
    assert!(text.starts_with("cannot write /proc/"), "{text}");
    assert_eq!(session.content("folder/file"), "kept");
    assert_eq!(fs::read_dir(session.path("folder")).unwrap().count(), 1);
}
