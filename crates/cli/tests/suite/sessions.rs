//! Resume, fork, names, and what stands in the log.

use robota_testkit::{Reply, Script};
use serde_json::json;

use crate::context::{Context, Run};

fn texts(context: &Context, request: usize) -> Vec<String> {
    let requests = context.server.requests();
    let text = |message: &serde_json::Value| match &message["content"] {
        serde_json::Value::String(text) => text.clone(),
        blocks => {
            let texts = blocks.as_array().into_iter().flatten().filter_map(|block| block["text"].as_str());
            let mut said = texts.filter(|text| !text.starts_with("<system-reminder>"));
            said.next().unwrap_or_default().to_owned()
        }
    };
    requests[request].messages().iter().map(text).collect()
}

#[test]
fn continue_goes_on_with_the_latest_session_and_its_prefix_is_stable() {
    let context = Context::new(Script::new().reply("one").reply("two"));
    context.run(&["-p", "first", "-n", "alpha"]).assert_success();
    context.run(&["-p", "second", "-c"]).assert_success();
    assert_eq!(texts(&context, 1), ["first", "one", "second"]);
    context.server.assert_clean();
    let names: Vec<_> =
        context.log().iter().map(|event| event["event"].as_str().unwrap().to_owned()).collect();
    let of_interest = ["session_init", "complete", "session_shutdown", "session_resume"];
    let order: Vec<_> = names.iter().filter(|name| of_interest.contains(&name.as_str())).collect();
    let expected =
        ["session_init", "complete", "session_shutdown", "session_resume", "complete", "session_shutdown"];
    assert_eq!(order, expected);
}

#[test]
fn resume_takes_a_name_or_the_beginning_of_an_id() {
    let context = Context::new(Script::new().reply("a").reply("b").reply("c"));
    let first = context.run(&["-p", "first", "-n", "alpha", "--output-format", "json"]);
    let id = first.frames()[0]["session_id"].as_str().unwrap().to_owned();
    context.run(&["-p", "second", "-r", "alpha"]).assert_success();
    let run = context.run(&["-p", "third", "--resume", &id, "--output-format", "json"]);
    assert_eq!(run.frames()[0]["session_id"], json!(id));
    assert_eq!(texts(&context, 2), ["first", "a", "second", "b", "third"]);
}

#[test]
fn a_name_that_fits_several_sessions_lists_them() {
    let context = Context::new(Script::new().reply("a").reply("b").reply("c"));
    let made = ["first", "second"].map(|prompt| {
        let run = context.run(&["-p", prompt, "-n", "alpha", "--output-format", "json"]);
        run.frames()[0]["session_id"].as_str().unwrap().to_owned()
    });
    let listed = [&*made[0], &*made[1], "alpha"];
    context.run(&["-p", "x", "-r", "alpha"]).assert_failure(3, &listed);
    context.run(&["-p", "x", "-r", "alpha", "--fork-session"]).assert_failure(3, &listed);
    assert_eq!(context.server.requests().len(), 2);
    context.run(&["-p", "third", "-r", &made[0]]).assert_success();
    assert_eq!(texts(&context, 2), ["first", "a", "third"]);
}

#[test]
fn a_session_gets_another_name_when_it_is_resumed() {
    let context = Context::new(Script::new().reply("a").reply("b").reply("c"));
    context.run(&["-p", "first", "-n", "alpha"]).assert_success();
    context.run(&["-p", "second", "-c", "-n", "beta"]).assert_success();
    context.run(&["-p", "x", "-r", "alpha"]).assert_failure(3, &["alpha"]);
    context.run(&["-p", "third", "-r", "beta"]).assert_success();
    assert_eq!(texts(&context, 2), ["first", "a", "second", "b", "third"]);
}

#[test]
fn the_latest_session_is_forked_as_well_as_a_named_one() {
    let context = Context::new(Script::new().reply("a").reply("b"));
    context.run(&["-p", "first", "-n", "alpha"]).assert_success();
    let before = context.space.snapshot();
    context.run(&["-p", "other", "-c", "--fork-session", "-n", "beta"]).assert_success();
    assert_eq!(texts(&context, 1), ["first", "a", "other"]);
    let after = context.space.snapshot();
    assert!(before.iter().all(|(file, text)| after.get(file) == Some(text)), "the original was changed");
    assert_eq!(context.run(&["session", "list"]).stdout.lines().count(), 2);
}

#[test]
fn flags_that_contradict_each_other_are_refused() {
    let context = Context::new(Script::new());
    for flags in [
        &["-c", "-r", "alpha"][..],
        &["--fork-session"],
        &["--no-session-persistence", "-c"],
        &["--no-session-persistence", "-r", "alpha"],
    ] {
        context.run(&[&["-p", "x"], flags].concat()).assert_failure(2, &[flags[0], "--help"]);
    }
    assert_eq!(context.server.requests().len(), 0);
    assert!(!context.space.exists("project/.robota"));
}

#[test]
fn another_mode_or_folder_keeps_the_prefix_that_the_provider_has_cached() {
    let context = Context::new(Script::new().reply("one").reply("two").reply("three"));
    context.space.write("project/.git/HEAD", "ref: refs/heads/main\n");
    context.space.write("project/sub/file", "");
    context.run(&["-p", "first", "-n", "alpha"]).assert_success();
    context.run(&["-p", "second", "-c", "--permission-mode", "plan"]).assert_success();
    let mut command = context.robota(&["-p", "third", "-r", "alpha"]);
    Run::of(command.current_dir(context.space.path("project/sub")).output().unwrap()).assert_success();
    let requests = context.server.requests();
    let systems: Vec<_> = requests.iter().map(|request| request.system_text()).collect();
    assert_eq!(systems, [&*systems[0]; 3]);
    context.server.assert_clean();
}

