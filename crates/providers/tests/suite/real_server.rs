//! Three wires against a server and a model that are not ours: llama.cpp with a model of 135 million parameters.
//!
//! Runs with `ROBOTA_TEST_NIGHTLY=1` only. It needs Python 3.11 or later and makes a virtual environment in the target
//! folder from the versions in `tests/real_server/requirements.txt` (about 200 MB). The model is too small to choose a
//! tool by itself: the history shows it calls, and the server holds it to the tools by a grammar.

#![expect(
    clippy::disallowed_methods,
    reason = "a test that runs a Python program, where the person who starts it allows that"
)]

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use futures_util::StreamExt;
use robota_core::{
    Body, FinishReason, Message, MessageRef, ModelEvent, ModelRequest, Provider, ProviderErrorKind,
    ResponseFormat, Timestamp, ToolCall, ToolChoice, ToolClass, ToolSpec,
};
use robota_providers::{ApiSurface, HttpProvider, ProviderKind};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::api::{send, spec, text};
use crate::conformance::events::{calls, finish, usage};

#[tokio::test]
async fn a_server_of_others_is_understood_on_three_wires() {
    if std::env::var("ROBOTA_TEST_NIGHTLY").as_deref() != Ok("1") {
        return println!("skipped: ROBOTA_TEST_NIGHTLY=1 installs llama.cpp with a small model and asks it");
    }
    let server = Server::start(&python());
    for (name, provider) in server.wires() {
        println!("{name}: a cancelled answer");
        cancelled(&provider).await;
        println!("{name}: an answer");
        answered(&provider).await;
        println!("{name}: a forced call");
        called(&provider, ToolChoice::Required).await;
    }
    let [(_, chat), ..] = server.wires();
    called(&chat, ToolChoice::Tool("get_weather".into())).await;
    // Only here does the server hold the model to the form of an answer.
    formed(&chat).await;
}

async fn answered(provider: &HttpProvider) {
    let (events, error) = send(provider, asking([user("Say hello.")], 24)).await;
    assert!(error.is_none(), "{error:?}");
    assert!(matches!(&events[0], ModelEvent::Started { response_id: Some(_), .. }), "{events:?}");
    let deltas = events.iter().filter(|event| matches!(event, ModelEvent::TextDelta(_))).count();
    assert!(deltas > 1, "it is streamed: {events:?}");
    assert!(!text(&events).trim().is_empty());
    assert!(matches!(finish(&events), FinishReason::EndTurn | FinishReason::MaxTokens), "{events:?}");
    let usage = usage(&events).unwrap();
    assert!(usage.total_input() > 10 && (2..=24).contains(&usage.output_tokens), "{usage:?}");
}

async fn cancelled(provider: &HttpProvider) {
    let cancel = CancellationToken::new();
    let request = asking([user("Tell me a long story about a ship.")], 2_000);
    let mut stream = provider.stream(request, cancel.clone());
    while !matches!(stream.next().await.unwrap().unwrap(), ModelEvent::TextDelta(_)) {}
    cancel.cancel();
    // What had arrived by then may still come.
    let error = loop {
        match stream.next().await.unwrap() {
            Ok(event) => assert!(matches!(event, ModelEvent::TextDelta(_)), "{event:?}"),
            Err(error) => break error,
        }
    };
    assert_eq!(error.kind(), ProviderErrorKind::Cancelled);
    assert!(stream.next().await.is_none());
}

async fn called(provider: &HttpProvider, choice: ToolChoice) {
    let mut history = Vec::new();
    for (id, city, weather) in [("call_1", "Rome", "sun"), ("call_2", "Oslo", "rain")] {
        history.extend([user(&format!("Weather in {city}?")), call(id, city), result(id, weather)]);
    }
    history.push(user("Weather in Paris?"));
    let mut request = asking(history, 120);
    request.tool_choice = choice;
    let parameters =
        json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
    let tool = ToolSpec::new("get_weather", ToolClass::Inspect, "The weather of a city.");
    request.tools = Arc::new([Arc::new(tool.with_input_schema(parameters))]);
    let (events, error) = send(provider, request).await;
    assert!(error.is_none(), "{error:?}");
    let [(id, name, arguments)] = &calls(&events)[..] else { panic!("{events:?}") };
    assert!(!id.is_empty());
    assert_eq!(name, "get_weather");
    assert_eq!(serde_json::from_str::<Value>(arguments).unwrap(), json!({"city": "Paris"}));
    assert_eq!(finish(&events), FinishReason::ToolUse);
}

