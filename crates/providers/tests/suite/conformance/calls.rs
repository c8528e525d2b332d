//! Calls of tools arrive whole, in order, and as the model wrote them.

use robota_core::{FinishReason, ModelEvent};
use robota_testkit::{Reply, Script};
use serde_json::{Value, json};

use super::case::{Case, cases};
use super::events::{calls, finish, text, thinking};
use super::subject::Subject;
use crate::api::{request, tool};

pub(super) const CASES: &[Case] = cases![
    one_call,
    several_calls,
    text_around_calls,
    a_call_after_thinking,
    arguments_in_pieces_of_one_byte[ArgumentText],
    arguments_in_one_piece,
    no_arguments_at_all,
    malformed_arguments_stay_as_they_are[ArgumentText],
    arguments_of_all_languages_and_escapes,
    arguments_of_a_hundred_kilobytes[OwnWire],
    nested_arguments,
    fifty_calls[OwnWire],
    calls_under_one_id_stay_apart,
    names_of_all_shapes,
    names_that_no_api_takes[Http],
    a_call_is_known_before_its_arguments_are[ArgumentText],
    calls_count_more_than_the_word_stop[StopForCalls],
];

fn read(path: &str) -> Value {
    json!({"filePath": path})
}

/// The values of the arguments, which must be JSON.
fn values(events: &[ModelEvent]) -> Vec<Value> {
    calls(events).iter().map(|(_, _, arguments)| serde_json::from_str(arguments).unwrap()).collect()
}

async fn one_call(subject: &Subject) {
    let events = subject.plays(Reply::new().tool_call("call_1", "Read", read("a"))).await.answer().await;
    let called = calls(&events);
    assert_eq!((called[0].0.as_str(), called[0].1.as_str(), called.len()), ("call_1", "Read", 1));
    assert_eq!((values(&events), finish(&events)), (vec![read("a")], FinishReason::ToolUse));
}

async fn several_calls(subject: &Subject) {
    let reply = Reply::new()
        .tool_call("call_1", "Read", read("a"))
        .tool_call("call_2", "Glob", json!({"pattern": "*"}))
        .tool_call("call_3", "Read", read("c"));
    let events = subject.plays(reply).await.answer().await;
    let names = calls(&events).into_iter().map(|(id, name, _)| format!("{id} {name}"));
    assert_eq!(names.collect::<Vec<_>>(), ["call_1 Read", "call_2 Glob", "call_3 Read"]);
    assert_eq!(values(&events), [read("a"), json!({"pattern": "*"}), read("c")]);
}

async fn text_around_calls(subject: &Subject) {
    let reply = Reply::new()
        .text("First ")
        .tool_call("call_1", "Read", read("a"))
        .text("then ")
        .tool_call("call_2", "Read", read("b"))
        .text("done");
    let events = subject.plays(reply).await.answer().await;
    // Where the API has messages of their own, they may be set apart.
    assert_eq!(text(&events).split_whitespace().collect::<Vec<_>>(), ["First", "then", "done"]);
    assert_eq!(values(&events), [read("a"), read("b")]);
    assert_eq!(finish(&events), FinishReason::ToolUse);
}

async fn a_call_after_thinking(subject: &Subject) {
    let reply = Reply::new().thinking("Hm", "cHJvb2Y=").tool_call("call_1", "Read", read("a"));
    let events = subject.plays(reply).await.answer().await;
    assert_eq!((thinking(&events).as_str(), values(&events)), ("Hm", vec![read("a")]));
}

async fn arguments_in_pieces_of_one_byte(subject: &Subject) {
    let written = r#"{"filePath": "a\"b\\c",  "limit":1}"#;
    let pieces = written.chars().map(String::from).collect::<Vec<_>>();
    let events = subject.plays(Reply::new().tool_call("call_1", "Read", pieces)).await.answer().await;
    assert_eq!(calls(&events)[0].2, written);
}

async fn arguments_in_one_piece(subject: &Subject) {
    let events = subject.plays(Reply::new().tool_call("call_1", "Read", read("a b"))).await.answer().await;
    assert_eq!(values(&events), [read("a b")]);
}

async fn no_arguments_at_all(subject: &Subject) {
    for nothing in ["", "{}"] {
        let events = subject.plays(Reply::new().tool_call("call_1", "Glob", nothing)).await.answer().await;
        let arguments = &calls(&events)[0].2;
        assert!(matches!(arguments.as_str(), "" | "{}"), "{arguments}");
    }
}

