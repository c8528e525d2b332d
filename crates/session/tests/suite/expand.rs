//! The full entries that compact lines stand for.

use robota_core::{Event, EventKind, ModelEvent, RequestPurpose, TurnEnd};
use robota_session::{expand, replay, validate_session_replay_log_entries};
use robota_testkit::{Reply, Script};
use serde_json::{Value, json};

use crate::recorded::{Outside, turns, whole_life};

fn named<'a>(entries: &'a [Value], name: &str) -> Vec<&'a Value> {
    entries.iter().filter(|entry| entry["event"] == name).collect()
}

fn texts(messages: &Value) -> Vec<&str> {
    messages.as_array().unwrap().iter().map(|message| message["content"].as_str().unwrap_or("")).collect()
}

#[tokio::test]
async fn every_turn_begins_with_the_full_history_and_every_request_has_all_it_sent() {
    let (scene, events) = whole_life().await;
    let entries: Vec<Value> = expand(&events).collect();
    let histories: Vec<_> =
        named(&entries, "pre_run").iter().map(|entry| texts(&entry["history"]).len()).collect();
    assert_eq!(histories, [1, 7, 9, 10, 15, 1, 3]);
    let first = named(&entries, "pre_run")[0];
    assert_eq!(
        (&first["input"], &first["historyLength"], &first["historyChars"]),
        (&json!("one"), &json!(1), &json!(3))
    );
    assert!(first["historyEstTokens"].as_u64().unwrap() > 4);

    let sent = scene.provider.requests();
    let requests = named(&entries, "provider_request");
    for (request, entry) in sent.iter().zip(&requests) {
        assert_eq!(entry["messages"], json!(request.messages));
        assert_eq!(entry["tools"], json!(request.tools));
        assert_eq!(entry["systemPrompt"], "Be brief.");
        assert_eq!(entry["maxOutputTokens"], 500);
    }
    assert_eq!(sent.len(), 6);
    assert_eq!((&requests[1]["executionId"], &requests[1]["round"]), (&json!("s:1"), &json!(2)));
    assert_eq!(requests[6]["systemPrompt"], "Be very brief.");
    assert_eq!(requests[6]["messages"].as_array().unwrap().len(), 15);
}

