use std::fs;
use std::io::{PipeReader, PipeWriter, Read};
use std::os::fd::AsRawFd;
use std::sync::{Arc, Mutex};

use robota_core::ToolContext;
use serde_json::{Value, json};

use crate::session::{Session, is_running};

/// The facts but for what every call has.
fn without_duration(mut structured: Value) -> Value {
    let facts = structured.as_object_mut().unwrap();
    assert!(facts.shift_remove("durationMs").unwrap().is_u64());
    assert!(facts.shift_remove("cwd").unwrap().as_str().unwrap().starts_with('/'));
    structured
}

#[tokio::test]
async fn streams_are_merged_in_order_and_the_code_is_told() {
    let session = Session::new();
    let command = "echo one; echo two >&2; echo three; exit 3";
    let outcome = session.call("Bash", json!({"command": command})).await;
    assert_eq!(outcome.content, "one\ntwo\nthree\n[exit code 3]");
    assert_eq!((outcome.is_error, outcome.error_code), (true, Some("exit_code")));
    assert_eq!(without_duration(outcome.structured.unwrap()), json!({"exitCode": 3}));

    let outcome = session.call("Bash", json!({"command": "true"})).await;
    assert_eq!((outcome.content.as_str(), outcome.is_error), ("(no output)", false));
}

#[tokio::test]
async fn death_by_a_signal_is_not_an_exit() {
    let outcome = Session::new().call("Bash", json!({"command": "echo bye; kill -9 $$"})).await;
    assert_eq!(outcome.content, "bye\n[killed by signal 9 (SIGKILL)]");
    assert_eq!(without_duration(outcome.structured.unwrap()), json!({"exitCode": null, "signal": 9}));
}

/// A pipe whose end tells that the last process of a command is gone, and the name to open it by.
fn lifeline() -> (PipeReader, PipeWriter, String) {
    let (reader, writer) = std::io::pipe().unwrap();
    let name = format!("/proc/{}/fd/{}", std::process::id(), writer.as_raw_fd());
    (reader, writer, name)
}

async fn closed(mut reader: PipeReader) {
    let read = tokio::task::spawn_blocking(move || reader.read_to_end(&mut Vec::new()));
    assert_eq!(read.await.unwrap().unwrap(), 0);
}

#[tokio::test]
async fn a_timeout_of_zero_is_none_of_its_own() {
    let outcome = Session::new().call("Bash", json!({"command": "sleep 0.2; echo done", "timeout": 0})).await;
    assert_eq!((outcome.is_error, outcome.content.as_str()), (false, "done"));
}

#[tokio::test]
async fn nobody_survives_a_timeout() {
    let (reader, writer, name) = lifeline();
    // The grandchild ignores TERM.
    let command = format!("(trap '' TERM; exec 3>{name}; echo $BASHPID; while :; do sleep 1; done) & wait");
    let outcome = Session::new().call("Bash", json!({"command": command, "timeout": 1_000})).await;
    let (grandchild, note) = outcome.content.split_once('\n').unwrap();
    assert_eq!(note, "[timed out after 1000 ms; it and everything it had started was ended]");
    assert_eq!(without_duration(outcome.structured.unwrap()), json!({"exitCode": null, "timedOut": true}));
    assert!(!is_running(grandchild));
    drop(writer);
    closed(reader).await;
}

#[tokio::test]
async fn a_cancelled_or_dropped_call_leaves_nothing_running() {
    let session = Session::new();
    for drop_it in [false, true] {
        let (started, is_started) = tokio::sync::oneshot::channel();
        let started = Mutex::new(Some(started));
        let context = ToolContext::new("call", session.cancel.child_token());
        let cancel = context.cancel.clone();
        let context = context.with_progress(move |text| {
            if let Some(started) = started.lock().unwrap().take() {
                started.send(text.to_owned()).unwrap();
            }
        });
        let (reader, writer, name) = lifeline();
        let arguments = json!({"command": format!("exec 3>{name}; echo $$; sleep 1000 & wait")});
        let call = session.call_in("Bash", &arguments, context);
        let mut call = Box::pin(call);
        let process = tokio::select! {
            outcome = &mut call => panic!("ended early: {}", outcome.content),
            process = is_started => process.unwrap(),
        };
        assert!(is_running(&process));
        drop(writer);
        if drop_it {
            drop(call);
        } else {
            cancel.cancel();
            let outcome = call.await;
            assert_eq!(outcome.error_code, Some("cancelled"));
            assert!(!is_running(&process));
        }
        closed(reader).await;
    }
}