async fn formed(provider: &HttpProvider) {
    let mut request = asking([user("Is Rome in Italy? Answer in JSON.")], 60);
    let answer = json!({"type": "string", "enum": ["yes", "no"]});
    let schema = json!({"type": "object", "properties": {"answer": answer}, "required": ["answer"],
        "additionalProperties": false});
    request.response_format = Some(ResponseFormat::new("answer", schema));
    let (events, error) = send(provider, request).await;
    assert!(error.is_none(), "{error:?}");
    let said: Value = serde_json::from_str(&text(&events)).unwrap();
    assert!(said == json!({"answer": "yes"}) || said == json!({"answer": "no"}), "{said}");
}

fn asking(messages: impl IntoIterator<Item = MessageRef>, max_output_tokens: u32) -> ModelRequest {
    let mut request = ModelRequest::new("smollm2", messages.into_iter().collect());
    request.system = "Be brief.".into();
    request.max_output_tokens = Some(max_output_tokens);
    request
}

fn user(text: &str) -> MessageRef {
    Message::user("m", Timestamp::default(), text).into()
}

fn call(id: &str, city: &str) -> MessageRef {
    let arguments = json!({ "city": city }).to_string();
    let body = Body::Assistant {
        content: None,
        parts: Vec::new(),
        tool_calls: vec![ToolCall { id: id.into(), name: "get_weather".into(), arguments }],
        reasoning: Vec::new(),
    };
    Message::with_body("m", Timestamp::default(), body).into()
}

fn result(id: &str, weather: &str) -> MessageRef {
    let body = Body::Tool {
        content: weather.into(),
        tool_call_id: id.into(),
        name: None,
        is_error: false,
        parts: Vec::new(),
    };
    Message::with_body("m", Timestamp::default(), body).into()
}

/// The running server. It ends with this value, and with this process: it reads from a pipe that closes.
struct Server {
    process: Child,
    address: String,
}

impl Server {
    /// Starts it and waits until it is healthy.
    fn start(python: &Path) -> Self {
        let mut command = Command::new(python);
        command
            .arg(here().join("serve.py"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut process = command.spawn().unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let mut server = Self { process, address: String::new() };
        let address =
            lines.map_while(Result::ok).find_map(|line| Some(line.strip_prefix("listening: ")?.to_owned()));
        server.address = address.expect("serve.py ended before it served; run it by hand to see why");
        server
    }

    fn wires(&self) -> [(&'static str, HttpProvider); 3] {
        let open_ai = |surface| self.provider(ProviderKind::OpenAi, Some(surface));
        [
            ("chat", open_ai(ApiSurface::Chat)),
            ("responses", open_ai(ApiSurface::Responses)),
            ("messages", self.provider(ProviderKind::Anthropic, None)),
        ]
    }

    fn provider(&self, kind: ProviderKind, surface: Option<ApiSurface>) -> HttpProvider {
        let mut spec = spec(kind, &self.address);
        spec.options.api_surface = surface;
        spec.options.body.insert("temperature".into(), json!(0));
        spec.connect().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nothing to end.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn here() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/real_server")
}

/// The interpreter of the environment with the server; makes it the first time.
fn python() -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let environment = target.join("real_server").join("venv");
    let python = environment.join("bin").join("python");
    let ready = environment.join("ready");
    if ready.exists() {
        return python;
    }
    let run = |command: &mut Command| {
        let output = command.output().unwrap();
        assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    };
    run(Command::new("python3").args(["-m", "venv"]).arg(&environment));
    let install = ["-m", "pip", "install", "--quiet", "--no-deps", "--requirement"];
    run(Command::new(&python).args(install).arg(here().join("requirements.txt")));
    std::fs::write(ready, "").unwrap();
    python
}
