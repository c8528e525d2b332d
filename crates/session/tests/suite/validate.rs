//! Whether a log holds everything that a replay needs.

use robota_core::{Event, EventKind, PayloadKind, RawCapture};
use robota_session::{
    LogItem, LogReader, ReplayIssueCode, ReplayValidation, Session, validate_session_replay_log_entries,
    validate_session_replay_log_items,
};
use robota_testkit::{Reply, Script, event_name};
use serde_json::json;

use crate::recorded::{fork_of, tampered, whole_life};
use crate::scene::{Scene, TestTool, names};

/// The codes of the issues, each with the event it names.
fn found(validation: &ReplayValidation) -> Vec<(String, usize)> {
    validation.issues.iter().map(|issue| (issue.code.to_string(), issue.event_index)).collect()
}

fn without(events: &[Event], at: usize) -> Vec<Event> {
    let mut events = events.to_vec();
    events.remove(at);
    events
}

fn place(events: &[Event], name: &str, nth: usize) -> usize {
    let places = events.iter().enumerate().filter(|(_, event)| event_name(&event.kind) == name);
    places.map(|(at, _)| at).nth(nth).unwrap()
}

fn is(code: ReplayIssueCode, at: usize) -> (String, usize) {
    (code.to_string(), at)
}

#[tokio::test]
async fn a_session_is_valid_however_its_turns_ended_and_wherever_its_log_ends() {
    let (scene, events) = whole_life().await;
    for log in [&events, &fork_of(&scene)] {
        for end in 0..=log.len() {
            let validation = validate_session_replay_log_entries(&log[..end]);
            assert_eq!(found(&validation), [], "cut after {end}: {:?}", validation.issues);
            assert!(validation.ok);
        }
    }
    // A process that dies in any place of the second turn, and a session that goes on.
    let resume = place(&events, "session_resume", 0);
    for end in place(&events, "user", 1)..place(&events, "complete", 1) {
        let mut log = events[..end].to_vec();
        let mut goes_on = events[resume].clone();
        if let EventKind::SessionResume { history, .. } = &mut goes_on.kind {
            // What a resume would say: the history as it is.
            let mut replayed = robota_core::History::default();
            for event in &log {
                if let EventKind::HistoryMutation(mutation) = &event.kind {
                    replayed.apply(mutation).unwrap();
                }
            }
            *history = replayed.reference();
        }
        log.push(goes_on);
        let validation = validate_session_replay_log_entries(&log);
        assert_eq!(found(&validation), [], "died after {end}: {:?}", validation.issues);
    }
}

#[tokio::test]
async fn what_is_missing_is_named() {
    use ReplayIssueCode as Code;
    let (_, events) = whole_life().await;
    let codes = |log: &[Event]| found(&validate_session_replay_log_entries(log));

    let (request, answer) =
        (place(&events, "provider_request", 0), place(&events, "provider_response_normalized", 0));
    let log = without(&events, answer);
    assert_eq!(
        codes(&log),
        [is(Code::ProviderResponseRawMissing, request), is(Code::ProviderResponseNormalizedMissing, request)]
    );
    let issue = validate_session_replay_log_entries(&log).issues.remove(0);
    assert_eq!((issue.execution_id.as_deref(), issue.round), (Some("s:1"), Some(1)));
    let json = json!({"code": "PROVIDER_RESPONSE_RAW_MISSING", "message": issue.message, "eventIndex": request, "executionId": "s:1", "round": 1});
    assert_eq!(serde_json::to_value(issue).unwrap(), json);

    let log = without(&events, request);
    assert_eq!(codes(&log), [is(Code::ProviderRequestMissing, answer - 1)]);

    // The message that the answer became: the history misses it, too.
    let message = answer + 1;
    assert!(matches!(&events[message].kind, EventKind::HistoryMutation(_)));
    let log = without(&events, message);
    let gap = log.iter().skip(message).position(|event| matches!(event.kind, EventKind::HistoryMutation(_)));
    let expected =
        [is(Code::HistoryGap, gap.unwrap() + message), is(Code::ProviderResponseRawMissing, answer)];
    assert_eq!(codes(&log), expected);

    let (call, result) =
        (place(&events, "tool_execution_request", 0), place(&events, "tool_execution_result", 0));
    let log = without(&events, result);
    assert_eq!(codes(&log), [is(Code::ToolResultMissing, call)]);
    let issue = validate_session_replay_log_entries(&log).issues.remove(0);
    assert_eq!((issue.tool_call_id.as_deref(), issue.round), (Some("c1"), Some(1)));
    let log = without(&events, call);
    assert_eq!(codes(&log), [is(Code::ToolRequestMissing, result - 1)]);

    // In the turn that was aborted, an answer is nothing that could be missing.
    let complete = place(&events, "complete", 1);
    let log = tampered(&events, complete, |line| line["ended"] = json!("completed"));
    let request = place(&events, "provider_request", 2);
    let expected = [Code::ProviderResponseRawMissing, Code::ProviderResponseNormalizedMissing];
    assert_eq!(codes(&log), expected.map(|code| is(code, request)));
}

