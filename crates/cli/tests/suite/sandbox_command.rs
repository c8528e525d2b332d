//! `robota sandbox`, and the sandbox of a session's commands.

use robota_testkit::Script;
use serde_json::{Value, json};

use crate::context::{Context, Run};

fn run(context: &Context, arguments: &[&str]) -> Run {
    Run::of(context.bare(arguments).output().unwrap())
}

/// Whether this system enforces all of the sandbox; says so where it does not.
#[allow(clippy::print_stdout, reason = "a skipped test says why")]
fn is_enforced(context: &Context) -> bool {
    let report: Value = run(context, &["sandbox", "status", "--json"]).assert_success().frames().remove(0);
    let enforced = report["enforced"] == json!(true);
    if !enforced {
        std::io::Write::write_all(
            &mut std::io::stderr(),
            format!("skipped: {}\n", report["weaknesses"]).as_bytes(),
        )
        .unwrap();
    }
    enforced
}

#[test]
fn a_command_in_the_sandbox_changes_the_workspace_only_and_ends_with_its_own_code() {
    let context = Context::new(Script::new());
    if !is_enforced(&context) {
        return;
    }
    let line = "echo out; echo err >&2; touch in; touch /etc/robota-test; exit 7";
    let ended = run(&context, &["sandbox", "run", "--", "sh", "-c", line]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(7), "out\n"), "{}", ended.stderr);
    assert!(ended.stderr.contains("err") && ended.stderr.contains("Read-only"), "{}", ended.stderr);
    assert!(context.space.exists("project/in"));
}

#[test]
fn a_domain_that_is_none_is_named() {
    let context = Context::new(Script::new());
    let refused = run(&context, &["sandbox", "run", "--allow-domain", "http://x/", "--", "true"]);
    refused.assert_failure(125, &["the allowed domains cannot be used: `http://x/` is not a domain"]);
}

#[test]
fn the_status_names_the_folders_for_temporary_files() {
    let run = run(&Context::new(Script::new()), &["sandbox", "status"]);
    assert!(run.stdout.contains("\ntemporary    /tmp\n"), "{}", run.stdout);
}

#[test]
fn commands_in_the_sandbox_run_without_asking_when_the_user_says_so() {
    let context = Context::new(Script::new());
    if !is_enforced(&context) {
        return;
    }
    let settings =
        json!({"sandbox": {"enabled": true, "autoAllowBashIfSandboxed": true, "excludedCommands": ["id"]}});
    context.space.write("home/.robota/settings.json", settings.to_string());
    let bash = |line: &str| {
        let args = json!({"command": line}).to_string();
        run(&context, &["tool", "run", "Bash", "--args", &args])
    };
    let confined = bash("echo free; touch /etc/robota-test || echo closed");
    assert_eq!(confined.code, Some(0), "{}", confined.stderr);
    assert!(
        confined.stdout.starts_with("free\n") && confined.stdout.contains("closed"),
        "{}",
        confined.stdout
    );
    bash("id").assert_failure(5, &["--allowed-tools 'Bash(id)'"]);
}
