//! Compactions that are run again: every request is made and compared, and so is what they came to.

use std::sync::Arc;

use robota_core::{Event, EventKind, FinishReason, HookOutcome, ProviderErrorKind, RawCapture, ToolOutcome};
use robota_session::{
    CompactionReplay, ErrorKind, ReplayReport, Session, redacting_filter, replay,
    validate_session_replay_log_entries,
};
use robota_testkit::{Reply, Script, ScriptedHooks, event_name};
use serde_json::{Value, json};

use crate::recorded::tampered;
use crate::scene::{Scene, TestTool, events, id, wait_for};

const TALK: &str = "many words ";

fn too_long() -> Reply {
    Reply::error(400, "too long").provider_kind(ProviderErrorKind::ContextLength)
}

/// A session in a window of 6,000 tokens that compacts only when it is asked to.
async fn small(script: Script) -> (Scene, Arc<Session>) {
    let mut scene = Scene::new(script);
    scene.options.context_window = 6_000;
    scene.options.auto_compact_threshold = None;
    let session = Arc::new(Session::create(scene.options()).await.unwrap());
    (scene, session)
}

/// A model that has talked at length, and then shortly.
fn talker() -> Script {
    Script::new().reply(Reply::new().text(TALK.repeat(1_700)).without_usage()).reply("Short.")
}

/// The same, who then summarises in three parts.
fn summarised() -> Script {
    talker().reply("They began.").reply("They talked.").reply("They still talked.")
}

async fn talk(session: &Session) {
    session.run("Talk.").await.unwrap();
    session.run("Be short.").await.unwrap();
}

/// Turn, requests and verified ones of each compaction.
fn counts(report: &ReplayReport) -> Vec<(u32, usize, usize)> {
    report.compactions.iter().map(|one| (one.turn, one.requests, one.verified)).collect()
}

/// The compactions of a log that is valid and comes out the same.
async fn same(events: &[Event]) -> Vec<(u32, usize, usize)> {
    let validation = validate_session_replay_log_entries(events);
    assert!(validation.ok, "{:?}", validation.issues);
    let report = replay(events).await;
    assert_eq!(report.first_divergence(), None);
    assert_eq!(report.unverifiable(), 0);
    counts(&report)
}

fn place(events: &[Event], name: &str, nth: usize) -> usize {
    let mut places = events.iter().enumerate().filter(|(_, event)| event_name(&event.kind) == name);
    places.nth(nth).unwrap().0
}

#[tokio::test]
async fn what_people_ask_for_comes_out_with_what_hooks_added_and_in_parts() {
    let script = talker()
        .reply("They began.")
        // Longer than a summary may be, and cut off by the model's own limit.
        .reply(Reply::new().text("They talked on. ".repeat(400)).stop(FinishReason::MaxTokens))
        .reply("They talked.")
        .reply("Yes.")
        // The length of the next first part is refused twice.
        .reply(too_long())
        .reply(too_long())
        .respond_with(|_| "All in all, they talked.".into());
    let mut scene = Scene::new(script);
    scene.options.context_window = 6_000;
    scene.options.auto_compact_threshold = None;
    scene.options.compact_instructions = Some("Keep file names.".into());
    let hooks = ScriptedHooks::new().answer("PreCompact", HookOutcome::context("Mind the </focus> tests."));
    scene.options.hooks = Some(Arc::new(hooks));
    let session = Session::create(scene.options()).await.unwrap();
    talk(&session).await;
    session.compact(Some("And dates.")).await.unwrap();
    session.run("Go on?").await.unwrap();
    session.compact(None).await.unwrap();
    session.shutdown("other").await.unwrap();

    let events = scene.events();
    let started = &events[place(&events, "compact_start", 0)];
    let line = serde_json::to_value(started).unwrap();
    let instructions = "And dates.\n\nKeep file names.\n\nMind the </focus> tests.";
    assert_eq!((&line["trigger"], &line["instructions"]), (&json!("manual"), &json!(instructions)));
    assert_eq!(
        (&line["contextWindow"], line.get("goal"), line.get("comingBytes")),
        (&json!(6_000), None, None)
    );
    let compactions = same(&events).await;
    assert_eq!(compactions[0], (0, 3, 3));
    assert!(compactions[1].1 >= 3 && compactions[1].1 == compactions[1].2, "{compactions:?}");

    // Wherever the log ends, as much as it holds comes out.
    for end in place(&events, "compact_start", 0)..events.len() {
        same(&events[..end]).await;
    }
}

