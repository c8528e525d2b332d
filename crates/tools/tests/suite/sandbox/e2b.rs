//! E2B alone: keys, refusals, broken connections, the life of machines.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use robota_tools::process::Ending;
use robota_tools::sandbox::{
    E2bOptions, E2bSandbox, Sandbox, SandboxError, SandboxErrorKind, SandboxRunOptions, SandboxRunResult,
};
use secrecy::SecretString;
use tokio_util::sync::CancellationToken;

use super::standin::{KEY, Standin};

/// The error and everything that caused it, as text.
fn all_of(error: &SandboxError) -> String {
    let mut text = format!("{error} {error:?}");
    let mut source = error.source();
    while let Some(inner) = source {
        text.push_str(&format!(" {inner} {inner:?}"));
        source = inner.source();
    }
    text
}

async fn run(sandbox: &E2bSandbox, command: &str) -> Result<SandboxRunResult, SandboxError> {
    sandbox.run(command, SandboxRunOptions::default(), None, &CancellationToken::new()).await
}

#[tokio::test]
async fn a_wrong_key_is_told_without_the_key() {
    let standin = Standin::start().await;
    let mut options = standin.options();
    options.api_key = SecretString::from("e2b_wrong0123");
    assert!(!format!("{options:?}").contains("wrong0123"));
    let error = E2bSandbox::create(options).await.unwrap_err();
    assert_eq!(error.kind(), SandboxErrorKind::Unauthorized);
    assert_eq!(error.to_string(), "cannot make a sandbox: invalid API key; check the key of E2B");
    assert!(!all_of(&error).contains("wrong0123"));
}

#[tokio::test]
async fn the_key_goes_to_the_control_api_and_the_token_to_the_machine() {
    let standin = Standin::start().await;
    let sandbox = standin.sandbox().await;
    sandbox.write_file(Path::new("a"), b"x".to_vec()).await.unwrap();
    run(&sandbox, "true").await.unwrap();
    for request in standin.state.requests.lock().unwrap().iter() {
        let to_control = request.contains(" /sandboxes");
        assert_eq!(request.contains(KEY), to_control, "{request}");
        assert_eq!(request.contains("token-of-machine-1"), !to_control, "{request}");
    }
    let shown = format!("{sandbox:?}");
    assert!(!shown.contains(KEY) && !shown.contains("token-of") && shown.contains("machine-1"), "{shown}");
}

#[tokio::test]
async fn a_wrong_token_and_a_gone_machine_are_told() {
    let standin = Standin::start().await;
    let sandbox = standin.sandbox().await;
    standin.fail(
        "/files",
        "HTTP/1.1 401 No\r\nContent-Length: 42\r\n\r\n{\"code\":401,\"message\":\"wrong access token\"}",
    );
    let error = sandbox.read_file(Path::new("a")).await.unwrap_err();
    assert_eq!(error.kind(), SandboxErrorKind::Unauthorized, "{error}");
    standin.state.machines.lock().unwrap().clear();
    let error = sandbox.stat(Path::new("a")).await.unwrap_err();
    assert_eq!((error.kind(), error.is_retryable()), (SandboxErrorKind::Transport, true), "{error}");
    assert!(error.hint().unwrap().contains("lifetime"));
    let error = E2bSandbox::connect(standin.options(), "machine-1").await.unwrap_err();
    assert_eq!(error.kind(), SandboxErrorKind::NotFound);
    let error = E2bSandbox::connect(standin.options(), "../machine").await.unwrap_err();
    assert_eq!(error.kind(), SandboxErrorKind::NotFound);
    sandbox.kill().await.unwrap();
}

#[tokio::test]
async fn too_many_requests_say_when_to_come_back() {
    let standin = Standin::start().await;
    let sandbox = standin.sandbox().await;
    standin.fail("/process", "HTTP/1.1 429 Slow\r\nRetry-After: 7\r\nContent-Length: 4\r\n\r\nslow");
    let error = run(&sandbox, "true").await.unwrap_err();
    assert_eq!(
        (error.kind(), error.retry_after()),
        (SandboxErrorKind::RateLimited, Some(Duration::from_secs(7)))
    );
    assert_eq!(error.to_string(), "cannot run the command: slow; wait before the next request");
}

