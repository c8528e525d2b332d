//! Hooks as people write them: scripts that the program runs, and what each output format tells of them.

use robota_testkit::{Reply, Script};
use serde_json::{Value, json};

use crate::context::{Context, Run};

const FORMATS: [&str; 3] = ["text", "json", "stream-json"];

/// The model wants to run a command, and then says `answers` one after the other.
fn one_command(answers: &[&str]) -> Script {
    let call = Reply::new().tool_call("c1", "Bash", json!({"command": "touch made"}));
    answers.iter().fold(Script::new().reply(call), |script, answer| script.reply(*answer))
}

/// Runs a prompt once in each format. `hooks` are the user's: event, and the body of a shell script.
fn in_each_format(hooks: &[(&str, &str)], answers: &[&str], check: impl Fn(&str, &Context, &Run)) {
    for format in FORMATS {
        let context = Context::new(one_command(answers));
        let mut settings = json!({});
        for (event, script) in hooks {
            context.space.write(&format!("home/hooks/{event}.sh"), script);
            let command = format!("sh ~/hooks/{event}.sh");
            settings[event] = json!([{"hooks": [{"type": "command", "command": command}]}]);
        }
        context.space.write("home/.claude/settings.json", json!({"hooks": settings}).to_string());
        let run = context.run(&["-p", "make it", "--allowed-tools", "Bash", "--output-format", format]);
        check(format, &context, &run);
        let told = context.run(&["session", "list", "--json"]);
        let session: Value = serde_json::from_str(told.assert_success().stdout.trim()).unwrap();
        let id = session["id"].as_str().unwrap();
        context.run(&["session", "validate", id]).assert_success();
        context.run(&["session", "replay", id]).assert_success();
    }
}

/// Type and subtype of every frame, and what each informational one says.
fn story(run: &Run) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let line = |frame: &Value| match text(&frame["subtype"]).as_str() {
        "informational" => format!("{}: {}", text(&frame["level"]), text(&frame["content"])),
        "" => text(&frame["type"]),
        subtype => subtype.to_owned(),
    };
    run.frames().iter().map(line).collect()
}

/// The result frame, which is the last and with `json` the only one.
fn result(format: &str, run: &Run) -> Value {
    let mut frames = run.frames();
    assert!(format == "stream-json" || frames.len() == 1, "{}", run.stdout);
    frames.pop().unwrap()
}

/// What the model got with its request number `index`.
fn asked(context: &Context, index: usize) -> String {
    String::from_utf8(context.server.requests()[index].body.to_vec()).unwrap()
}

#[test]
fn a_refused_call_is_told_to_person_program_and_model() {
    let guard = "grep -q '\"command\":\"touch made\"' && { echo 'not today' >&2; exit 2; }\n";
    in_each_format(&[("PreToolUse", guard)], &["Done."], |format, context, run| {
        assert_eq!(run.code, Some(0), "{format}: {}", run.stderr);
        assert!(!context.space.exists("project/made"));
        assert!(asked(context, 1).contains("Blocked by hook: not today"));
        if format == "text" {
            let told = "not allowed: Bash touch made: Blocked by hook: not today\n";
            assert_eq!((run.stdout.as_str(), run.stderr.as_str()), ("Done.\n", told));
            return;
        }
        let denial =
            json!({"tool_name": "Bash", "tool_use_id": "c1", "tool_input": {"command": "touch made"}});
        let result = result(format, run);
        assert_eq!((&result["permission_denials"], &result["result"]), (&json!([denial]), &json!("Done.")));
        assert_eq!(run.stderr, "");
        if format == "stream-json" {
            let told = ["init", "assistant", "permission_denied", "user", "assistant", "success"];
            assert_eq!(story(run), told);
            assert_eq!(run.frames()[2]["message"], "Blocked by hook: not today");
        }
    });
}

#[test]
fn a_stop_hook_sends_the_model_on_and_says_so() {
    let tests_first =
        "grep -q '\"stop_hook_active\":true' && exit 0\necho 'Run the tests first.' >&2\nexit 2\n";
    in_each_format(&[("Stop", tests_first)], &["Done.", "Tested."], |format, context, run| {
        assert_eq!(run.code, Some(0), "{format}: {}", run.stderr);
        assert!(asked(context, 2).contains("Run the tests first."));
        let told = "hook Stop wants the model to go on: Run the tests first.";
        match format {
            "text" => {
                assert_eq!((&*run.stdout, &*run.stderr), ("Done.\n\nTested.\n", &*format!("{told}\n")));
            }
            "json" => assert_eq!(result(format, run)["result"], "Tested."),
            _ => assert_eq!(story(run)[3..], ["assistant", &format!("info: {told}"), "assistant", "success"]),
        }
    });
}

