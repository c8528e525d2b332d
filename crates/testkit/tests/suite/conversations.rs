//! The stable prefix, over several requests.

use robota_testkit::{FakeModelServer, Reply, Rule, Script};
use serde_json::{Value, json};

use crate::client::{anthropic, openai, send};

/// Sends the requests one after another and returns the numbers of those that changed a prefix.
async fn unstable(script: Script, requests: &[Value]) -> Vec<(usize, String)> {
    let server = FakeModelServer::start(script).await.unwrap();
    for body in requests {
        let wire = if body["max_tokens"].is_null() { openai } else { anthropic };
        let _ = send(wire(&server, body)).await;
    }
    let violations = server.violations().into_iter();
    violations
        .map(|violation| {
            assert_eq!(violation.rule, Rule::StablePrefix, "{violation}");
            (violation.request, violation.message)
        })
        .collect()
}

fn always() -> Script {
    Script::new().respond_with(|_| "ok".into())
}

fn request(system: &str, messages: &[(&str, Value)]) -> Value {
    let messages: Value =
        messages.iter().map(|(role, content)| json!({"role": role, "content": content})).collect();
    json!({"model": "m", "max_tokens": 9, "system": system, "messages": messages})
}

fn turn(last: &[&str]) -> Vec<(&'static str, Value)> {
    let mut messages = vec![("user", json!("hi"))];
    messages.extend(
        last.iter().zip(["assistant", "user"].into_iter().cycle()).map(|(text, role)| (role, json!(text))),
    );
    messages
}

#[tokio::test]
async fn the_demand_for_last_words_is_part_of_no_history() {
    let demand = robota_core::last_words_message();
    let requests = [
        request("s", &turn(&[])),
        request("s", &turn(&["a", demand.text()])),
        request("s", &turn(&["a", "b", "c", "d"])),
        request("s", &turn(&["a", "b", "changed", "d"])),
    ];
    let unstable = unstable(always(), &requests).await;
    assert_eq!(unstable.iter().map(|(request, _)| *request).collect::<Vec<_>>(), [4]);
}

#[tokio::test]
async fn growing_and_moving_cache_marks_is_stable() {
    let marked = |text: &str| json!([{"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}]);
    let requests = [
        request("s", &[("user", marked("hi"))]),
        request("s", &[("user", json!("hi")), ("assistant", json!("a")), ("user", marked("b"))]),
        request(
            "s",
            &[
                ("user", json!([{"type": "text", "text": "hi"}])),
                ("assistant", json!("a")),
                // After an abort the next prompt joins the unanswered message.
                ("user", json!([{"type": "text", "text": "b"}, {"type": "text", "text": "c"}])),
            ],
        ),
    ];
    assert_eq!(unstable(always(), &requests).await, []);
}

#[tokio::test]
async fn changes_are_told_with_their_place() {
    let first = request("s", &turn(&["an answer", "b"]));
    for (changed, expected) in [
        (request("t", &turn(&["an answer", "b", "c", "d"])), "`system` changed: was …\"s\"… and is …\"t\"…"),
        (request("s", &turn(&["an anSwer", "b", "c", "d"])), "message 2 (assistant) changed: was …"),
        (request("s", &turn(&["an answer"])), "message 3 (user) is gone"),
        (
            {
                let mut body = request("s", &turn(&["an answer", "b", "c", "d"]));
                body["tools"] = json!([{"name": "New", "input_schema": {"type": "object"}}]);
                body
            },
            "`tools` changed",
        ),
    ] {
        let found = unstable(always(), &[first.clone(), changed]).await;
        assert_eq!(found.len(), 1, "{expected}");
        assert_eq!(found[0].0, 2);
        assert!(
            found[0].1.starts_with("compared with request 1, ") && found[0].1.contains(expected),
            "{}",
            found[0].1
        );
    }
}

#[tokio::test]
async fn openai_requests_are_compared_too() {
    let body = |arguments: &str| {
        let function = json!({"name": "Read", "arguments": arguments});
        let call = json!({"id": "c", "type": "function", "function": function});
        json!({"model": "m", "messages": [{"role": "user", "content": "hi"},
            {"role": "assistant", "content": null, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c", "content": "r"}]})
    };
    let found = unstable(always(), &[body("{\"a\":1}"), body("{\"a\": 1}")]).await;
    assert_eq!(found.len(), 1);
    assert!(found[0].1.contains("message 2 (assistant) changed"), "{}", found[0].1);
}

#[tokio::test]
async fn two_sessions_may_begin_with_the_same_words() {
    let requests = [
        request("s", &turn(&[])),
        request("s", &turn(&[])),
        request("s", &turn(&["a1", "b1"])),
        request("s", &turn(&["a2", "b2"])),
        request("s", &turn(&["a1", "b1", "c1", "d1"])),
        request("s", &turn(&["a2", "b2", "c2", "d2"])),
    ];
    assert_eq!(unstable(always(), &requests).await, []);
}

#[tokio::test]
async fn a_compaction_begins_the_conversation_anew() {
    let requests = [
        request("s", &turn(&["[Context Summary]\none", "b"])),
        request("s", &turn(&["[Context Summary]\none", "b", "c", "d"])),
        request("s", &turn(&["[Context Summary]\ntwo", "d"])),
        request("s", &turn(&["[Context Summary]\ntwo", "changed"])),
    ];
    let found = unstable(always(), &requests).await;
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].1.starts_with("compared with request 3, message 3 (user) changed"), "{found:?}");
}

#[tokio::test]
async fn a_retry_is_no_second_session() {
    let requests = [
        request("s", &turn(&[])),
        request("s", &turn(&[])),
        request("s", &turn(&["a", "b"])),
        request("s", &turn(&["x", "b", "c", "d"])),
    ];
    for failure in [Reply::error(500, "down"), Reply::hang_up(), Reply::new().text("a").cut()] {
        let script = Script::new().reply(failure).respond_with(|_| "ok".into());
        let found = unstable(script, &requests).await;
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].0, 4);
    }
}