#[tokio::test]
async fn a_huge_output_keeps_its_beginning_and_end() {
    let session = Session::new();
    let command = "echo first; head -c 50000000 /dev/zero | tr '\\0' x; echo; echo last";
    let text = session.ok("Bash", json!({"command": command})).await;
    assert!(text.starts_with("first\nxxx") && text.ends_with("xxx\nlast"));
    assert!(text.len() < 30_000 && text.contains(" bytes left out here ...]"));
}

#[tokio::test]
async fn invalid_utf8_costs_only_itself() {
    let text = Session::new().ok("Bash", json!({"command": "printf 'a\\377b\\303\\251c'"})).await;
    assert_eq!(text, "a\u{FFFD}béc");
}

#[tokio::test]
async fn a_background_process_does_not_hold_the_call() {
    let session = Session::new();
    let text = session.ok("Bash", json!({"command": "sleep 1000 & echo $!"})).await;
    let (process, note) = text.split_once('\n').unwrap();
    assert!(note.starts_with("[a background process holds the output open"), "{note}");
    assert!(is_running(process));
    session.ok("Bash", json!({"command": format!("kill {process}")})).await;

    let quiet = session.ok("Bash", json!({"command": "sleep 1000 >/dev/null 2>&1 & echo $!"})).await;
    session.ok("Bash", json!({"command": format!("kill {quiet}")})).await;
}

#[tokio::test]
async fn commands_run_without_input_terminal_or_foreign_environment() {
    let session = Session::with(|options| options.environment.push(("GREETING".into(), "hi".into())));
    let command = "cat; tty; echo $GREETING $PAGER $TERM $NO_COLOR; env | cut -d= -f1 | sort | tr '\\n' ' '";
    let text = session.ok("Bash", json!({"command": command})).await;
    let expected = "not a tty\nhi cat dumb 1\nDEBIAN_FRONTEND GCM_INTERACTIVE GIT_ASKPASS GIT_EDITOR \
                    GIT_PAGER GIT_SEQUENCE_EDITOR GIT_TERMINAL_PROMPT GREETING NO_COLOR PAGER PATH PWD ROBOTA_CALL \
                    SHLVL SSH_ASKPASS_REQUIRE TERM _";
    assert_eq!(text, expected);
}

#[tokio::test]
async fn the_folder_is_the_project_or_the_one_asked_for() {
    let session = Session::new();
    session.put("sub/file", "");
    assert_eq!(session.ok("Bash", json!({"command": "ls"})).await, "sub");
    assert_eq!(session.ok("Bash", json!({"command": "ls", "workingDirectory": "sub"})).await, "file");
    let (code, text) = session.refused("Bash", json!({"command": "ls", "workingDirectory": "gone"})).await;
    assert_eq!(code, "not_found");
    assert!(text.contains("cannot run in") && text.contains("gone"), "{text}");
    fs::remove_dir_all(session.path("")).unwrap();
    assert_eq!(session.refused("Bash", json!({"command": "ls"})).await.0, "not_found");
}

#[tokio::test]
async fn output_is_shown_while_the_command_runs() {
    let session = Session::new();
    let seen = Arc::new(Mutex::new(String::new()));
    let listener = Arc::clone(&seen);
    let context = ToolContext::new("call", session.cancel.clone())
        .with_progress(move |text| listener.lock().unwrap().push_str(text));
    let outcome = session.call_in("Bash", &json!({"command": "printf 'é\\303'"}), context).await;
    assert_eq!(outcome.content, "é\u{FFFD}");
    assert_eq!(*seen.lock().unwrap(), "é\u{FFFD}");
}