#[test]
fn a_hook_ends_the_turn_with_its_reason() {
    let enough = r#"echo '{"continue": false, "stopReason": "enough for today"}'"#;
    in_each_format(&[("PreToolUse", enough)], &[], |format, context, run| {
        assert_eq!((run.code, context.server.requests().len()), (Some(1), 1), "{}", run.stderr);
        assert!(!context.space.exists("project/made"));
        let told = "a hook ended the turn: enough for today";
        if format == "text" {
            assert_eq!((run.stdout.as_str(), run.stderr.as_str()), ("", &*format!("error: {told}\n")));
            return;
        }
        let result = result(format, run);
        let ended = ["subtype", "terminal_reason", "errors"].map(|key| result[key].clone());
        assert_eq!(ended, [json!("error_during_execution"), json!("hook_stopped"), json!([told])]);
        assert_eq!(run.stderr, "");
    });
}

#[test]
fn text_for_the_model_and_text_for_the_person_go_their_ways() {
    let hooks = [
        ("SessionStart", "echo 'It is Monday.'"),
        ("UserPromptSubmit", "echo 'Be brief.'"),
        ("PreToolUse", r#"echo '{"hookSpecificOutput": {"additionalContext": "The disk is full."}}'"#),
        ("PostToolUse", r#"echo '{"systemMessage": "A file was made."}'"#),
        ("SessionEnd", r#"echo '{"systemMessage": "Until tomorrow."}'"#),
    ];
    in_each_format(&hooks, &["Done."], |format, context, run| {
        assert_eq!(run.code, Some(0), "{format}: {}", run.stderr);
        assert!(context.space.exists("project/made"));
        let requests = asked(context, 1);
        let known = ["It is Monday.", "Be brief.", "The disk is full."].map(|text| requests.contains(text));
        assert_eq!((known, requests.contains("A file was made.")), ([true; 3], false), "{requests}");
        match format {
            "text" => {
                let told = "hook PostToolUse: A file was made.\nhook SessionEnd: Until tomorrow.\n";
                assert_eq!((run.stdout.as_str(), run.stderr.as_str()), ("Done.\n", told));
            }
            "json" => assert_eq!(result(format, run)["result"], "Done."),
            _ => assert!(story(run).contains(&"info: A file was made.".to_owned()), "{}", run.stdout),
        }
    });
}

#[test]
fn a_guard_that_fails_lets_nothing_through_and_says_why() {
    in_each_format(&[("PreToolUse", "exit 127")], &["Done."], |format, context, run| {
        assert_eq!(run.code, Some(0), "{format}: {}", run.stderr);
        assert!(!context.space.exists("project/made"));
        let failed = "The PreToolUse hook `sh ~/hooks/PreToolUse.sh` (in ";
        let refused =
            format!("Blocked by hook: A hook could not judge the call, so it does not run. {failed}");
        match format {
            "text" => {
                let lines: Vec<_> = run.stderr.lines().collect();
                let [warning, denied] = &lines[..] else { panic!("{}", run.stderr) };
                assert!(warning.starts_with(&format!("hook PreToolUse failed: {failed}")), "{warning}");
                assert!(denied.starts_with(&format!("not allowed: Bash touch made: {refused}")), "{denied}");
                assert!(denied.ends_with(r#"with the setting "hookFailure": "open"."#), "{denied}");
            }
            "json" => assert_eq!(result(format, run)["permission_denials"][0]["tool_name"], "Bash"),
            _ => assert!(story(run)[2].starts_with(&format!("warning: {failed}")), "{:?}", story(run)),
        }
    });
}

#[test]
fn a_command_that_a_hook_changed_is_shown_as_it_ran() {
    let pnpm = r#"echo '{"hookSpecificOutput": {"permissionDecision": "allow", "updatedInput": {"command": "touch other"}}}'"#;
    in_each_format(&[("PreToolUse", pnpm)], &["Done."], |format, context, run| {
        assert_eq!(run.code, Some(0), "{format}: {}", run.stderr);
        assert!(context.space.exists("project/other") && !context.space.exists("project/made"));
        let told = "hook PreToolUse changed the arguments: touch other";
        match format {
            "text" => assert_eq!(run.stderr, format!("{told}\n")),
            "json" => assert_eq!(run.stderr, ""),
            _ => assert_eq!(story(run)[2], format!("info: {told}")),
        }
    });
}
