//! What is judged is what is opened: a symlink that takes a place between the two leads nowhere.

use std::fs;
use std::os::unix::fs::symlink;

use robota_core::{Access, ToolContext, ToolOutcome};
use serde_json::{Value, json};

use crate::session::Session;

/// `open/` for everybody, `outside/` for nobody, with files of the same names.
fn project() -> Session {
    let session = Session::new();
    for (name, content) in [("open/file.txt", "harmless\n"), ("outside/file.txt", "secret\n")] {
        session.put(name, content);
    }
    session
}

/// Puts a symlink to `outside` or something in it where `name` was.
fn swap(session: &Session, name: &str) {
    let place = session.path(name);
    if place.exists() {
        fs::rename(&place, session.path("away")).unwrap();
    }
    let target = if name == "open" { session.path("outside") } else { session.path("outside/file.txt") };
    symlink(target, place).unwrap();
}

/// A call that is judged before and run after the symlink at `name` appears.
async fn swapped(session: &Session, tool: &str, arguments: &Value, name: &str) -> ToolOutcome {
    let call = session.tool(tool).prepare(&arguments.to_string()).unwrap();
    for access in call.access() {
        let Access::Path { resolved, .. } = access else { panic!("{access:?}") };
        assert!(resolved.starts_with(session.path("open").canonicalize().unwrap()), "{resolved:?}");
    }
    swap(session, name);
    call.run(ToolContext::new("call", session.cancel.clone())).await.unwrap()
}

#[tokio::test]
async fn nothing_is_read_or_changed_through_a_symlink_that_appears_after_the_verdict() {
    let edit = json!({"filePath": "open/file.txt", "oldString": "harmless", "newString": "changed"});
    let write = json!({"filePath": "open/file.txt", "content": "changed"});
    for (tool, arguments) in [
        ("Read", json!({"filePath": "open/file.txt"})),
        ("Write", write),
        ("Edit", edit),
        ("Grep", json!({"pattern": "secret", "path": "open/file.txt", "outputMode": "content"})),
    ] {
        for name in ["open", "open/file.txt"] {
            let session = project();
            session.ok("Read", json!({"filePath": "open/file.txt"})).await;
            let outcome = swapped(&session, tool, &arguments, name).await;
            assert_eq!(outcome.error_code, Some("path_changed"), "{tool} {name}: {}", outcome.content);
            assert!(outcome.content.contains("open/file.txt: it changed while"), "{}", outcome.content);
            assert_eq!(session.content("outside/file.txt"), "secret\n", "{tool} {name}");
            assert_eq!(fs::read_dir(session.path("outside")).unwrap().count(), 1, "{tool} {name}");
        }
    }
}

#[tokio::test]
async fn searches_do_not_begin_in_a_folder_that_was_exchanged() {
    for (tool, arguments) in [
        ("Grep", json!({"pattern": "secret", "path": "open"})),
        ("Glob", json!({"pattern": "*", "path": "open"})),
        ("Glob", json!({"pattern": "open/*.txt"})),
    ] {
        let session = project();
        let outcome = swapped(&session, tool, &arguments, "open").await;
        assert_eq!(outcome.error_code, Some("path_changed"), "{tool}: {}", outcome.content);
        assert!(!outcome.content.contains("file.txt"), "{}", outcome.content);
    }
}

#[tokio::test]
async fn a_new_file_does_not_appear_behind_a_symlink() {
    for (path, link) in
        [("open/new.txt", "open"), ("open/sub/new.txt", "open"), ("open/new.txt", "open/new.txt")]
    {
        let session = project();
        let arguments = json!({"filePath": path, "content": "planted"});
        let outcome = swapped(&session, "Write", &arguments, link).await;
        assert_eq!(outcome.error_code, Some("path_changed"), "{path} {link}: {}", outcome.content);
        assert_eq!(fs::read_dir(session.path("outside")).unwrap().count(), 1);
        assert_eq!(session.content("outside/file.txt"), "secret\n");
    }
}

#[tokio::test]
async fn a_symlink_in_a_circle_is_no_change() {
    let session = Session::new();
    symlink("loop", session.path("loop")).unwrap();
    let (code, text) = session.refused("Read", json!({"filePath": "loop"})).await;
    assert_eq!(code, "io_error");
    assert!(text.starts_with("cannot look at loop: Too many levels of symbolic links"), "{text}");
}