#[tokio::test]
async fn a_stream_that_ends_early_is_no_result() {
    let standin = Standin::start().await;
    let sandbox = standin.sandbox().await;
    *standin.state.cut_after.lock().unwrap() = Some(1);
    let error = run(&sandbox, "echo $$ >pid; echo once; exec sleep 1000").await.unwrap_err();
    assert_eq!(error.kind(), SandboxErrorKind::Transport, "{error}");
    // What ran is ended all the same.
    *standin.state.cut_after.lock().unwrap() = None;
    let wait = "for n in $(seq 400); do kill -0 $(cat pid) 2>/dev/null || exit 7; \
                grep -q ') Z' /proc/$(cat pid)/stat && exit 7; sleep 0.02; done";
    assert_eq!(run(&sandbox, wait).await.unwrap().exit_code(), Some(7));
}

#[tokio::test]
async fn a_machine_that_cannot_be_set_up_is_ended_and_the_key_is_not_told() {
    let standin = Standin::start().await;
    standin.fail("/filesystem", "HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n");
    E2bSandbox::create(standin.options()).await.unwrap_err();
    assert!(standin.state.machines.lock().unwrap().is_empty());
    let said = format!("no such key: {KEY}");
    standin.fail("/sandboxes", format!("HTTP/1.1 403 No\r\nContent-Length: {}\r\n\r\n{said}", said.len()));
    let error = E2bSandbox::create(standin.options()).await.unwrap_err();
    assert_eq!(error.to_string(), "cannot make a sandbox: no such key: ***");
}

#[tokio::test]
async fn a_connection_that_breaks_is_told() {
    let standin = Standin::start().await;
    let sandbox = standin.sandbox().await;
    sandbox.write_file(Path::new("a"), b"kept".to_vec()).await.unwrap();
    standin.fail("/files", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this");
    let error = sandbox.read_file(Path::new("a")).await.unwrap_err();
    assert_eq!(error.kind(), SandboxErrorKind::Transport, "{error}");
    standin.fail("/files", "");
    let error = sandbox.write_file(Path::new("a"), b"other".to_vec()).await.unwrap_err();
    assert_eq!(error.kind(), SandboxErrorKind::Transport, "{error}");
    // An upload is not yet the file.
    standin.fail("/process", "HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n");
    sandbox.write_file(Path::new("a"), b"other".to_vec()).await.unwrap_err();
    assert_eq!(sandbox.read_file(Path::new("a")).await.unwrap(), b"kept");
    assert_eq!(sandbox.list(Path::new("")).await.unwrap().len(), 1);
}

#[tokio::test]
async fn answers_that_make_no_sense_are_refused() {
    let standin = Standin::start().await;
    let sandbox = standin.sandbox().await;
    for (path, body) in
        [("/filesystem", "{\"entries\": 3}"), ("/filesystem", "<html>"), ("/process", "{\"no\": 1}")]
    {
        standin.fail(path, format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len()));
        let error = match path {
            "/process" => run(&sandbox, "true").await.unwrap_err(),
            _ => sandbox.list(Path::new("")).await.unwrap_err(),
        };
        assert_eq!(error.kind(), SandboxErrorKind::Protocol, "{body}: {error}");
    }
    // An id that would make an address of somebody else.
    let body = "{\"sandboxID\": \"x.evil.example/\", \"envdAccessToken\": \"t\"}";
    standin.fail("/sandboxes", format!("HTTP/1.1 201 Made\r\nContent-Length: {}\r\n\r\n{body}", body.len()));
    let error = E2bSandbox::create(standin.options()).await.unwrap_err();
    assert_eq!(error.kind(), SandboxErrorKind::Protocol, "{error}");
}

#[tokio::test]
async fn a_command_that_nobody_waits_for_is_ended() {
    let standin = Standin::start().await;
    let sandbox = Arc::new(standin.sandbox().await);
    let running = Arc::clone(&sandbox);
    let call = tokio::spawn(async move { run(&running, "echo $$ >pid; sleep 1000").await });
    let wait = "until [ -s pid ]; do sleep 0.02; done";
    run(&sandbox, wait).await.unwrap();
    call.abort();
    let gone = "for n in $(seq 400); do kill -0 $(cat pid) 2>/dev/null || exit 7; \
                grep -q ') Z' /proc/$(cat pid)/stat && exit 7; sleep 0.02; done";
    assert_eq!(run(&sandbox, gone).await.unwrap().exit_code(), Some(7));
}