#[tokio::test]
async fn an_answer_is_told_as_it_came_and_as_it_was_kept() {
    let (_, events) = whole_life().await;
    let entries: Vec<Value> = expand(&events).collect();
    let raw = named(&entries, "provider_response_raw");
    let normalized = named(&entries, "provider_response_normalized");
    let committed = named(&entries, "assistant_message_committed");
    assert_eq!((raw.len(), normalized.len(), committed.len()), (7, 7, 8), "the partial answer is kept, too");
    assert_eq!(raw[0]["responseKind"], "provider-normalized-message");
    assert_eq!(raw[0]["response"], normalized[0]["response"]);
    assert_eq!(committed[0]["message"], normalized[0]["response"]);
    assert_eq!(normalized[0]["toolCallsCount"], 3);
    let ids = |entry: &Value| -> Vec<String> {
        let calls = entry["response"]["toolCalls"].as_array().unwrap();
        calls.iter().map(|call| call["id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(ids(raw[2]), ["c1", "c1"]);
    let kept = ids(normalized[2]);
    assert!(kept[0] != kept[1] && !kept.contains(&"c1".to_owned()), "{kept:?}");

    let order: Vec<&str> = entries
        .iter()
        .skip_while(|entry| entry["event"] != "provider_request")
        .map(|entry| entry["event"].as_str().unwrap())
        .take(8)
        .collect();
    let expected = [
        "provider_request",
        "thinking_delta",
        "provider_stream_raw_delta",
        "text_delta",
        "provider_response_raw",
        "provider_response_normalized",
        "history_mutation",
        "assistant_message_committed",
    ];
    assert_eq!(order, expected);
    let delta = named(&entries, "provider_stream_raw_delta")[0];
    let told = (&delta["sequence"], &delta["delta"], &delta["round"], &delta["executionId"]);
    assert_eq!(told, (&json!(0), &json!("Looking."), &json!(1), &json!("s:1")));
}

#[tokio::test]
async fn tool_entries_say_whose_they_are() {
    let (_, events) = whole_life().await;
    let entries: Vec<Value> = expand(&events).collect();
    let batch = named(&entries, "tool_batch_started")[0];
    let told = (&batch["batchId"], &batch["mode"], &batch["requestCount"], &batch["tools"]);
    assert_eq!(
        told,
        (&json!("s:1:round1"), &json!("parallel"), &json!(3), &json!(["Look", "Change", "Missing"]))
    );
    for name in ["tool_execution_request", "tool_execution_result", "tool_message_committed"] {
        let entry = named(&entries, name)[0];
        let told = (&entry["batchId"], &entry["executionId"], &entry["ownerPath"], &entry["round"]);
        assert_eq!(told, (&batch["batchId"], &json!("s:1"), &json!(["s", "s:1", "c1"]), &json!(1)));
    }
    let committed = named(&entries, "tool_message_committed")[0];
    assert_eq!(
        (&committed["message"]["content"], &committed["message"]["toolCallId"]),
        (&json!("a view"), &json!("c1"))
    );
    assert_eq!(named(&entries, "tool_execution_result")[0]["result"], json!({"exitCode": 0}));
}

#[tokio::test]
async fn the_answer_of_a_turn_comes_with_history_and_structure() {
    let script = Script::new().reply(Reply::new().tool_call("a", "Look", json!({}))).reply("b").reply("c");
    let mut events = turns(script, 0, Outside::default()).await;
    let at = events.iter().position(|event| matches!(event.kind, EventKind::Complete { .. })).unwrap();
    let EventKind::Complete { history, ended: TurnEnd::Completed, .. } = events[at].kind else { panic!() };
    let message_id = robota_session::replay_session_log_entries(&events[..at]).messages[3].id.clone();
    // An end of the turn as a later version writes it.
    events[at].kind = EventKind::Assistant { message_id, history };
    let entries: Vec<Value> = expand(&events).collect();
    let entry = named(&entries, "assistant")[0];
    assert_eq!((&entry["content"], &entry["historyLength"]), (&json!("b"), &json!(4)));
    assert_eq!(texts(&entry["history"]), ["p1", "", "done", "b"]);
    assert_eq!(entry["estimatedChars"], 9);
    let structure = &entry["historyStructure"];
    let call = json!({"role": "assistant", "contentLength": 0, "hasToolCalls": true, "toolCallNames": ["Look"], "metadata": entry["history"][1]["metadata"]});
    assert_eq!(structure[1], call);
}

#[tokio::test]
async fn compactions_and_last_words_expand_to_what_was_sent() {
    let script =
        Script::new().reply(Reply::new().tool_call("a", "Look", json!({}))).reply("enough").reply("d");
    let events = turns(script, 1, Outside { compacted: vec![1], ..Outside::default() }).await;
    let entries: Vec<Value> = expand(&events).collect();
    let requests = named(&entries, "provider_request");
    assert_eq!(requests[1]["purpose"], json!(RequestPurpose::Compaction));
    assert_eq!(requests[1]["history"]["length"], 3);
    let last_words = requests[2];
    assert_eq!((&last_words["forcedSummary"], &last_words["toolChoice"]), (&json!(true), &json!("none")));
    let sent = texts(&last_words["messages"]);
    let [.., summary, prompt, closing] = &sent[..] else { panic!("{sent:?}") };
    assert_eq!((*summary, *prompt), ("[Context Summary]\n3 messages", "p1"));
    assert!(closing.starts_with("You have used all rounds"), "{sent:?}");
    let history = &named(&entries, "pre_run")[1]["history"];
    assert_eq!(texts(history), ["[Context Summary]\n3 messages", "p1", "enough", "p2"]);
}

#[tokio::test]
async fn other_lines_pass_and_doubled_ones_are_left_out() {
    let (_, events) = whole_life().await;
    let entries: Vec<Value> = expand(&events).collect();
    let doubled = events.iter().flat_map(|event| [event, event]);
    assert_eq!(expand(doubled).collect::<Vec<_>>(), entries);
    for name in ["session_init", "user", "context", "permission_denied", "interrupted", "error", "complete"] {
        let own = |event: &&Event| serde_json::to_value(event).unwrap()["event"] == name;
        let own: Vec<Value> =
            events.iter().filter(own).map(|event| serde_json::to_value(event).unwrap()).collect();
        assert_eq!(named(&entries, name), own.iter().collect::<Vec<_>>(), "{name}");
    }
    // An answer whose message never comes.
    let answer =
        events.iter().position(|event| matches!(event.kind, EventKind::ProviderResponseNormalized { .. }));
    let cut: Vec<Value> = expand(&events[..=answer.unwrap()]).collect();
    assert_eq!(named(&cut, "provider_response_raw")[0]["response"], Value::Null);
    assert_eq!(named(&cut, "provider_response_normalized").len(), 1);
}

#[tokio::test]
async fn text_before_a_retry_or_a_fallback_does_not_count() {
    let retry = ModelEvent::Retry {
        attempt: 2,
        max_attempts: 5,
        delay_ms: 1,
        reason: "cut".into(),
        status: None,
        abandoned: true,
    };
    let fallback = ModelEvent::Fallback {
        provider: "other".into(),
        model: "m-2".into(),
        reason: "cut".into(),
        abandoned: true,
    };
    let silent = Reply::new().text("void").event(retry);
    let other = Reply::new().text("void").event(fallback).thinking("Hm.", "signed").text("kept");
    let events = turns(Script::new().reply(silent).reply(other), 0, Outside::default()).await;
    let entries: Vec<Value> = expand(&events).collect();
    let sequences: Vec<_> =
        named(&entries, "provider_stream_raw_delta").iter().map(|entry| entry["sequence"].clone()).collect();
    assert_eq!(sequences, [json!(0), json!(0), json!(0)]);
    let answers = named(&entries, "provider_response_raw");
    assert_eq!(
        (&answers[0]["response"]["content"], &answers[1]["response"]["content"]),
        (&json!(null), &json!("kept"))
    );
    let retried = named(&entries, "provider_retry")[0];
    assert_eq!(retried["abandoned"], true);

    let validation = validate_session_replay_log_entries(&events);
    assert!(validation.ok, "{:?}", validation.issues);
    assert_eq!(replay(&events).await.first_divergence(), None);
}
