//! Ctrl-C and SIGTERM.

use std::io::Read;
use std::process::Child;

use robota_testkit::{Reply, Script};
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::json;

use crate::context::Context;

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
    let child = context.start(&["-p", "tell", "--output-format", "stream-json"]);
    context.server.gate("hold").reached_blocking();
    context.wait_for_log("Once");
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

/// Waits until the process is gone or a zombie that its new parent has not collected yet; it has been
/// killed, so this takes no longer than the kernel does.
#[track_caller]
fn assert_dies(process: Pid) {
    for _ in 0..1_000_000 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", process.as_raw_nonzero()));
        let dead =
            |stat: String| stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('Z'));
        if stat.map_or_else(|_| test_kill_process(process).is_err(), dead) {
            return;
        }
        std::thread::yield_now();
    }
    panic!("the command still runs");
}

/// A project with a running command that ignores SIGTERM; the numbers are its and the program's process ids.
fn stubborn_command(arguments: &[&str]) -> (Context, Child, Pid) {
    // The command tells its process id through a file, and that it is up through a pipe.
    let command = "echo $$ > pid; trap '' TERM; echo ready > fifo; while :; do sleep 1; done";
    let call = Reply::new().tool_call("c1", "Bash", json!({"command": command}));
    let context = Context::new(Script::new().reply(call));
    let arguments = [&["-p", "run", "--permission-mode", "bypassPermissions"], arguments].concat();
    let (child, command) = start_and_wait(&context, &arguments);
    (context, child, command)
}

/// Starts the program, and waits until what it runs has written its process id to `pid` and says that it is up.
fn start_and_wait(context: &Context, arguments: &[&str]) -> (Child, Pid) {
    let fifo = context.space.path("project/fifo");
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, fifo, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    let child = context.start(arguments);
    assert_eq!(context.space.read("project/fifo"), "ready\n", "blocks until the command is up");
    let pid = context.space.read("project/pid").trim().parse().unwrap();
    (child, Pid::from_raw(pid).unwrap())
}

#[test]
fn hooks_of_the_start_and_the_end_hold_no_signal_up() {
    let hook = "echo $$ > pid; trap '' TERM INT; echo ready > fifo; while :; do sleep 1; done";
    let cases = [
        ("SessionStart", Signal::INT, 130),
        ("SessionStart", Signal::TERM, 143),
        ("SessionEnd", Signal::INT, 0),
    ];
    for (event, signal, expected) in cases {
        let context = Context::new(Script::new().reply("Done."));
        let settings = json!({"hooks": {event: [{"hooks": [{"type": "command", "command": hook}]}]}});
        context.space.write("home/.claude/settings.json", settings.to_string());
        let (child, command) = start_and_wait(&context, &["-p", "run"]);
        send(&child, signal);
        let (code, _) = end(child);
        assert_eq!(code, Some(expected), "{event}");
        assert_dies(command);
    }
}

#[test]
fn sigterm_leaves_no_child_behind() {
    let (context, child, command) = stubborn_command(&[]);
    send(&child, Signal::TERM);
    let (code, _) = end(child);
    assert_eq!(code, Some(143));
    assert_dies(command);
    let last = context.log().pop().unwrap();
    assert_eq!(last["event"], "session_shutdown");
}

#[test]
fn a_reader_that_stopped_reading_holds_no_signal_up() {
    for format in ["text", "stream-json"] {
        let flood = Reply::new().text(vec!["x".repeat(1_000); 300]).gate("flooded");
        let context = Context::new(Script::new().reply(flood));
        let mut child = context.start(&["-p", "flood", "--output-format", format]);
        context.server.gate("flooded").reached_blocking();
        send(&child, Signal::TERM);
        // Nothing reads its output: only an end by itself lets this return.
        assert_eq!(child.wait().unwrap().code(), Some(143), "{format}");
    }
}

#[test]
fn a_second_ctrl_c_does_not_wait_for_a_stubborn_command() {
    let (context, mut child, command) = stubborn_command(&[]);
    send(&child, Signal::INT);
    let mut heard = [0; 12];
    child.stderr.as_mut().unwrap().read_exact(&mut heard).unwrap();
    assert_eq!(&heard, b"interrupting");
    send(&child, Signal::INT);
    let (code, _) = end(child);
    assert_eq!(code, Some(130));
    assert_dies(command);
    let events: Vec<_> = context.log().iter().map(|event| event["event"].clone()).collect();
    assert_eq!(events.last().unwrap(), "session_shutdown", "{events:?}");
}
