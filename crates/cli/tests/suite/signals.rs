//! Ctrl-C and SIGTERM.

use std::io::Read;
use std::process::{Child, Stdio};

use robota_testkit::{Reply, Script};
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::json;

use crate::context::Context;

/// Starts the program without waiting for it.
#[expect(clippy::disallowed_methods, reason = "assert_cmd cannot send signals to a running program")]
fn start(context: &Context, arguments: &[&str]) -> Child {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_robota"));
    command.env_clear().env("HOME", context.space.path("home")).env("PATH", "/usr/local/bin:/usr/bin:/bin");
    command.env("ANTHROPIC_API_KEY", "k-k-k-k-k").env("ANTHROPIC_BASE_URL", context.server.base_url());
    command.current_dir(context.space.path("project")).args(arguments);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn send(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

fn end(mut child: Child) -> (Option<i32>, String) {
    let mut stdout = String::new();
    child.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
    (child.wait().unwrap().code(), stdout)
}

#[test]
fn ctrl_c_ends_the_turn_and_keeps_what_there_is() {
    let context =
        Context::new(Script::new().reply(Reply::new().text("Once upon").gate("hold").text(" a time")));
    let child = start(&context, &["-p", "tell", "--output-format", "stream-json"]);
    context.server.gate("hold").reached_blocking();
    context.wait_for_log("Once upon");
    send(&child, Signal::INT);
    let (code, stdout) = end(child);
    assert_eq!(code, Some(130));
    let last: serde_json::Value = serde_json::from_str(stdout.lines().last().unwrap()).unwrap();
    assert_eq!(
        (&last["subtype"], &last["terminal_reason"]),
        (&json!("error_during_execution"), &json!("aborted_streaming"))
    );
    let kept = context.log().into_iter().find(|event| event["message"]["state"] == "interrupted").unwrap();
    assert_eq!(kept["message"]["content"], "Once upon");
}

#[test]
fn sigterm_leaves_no_child_behind() {
    // The child tells its process id through a file that only this test reads.
    let command = "echo $$ > pid; trap '' TERM; echo ready > fifo; while :; do sleep 1; done";
    let call = Reply::new().tool_call("c1", "Bash", json!({"command": command}));
    let context = Context::new(Script::new().reply(call));
    rustix::fs::mknodat(
        rustix::fs::CWD,
        context.space.path("project/fifo"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    let child = start(&context, &["-p", "run", "--permission-mode", "bypassPermissions"]);
    assert_eq!(context.space.read("project/fifo"), "ready\n", "blocks until the command is up");
    let pid: i32 = context.space.read("project/pid").trim().parse().unwrap();
    send(&child, Signal::TERM);
    let (code, _) = end(child);
    assert_eq!(code, Some(143));
    assert!(test_kill_process(Pid::from_raw(pid).unwrap()).is_err(), "the command still runs");
    let last = context.log().pop().unwrap();
    assert_eq!(last["event"], "session_shutdown");
}
