//! Several edits in one call, and the forms of text that they keep.

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::session::Session;

async fn opened(content: impl AsRef<[u8]>) -> Session {
    let session = Session::new();
    session.put("f", content);
    session.ok("Read", json!({"filePath": "f"})).await;
    session
}

fn edits(edits: &Value) -> Value {
    json!({"filePath": "f", "edits": edits})
}

#[tokio::test]
async fn edits_are_applied_one_after_the_other() {
    let session = opened((1..=30).map(|n| format!("<{n}>\n")).collect::<String>()).await;
    let several = edits(&json!([
        {"old_string": "<30>", "new_string": "last", "replace_all": false},
        {"oldString": "<2>\n", "newString": "two\nand more\n"},
        {"oldString": "and more", "newString": "and less"},
        {"oldString": "<1", "newString": "<one", "replaceAll": "true"},
    ]));
    let outcome = session.call("Edit", several).await;
    let shown = "edited f (4 edits, 14 replacements)\n1\t<one>\n2\ttwo\n3\tand less\n4\t<3>\n";
    assert!(outcome.content.starts_with(shown), "{}", outcome.content);
    let facts = outcome.structured.unwrap();
    assert_eq!(facts["startLines"], json!([1, 11, 31]));
    assert_eq!((&facts["startLine"], &facts["replacements"]), (&json!(1), &json!(14)));
    let diff = facts["diff"].as_str().unwrap();
    let first = "@@ -1,5 +1,6 @@\n-<1>\n-<2>\n+<one>\n+two\n+and less\n <3>\n";
    assert!(diff.contains(first) && diff.ends_with(" <29>\n-<30>\n+last\n"), "{diff}");
}

#[tokio::test]
async fn one_that_does_not_apply_stops_all() {
    let session = opened("one\ntwo\n").await;
    let first = json!({"oldString": "one", "newString": "1"});
    for (second, code, message) in [
        (
            json!({"oldString": "one", "newString": "x"}),
            "no_match",
            "nothing was changed: edit 2 of 2: an edit before it changed its place: oldString does not occur in f",
        ),
        (
            json!({"oldString": "", "newString": "x"}),
            "invalid_argument",
            "nothing was changed: edit 2 of 2: ",
        ),
        (
            json!({"oldString": "o\n", "newString": "o\r\n"}),
            "invalid_argument",
            "nothing was changed: edit 2 of 2: only",
        ),
    ] {
        let (found, text) = session.refused("Edit", edits(&json!([first, second]))).await;
        assert!(found == code && text.starts_with(message), "{found} {text}");
        assert_eq!(session.content("f"), "one\ntwo\n");
    }
    let prepare = |arguments: Value| session.tool("Edit").prepare(&arguments.to_string()).map(drop);
    let both = json!({"filePath": "f", "oldString": "one", "newString": "1", "edits": [first]});
    assert!(prepare(both).unwrap_err().to_string().contains("not both"));
    assert!(prepare(json!({"filePath": "f", "edits": [["one", "1"]]})).is_err());
    assert!(prepare(json!({"filePath": "f", "oldString": "", "newString": "", "edits": [first]})).is_ok());
    assert!(prepare(json!({"filePath": "f", "oldString": "one", "newString": "1", "edits": []})).is_ok());
    let missing = prepare(json!({"filePath": "f", "edits": []})).unwrap_err();
    assert!(missing.to_string().contains("missing field `oldString`"), "{missing}");
}

#[tokio::test]
async fn what_occurs_twice_with_an_overlap_is_ambiguous() {
    let session = opened("aaa").await;
    let twice = json!({"filePath": "f", "oldString": "aa", "newString": "b"});
    assert_eq!(session.refused("Edit", twice).await.0, "ambiguous");
    let all = json!({"filePath": "f", "oldString": "aa", "newString": "b", "replaceAll": true});
    session.ok("Edit", all).await;
    assert_eq!(session.content("f"), "ba");
}

#[tokio::test]
async fn marks_encodings_line_ends_and_the_last_line_stay() {
    let wide = |text: &str| -> Vec<u8> { text.encode_utf16().flat_map(u16::to_be_bytes).collect() };
    for mark in ["", "\u{FEFF}"] {
        for end in ["\n", "\r\n"] {
            for last in ["", end] {
                let lines = |middle: &str| format!("{mark}eins{end}{middle}{end}drei über{last}");
                let edit = json!({"filePath": "f", "oldString": "eins\nzwei\n", "newString": "eins\n2\nß\n"});
                let expected = lines(&format!("2{end}ß"));
                let session = opened(lines("zwei")).await;
                session.ok("Edit", edit.clone()).await;
                assert_eq!(session.content("f"), expected);
                if mark.is_empty() {
                    continue;
                }
                let session = opened(wide(&lines("zwei"))).await;
                session.ok("Edit", edit).await;
                assert_eq!(std::fs::read(session.path("f")).unwrap(), wide(&expected));
            }
        }
    }
    let session = opened(b"caf\xE9 au lait, d\xE9j\xE0 vu, \xE0 la carte, gar\xE7on, fen\xEAtre\n").await;
    session.ok("Edit", json!({"filePath": "f", "oldString": "café", "newString": "thé"})).await;
    let expected = b"th\xE9 au lait, d\xE9j\xE0 vu, \xE0 la carte, gar\xE7on, fen\xEAtre\n";
    assert_eq!(std::fs::read(session.path("f")).unwrap(), expected);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn random_edits_do_what_a_naive_editor_does(
        text in "[abc\n]{1,60}",
        asked in prop::collection::vec(("[abc\n]{1,3}", "[abx\n]{0,3}", any::<bool>()), 1..5),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let session = opened(&text).await;
            let list = asked.iter().map(|(old, new, all)| json!({"oldString": old, "newString": new, "replaceAll": all}));
            let outcome = session.call("Edit", edits(&list.collect())).await;
            match naive(&text, &asked) {
                Some(expected) => {
                    assert!(!outcome.is_error, "{}", outcome.content);
                    assert_eq!(session.content("f"), expected);
                }
                None => {
                    assert!(outcome.is_error, "{}", outcome.content);
                    assert_eq!(session.content("f"), text);
                }
            }
        });
    }
}

/// The text after all edits; `None` when one of them does not apply.
fn naive(text: &str, asked: &[(String, String, bool)]) -> Option<String> {
    asked.iter().try_fold(text.to_owned(), |text, (old, new, all)| {
        let starts = (0..text.len()).filter(|at| text[*at..].starts_with(old.as_str())).count();
        (old != new && starts > 0 && (*all || starts == 1)).then(|| text.replace(old, new))
    })
}
