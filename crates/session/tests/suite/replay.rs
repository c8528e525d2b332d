//! Running a recorded session again, and the state that its log tells.

use robota_core::{
    Body, Event, EventKind, FinishReason, HistoryMutation, Message, ProviderErrorKind, Redactor,
};
use robota_session::{
    ReplayReport, Session, SessionStore, redacting_filter, replay, replay_session_log_entries,
    validate_session_replay_log_entries,
};
use robota_testkit::{Reply, Script};
use serde_json::{Value, json};

use crate::recorded::{Outside, fork_of, tampered, turns, whole_life};
use crate::scene::{Scene, TestTool, id};

/// Requests, verified and unverifiable ones of each turn.
fn counts(report: &ReplayReport) -> Vec<(usize, usize, usize)> {
    report.turns.iter().map(|turn| (turn.requests, turn.verified, turn.unverifiable)).collect()
}

#[tokio::test]
async fn lines_that_stand_twice_in_a_log_happened_once() {
    let script =
        Script::new().reply(Reply::new().tool_call("c1", "Look", json!({}))).reply("Seen.").reply("And on.");
    let scene = Scene::new(script).with_tools([TestTool::prompt("Look")]);
    let session = Session::create(scene.options()).await.unwrap();
    session.run("one").await.unwrap();
    session.run("two").await.unwrap();
    session.shutdown("other").await.unwrap();
    let events = scene.events();
    let doubled: Vec<_> = events.iter().flat_map(|event| [event.clone(), event.clone()]).collect();
    let report = replay(&doubled).await;
    assert_eq!(report.first_divergence(), None);
    assert_eq!(counts(&report), [(2, 2, 0), (1, 1, 0)]);
    assert_eq!(report, replay(&events).await);
}

#[tokio::test]
async fn every_request_of_a_session_comes_out_byte_identical() {
    let (scene, events) = whole_life().await;
    let report = replay(&events).await;
    assert_eq!(report.first_divergence(), None);
    assert_eq!(
        counts(&report),
        [(2, 2, 0), (1, 1, 0), (1, 1, 0), (2, 2, 0), (1, 1, 0), (1, 1, 0), (1, 1, 0)]
    );
    let report = replay(fork_of(&scene)).await;
    assert_eq!(report.first_divergence(), None);
    assert_eq!(counts(&report), [(1, 1, 0)]);
}

#[tokio::test]
async fn what_came_from_outside_comes_at_its_place_again() {
    let call = |id: &str| Reply::new().tool_call(id, "Look", json!({}));
    let too_long = || Reply::error(400, "too long").provider_kind(ProviderErrorKind::ContextLength);
    // Steering while a tool runs and at the end, a hook that sends the model on.
    let script = Script::new().reply(call("a")).reply("b").reply("c").reply("d").reply("e");
    let outside =
        Outside { said: vec![(1, "wait"), (2, "also")], continued: vec!["go on"], ..Outside::default() };
    let events = turns(script, 0, outside).await;
    assert_eq!(counts(&all_verified(&events).await), [(4, 4, 0), (1, 1, 0)]);

    // Compaction before the first call, between calls, and after the provider's refusal of a length; the id
    // of a call comes again when the first one is compacted away.
    let script =
        Script::new().reply(call("a")).reply(call("a")).reply(too_long()).reply("b").reply("c").reply("d");
    let outside = Outside { compacted: vec![0, 1, 3], said: vec![(3, "and this")], ..Outside::default() };
    let events = turns(script, 0, outside).await;
    let report = all_verified(&events).await;
    assert_eq!(counts(&report), [(4, 4, 0), (1, 1, 0)]);
    let compactions: Vec<_> = report.compactions.iter().map(|one| (one.turn, one.unverifiable)).collect();
    assert_eq!(compactions, [(1, 1); 3]);

    // The same, where the first call with the id was of no tool.
    let unknown = || Reply::new().tool_call("x", "Nothing", json!({}));
    let script = Script::new().reply(unknown()).reply(call("x")).reply("c").reply("d");
    let outside = Outside { compacted: vec![1], ..Outside::default() };
    let events = turns(script, 0, outside).await;
    assert_eq!(counts(&all_verified(&events).await), [(3, 3, 0), (1, 1, 0)]);

    // Last words, when rounds run out and when the model only calls tools that do not exist.
    let script = Script::new().reply(call("a")).reply("enough").reply("d");
    let events = turns(script, 1, Outside::default()).await;
    assert_eq!(counts(&all_verified(&events).await), [(2, 2, 0), (1, 1, 0)]);
    let script = Script::new().reply(unknown()).reply(unknown()).reply("gave up").reply("d");
    let events = turns(script, 0, Outside::default()).await;
    assert_eq!(counts(&all_verified(&events).await), [(3, 3, 0), (1, 1, 0)]);

    // A pause of the provider, an empty answer, and a failure in the middle of the text.
    let script = Script::new()
        .reply(Reply::new().text("first").stop(FinishReason::PauseTurn))
        .reply(Reply::new())
        .reply(Reply::new().text("half").cut());
    let events = turns(script, 0, Outside::default()).await;
    assert_eq!(counts(&all_verified(&events).await), [(2, 2, 0), (1, 1, 0)]);
}

