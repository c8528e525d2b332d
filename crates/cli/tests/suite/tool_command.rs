//! `robota tool`: the tools of a session by hand.

use robota_testkit::Script;
use serde_json::{Value, json};

use crate::context::{Context, Run};

fn context() -> Context {
    Context::new(Script::new())
}

/// Runs `robota tool …` without any provider.
fn tool(context: &Context, arguments: &[&str]) -> Run {
    Run::of(context.bare(&[&["tool"], arguments].concat()).output().unwrap())
}

#[test]
fn a_tool_runs_without_a_model_and_its_outcome_is_whole() {
    let context = context();
    context.space.write("project/a.txt", "hello\n");
    let run = tool(&context, &["run", "Read", "--args", r#"{"filePath":"a.txt"}"#]);
    assert_eq!(run.assert_success().stdout, "1\thello\n");
    context.space.write("project/args.json", r#"{"filePath":"a.txt"}"#);
    let run = tool(&context, &["run", "Read", "--args", "@args.json", "--json"]);
    let [outcome] = &run.assert_success().frames()[..] else { panic!("{}", run.stdout) };
    assert_eq!((&outcome["content"], &outcome["isError"]), (&json!("1\thello"), &json!(false)));
    let run = tool(&context, &["run", "Read", "--args", r#"{"filePath":"b.txt"}"#]);
    assert_eq!(run.code, Some(1), "{}", run.stdout);
    assert!(!context.space.exists("project/.robota"), "nothing is kept");
}

#[test]
fn a_person_changes_files_that_no_call_has_read() {
    let context = context();
    context.space.write("project/a.txt", "hello\n");
    let call = |name: &str, args: &str| {
        tool(&context, &["run", name, "--args", args, "--permission-mode", "acceptEdits"])
    };
    let edited = call("Edit", r#"{"filePath":"a.txt","oldString":"hello","newString":"bye"}"#);
    assert_eq!(
        (edited.code, context.space.read("project/a.txt").as_str()),
        (Some(0), "bye\n"),
        "{}",
        edited.stdout
    );
    let written = call("Write", r#"{"filePath":"a.txt","content":"all new\n"}"#);
    assert_eq!(
        (written.code, context.space.read("project/a.txt").as_str()),
        (Some(0), "all new\n"),
        "{}",
        written.stdout
    );
}

#[test]
fn rules_mode_and_hooks_decide_as_in_a_session() {
    let context = context();
    let refused = tool(&context, &["run", "Bash", "--args", r#"{"command":"echo hi"}"#]);
    refused.assert_failure(5, &["not allowed: Bash: ", "--allowed-tools 'Bash(echo hi)'"]);
    let allowed = tool(
        &context,
        &["run", "Bash", "--args", r#"{"command":"echo hi"}"#, "--allowed-tools", "Bash(echo hi)"],
    );
    assert_eq!((allowed.code, allowed.stdout.as_str()), (Some(0), "hi\n"), "{}", allowed.stderr);
    tool(&context, &["run", "Bash", "--denied-tools", "Bash"]).assert_failure(5, &["denied as a whole"]);
    tool(&context, &["run", "Nothing"]).assert_failure(2, &["there is no tool `Nothing`"]);
    let hooks = json!({"hooks": {"PreToolUse": [{"matcher": "Read", "hooks": [
        {"type": "command", "command": "echo no >&2; exit 2"}]}]}});
    context.space.write("home/.robota/settings.json", hooks.to_string());
    let blocked = tool(&context, &["run", "Read", "--args", r#"{"filePath":"a"}"#]);
    blocked.assert_failure(5, &["not allowed: Read: "]);
}

#[test]
fn the_list_has_what_a_session_has() {
    let run = tool(&context(), &["list", "--json", "--denied-tools", "WebFetch"]);
    let [listing] = &run.assert_success().frames()[..] else { panic!("{}", run.stdout) };
    let names: Vec<&Value> = listing["tools"].as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
    assert!(names.contains(&&json!("Read")) && !names.contains(&&json!("WebFetch")), "{names:?}");
}
