//! The program `robota-fake-model`.

#![expect(clippy::disallowed_methods, reason = "the program under test is started as a person would")]

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Output, Stdio};

use robota_testkit::TempWorkspace;
use serde_json::{Value, json};

use crate::client::{http, send};

fn program(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_robota-fake-model"));
    command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn run(arguments: &[&str]) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = program(arguments).output().unwrap();
    (status.code(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
}

/// Starts the program and reads the base URL.
fn serve(arguments: &[&str]) -> (Child, String) {
    let mut child = program(arguments).spawn().unwrap();
    let mut url = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut url).unwrap();
    (child, url.trim_end().to_owned())
}

fn ask(url: &str, body: &Value) -> String {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let request = http().post(format!("{url}/chat/completions")).header("authorization", "Bearer secret-key");
    runtime.block_on(send(request.body(body.to_string()))).unwrap().text()
}

#[test]
fn once_serves_the_plan_records_and_stops() {
    let folder = TempWorkspace::new().file("plan.json", r#"{"replies": [{"steps": [{"text": "Hello"}]}]}"#);
    let (plan, record) = (folder.path("plan.json"), folder.path("calls.jsonl"));
    let (mut child, url) = serve(&[plan.to_str().unwrap(), "--once", "--record", record.to_str().unwrap()]);
    let body = json!({"model": "m", "stream": true, "messages": [{"role": "user", "content": "hi"}]});
    let answer = ask(&url, &body);
    assert!(answer.contains("Hello") && answer.ends_with("data: [DONE]\n\n"), "{answer}");
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let recorded = folder.read("calls.jsonl");
    assert!(!recorded.contains("secret-key"), "{recorded}");
    let line: Value = serde_json::from_str(&recorded).unwrap();
    assert_eq!(
        (&line["body"], &line["violations"], &line["path"]),
        (&body, &json!([]), &json!("/chat/completions"))
    );
}

#[test]
fn a_broken_rule_is_told_on_standard_error_and_by_the_exit_code() {
    let folder = TempWorkspace::new().file("plan.json", r#"{"replies": ["#.to_owned() + r#"{"steps": []}]}"#);
    let (mut child, url) = serve(&[folder.path("plan.json").to_str().unwrap(), "--once", "--lenient"]);
    ask(&url, &json!({"model": "m", "messages": [{"role": "user", "content": ""}]}));
    assert_eq!(child.wait().unwrap().code(), Some(1));
    let mut errors = String::new();
    child.stderr.unwrap().read_to_string(&mut errors).unwrap();
    assert_eq!(errors, "request 1: EmptyText: message 1 is an empty text\n");
}

#[test]
fn what_cannot_start_says_why() {
    let folder = TempWorkspace::new().file("plan.json", "{\n  \"replies\": [{\"stepz\": []}]\n}");
    let plan = folder.path("plan.json");
    let plan = plan.to_str().unwrap();
    let (code, out, errors) = run(&[plan]);
    assert_eq!((code, out.as_str()), (Some(2), ""));
    assert!(errors.contains("unknown field `stepz`") && errors.contains("line 2 column"), "{errors}");
    for (arguments, expected) in [
        (&["--port"][..], "--port needs a value"),
        (&["--port=x", plan], "`x` is not a port"),
        (&["--wat"], "unknown option --wat"),
        (&[], "no plan given"),
        (&["a", "b"], "one plan is enough"),
        (&["/nowhere/plan.json"], "/nowhere/plan.json cannot be read"),
    ] {
        let (code, _, errors) = run(arguments);
        assert_eq!(code, Some(2), "{arguments:?}");
        assert!(errors.starts_with("error: ") && errors.contains(expected), "{arguments:?}: {errors}");
    }
    let (code, out, _) = run(&["--help"]);
    assert_eq!(code, Some(0));
    assert!(out.contains("--record FILE.jsonl"));
}