#[tokio::test]
async fn a_call_that_was_cut_off_has_the_result_that_it_had() {
    let cut = Reply::new().tool_call("c1", "Look", "{\"at\": ").stop(FinishReason::MaxTokens);
    let scene =
        Scene::new(Script::new().reply(cut).reply("Less, then.")).with_tools([TestTool::prompt("Look")]);
    let session = Session::create(scene.options()).await.unwrap();
    session.run("one").await.unwrap();
    session.shutdown("other").await.unwrap();
    // As an earlier version has put it.
    let mut events = scene.events();
    for event in &mut events {
        match &mut event.kind {
            EventKind::HistoryMutation(HistoryMutation::AppendMessage { message, .. }) => {
                let mut other = Message::clone(message);
                if let Body::Tool { content, .. } = &mut other.body {
                    "Invalid arguments for Look.".clone_into(content);
                    *message = other.into();
                }
            }
            EventKind::ProviderRequest { digest, .. } => *digest = None,
            _ => {}
        }
    }
    let report = replay(&events).await;
    assert_eq!(report.first_divergence(), None);
    assert_eq!(counts(&report), [(2, 0, 2)]);
}

async fn all_verified(events: &[Event]) -> ReplayReport {
    let validation = validate_session_replay_log_entries(events);
    assert!(validation.ok, "{:?}", validation.issues);
    let report = replay(events).await;
    assert_eq!(report.first_divergence(), None);
    report
}

#[tokio::test]
async fn a_session_that_was_killed_anywhere_and_went_on_is_valid_and_comes_out_the_same() {
    let (scene, _) = whole_life().await;
    let log = scene.log();
    let ends: Vec<usize> = log.match_indices('\n').map(|(at, _)| at + 1).collect();
    for end in ends {
        scene.workspace.write(".robota/logs/s.jsonl", &log[..end]);
        let snapshot = scene.workspace.path(".robota/sessions/s.json");
        if snapshot.exists() {
            std::fs::remove_file(snapshot).unwrap();
        }
        let (_, options) = scene.options_with("Went on.");
        let session = Session::resume(options, &id("s")).await.unwrap();
        session.run("and?").await.unwrap();
        session.shutdown("other").await.unwrap();
        let report = all_verified(&scene.events()).await;
        assert_eq!(report.unverifiable(), 0);
        assert!(report.turns.last().is_some_and(|turn| turn.verified == 1), "{end}: {report:?}");
    }
}

/// The number of the first request that is made after the line `at`, unless the history is cleared before.
fn next_request(events: &[Event], at: usize) -> Option<u64> {
    let rest = events[at..].iter();
    let rest =
        rest.take_while(|event| !matches!(event.kind, EventKind::HistoryMutation(HistoryMutation::Clear)));
    rest.filter(|event| matches!(event.kind, EventKind::ProviderRequest { .. })).map(|event| event.seq).next()
}