#[test]
fn a_fork_leaves_the_original_as_it_was() {
    let context = Context::new(Script::new().reply("a").reply("b").reply("c"));
    context.run(&["-p", "first", "-n", "alpha"]).assert_success();
    let before = context.space.snapshot();
    let forked = context.run(&[
        "-p",
        "other",
        "-r",
        "alpha",
        "--fork-session",
        "-n",
        "beta",
        "--output-format",
        "json",
    ]);
    assert_eq!(texts(&context, 1), ["first", "a", "other"]);
    let after = context.space.snapshot();
    for (file, text) in &before {
        assert_eq!(after.get(file), Some(text), "{file} was changed");
    }
    let listed = context.run(&["session", "list"]).stdout;
    assert_eq!(listed.lines().count(), 2, "{listed}");
    assert!(listed.contains("alpha") && listed.contains("beta"), "{listed}");
    assert!(listed.contains(forked.frames()[0]["session_id"].as_str().unwrap()));
}

#[test]
fn without_persistence_nothing_is_left_behind() {
    let context = Context::new("ok");
    context.run(&["-p", "x", "--no-session-persistence"]).assert_success();
    assert!(!context.space.exists("project/.robota"));
    assert!(!context.space.exists("home/.robota"));
}

#[test]
fn what_cannot_be_resumed_is_an_error_that_says_so() {
    let context = Context::new(Script::new());
    context.run(&["-p", "x", "-c"]).assert_failure(3, &["no session to continue"]);
    context.run(&["-p", "x", "-r", "nope"]).assert_failure(3, &["nope"]);
    assert_eq!(context.server.requests().len(), 0);
}

#[test]
fn a_session_is_shown_and_replayed_from_its_log() {
    let call = Reply::new().text("Looking.").tool_call("c1", "Bash", json!({"command": "echo hi"}));
    let context = Context::new(Script::new().reply(call).reply("Done.").reply("Again."));
    context.run(&["-p", "go", "-n", "alpha", "--allowed-tools", "Bash(echo *)"]).assert_success();
    context.run(&["-p", "more", "-c"]).assert_success();

    let shown = Run::of(context.bare(&["session", "show", "alpha"]).output().unwrap());
    let lines: Vec<_> = shown.assert_success().stdout.lines().skip(2).map(str::to_owned).collect();
    assert_eq!(lines[..4], ["> go", "Looking.", "● Bash echo hi", "  | hi"]);
    assert!(lines.iter().any(|line| line.starts_with("-- completed: 2 rounds")), "{lines:?}");

    let replayed = Run::of(context.bare(&["session", "replay", "alpha"]).output().unwrap());
    let expected = "turn 1: 2 requests, as recorded\nturn 2: 1 request, as recorded\nevery request came out as it was recorded\n";
    assert_eq!(replayed.assert_success().stdout, expected);
    assert_eq!(context.server.requests().len(), 3, "a replay calls no model");
}

#[test]
fn a_log_that_was_tampered_with_diverges_at_the_place() {
    let call = Reply::new().tool_call("c1", "Bash", json!({"command": "echo hi"}));
    let context = Context::new(Script::new().reply(call).reply("Done."));
    context.run(&["-p", "go", "-n", "alpha", "--allowed-tools", "Bash(echo *)"]).assert_success();
    let folder = context.space.path("project/.robota/logs");
    let log = std::fs::read_dir(&folder).unwrap().next().unwrap().unwrap().file_name();
    let name = format!("project/.robota/logs/{}", log.to_string_lossy());
    let whole = context.space.read(&name);
    let without_result: Vec<&str> = whole.lines().filter(|line| !line.contains(r#""role":"tool""#)).collect();
    context.space.write(&name, without_result.join("\n"));
    let run = Run::of(context.bare(&["session", "replay", "alpha"]).output().unwrap());
    run.assert_failure(1, &["turn 1, request 2 differs", "No result was recorded for this call"]);
    assert_eq!(run.stdout, "turn 1: 2 requests, another way\n");
}

#[test]
fn damage_is_told_and_the_rest_goes_on() {
    let context = Context::new(Script::new().reply("one").reply("two"));
    context.run(&["-p", "first"]).assert_success();
    let folder = context.space.path("project/.robota/logs");
    let log = std::fs::read_dir(&folder).unwrap().next().unwrap().unwrap().path();
    let mut file = std::fs::OpenOptions::new().append(true).open(&log).unwrap();
    std::io::Write::write_all(&mut file, b"garbage\n").unwrap();
    let run = context.run(&["-p", "second", "-c"]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "two\n"));
    assert!(run.stderr.starts_with("note: 1 piece of the session could not be used: "), "{}", run.stderr);
    assert_eq!(texts(&context, 1), ["first", "one", "second"]);
}

#[test]
fn keys_never_reach_the_log() {
    let call =
        Reply::new().tool_call("c1", "Bash", json!({"command": "echo test-key-for-the-fake-model; env"}));
    let context = Context::new(Script::new().reply(call).reply("Done."));
    context.run(&["-p", "go", "--permission-mode", "bypassPermissions"]).assert_success();
    for (file, text) in context.space.snapshot() {
        assert!(!text.contains("test-key-for-the-fake-model"), "the key stands in {file}");
    }
}