#[tokio::test]
async fn a_program_that_is_not_there_is_told() {
    let standin = Standin::start().await;
    let sandbox = standin.sandbox().await;
    assert_eq!(run(&sandbox, "no-such-program").await.unwrap().ending, Ending::Exited(127));
}

#[tokio::test]
async fn machines_are_kept_woken_and_ended() {
    let standin = Standin::start().await;
    let cancel = CancellationToken::new();
    let sandbox = standin.sandbox().await;
    sandbox.write_file(Path::new("a"), b"1".to_vec()).await.unwrap();
    sandbox.extend(Duration::from_secs(900)).await.unwrap();
    assert_eq!(standin.state.machines.lock().unwrap()["machine-1"].timeout, 900);
    let id = sandbox.snapshots().unwrap().snapshot(&cancel).await.unwrap();
    assert_eq!(id, "kept2:default");

    // A later session makes its machine from the snapshot.
    sandbox.write_file(Path::new("a"), b"2".to_vec()).await.unwrap();
    let later = E2bSandbox::restored(standin.options(), &id).await.unwrap();
    assert_eq!(
        (later.id().as_str(), later.read_file(Path::new("a")).await.unwrap()),
        ("machine-3", b"1".to_vec())
    );
    assert_eq!(standin.state.machines.lock().unwrap()["machine-3"].template, "kept2:default");

    // A restore ends the machine that it replaces.
    later.snapshots().unwrap().restore(&id, &cancel).await.unwrap();
    assert_eq!(later.id(), "machine-4");
    let ids = |standin: &Standin| {
        let mut ids: Vec<_> = standin.state.machines.lock().unwrap().keys().cloned().collect();
        ids.sort();
        ids
    };
    assert_eq!(ids(&standin), ["machine-1", "machine-4"]);
    later.kill().await.unwrap();
    assert_eq!(ids(&standin), ["machine-1"]);
}

#[tokio::test]
async fn without_snapshots_the_machine_sleeps() {
    let standin = Standin::start().await;
    *standin.state.snapshots.lock().unwrap() = false;
    let cancel = CancellationToken::new();
    let sandbox = standin.sandbox().await;
    sandbox.write_file(Path::new("a"), b"1".to_vec()).await.unwrap();
    let snapshots = sandbox.snapshots().unwrap();
    assert_eq!(snapshots.snapshot(&cancel).await.unwrap(), "machine-1");
    assert!(standin.state.machines.lock().unwrap()["machine-1"].paused);
    assert_eq!(snapshots.snapshot(&cancel).await.unwrap(), "machine-1", "it sleeps already");
    snapshots.restore("machine-1", &cancel).await.unwrap();
    assert_eq!(sandbox.read_file(Path::new("a")).await.unwrap(), b"1");
    let woken = E2bSandbox::restored(standin.options(), "machine-1").await.unwrap();
    assert_eq!(woken.id(), "machine-1");
    // Another snapshot takes its place; it stays what it was kept as.
    let other = standin.sandbox().await.id();
    snapshots.restore(&other, &cancel).await.unwrap();
    assert_eq!(sandbox.id(), other);
    assert!(standin.state.machines.lock().unwrap()["machine-1"].paused);
}

#[tokio::test]
async fn options_that_cannot_be_used_are_told() {
    let wrong = |adjust: fn(&mut E2bOptions)| async move {
        let standin = Standin::start().await;
        let mut options = standin.options();
        adjust(&mut options);
        E2bSandbox::create(options).await.unwrap_err().kind()
    };
    assert_eq!(wrong(|options| options.root = "relative".into()).await, SandboxErrorKind::InvalidPath);
    assert_eq!(wrong(|options| options.domain = "evil.example/x".into()).await, SandboxErrorKind::Failed);
    assert_eq!(wrong(|options| options.template = "none:default".into()).await, SandboxErrorKind::NotFound);
    assert_eq!(
        wrong(|options| options.api_url = Some("http://127.0.0.1:1".into())).await,
        SandboxErrorKind::Transport
    );
}
