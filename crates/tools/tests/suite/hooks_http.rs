//! HTTP hooks behind the engine, against a server on loopback.

use std::sync::Arc;

use robota_core::{
    HookCall, HookDecision, HookEngine, HookEngineOptions, HookExecutors, HookInput, HookOrigin, HookOutcome,
    HookRunner, HookScope, HooksConfig, PermissionMode,
};
use robota_tools::HttpHook;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::server::{Server, redirect, response};

/// What the user's guard at `url` says about a call.
async fn says(url: &str, timeout: f64, cancel: &CancellationToken) -> HookOutcome {
    let hook = json!({"type": "http", "url": url, "timeout": timeout,
        "headers": {"Authorization": "Bearer $TOKEN"}, "allowedEnvVars": ["TOKEN"]});
    let origin = HookOrigin { place: "settings.json".into(), scope: HookScope::User };
    let hooks = json!({"PreToolUse": [{"hooks": [hook]}]});
    let (config, _) = HooksConfig::from_value(&hooks, &origin).unwrap();
    let runner = HttpHook::new([("TOKEN".to_owned(), "t1".to_owned())]);
    let executors = HookExecutors { http: Some(Arc::new(runner)), ..HookExecutors::default() };
    let engine = HookEngine::new(config, executors, HookEngineOptions::default());
    let call = HookCall::PreToolUse {
        tool_name: "Bash".into(),
        tool_input: json!({"command": "ls"}),
        tool_use_id: "t1".into(),
    };
    engine.run(&HookInput::new("s1".parse().unwrap(), "/p", PermissionMode::Default, call), cancel).await
}

#[tokio::test]
async fn answers_count_like_the_output_of_a_command() {
    let json = |body: &str| response("200 OK", "application/json", body);
    let deny = r#"{"hookSpecificOutput": {"permissionDecision": "deny", "permissionDecisionReason": "no"}}"#;
    let server = Server::start([
        ("/deny", json(deny)),
        ("/short", json(r#"{"ok": false, "reason": "no"}"#)),
        ("/ok", json(r#"{"ok": true}"#)),
        ("/empty", response("204 No Content", "text/plain", "")),
    ])
    .await;
    let cancel = CancellationToken::new();
    let denied = HookOutcome::decided(HookDecision::Deny, "no");
    assert_eq!(says(&server.url("/deny"), 10.0, &cancel).await, denied);
    assert_eq!(says(&server.url("/short"), 10.0, &cancel).await, denied);
    assert!(says(&server.url("/ok"), 10.0, &cancel).await.is_empty());
    assert!(says(&server.url("/empty"), 10.0, &cancel).await.is_empty());
    let request = server.requests().swap_remove(0);
    let (_, body) = request.split_once("\r\n\r\n").unwrap();
    let expected = json!({"session_id": "s1", "cwd": "/p", "permission_mode": "default",
        "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"},
        "tool_use_id": "t1"});
    assert_eq!(serde_json::from_str::<serde_json::Value>(body).unwrap(), expected);
    let request = request.to_ascii_lowercase();
    assert!(request.starts_with("post /deny http/1.1\r\n"), "{request}");
    assert!(request.contains("\r\nauthorization: bearer t1\r\n"), "{request}");
    assert!(request.contains("\r\ncontent-type: application/json\r\n"), "{request}");
}

#[tokio::test]
async fn servers_that_fail_let_nothing_through() {
    let large = vec![b'x'; 2 * 1024 * 1024];
    let server = Server::start([
        ("/error", response("500 Internal Server Error", "text/plain", "{}")),
        ("/away", redirect("/ok")),
        ("/ok", response("200 OK", "text/plain", "")),
        ("/half", response("200 OK", "application/json", r#"{"ok": tr"#)),
        ("/large", response("200 OK", "text/plain", large)),
        ("/silent", Vec::new()),
    ])
    .await;
    let cases = [
        (server.url("/error"), "answered 500 Internal Server Error."),
        (server.url("/away"), "answered with a redirect (302 Found), which is not followed."),
        (server.url("/half"), "printed JSON that cannot be read"),
        (server.url("/large"), "answered more than 1048576 bytes."),
        (server.url("/silent"), "took longer than its timeout of 0.3 s."),
        ("http://127.0.0.1:1/".to_owned(), "cannot be reached"),
    ];
    for (url, expected) in cases {
        let timeout = if url.ends_with("/silent") { 0.3 } else { 10.0 };
        let outcome = says(&url, timeout, &CancellationToken::new()).await;
        assert_eq!(outcome.permission.unwrap().decision, HookDecision::Deny, "{url}");
        assert!(outcome.failures[0].contains(expected), "{:?}", outcome.failures);
    }
    assert!(!server.requests().iter().any(|request| request.contains(" /ok ")));
}

#[tokio::test]
async fn a_cancelled_request_ends() {
    let server = Server::start([("/silent", Vec::new())]).await;
    let cancel = CancellationToken::new();
    let abort = async {
        server.requested().await;
        cancel.cancel();
    };
    let url = server.url("/silent");
    let (outcome, ()) = tokio::join!(says(&url, 600.0, &cancel), abort);
    assert_eq!(outcome.permission.unwrap().decision, HookDecision::Deny);
    assert!(outcome.failures.is_empty());
}
