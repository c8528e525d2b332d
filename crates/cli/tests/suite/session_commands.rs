//! `robota session` for a session that is there: show, log, validate, replay, rename, delete.

use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::Child;

use robota_testkit::{Reply, Script};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::context::{Context, Run};

/// A session `alpha` of two turns; the first calls a tool.
pub(crate) fn two_turns() -> Context {
    let call = Reply::new().text("Looking.").tool_call("c1", "Bash", json!({"command": "echo hi"}));
    let context = Context::new(Script::new().reply(call).reply("Done.").reply("Again."));
    context.run(&["-p", "go", "-n", "alpha", "--allowed-tools", "Bash(echo *)"]).assert_success();
    context.run(&["-p", "more", "-c"]).assert_success();
    context
}

/// Runs `robota session …` without any provider.
pub(crate) fn session(context: &Context, arguments: &[&str]) -> Run {
    Run::of(context.bare(&[&["session"], arguments].concat()).output().unwrap())
}

/// The only JSON object on standard output.
#[track_caller]
pub(crate) fn report(run: &Run) -> Value {
    let [report] = &run.frames()[..] else { panic!("one object was expected: {}{}", run.stdout, run.stderr) };
    report.clone()
}

pub(crate) fn id_of(context: &Context, name: &str) -> String {
    let listed = session(context, &["list", "--json"]).frames();
    let named = listed.iter().find(|head| head["name"] == name).unwrap_or_else(|| panic!("no {name}"));
    named["id"].as_str().unwrap().to_owned()
}

fn log_path(context: &Context) -> PathBuf {
    context.space.path(&format!("project/.robota/logs/{}.jsonl", id_of(context, "alpha")))
}

fn append(context: &Context, text: &str) {
    let mut log = OpenOptions::new().append(true).open(log_path(context)).unwrap();
    log.write_all(text.as_bytes()).unwrap();
}

/// Adds events to the log of `alpha`, numbered on.
fn log_events(context: &Context, events: &[Value]) {
    let last = context.log().pop().unwrap();
    for (number, event) in (1..).zip(events) {
        let mut line = json!({"seq": last["seq"].as_u64().unwrap() + number, "timestamp": last["timestamp"], "sessionId": last["sessionId"], "turn": 3});
        line.as_object_mut().unwrap().extend(event.as_object().unwrap().clone());
        append(context, &format!("{line}\n"));
    }
}

#[test]
fn every_command_takes_an_id_its_beginning_or_a_name() {
    let context = two_turns();
    let id = id_of(&context, "alpha");
    let said = |query: &str| session(&context, &["validate", query]).assert_success().stdout.clone();
    assert_eq!(said("alpha"), said(&id));
    assert_eq!(said("alpha"), said(&id[..10]));
    for command in ["show", "log", "validate", "replay", "export", "fork", "delete"] {
        session(&context, &[command, "nope"])
            .assert_failure(3, &["no session `nope`", "robota session list"]);
    }
    session(&context, &["rename", "nope", "new"]).assert_failure(3, &["nope"]);
    session(&context, &["fork", "alpha", "-n", "alpha"]).assert_success();
    session(&context, &["show", "alpha"]).assert_failure(3, &["fits 2 sessions", &id]);
}