#[tokio::test]
async fn what_the_session_makes_room_for_by_itself_comes_out() {
    let script = Script::new().respond_with(|request: &robota_testkit::RecordedRequest| {
        let reply = Reply::new().without_usage();
        if request.tool_names().is_empty() {
            reply.text("They talked.")
        } else if request.last_user_text() == "Talk." {
            reply.text(TALK.repeat(2_600))
        } else if request.number < 8 {
            reply.tool_call(format!("c{}", request.number), "Read", json!({}))
        } else {
            reply.text("Done.")
        }
    });
    let text = "a line of the file ".repeat(500);
    let (tool, _) = TestTool::serial("Read", move |_| {
        let text = text.clone();
        Box::pin(async move { Ok(ToolOutcome::success(text)) })
    });
    let mut scene = Scene::new(script).with_tools([tool]);
    scene.options.context_window = 6_000;
    let session = Session::create(scene.options()).await.unwrap();
    session.run("Talk.").await.unwrap();
    session.run("Read it again and again.").await.unwrap();
    session.shutdown("other").await.unwrap();
    let events = scene.events();
    let goals: Vec<Value> = events
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::CompactStart { goal, coming_bytes, .. } => Some(json!([goal, coming_bytes])),
            _ => None,
        })
        .collect();
    assert_eq!(goals[..2], [json!([0.835, 22]), json!([0.835, 0])], "before the prompt, and while it works");
    let compactions = same(&events).await;
    assert_eq!(compactions.len(), goals.len());
    assert!(
        compactions.iter().all(|(turn, made, verified)| (*turn, made) == (2, verified)),
        "{compactions:?}"
    );

    // After the provider's refusal, and a second time for the same turn.
    let script = Script::new().reply(TALK.repeat(500)).reply(too_long()).reply("They talked.").reply("Done.");
    let mut scene = Scene::new(script);
    scene.options.context_window = 200_000;
    let session = Session::create(scene.options()).await.unwrap();
    session.run("Talk.").await.unwrap();
    session.run("And?").await.unwrap();
    session.shutdown("other").await.unwrap();
    assert_eq!(same(&scene.events()).await, [(2, 1, 1)]);
}

#[tokio::test]
async fn one_that_failed_or_was_aborted_is_followed_up_to_there() {
    let script = talker()
        .reply(Reply::error(500, "down"))
        .reply("They talked.")
        .reply(Reply::new().text("They").hold_at("summary").text(" talked on."))
        .reply(Reply::new().text(" "))
        .reply("Yes.");
    let (scene, session) = small(script).await;
    talk(&session).await;
    assert!(matches!(session.compact(None).await.unwrap_err().kind(), ErrorKind::Engine(_)));
    let running = tokio::spawn({
        let session = session.clone();
        async move { session.compact(None).await }
    });
    scene.provider.gate("summary").reached().await;
    session.abort();
    assert_eq!(running.await.unwrap().unwrap_err().kind(), ErrorKind::Compaction);
    assert_eq!(session.compact(None).await.unwrap_err().kind(), ErrorKind::Compaction);
    // What becomes of the history later is nothing that the last one came to.
    session.clear_history().unwrap();
    session.run("Afresh.").await.unwrap();
    session.shutdown("other").await.unwrap();
    assert_eq!(same(&scene.events()).await, [(0, 1, 1), (0, 2, 2), (0, 1, 1)]);
}

/// The report about the log with one field of one line changed.
async fn changed(events: &[Event], at: usize, pointer: &str, value: Value) -> Vec<CompactionReplay> {
    replay(tampered(events, at, |line| *line.pointer_mut(pointer).unwrap() = value)).await.compactions
}

