//! `robota session` beyond one session: export, import, fork, migrate, gc.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use robota_testkit::{FakeModelServer, Reply, Rule, Script};
use serde_json::{Value, json};

use crate::context::{Context, Run};
use crate::session_commands::{id_of, report, session, two_turns};

#[test]
fn an_exported_session_is_imported_elsewhere_and_gone_on_with() {
    let context = two_turns();
    let id = id_of(&context, "alpha");
    let run = session(&context, &["export", "alpha", "-o", "../alpha.json"]);
    assert!(
        run.assert_success().stdout.starts_with(&format!("session {id} is in ../alpha.json: ")),
        "{}",
        run.stdout
    );
    let file = context.space.path("alpha.json");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(context.space.read("alpha.json"), session(&context, &["export", "alpha"]).stdout);

    let other = Context::new("Welcome back.");
    let run = session(&other, &["import", file.to_str().unwrap()]);
    let told =
        format!("imported as session {id} (alpha): 6 messages, 2 turns\ngo on with it: robota -r {id}\n");
    assert_eq!(run.assert_success().stdout, told);
    session(&other, &["validate", "alpha"]).assert_success();
    session(&other, &["replay", "alpha"]).assert_success();
    assert_eq!(other.run(&["-p", "hello", "-r", "alpha"]).assert_success().stdout, "Welcome back.\n");
    session(&other, &["import", file.to_str().unwrap()]).assert_failure(3, &["exists already", "--fresh"]);
    let fresh =
        report(session(&other, &["import", file.to_str().unwrap(), "--fresh", "--json"]).assert_success());
    assert_eq!(fresh["originalId"], json!(id));
    assert_ne!(fresh["sessionId"], json!(id));
    let named = session(&other, &["import", file.to_str().unwrap(), "--id", "mine"]);
    assert!(named.assert_success().stdout.ends_with("robota -r mine\n"));
}

#[test]
fn an_export_never_overwrites_a_file_unless_it_is_told_to() {
    let context = two_turns();
    context.space.write("project/out.json", "precious");
    session(&context, &["export", "alpha", "-o", "out.json"])
        .assert_failure(2, &["out.json exists already", "--force"]);
    assert_eq!(context.space.read("project/out.json"), "precious");
    let run = session(&context, &["export", "alpha", "-o", "out.json", "--force", "--no-log", "--json"]);
    let told = report(run.assert_success());
    assert_eq!((&told["file"], &told["messages"], told.get("events")), (&json!("out.json"), &json!(6), None));
    let document: Value = serde_json::from_str(&context.space.read("project/out.json")).unwrap();
    assert!(document.get("log").is_none() && document["record"]["name"] == "alpha");
    session(&context, &["export", "alpha", "-o", "no/folder/out.json"])
        .assert_failure(4, &["cannot be written"]);
    session(&context, &["export", "alpha", "--force"]).assert_failure(2, &["--output"]);
}