#[test]
fn a_transcript_tells_what_happened_between_the_messages() {
    let context = two_turns();
    let id = id_of(&context, "alpha");
    let history =
        context.log().iter().rfind(|event| event["event"] == "complete").unwrap()["history"].clone();
    let state = |percent: f64| json!({"usedTokens": 1, "maxTokens": 2, "usedPercentage": percent});
    let request = json!({"event": "permission_request", "toolName": "Bash", "toolCallId": "c9", "parameters": {"command": "rm \u{1b}[2Jx"}, "reason": "no rule covers it"});
    let compacted = json!({"event": "context_compact", "trigger": "manual", "before": state(83.4), "after": state(12.0), "summarizedMessages": 5, "keptMessages": 2, "parts": 1, "usage": {}});
    log_events(
        &context,
        &[
            json!({"event": "hook", "hookEventName": "UserPromptSubmit", "additionalContext": ["x"], "systemMessages": ["be\u{7} careful"]}),
            json!({"event": "hook", "hookEventName": "Stop", "blocked": "not yet"}),
            json!({"event": "user", "content": "faster", "steering": true}),
            request,
            json!({"event": "permission_resolved", "toolCallId": "c9", "resolution": "allowed_for_session"}),
            json!({"event": "history_mutation", "mutation": "replace", "messages": []}),
            compacted,
            json!({"event": "history_mutation", "mutation": "replace", "messages": []}),
            json!({"event": "history_mutation", "mutation": "truncate", "length": 0}),
            json!({"event": "history_mutation", "mutation": "clear"}),
            json!({"event": "interrupted", "reason": "timeout", "history": history}),
            json!({"event": "session_name", "name": null}),
        ],
    );
    let shown = session(&context, &["show", &id]).assert_success().stdout.clone();
    let (before, after) = shown.rsplit_once("-- completed").unwrap();
    assert!(before.contains("> go\nLooking.\n● Bash echo hi\n  | hi\nDone.\n"), "{before}");
    assert!(!shown.contains("system-reminder"), "{shown}");
    let lines: Vec<_> = after.lines().skip(1).collect();
    let expected = [
        "  hook UserPromptSubmit: be  careful",
        "  hook UserPromptSubmit added text for the model",
        "  hook Stop did not allow it: not yet",
        "(said while the turn was running)",
        "  may it run? Bash rm  [2Jx: no rule covers it",
        "  yes, for the rest of the session",
        "(compacted, as it was asked for: 5 messages became a summary, 2 stayed; the window was 83 % full and is 12 %)",
        "(the history was replaced by 0 messages)",
        "(gone back to the first 0 messages)",
        "(the history was cleared)",
        "(the turn was ended because it took too long)",
        "(the session has no name any more)",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn a_log_is_printed_as_it_stands_or_with_all_it_refers_to() {
    let context = two_turns();
    let printed = session(&context, &["log", "alpha"]);
    assert_eq!(printed.assert_success().frames(), context.log());
    assert_eq!(session(&context, &["log", "alpha", "--json"]).stdout, printed.stdout);
    assert_eq!(session(&context, &["show", "alpha", "--json"]).stdout, printed.stdout);
    let entries = session(&context, &["log", "alpha", "--expand"]).assert_success().frames();
    let request = entries.iter().rfind(|entry| entry["event"] == "provider_request").unwrap();
    let roles: Vec<_> = request["messages"].as_array().unwrap().iter().map(|m| m["role"].clone()).collect();
    assert_eq!(roles.iter().filter(|role| *role == "user").count(), 2, "{roles:?}");
    assert!(entries.iter().any(|entry| entry["event"] == "assistant_message_committed"));
}

#[test]
fn large_fields_stand_in_the_printed_log() {
    let call =
        Reply::new().tool_call("c1", "Bash", json!({"command": format!("true {}", "x".repeat(40_000))}));
    let context = Context::new(Script::new().reply(call).reply("Done."));
    context.run(&["-p", "go", "-n", "alpha", "--allowed-tools", "Bash"]).assert_success();
    assert!(context.log().iter().any(|event| event.to_string().contains("external-payload")));
    let printed = session(&context, &["log", "alpha"]).assert_success().stdout.clone();
    assert!(!printed.contains("external-payload") && printed.contains(&"x".repeat(40_000)));
}

/// The lines that a program writes, as they come.
fn lines(child: &mut Child) -> impl Iterator<Item = Value> + use<> {
    let stdout = BufReader::new(child.stdout.take().unwrap());
    stdout.lines().map(|line| serde_json::from_str(&line.unwrap()).unwrap())
}

#[test]
fn a_log_is_followed_until_its_session_is_closed() {
    for flags in [&["--follow"][..], &["-f", "--expand"]] {
        let context =
            Context::new(Script::new().reply(Reply::new().text("Once ").gate("more").text("again.")));
        let mut run = context.start(&["-p", "go", "-n", "alpha"]);
        context.wait_for_log("text_delta");
        let mut follower = context.start(&[&["session", "log", "alpha"], flags].concat());
        let mut lines = lines(&mut follower);
        lines.find(|event| event["event"] == "text_delta").unwrap();
        context.server.gate("more").open();
        let names: Vec<_> = lines.map(|event| event["event"].as_str().unwrap().to_owned()).collect();
        assert!(names.iter().any(|name| name == "complete"), "{names:?}");
        assert_eq!(names.last().unwrap(), "session_shutdown");
        assert!(follower.wait().unwrap().success() && run.wait().unwrap().success());
    }
}

#[test]
fn half_a_line_waits_until_it_is_whole_and_ctrl_c_ends_the_following() {
    let context = two_turns();
    let id = id_of(&context, "alpha");
    // Without its last line the session is one that is still open.
    let mut events = context.log();
    assert_eq!(events.pop().unwrap()["event"], "session_shutdown");
    let open: String = events.iter().map(|event| format!("{event}\n")).collect();
    context.space.write(&format!("project/.robota/logs/{id}.jsonl"), open);
    append(&context, r#"{"seq":9000,"timestamp":"2026-11-22T00:00:00.000Z","sessi"#);
    let mut follower = context.start(&["session", "log", "alpha", "-f"]);
    let mut lines = lines(&mut follower);
    assert_eq!(lines.by_ref().take(events.len()).collect::<Vec<_>>(), events);
    append(&context, &format!("onId\":\"{id}\",\"turn\":0,\"event\":\"session_name\",\"name\":\"beta\"}}\n"));
    assert_eq!(lines.next().unwrap()["name"], "beta");
    kill_process(Pid::from_child(&follower), Signal::INT).unwrap();
    assert_eq!(follower.wait().unwrap().code(), Some(130));
}

#[test]
fn a_reader_that_has_seen_enough_ends_the_printing_quietly() {
    let context = two_turns();
    for command in ["log alpha", "log alpha --expand", "log alpha -f", "show alpha", "export alpha"] {
        let run = Run::of(context.shell(&format!("robota session {command} | head -c 1")).output().unwrap());
        assert_eq!((run.code, run.stderr.as_str(), run.stdout.len()), (Some(0), "", 1), "{command}");
    }
}

#[test]
fn a_log_that_is_whole_is_valid_and_damage_is_told_with_its_place() {
    let context = two_turns();
    let events = context.log().len();
    let valid = session(&context, &["validate", "alpha"]);
    assert_eq!(valid.assert_success().stdout, format!("valid: {events} events\n"));
    let id = id_of(&context, "alpha");
    let expected = json!({"sessionId": id, "ok": true, "events": events, "total": 0, "issues": []});
    assert_eq!(report(&session(&context, &["validate", "alpha", "--json"])), expected);

    let path = log_path(&context);
    let text = std::fs::read_to_string(&path).unwrap();
    let of_result = |line: &&str| line.contains(r#""event":"tool_execution_result""#);
    let kept: Vec<&str> = text.lines().filter(|line| !of_result(line)).collect();
    let request =
        kept.iter().position(|line| line.contains(r#""event":"tool_execution_request""#)).unwrap() + 1;
    let with_garbage = [&kept[..3], &["", "gar\u{1b}bage"], &kept[3..]].concat();
    let name = format!("project/.robota/logs/{id}.jsonl");
    context.space.write(&name, with_garbage.join("\n") + "\n");
    let run = session(&context, &["validate", "alpha"]);
    run.assert_failure(1, &["not valid: 2 issues", "gone on with"]);
    let lines: Vec<_> = run.stdout.lines().collect();
    assert!(lines[0].starts_with("line 5: LINE_DAMAGED: byte "), "{lines:?}");
    assert!(lines[1].starts_with(&format!("line {}: TOOL_RESULT_MISSING: ", request + 2)), "{lines:?}");
    let run = session(&context, &["validate", "alpha", "--json"]);
    run.assert_failure(1, &["not valid"]);
    let report = report(&run);
    assert_eq!(
        (&report["ok"], &report["total"], &report["issues"][0]["line"]),
        (&json!(false), &json!(2), &json!(5))
    );
}

#[test]
fn a_replay_is_reported_as_json_too() {
    let context = two_turns();
    let report = report(session(&context, &["replay", "alpha", "--json"]).assert_success());
    assert_eq!((&report["ok"], &report["unverifiable"]), (&json!(true), &json!(0)));
    let turns = json!([{"turn": 1, "requests": 2, "verified": 2, "unverifiable": 0}, {"turn": 2, "requests": 1, "verified": 1, "unverifiable": 0}]);
    assert_eq!((&report["turns"], &report["compactions"]), (&turns, &json!([])));
}

#[test]
fn a_session_is_renamed_and_loses_its_name() {
    let context = two_turns();
    let id = id_of(&context, "alpha");
    let run = session(&context, &["rename", "alpha", "beta"]);
    assert_eq!(run.assert_success().stdout, format!("session {id} is called `beta` (was `alpha`)\n"));
    assert_eq!(id_of(&context, "beta"), id);
    let run = session(&context, &["rename", "beta", "--none", "--json"]);
    let expected = json!({"sessionId": id, "before": "beta", "after": null, "changed": true});
    assert_eq!(report(run.assert_success()), expected);
    session(&context, &["rename", &id, " "]).assert_failure(2, &["--none"]);
    session(&context, &["rename", &id, &"x".repeat(201)]).assert_failure(2, &["200"]);
    session(&context, &["rename", &id]).assert_failure(2, &["NAME"]);
}

#[test]
fn a_secret_in_a_name_is_not_printed() {
    let context = two_turns();
    let name = "with test-key-for-the-fake-model";
    let run = context.run(&["session", "rename", "alpha", name]);
    let id = id_of(&context, "with [REDACTED]");
    let told = format!("session {id} is called `with [REDACTED]` (was `alpha`)\n");
    assert_eq!(run.assert_success().stdout, told);
    let again = context.run(&["session", "rename", &id, name]);
    assert_eq!(again.assert_success().stdout, format!("session {id} was called `with [REDACTED]` already\n"));
}

#[test]
fn sessions_are_deleted_when_that_is_meant_and_never_while_they_are_open() {
    let context = two_turns();
    let id = id_of(&context, "alpha");
    session(&context, &["fork", "alpha", "-n", "beta"]).assert_success();
    session(&context, &["delete", "alpha"]).assert_failure(2, &["--yes"]);
    session(&context, &["delete", "alpha", "nope", "--yes"]).assert_failure(3, &["nope"]);
    assert_eq!(session(&context, &["list"]).stdout.lines().count(), 2);
    let run = session(&context, &["delete", "alpha", &id, "--yes"]);
    assert!(
        run.assert_success().stdout.starts_with(&format!("deleted session {id}: 2 files, ")),
        "{}",
        run.stdout
    );
    assert!(!context.space.snapshot().keys().any(|file| file.contains(&id)));
    let deleted = report(session(&context, &["delete", "beta", "-y", "--json"]).assert_success());
    assert_eq!(deleted["deleted"][0]["files"].as_array().unwrap().len(), 2);
    assert_eq!(session(&context, &["list"]).stdout, "");

    let context = Context::new(Script::new().reply(Reply::new().text("Once ").gate("more")));
    let mut run = context.start(&["-p", "go", "-n", "open"]);
    context.wait_for_log("text_delta");
    session(&context, &["delete", "open", "--yes"])
        .assert_failure(3, &["is open in process", "Close the other program"]);
    session(&context, &["rename", "open", "other"]).assert_failure(3, &["is open in process"]);
    session(&context, &["validate", "open"]);
    context.server.gate("more").open();
    assert!(run.wait().unwrap().success());
    session(&context, &["show", "open"]).assert_success();
}
