use serde_json::json;

use crate::session::Session;

async fn opened(name: &str, content: impl AsRef<[u8]>) -> Session {
    let session = Session::new();
    session.put(name, content);
    session.ok("Read", json!({"filePath": name})).await;
    session
}

fn edit(old: &str, new: &str) -> serde_json::Value {
    json!({"filePath": "f", "oldString": old, "newString": new})
}

#[tokio::test]
async fn one_place_is_replaced_and_shown() {
    let session = opened("f", "one\ntwo\nthree\nfour\nfive\nsix\nseven").await;
    let outcome = session.call("Edit", edit("five\n", "FIVE\nand more\n")).await;
    let expected = "edited f\n2\ttwo\n3\tthree\n4\tfour\n5\tFIVE\n6\tand more\n7\tsix\n8\tseven";
    assert_eq!(outcome.content, expected);
    let diff = "--- f\n+++ f\n@@ -2,6 +2,7 @@\n two\n three\n four\n-five\n+FIVE\n+and more\n six\n seven\n\\ No \
                newline at end of file\n";
    let facts = json!({"startLine": 5, "startLines": [5], "replacements": 1, "diff": diff});
    assert_eq!(outcome.structured.unwrap(), facts);
    assert_eq!(session.content("f"), "one\ntwo\nthree\nfour\nFIVE\nand more\nsix\nseven");
}

#[tokio::test]
async fn an_ambiguous_text_is_named_and_replace_all_takes_it() {
    let session = opened("f", "x = 1\ny\nx = 1\n").await;
    let (code, text) = session.refused("Edit", edit("x = 1", "x = 2")).await;
    let expected = "oldString occurs 2 times in f (lines 1, 3); include more lines around the one you mean, or set \
                    replaceAll";
    assert_eq!((code, text.as_str()), ("ambiguous", expected));
    let all = json!({"filePath": "f", "oldString": "x = 1", "newString": "x =\n2", "replaceAll": true});
    let outcome = session.call("Edit", all).await;
    assert!(outcome.content.starts_with("edited f (2 replacements)\n1\tx =\n2\t2\n"), "{}", outcome.content);
    assert_eq!(outcome.structured.unwrap()["startLines"], json!([1, 4]));
    assert_eq!(session.content("f"), "x =\n2\ny\nx =\n2\n");
}

#[tokio::test]
async fn marks_and_line_endings_stay() {
    let session = opened("f", "\u{FEFF}a\r\nb\r\nc").await;
    session.ok("Edit", edit("a\nb", "x\ny\nz")).await;
    assert_eq!(session.content("f"), "\u{FEFF}x\r\ny\r\nz\r\nc");
}

#[tokio::test]
async fn a_near_miss_is_shown() {
    let session = opened("f", "fn f() {\n\tlet a = 1;\n}\n").await;
    let (code, text) = session.refused("Edit", edit("    let a = 1;", "let a = 2;")).await;
    let expected = "oldString does not occur in f; line 2 differs only in indentation (the file has tabs):\n2\t\tlet a = 1;";
    assert_eq!((code, text.as_str()), ("no_match", expected));
}

#[tokio::test]
async fn senseless_and_impossible_edits_are_refused() {
    let session = opened("f", "text").await;
    session.ok("Write", json!({"filePath": "empty", "content": ""})).await;
    let gone = json!({"filePath": "F", "oldString": "a", "newString": "b"});
    let empty = json!({"filePath": "empty", "oldString": "", "newString": "b"});
    let folder = json!({"filePath": "f/", "oldString": "text", "newString": "b"});
    for (arguments, code) in [
        (edit("", "x"), "invalid_argument"),
        (edit("text", "text"), "invalid_argument"),
        (gone, "not_found"),
        (empty, "invalid_argument"),
        (folder, "is_folder"),
    ] {
        assert_eq!(session.refused("Edit", arguments).await.0, code);
    }
    assert_eq!(session.content("f"), "text");
}