#[test]
fn what_is_no_document_is_refused_and_keys_are_taken_out() {
    let context = two_turns();
    session(&context, &["import", "none.json"]).assert_failure(4, &["none.json cannot be read"]);
    context.space.write("project/other.json", r#"{"sessionId":"x","type":"user"}"#);
    let refused = session(&context, &["import", "other.json"]);
    refused.assert_failure(4, &["transcript of another agent", "schemaVersion"]);
    session(&context, &["import", "other.json", "--id", "a/b"]).assert_failure(2, &["a/b"]);
    assert_eq!(session(&context, &["list"]).stdout.lines().count(), 1);

    let document =
        session(&context, &["export", "alpha"]).stdout.replace("Done.", "It is test-key-for-the-fake-model.");
    let mut import = context.robota(&["session", "import", "-", "--fresh"]);
    Run::of(import.write_stdin(document).output().unwrap()).assert_success();
    for (file, text) in context.space.snapshot() {
        assert!(!text.contains("test-key-for-the-fake-model"), "the key stands in {file}");
    }
}

#[test]
fn a_copy_needs_no_key_and_may_begin_at_an_earlier_turn() {
    let call = Reply::new().text("Looking.").tool_call("c1", "Bash", json!({"command": "echo hi"}));
    let script = Script::new().reply(call).reply("Done.").reply("Again.").reply("Other.");
    // What came after the turn is not in the copy.
    let server = FakeModelServer::builder(script).ignore(Rule::StablePrefix).start().unwrap();
    let context = Context::with(server);
    context.run(&["-p", "go", "-n", "alpha", "--allowed-tools", "Bash(echo *)"]).assert_success();
    context.run(&["-p", "more", "-c"]).assert_success();
    let before = context.space.snapshot();
    let id = id_of(&context, "alpha");
    let copy =
        report(session(&context, &["fork", "alpha", "--at", "1", "-n", "beta", "--json"]).assert_success());
    let new_id = copy["sessionId"].as_str().unwrap().to_owned();
    let expected = json!({"sessionId": new_id, "forkedFrom": id, "name": "beta", "at": 1, "messages": 4});
    assert_eq!(copy, expected);
    let after = context.space.snapshot();
    assert!(before.iter().all(|(file, text)| after.get(file) == Some(text)), "the original was changed");
    session(&context, &["validate", "beta"]).assert_success();
    let shown = session(&context, &["show", "beta"]).assert_success().stdout.clone();
    assert!(shown.contains(&format!("\n  copy of session {id}\n> go\nLooking.\n")), "{shown}");
    assert_eq!(context.run(&["-p", "else", "-r", "beta"]).assert_success().stdout, "Other.\n");
    session(&context, &["fork", "alpha", "--at", "9"]).assert_failure(2, &["no turn 9", "1 to 2"]);
    let told = session(&context, &["fork", "alpha"]).assert_success().stdout.clone();
    assert!(told.contains(&format!(" is a copy of {id}: 6 messages\ngo on with it: robota -r ")), "{told}");
    context.server.assert_clean();
}

#[test]
fn records_of_the_original_are_migrated_once() {
    let context = Context::new(Script::new());
    let message = json!({"id": "m", "timestamp": "2025-05-05T05:05:05.000Z", "state": "complete", "role": "user", "content": "h\u{1b}i"});
    let record = json!({"id": "old", "cwd": "/p", "createdAt": "2025-05-05T05:05:05.000Z", "updatedAt": "2025-05-05T05:05:05.000Z", "messages": [message]});
    context.space.write("project/.robota/sessions/old.json", record.to_string());
    let run = session(&context, &["migrate", "--dry-run"]);
    assert_eq!(run.assert_success().stdout, "would migrate old\n1 record would get a timeline, 0 had one\n");
    assert_eq!(context.space.read("project/.robota/sessions/old.json"), record.to_string());
    let run = session(&context, &["migrate"]);
    assert_eq!(run.assert_success().stdout, "migrated old\n1 record got a timeline, 0 had one\n");
    let again = report(session(&context, &["migrate", "--json"]).assert_success());
    assert_eq!(again, json!({"dryRun": false, "migrated": [], "skipped": ["old"], "failed": []}));
    assert!(
        session(&context, &["show", "old"]).assert_success().stdout.ends_with("only a snapshot)\n> h i\n")
    );
    session(&context, &["log", "old"]).assert_failure(4, &["no log", "session export old"]);
    context.space.write("project/.robota/sessions/bad.json", "nonsense");
    session(&context, &["migrate"]).assert_failure(4, &["bad.json", "1 record stays as it is"]);
}

#[test]
fn what_is_left_over_is_shown_and_removed_only_when_asked() {
    let context = two_turns();
    let clean = session(&context, &["gc"]);
    assert_eq!(clean.assert_success().stdout, "nothing is left over\n");
    context.space.write("project/.robota/logs/gone.payloads/0000.json", "12345");
    let shown = session(&context, &["gc"]);
    let lines: Vec<_> = shown.assert_success().stdout.lines().collect();
    assert!(
        lines[0].starts_with("payloads without a log, 5 B: ")
            && lines[0].ends_with("(there is no log of session gone)"),
        "{lines:?}"
    );
    assert_eq!(lines[1], "nothing was removed; --apply removes 1 thing, 5 B");
    let planned = report(session(&context, &["gc", "--json"]).assert_success());
    assert_eq!(
        (&planned["applied"], &planned["bytes"], &planned["items"][0]["kind"]),
        (&json!(false), &json!(5), &json!("orphanPayloads"))
    );
    assert!(context.space.exists("project/.robota/logs/gone.payloads"));
    let removed = session(&context, &["gc", "--apply"]);
    assert!(removed.assert_success().stdout.ends_with("removed 1 thing, 5 B\n"), "{}", removed.stdout);
    assert!(!context.space.exists("project/.robota/logs/gone.payloads"));
    let young = report(session(&context, &["gc", "--older-than", "1", "--apply", "--json"]).assert_success());
    assert_eq!(
        (&young["applied"], &young["removed"], &young["bytes"]),
        (&json!(true), &json!([]), &json!(0))
    );
    session(&context, &["gc", "--older-than", "0"]).assert_failure(2, &["--older-than"]);
    session(&context, &["validate", "alpha"]).assert_success();
}