#[tokio::test]
async fn a_history_that_does_not_add_up_is_said_once_where_it_shows() {
    let (_, events) = whole_life().await;
    for (at, event) in events.iter().enumerate() {
        if !matches!(event.kind, EventKind::HistoryMutation(_)) {
            continue;
        }
        let log = without(&events, at);
        let validation = validate_session_replay_log_entries(&log);
        let gaps: Vec<_> =
            validation.issues.iter().filter(|issue| issue.code == ReplayIssueCode::HistoryGap).collect();
        assert!(!gaps.is_empty(), "{event:?}");
        assert!(gaps[0].event_index >= at);
    }
    // Another text of the same length shows in the head.
    let at = place(&events, "history_mutation", 0);
    let log = tampered(&events, at, |line| line["message"]["content"] = json!("eno"));
    assert_eq!(found(&validate_session_replay_log_entries(&log)), [is(ReplayIssueCode::HistoryGap, at + 1)]);
    // Where a secret was taken out, the head says nothing until the next line that names one.
    let log = tampered(&events, at, |line| {
        line["message"]["content"] = json!("[REDACTED]");
        line["redacted"] = json!(true);
    });
    let validation = validate_session_replay_log_entries(&log);
    assert_eq!(found(&validation), []);
    let later = place(&events, "history_mutation", 1);
    let log = tampered(&log, later, |line| line["message"]["content"] = json!("other"));
    let after = place(&events, "provider_request", 1);
    assert_eq!(found(&validate_session_replay_log_entries(&log)), [is(ReplayIssueCode::HistoryGap, after)]);
}

#[tokio::test]
async fn lines_that_do_not_belong_are_named() {
    use ReplayIssueCode as Code;
    let (scene, events) = whole_life().await;
    let mut log = events.clone();
    log.insert(4, fork_of(&scene)[0].clone());
    assert_eq!(found(&validate_session_replay_log_entries(&log)), [is(Code::ForeignEvent, 4)]);
    let mut log = events.clone();
    log.insert(4, events[2].clone());
    assert_eq!(found(&validate_session_replay_log_entries(&log)), [is(Code::DuplicateEvent, 4)]);
    let context = place(&events, "context", 0);
    let mut log = events;
    log.swap(context, context + 1);
    assert_eq!(found(&validate_session_replay_log_entries(&log)), [is(Code::OutOfOrder, context + 1)]);

    let mut text = String::new();
    for (at, line) in scene.log().lines().enumerate() {
        text.push_str(&format!("{line}\n"));
        if at == 1 {
            text.push_str("nonsense\n");
        }
    }
    let items: Vec<LogItem> = LogReader::new(text.as_bytes()).map(Result::unwrap).collect();
    let validation = validate_session_replay_log_items(&items);
    assert_eq!(found(&validation), [is(Code::LineDamaged, 2)]);
    assert!(validation.issues[0].message.starts_with("line 3, byte "), "{:?}", validation.issues);
}

#[tokio::test]
async fn large_fields_that_were_not_put_back_are_named() {
    use ReplayIssueCode as Code;
    let (_, events) = whole_life().await;
    let hash = "ab".repeat(32);
    let reference = json!({
        "kind": "external-payload", "encoding": "json", "sha256": hash, "byteLength": 40_000,
        "relativePath": format!("s.payloads/{hash}.json"),
    });
    let result = place(&events, "tool_execution_result", 0);
    let log = tampered(&events, result, |line| line["result"] = reference.clone());
    let validation = validate_session_replay_log_entries(&log);
    assert_eq!(found(&validation), [is(Code::UnresolvedReplayPayload, result)]);
    assert!(validation.issues[0].message.contains(&format!("s.payloads/{hash}.json")));
    let mut other = reference.clone();
    other["sha256"] = json!("short");
    let log = tampered(&events, result, |line| line["result"] = json!({"deep": [other]}));
    assert_eq!(
        found(&validate_session_replay_log_entries(&log)),
        [is(Code::PayloadReferenceInvalid, result)]
    );

    // A message that is a reference is no message.
    let last = place(&events, "history_mutation", 1);
    let log = tampered(&events, last, |line| line["message"]["content"] = reference.clone());
    let validation = validate_session_replay_log_entries(&log);
    assert_eq!(found(&validation)[0], is(Code::UnresolvedReplayPayload, last));
    let log = tampered(&events, last, |line| line["message"] = json!("none"));
    assert_eq!(found(&validate_session_replay_log_entries(&log))[0], is(Code::LineDamaged, last));
}

#[tokio::test]
async fn native_payloads_are_missed_only_where_they_should_be_recorded() {
    let script = Script::new().reply(Reply::new().raw("native").text("one")).reply("two");
    let mut scene = Scene::new(script).with_tools([TestTool::prompt("Look")]);
    scene.options.raw_capture = RawCapture::Responses;
    let session = Session::create(scene.options()).await.unwrap();
    session.run("1").await.unwrap();
    session.run("2").await.unwrap();
    session.shutdown("other").await.unwrap();
    let events = scene.events();
    assert!(names(&events).contains(&"provider_native_raw_payload".to_owned()));
    let second = place(&events, "provider_request", 1);
    let validation = validate_session_replay_log_entries(&events);
    assert_eq!(found(&validation), [is(ReplayIssueCode::ProviderNativeRawPayloadMissing, second)]);
    // What was sent is no answer.
    let mut log = events.clone();
    let payload = place(&events, "provider_native_raw_payload", 0);
    if let EventKind::ProviderNativeRawPayload { payload_kind, .. } = &mut log[payload].kind {
        *payload_kind = PayloadKind::Request;
    }
    assert_eq!(validate_session_replay_log_entries(&log).total, 2);
    let log = tampered(&events, 0, |line| line["rawCapture"] = json!("off"));
    assert!(validate_session_replay_log_entries(&log).ok);
}

#[test]
fn a_thousand_issues_are_listed_and_all_are_counted() {
    let event = |session: &str| {
        let line = json!({"seq": 1, "timestamp": 0, "sessionId": session, "event": "user", "content": "x"});
        serde_json::from_str::<Event>(&line.to_string()).unwrap()
    };
    let log = std::iter::once(event("s")).chain(std::iter::repeat_with(|| event("other")).take(1500));
    let validation = validate_session_replay_log_entries(log);
    assert_eq!((validation.issues.len(), validation.total, validation.ok), (1000, 1500, false));
}
