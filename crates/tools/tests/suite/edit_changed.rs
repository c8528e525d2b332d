//! What Edit and Write do when somebody else changes the same file.

use std::fs;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::session::Session;

fn edit(old: &str, new: &str) -> Value {
    json!({"filePath": "f", "oldString": old, "newString": new})
}

async fn changed(session: &Session, arguments: Value) -> String {
    let (code, text) = session.refused("Edit", arguments).await;
    assert_eq!(code, "changed_on_disk");
    text
}

#[tokio::test]
async fn only_a_version_that_was_read_is_edited() {
    let session = Session::new();
    session.put("f", "text");
    assert_eq!(session.refused("Edit", edit("text", "new")).await.0, "not_read");
    session.ok("Read", json!({"filePath": "f"})).await;
    // Another inode and stamp, but what the model read.
    fs::remove_file(session.path("f")).unwrap();
    session.put("f", "text");
    session.ok("Edit", edit("text", "new")).await;
    session.ok("Edit", edit("new", "newer")).await;
    assert_eq!(session.content("f"), "newer");
}

#[tokio::test]
async fn a_change_that_is_shown_as_a_whole_counts_as_read() {
    let session = Session::new();
    let lines = |seven: &str| {
        (1..=20).map(|n| if n == 7 { format!("{seven}\n") } else { format!("{n}\n") }).collect::<String>()
    };
    session.put("f", lines("7"));
    // Only a part is read, and more of the file is known to the tool than was shown.
    session.ok("Read", json!({"filePath": "f", "offset": 18, "limit": 2})).await;
    // Same length, and perhaps the same time stamp: the content tells.
    session.put("f", lines("X"));
    let expected = "f was changed on disk since it was last read, and nothing was done. What changed:\n--- f\n+++ f\n\
                    @@ -4,7 +4,7 @@\n 4\n 5\n 6\n-7\n+X\n 8\n 9\n 10\n\
                    This counts as read: repeat the call if it still fits.";
    assert_eq!(changed(&session, edit("20", "twenty")).await, expected);
    session.ok("Edit", edit("20", "twenty")).await;
    assert!(session.content("f").contains("6\nX\n8\n") && session.content("f").ends_with("twenty\n"));

    session.put("f", "gone");
    let write = json!({"filePath": "f", "content": "mine"});
    let (code, text) = session.refused("Write", write.clone()).await;
    assert_eq!(code, "changed_on_disk");
    assert!(text.contains("\n+gone\n") && text.contains("\n-X\n"), "{text}");
    session.ok("Write", write).await;
}

#[tokio::test]
async fn a_change_that_is_shown_in_part_or_not_at_all_does_not() {
    let session = Session::new();
    session.put("f", "few lines\n");
    session.ok("Read", json!({"filePath": "f"})).await;
    let many: String = (0..2_000).map(|n| format!("another line {n}\n")).collect();
    session.put("f", &many);
    for _ in 0..2 {
        let text = changed(&session, edit("another line 1999", "x")).await;
        assert!(
            text.ends_with("\n[not all of it is shown: read the file again]") && text.len() < 7_000,
            "{text}"
        );
    }
    // Too long to be kept.
    let long = "long line\n".repeat(100_000);
    session.put("f", &long);
    session.ok("Read", json!({"filePath": "f", "limit": 5})).await;
    session.put("f", long + "more");
    for _ in 0..2 {
        let text = changed(&session, edit("more", "x")).await;
        assert_eq!(text, "f was changed on disk since it was last read; read it again");
    }
}

#[tokio::test]
async fn a_change_of_form_is_named() {
    let session = Session::new();
    session.put("f", "a\nb\n");
    session.ok("Read", json!({"filePath": "f"})).await;
    session.put("f", "\u{FEFF}a\r\nb\r\n");
    let text = changed(&session, edit("a", "x")).await;
    let expected = "nothing was done. It is encoded as UTF-8 with BOM now. Line endings differ. The lines are the \
                    same.\nThis counts as read";
    assert!(text.contains(expected), "{text}");
    session.ok("Edit", edit("a\nb", "x\ny")).await;
    assert_eq!(session.content("f"), "\u{FEFF}x\r\ny\r\n");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn edits_of_one_file_wait_for_each_other() {
    const EDITS: usize = 24;
    let session = Arc::new(Session::new());
    let name = |number: usize| format!("<{number}>");
    session.put("f", (0..EDITS).map(name).collect::<String>());
    session.ok("Read", json!({"filePath": "f"})).await;
    let calls: Vec<_> = (0..EDITS)
        .map(|number| {
            let session = Arc::clone(&session);
            tokio::spawn(async move { session.ok("Edit", edit(&name(number), &format!("({number})"))).await })
        })
        .collect();
    for call in calls {
        call.await.unwrap();
    }
    assert_eq!(session.content("f"), (0..EDITS).map(|number| format!("({number})")).collect::<String>());
}