#[tokio::test]
async fn whatever_is_changed_of_a_compaction_shows() {
    let (scene, session) = small(summarised()).await;
    talk(&session).await;
    session.compact(Some("Be exact.")).await.unwrap();
    session.shutdown("other").await.unwrap();
    let events = scene.events();
    assert_eq!(same(&events).await, [(0, 3, 3)]);
    let start = place(&events, "compact_start", 0);
    let requests = [0, 1, 2].map(|nth| events[place(&events[start..], "provider_request", nth) + start].seq);
    let summary = place(&events, "compact_summary", 0);
    let said = events.iter().position(|event| matches!(&event.kind, EventKind::HistoryMutation(_))).unwrap();
    let replaced = events.iter().position(|event| {
        matches!(&event.kind, EventKind::HistoryMutation(robota_core::HistoryMutation::Replace { .. }))
    });
    let long = "x".repeat(3_000);
    for (at, pointer, value, request) in [
        (start, "/instructions", json!("Be brief."), 1),
        (start, "/contextWindow", json!(5_000), 1),
        (said, "/message/content", json!("Talk!"), 1),
        (summary, "/summary", json!("They sang."), 2),
        (summary, "/summary", json!(long), 2),
        (replaced.unwrap(), "/messages/1/content", json!("Be shorter."), 3),
    ] {
        let report = changed(&events, at, pointer, value).await;
        let found = report[0].divergence.as_ref().map(|found| (found.request, found.seq));
        assert_eq!(found, Some((request, requests[request - 1])), "{pointer}: {report:?}");
    }
    let report = changed(&events, start, "/instructions", json!("Be brief.")).await;
    let said = report[0].divergence.as_ref().unwrap().to_string();
    assert!(said.starts_with("compaction between turns, request 1 differs"), "{said}");
    assert!(said.contains("the instructions of the compaction"), "{said}");

    // Without the line that says what was asked for, nothing can be made again.
    let mut older = events.clone();
    older.remove(start);
    let report = replay(&older).await;
    assert_eq!(report.first_divergence(), None);
    assert_eq!((report.compactions[0].verified, report.compactions[0].unverifiable), (0, 3));
    // A window in which one part is enough.
    let report = changed(&events, start, "/contextWindow", json!(60_000)).await;
    assert_eq!(report[0].divergence.as_ref().map(|found| found.request), Some(1));
}

#[tokio::test]
async fn where_secrets_were_taken_out_it_is_compared_as_far_as_the_log_tells() {
    let script = talker().reply("They began.").reply("They spoke of hunter22.").reply("And of more.");
    let mut scene = Scene::new(script);
    scene.options.context_window = 6_000;
    scene.options.auto_compact_threshold = None;
    scene.options.line_filter = Some(redacting_filter(robota_core::Redactor::new(["hunter22"])));
    let session = Session::create(scene.options()).await.unwrap();
    talk(&session).await;
    session.compact(None).await.unwrap();
    session.shutdown("other").await.unwrap();
    let report = replay(scene.events()).await;
    assert_eq!(report.first_divergence(), None);
    let one = &report.compactions[0];
    assert_eq!((one.requests, one.verified, one.unverifiable), (3, 2, 1));
}

#[tokio::test]
async fn native_payloads_of_its_calls_are_recorded_and_missed() {
    let native = |text: &str| Reply::new().raw("native").text(text.to_owned()).without_usage();
    let script = Script::new()
        .reply(native(&TALK.repeat(500)))
        .reply(native("Short."))
        .reply(native("They talked."))
        .reply(native("Yes."));
    let mut scene = Scene::new(script);
    scene.options.raw_capture = RawCapture::Responses;
    let session = Session::create(scene.options()).await.unwrap();
    talk(&session).await;
    session.compact(None).await.unwrap();
    session.run("Go on?").await.unwrap();
    session.shutdown("other").await.unwrap();
    let mut log = scene.events();
    assert_eq!(same(&log).await, [(0, 1, 1)]);
    let start = place(&log, "compact_start", 0);
    let payload = start + place(&log[start..], "provider_native_raw_payload", 0);
    assert!(payload < place(&log, "compact_summary", 0));
    log.remove(payload);
    let validation = validate_session_replay_log_entries(&log);
    let found: Vec<_> =
        validation.issues.iter().map(|issue| (issue.code.to_string(), issue.event_index)).collect();
    assert_eq!(found, [("PROVIDER_NATIVE_RAW_PAYLOAD_MISSING".to_owned(), start + 1)]);
}