#[tokio::test]
async fn whatever_is_changed_in_a_log_shows_at_the_first_request_that_sent_it() {
    let (_, events) = whole_life().await;
    let mut changed = 0;
    for (at, event) in events.iter().enumerate() {
        let line = serde_json::to_value(event).unwrap();
        let pointers: Vec<String> = match &event.kind {
            EventKind::HistoryMutation(HistoryMutation::AppendMessage { .. }) => vec![
                "/message/content".into(),
                "/message/toolCallId".into(),
                "/message/name".into(),
                "/message/reasoning/0/signature".into(),
                "/message/toolCalls/0/function/arguments".into(),
                "/message/toolCalls/0/function/name".into(),
            ],
            EventKind::SessionInit { .. } | EventKind::SessionResume { .. } => vec![
                "/systemPrompt".into(),
                "/model".into(),
                "/toolSchemas/0/description".into(),
                "/toolSchemas/1/inputSchema/type".into(),
            ],
            _ => continue,
        };
        for pointer in pointers.iter().filter(|pointer| line.pointer(pointer).is_some_and(Value::is_string)) {
            let log = tampered(&events, at, |line| {
                let field = line.pointer_mut(pointer).unwrap();
                *field = format!("{}!", field.as_str().unwrap()).into();
            });
            let report = replay(&log).await;
            let found = report.first_divergence().map(|divergence| divergence.seq);
            let told = report.first_divergence();
            assert_eq!(found, next_request(&events, at), "{pointer} of {line}: {told:?}");
            changed += 1;
        }
    }
    assert!(changed >= 40, "{changed}");
    let log = tampered(&events, 0, |line| line["maxOutputTokens"] = json!(501));
    assert_eq!(replay(&log).await.first_divergence().unwrap().seq, next_request(&events, 0).unwrap());
}

#[tokio::test]
async fn a_divergence_says_what_differs_as_closely_as_the_log_can_tell() {
    let (_, events) = whole_life().await;
    let place = |wanted: &str| {
        let found = events.iter().position(|event| match &event.kind {
            EventKind::HistoryMutation(HistoryMutation::AppendMessage { message, .. }) => {
                message.text() == wanted
            }
            _ => false,
        });
        found.unwrap()
    };
    let told = async |at: usize, change: &dyn Fn(&mut Value)| {
        replay(tampered(&events, at, change)).await.first_divergence().unwrap().to_string()
    };
    let said = told(place("two"), &|line| line["message"]["content"] = json!("2")).await;
    let expected = "turn 2, request 1 differs from the recorded one: the log does not tell what was sent then; \
        what has changed is in messages 5 to 6";
    assert_eq!(said, expected);
    let said = told(0, &|line| line["systemPrompt"] = json!("Be long.")).await;
    assert!(
        said.contains("the system prompt, the tools, the model, the output limit, or message 0"),
        "{said}"
    );
    let said = told(place("a view"), &|line| line["message"]["toolCallId"] = json!("c9")).await;
    assert!(said.contains("turn 1, request 2"), "{said}");
    assert!(said.contains("message 2 was"), "{said}");

    // A request more, and one less.
    let answer = place("Seen.");
    let calls = json!([{"id": "z", "type": "function", "function": {"name": "Look", "arguments": "{}"}}]);
    let said = told(answer, &|line| line["message"]["toolCalls"] = calls.clone()).await;
    let expected = "turn 1, request 3 differs from the recorded one: a further request would be made, where the \
        turn then ended as completed";
    assert_eq!(said, expected);
    let first = place("Looking.");
    let said = told(first, &|line| line["message"]["toolCalls"] = json!([])).await;
    assert_eq!(said, "turn 1, request 2 differs from the recorded one: it was not made");
}

#[tokio::test]
async fn where_secrets_were_taken_out_requests_are_compared_as_far_as_the_log_tells() {
    let call = || Reply::new().tool_call("c1", "Look", json!({"key": "hunter22"}));
    let mut scene = Scene::new(Script::new().reply("hi").reply(call()).reply("Seen.").reply("And on."));
    scene = scene.with_tools([TestTool::prompt("Look")]);
    scene.options.line_filter = Some(redacting_filter(Redactor::new(["hunter22"])));
    let session = Session::create(scene.options()).await.unwrap();
    for prompt in ["one", "two", "three"] {
        session.run(prompt).await.unwrap();
    }
    session.shutdown("other").await.unwrap();
    let (_, options) = scene.options_with("Still here.");
    std::fs::remove_file(scene.workspace.path(".robota/sessions/s.json")).unwrap();
    let session = Session::resume(options, &id("s")).await.unwrap();
    session.run("four").await.unwrap();
    session.shutdown("other").await.unwrap();

    let events = scene.events();
    let validation = validate_session_replay_log_entries(&events);
    assert!(validation.ok, "{:?}", validation.issues);
    let report = replay(&events).await;
    assert_eq!(report.first_divergence(), None);
    // The resumed session has sent what the log has.
    assert_eq!(counts(&report), [(1, 1, 0), (2, 1, 1), (1, 0, 1), (1, 1, 0)]);
    assert_eq!(report.unverifiable(), 2);
}

