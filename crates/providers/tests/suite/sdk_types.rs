//! Request bodies fit the request types of the vendors' own Python SDKs.
//!
//! Needs a virtual environment with the SDKs. With `ROBOTA_TEST_SDK=1` it is made in the target folder, from the versions in
//! `tests/sdk/requirements.txt`; a run that finds it uses it; any other run prints why it is skipped.

#![expect(
    clippy::disallowed_methods,
    reason = "a test that runs a Python program, where the person who starts it allows that"
)]

use std::path::{Path, PathBuf};
use std::process::Command;

use robota_core::{
    Body, Effort, Message, ModelRequest, NativeWebTools, Part, Reasoning, ResponseFormat, Thinking,
    Timestamp, ToolCall, ToolChoice,
};
use robota_providers::{ApiSurface, ProviderKind, ProviderSpec};
use robota_testkit::TempWorkspace;
use serde_json::{Value, json};

use crate::api::{request, send, server, spec};

/// A wire: the name the script knows it by, how it is set up, and a model that can do all.
type Wire = (&'static str, ProviderKind, fn(&mut ProviderSpec), &'static str);

const WIRES: [Wire; 4] = [
    ("anthropic", ProviderKind::Anthropic, |_| {}, "claude-opus-4-6"),
    (
        "responses",
        ProviderKind::OpenAi,
        |spec| spec.options.api_surface = Some(ApiSurface::Responses),
        "gpt-5",
    ),
    ("gemini", ProviderKind::Gemini, |_| {}, "gemini-3-pro"),
    ("chat", ProviderKind::OpenAi, |spec| spec.options.api_surface = Some(ApiSurface::Chat), "gpt-5"),
];

#[tokio::test]
async fn requests_fit_the_types_of_the_sdks() {
    let python = match python() {
        Ok(python) => python,
        Err(reason) => return println!("skipped: {reason}"),
    };
    let folder = TempWorkspace::new();
    for (api, kind, options, model) in WIRES {
        for (name, mut request) in requests() {
            request.model = model.into();
            let body = body(kind, options, request).await;
            folder.write(&format!("{api}.{name}.json"), body.to_string());
        }
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sdk/validate.py");
    let output = Command::new(python).arg(script).arg(folder.root()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    println!("{said}");
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
}

/// The interpreter of the environment with the SDKs, or why there is none.
fn python() -> Result<PathBuf, String> {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let environment = target.join("sdk").join("venv");
    let python = environment.join("bin").join("python");
    let ready = environment.join("ready");
    if ready.exists() {
        return Ok(python);
    }
    if std::env::var("ROBOTA_TEST_SDK").as_deref() != Ok("1") {
        return Err(
            "the SDKs are not installed; ROBOTA_TEST_SDK=1 installs them into the target folder".into()
        );
    }
    let run = |command: &mut Command| match command.output() {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(format!("{command:?} failed: {}", String::from_utf8_lossy(&output.stderr))),
        Err(error) => Err(format!("{command:?} cannot run: {error}")),
    };
    let wanted = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sdk/requirements.txt");
    run(Command::new("python3").args(["-m", "venv"]).arg(&environment))?;
    run(Command::new(&python).args(["-m", "pip", "install", "--quiet", "--requirement"]).arg(wanted))?;
    std::fs::write(ready, "")
        .map_err(|error| format!("{} cannot be written: {error}", environment.display()))?;
    Ok(python)
}

/// What the provider sends for `request`.
async fn body(kind: ProviderKind, options: fn(&mut ProviderSpec), request: ModelRequest) -> Value {
    let server = server("ok").await;
    let mut spec = spec(kind, server.base_url());
    options(&mut spec);
    let (_, error) = send(&spec.connect().unwrap(), request).await;
    assert!(error.is_none(), "{error:?}");
    server.request(1).await.json.clone().unwrap()
}

/// Requests that use all there is, by name.
fn requests() -> Vec<(&'static str, ModelRequest)> {
    let mut limited = request();
    limited.max_output_tokens = Some(20_000);
    limited.effort = Some(Effort::Medium);
    limited.cache_key = Some("session-1".into());
    let mut forced = request();
    forced.tool_choice = ToolChoice::Tool("Glob".into());
    let mut required = request();
    required.tool_choice = ToolChoice::Required;
    let mut thinking = request();
    thinking.thinking = Thinking::Adaptive;
    let mut searching = request();
    searching.native_web_tools = NativeWebTools::ALL;
    let mut formed = request();
    let schema = json!({"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"],
        "additionalProperties": false});
    formed.response_format = Some(ResponseFormat::new("answer", schema));
    let mut rich = request();
    rich.messages = history();
    vec![
        ("plain", request()),
        ("limited", limited),
        ("forced", forced),
        ("required", required),
        ("thinking", thinking),
        ("searching", searching),
        ("formed", formed),
        ("rich", rich),
    ]
}

fn history() -> Vec<robota_core::MessageRef> {
    let at = Timestamp::default();
    let image = || Part::ImageInline { mime_type: "image/png".into(), data: "aGk=".into() };
    let asks = Body::User { content: "What is this?".into(), parts: vec![image()], name: Some("Ada".into()) };
    let call =
        |id: &str, name: &str| ToolCall { id: id.into(), name: name.into(), arguments: "{\"a\":1}".into() };
    let thought = Reasoning {
        provider: "anthropic".into(),
        text: "Look first.".into(),
        signature: Some("c2ln".into()),
        redacted: None,
    };
    let looks = Body::Assistant {
        content: Some("Let me look.".into()),
        parts: Vec::new(),
        tool_calls: vec![call("call_1", "Read"), call("call_2", "Glob")],
        reasoning: vec![thought],
    };
    let result = |id: &str, is_error, parts| Body::Tool {
        content: "found".into(),
        tool_call_id: id.into(),
        name: None,
        is_error,
        parts,
    };
    [asks, looks, result("call_1", false, vec![image()]), result("call_2", true, Vec::new())]
        .into_iter()
        .map(|body| Message::with_body("m", at, body).into())
        .chain([
            Message::system("s", at, "The file changed.").into(),
            Message::user("u", at, "Go on.").into(),
        ])
        .collect()
}