async fn malformed_arguments_stay_as_they_are(subject: &Subject) {
    for written in ["{\"filePath\": oops", "not json", "{\"a\":1}}", "[1]", "{\"a\": \"\u{7}\"}"] {
        let events = subject.plays(Reply::new().tool_call("call_1", "Read", written)).await.answer().await;
        assert_eq!(calls(&events)[0].2, written);
    }
}

async fn arguments_of_all_languages_and_escapes(subject: &Subject) {
    let odd = json!({"filePath": "Grüße/日本語/👩‍👧\n\t\"\\\u{0}\u{2028}</tool_call>", "ключ": "\u{7f}"});
    let events = subject.plays(Reply::new().tool_call("call_1", "Read", odd.clone())).await.answer().await;
    assert_eq!(values(&events), [odd]);
}

async fn arguments_of_a_hundred_kilobytes(subject: &Subject) {
    let long = read(&"x\n".repeat(50_000));
    let events = subject.plays(Reply::new().tool_call("call_1", "Read", long.clone())).await.answer().await;
    assert!(values(&events) == [long], "long arguments changed");
}

async fn nested_arguments(subject: &Subject) {
    let nested = json!({"a": [{"b": {"c": [1, 2.5, -3e10, true, null, []]}}, {}], "z": "1", "n": 12_345_678_901_234_u64});
    let events = subject.plays(Reply::new().tool_call("call_1", "Read", nested.clone())).await.answer().await;
    assert_eq!(values(&events), [nested]);
}

async fn fifty_calls(subject: &Subject) {
    let reply = (0..50).fold(Reply::new(), |reply, number| {
        reply.tool_call(format!("call_{number}"), "Read", read(&number.to_string()))
    });
    let events = subject.plays(reply).await.answer().await;
    assert_eq!(values(&events), (0..50).map(|number: u32| read(&number.to_string())).collect::<Vec<_>>());
}

async fn calls_under_one_id_stay_apart(subject: &Subject) {
    let reply = Reply::new().tool_call("same", "Read", read("a")).tool_call("same", "Glob", read("b"));
    let events = subject.plays(reply).await.answer().await;
    let names = calls(&events).into_iter().map(|(_, name, _)| name).collect::<Vec<_>>();
    assert_eq!(
        (names, values(&events)),
        (vec!["Read".to_owned(), "Glob".into()], vec![read("a"), read("b")])
    );
}

async fn names_of_all_shapes(subject: &Subject) {
    let names = ["mcp__github__create-issue", "x", "A_1-b", "0day"];
    let reply =
        names.iter().fold(Reply::new(), |reply, name| reply.tool_call(format!("c_{name}"), *name, read("a")));
    let events = subject.plays(reply).await.answer().await;
    let called = calls(&events).into_iter().map(|(_, name, _)| name).collect::<Vec<_>>();
    assert_eq!(called, names);
}

async fn names_that_no_api_takes(subject: &Subject) {
    let long = format!("mcp/{}", "ж".repeat(80));
    for name in ["mcp.files/read", "поиск", long.as_str(), "7zip"] {
        let script = Script::new().respond_with(|request| {
            let sent = request.tool_names()[1].to_owned();
            Reply::new().tool_call("call_1", sent, json!({}))
        });
        let stage = subject.plays(script).await;
        let mut request = request();
        request.tools = [tool("Read"), tool(name)].into();
        let called = calls(&stage.answer_to(request).await).remove(0).1;
        let sent = stage.requests()[0].tool_names()[1].to_owned();
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        assert!(sent.len() <= 64 && sent.chars().all(plain), "{sent}");
        assert!(!sent.starts_with(|c: char| c.is_ascii_digit() || c == '-'), "{sent}");
        assert_eq!(called, name);
    }
}

async fn a_call_is_known_before_its_arguments_are(subject: &Subject) {
    let events =
        subject.plays(Reply::new().tool_call("call_1", "Read", ["{\"a\"", ":1}"])).await.answer().await;
    let begun = events.iter().position(|event| matches!(event, ModelEvent::ToolCallStart { .. })).unwrap();
    let argued = events.iter().filter(|event| matches!(event, ModelEvent::ToolCallArguments { .. })).count();
    assert!(
        matches!(&events[begun + 1], ModelEvent::ToolCallArguments { index: 0, .. }) && argued >= 2,
        "{events:?}"
    );
}

async fn calls_count_more_than_the_word_stop(subject: &Subject) {
    let reply = Reply::new().tool_call("call_1", "Read", read("a")).stop(FinishReason::EndTurn);
    assert_eq!(finish(&subject.plays(reply).await.answer().await), FinishReason::ToolUse);
}