#[tokio::test]
async fn the_record_of_a_log_is_the_session_that_resumes_from_it() {
    let (scene, events) = whole_life().await;
    for (name, events) in [("s", events), ("f", fork_of(&scene))] {
        let record = replay_session_log_entries(&events);
        let stored = scene.store.load(&id(name)).await.unwrap();
        assert_eq!(record.session_id, Some(id(name)));
        assert_eq!(record.messages, stored.history.messages());
        assert_eq!(record.history, stored.history.entries());
        assert_eq!((&record.cwd, &record.name), (&stored.cwd, &stored.name));
        assert_eq!((record.created_at, record.updated_at), (stored.created_at, stored.updated_at));
        assert_eq!(record.forked_from, stored.forked_from);
        assert_eq!(record.turns.last().unwrap().turn, stored.turn);
        assert_eq!((record.foreign_events, record.duplicate_events, record.misfits), (0, 0, 0));
    }
    let record = replay_session_log_entries(scene.events());
    let turns: Vec<_> = record.turns.iter().map(|turn| serde_json::to_value(turn.ended).unwrap()).collect();
    let ends = ["completed", "interrupted", "failed", "completed", "completed", "completed", "completed"];
    assert_eq!(turns, ends.map(Value::from));
    assert_eq!((record.model_calls, record.tool_calls, record.usage.output_tokens), (9, 5, 70));

    let foreign = fork_of(&scene);
    let mut mixed = scene.events();
    mixed.splice(3..3, foreign.iter().cloned());
    mixed.push(mixed[0].clone());
    let mut with_others = replay_session_log_entries(&mixed);
    assert_eq!(with_others.foreign_events, foreign.len() as u64);
    assert_eq!(with_others.duplicate_events, 1);
    (with_others.foreign_events, with_others.duplicate_events) = (0, 0);
    assert_eq!(with_others, record);
    assert_eq!(replay_session_log_entries(Vec::<Event>::new()).session_id, None);
}

#[tokio::test]
async fn compaction_rewind_and_what_others_record_are_in_the_record() {
    let script = Script::new().reply(Reply::new().tool_call("a", "Look", json!({}))).reply("b").reply("c");
    let mut events = turns(script, 0, Outside { compacted: vec![1], ..Outside::default() }).await;
    let line =
        r#"{"seq":900,"timestamp":0,"sessionId":"s","event":"memory_event","memoryEvent":{"kind":"saved"}}"#;
    events.push(serde_json::from_str(line).unwrap());
    let line = r#"{"seq":901,"timestamp":0,"sessionId":"s","event":"history_mutation","mutation":"truncate","length":3}"#;
    events.push(serde_json::from_str(line).unwrap());
    let record = replay_session_log_entries(&events);
    let texts: Vec<&str> = record.messages.iter().map(|message| message.text()).collect();
    assert_eq!(texts, ["[Context Summary]\n3 messages", "p1", "b"]);
    assert_eq!(record.history.len(), 4, "the timeline keeps what was summarised");
    assert_eq!((record.compactions, record.model_calls), (1, 4));
    assert_eq!(record.usage.input_tokens, 307);
    assert_eq!(record.memory_events, [json!({"kind": "saved"})]);
}

#[tokio::test]
async fn what_follows_a_compaction_that_came_to_nothing_is_not_its_outcome() {
    for summary in [Reply::new(), Reply::from("Half a summ").cut()] {
        let script = Script::new().reply("One.").reply("Two.").reply(summary).reply("Three.");
        let scene = Scene::new(script);
        let session = Session::create(scene.options()).await.unwrap();
        session.run("one").await.unwrap();
        session.run("two").await.unwrap();
        session.compact(None).await.unwrap_err();
        session.rewind(1).await.unwrap();
        session.clear_history().unwrap();
        session.run("three").await.unwrap();
        session.shutdown("other").await.unwrap();
        let report = all_verified(&scene.events()).await;
        assert_eq!((report.compactions.len(), report.turns.len()), (1, 3));
    }
}