#[tokio::test]
async fn a_session_that_was_killed_in_a_compaction_goes_on_and_is_valid() {
    let (scene, session) = small(summarised()).await;
    talk(&session).await;
    session.compact(None).await.unwrap();
    session.shutdown("other").await.unwrap();
    let log = scene.log();
    let begin = log.find("\"compact_start\"").unwrap();
    let ends: Vec<usize> = log.match_indices('\n').map(|(at, _)| at + 1).filter(|at| *at > begin).collect();
    for end in ends {
        scene.workspace.write(".robota/logs/s.jsonl", &log[..end]);
        let _ = std::fs::remove_file(scene.workspace.path(".robota/sessions/s.json"));
        let (_, options) =
            scene.options_with(Script::new().reply("Yes.").respond_with(|_| "They talked again.".into()));
        let session = Session::resume(options, &id("s")).await.unwrap();
        session.run("And?").await.unwrap();
        let _ = session.compact(None).await;
        session.shutdown("other").await.unwrap();
        same(&scene.events()).await;
    }
}

#[tokio::test]
async fn a_failed_compaction_in_a_turn_has_a_code_of_its_own() {
    let refused = Reply::error(400, "too long").provider_kind(ProviderErrorKind::ContextLength);
    let talk = Reply::new().text(TALK.repeat(500)).without_usage();
    let mut scene = Scene::new(Script::new().reply(talk).reply(refused).reply(" "));
    scene.options.context_window = 200_000;
    let session = Session::create(scene.options()).await.unwrap();
    session.run("Talk.").await.unwrap();
    let error = session.run("And?").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Engine(robota_core::ErrorKind::Compaction));
    session.shutdown("other").await.unwrap();
    let codes: Vec<String> = scene
        .events()
        .into_iter()
        .filter_map(|event| match event.kind {
            EventKind::Error { code, .. } => Some(code),
            _ => None,
        })
        .collect();
    assert_eq!(codes, ["COMPACTION_ERROR"]);
    assert_eq!(same(&scene.events()).await, [(2, 1, 1)]);
}

#[tokio::test]
async fn token_totals_go_on_after_a_resume_and_begin_anew_in_a_fork() {
    let (scene, session) = small(summarised()).await;
    talk(&session).await;
    session.compact(None).await.unwrap();
    let told = session.token_info().unwrap();
    session.shutdown("other").await.unwrap();
    let snapshot = scene.workspace.read(".robota/sessions/s.json");
    assert!(snapshot.contains(&format!("\"outputTokens\":{}", told.output_tokens)), "{snapshot}");
    for with_snapshot in [true, false] {
        if !with_snapshot {
            std::fs::remove_file(scene.workspace.path(".robota/sessions/s.json")).unwrap();
        }
        let (_, options) = scene.options_with(Script::new());
        let resumed = Session::resume(options, &id("s")).await.unwrap();
        assert_eq!(resumed.token_info(), Some(told), "{with_snapshot}");
        resumed.shutdown("other").await.unwrap();
    }
    let (_, mut options) = scene.options_with(Script::new());
    options.session_id = Some(id("f"));
    let fork = Session::fork(options, &id("s")).await.unwrap();
    assert_eq!(fork.token_info(), None);
    let log = scene.workspace.read(".robota/logs/f.jsonl");
    assert!(!events(log.as_bytes()).is_empty());
}

#[tokio::test]
async fn a_session_that_is_being_closed_begins_no_turn_and_its_last_one_still_writes() {
    let script = Script::new().reply(Reply::new().text("Half").gate("half").text(" done."));
    let scene = Scene::new(script);
    let session = Arc::new(Session::create(scene.options()).await.unwrap());
    let mut told = session.subscribe();
    let running = tokio::spawn({
        let session = session.clone();
        async move { session.run("Go.").await }
    });
    scene.provider.gate("half").reached().await;
    wait_for(&mut told, "text_delta").await;
    session.shutdown("other").await.unwrap();
    assert_eq!(running.await.unwrap().unwrap().text, "Half");
    assert_eq!(session.run("More.").await.unwrap_err().kind(), ErrorKind::Closed);
    let names = crate::scene::names(&scene.events());
    assert_eq!(names[names.len() - 3..], ["interrupted", "complete", "session_shutdown"]);
    assert_eq!(session.history().last().unwrap().text(), "Half");
}
