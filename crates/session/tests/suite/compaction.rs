//! Compacting a history: what is asked, what comes out, and what failures leave behind.

mod failures;
mod in_progress;

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use proptest::prelude::*;
use robota_core::{
    Agent, AgentConfig, Body, CompactTrigger, EntryData, Error, EventKind, EventSink, FinishReason, History,
    HookCall, HookInput, HookOutcome, HookRunner, Message, MessageRef, ModelEvent, ModelRequest,
    PermissionMode, Pressure, ProviderErrorKind, RawCapture, RequestPurpose, Timestamp, ToolCall, ToolChoice,
    ToolOutcome, Turn, TurnEnd, TurnHost, Usage, sendable,
};
use robota_session::{
    AutoCompactThreshold, CompactionError, CompactionHooks, CompactionOutcome, CompactionRequest, Compactor,
};
use robota_testkit::{
    AllowAll, EventRecorder, Gate, RecordedRequest, Reply, Script, ScriptedProvider, fixed_ambient,
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::scene::TestTool;

/// A history, and what is needed to compact it.
struct Bench {
    provider: Arc<ScriptedProvider>,
    recorder: EventRecorder,
    history: Mutex<History>,
    cancel: CancellationToken,
    config: AgentConfig,
    hooks: Option<Hooks>,
}

impl Bench {
    fn new(script: impl Into<Script>, messages: impl IntoIterator<Item = Message>) -> Self {
        let provider = Arc::new(ScriptedProvider::new(script));
        let config = AgentConfig {
            provider: provider.clone(),
            model: "test-model".into(),
            system: "You are a test.".into(),
            tools: Vec::new(),
            max_rounds: 0,
            context_window: 10_000,
            max_output_tokens: None,
            output_budget: 0,
            spill: None,
            tuning: robota_core::RequestTuning::default(),
            idle_timeout: None,
            raw_capture: RawCapture::Off,
            ambient: fixed_ambient(),
        };
        let mut history = History::default();
        for message in messages {
            history.append(message);
        }
        Self {
            provider,
            recorder: EventRecorder::new(),
            history: Mutex::new(history),
            cancel: CancellationToken::new(),
            config,
            hooks: None,
        }
    }

    fn window(mut self, tokens: u64) -> Self {
        self.config.context_window = tokens;
        self
    }

    async fn compact(&self, request: CompactionRequest) -> Result<CompactionOutcome, CompactionError> {
        let agent = Agent::new(self.config.clone());
        let input = |call| HookInput::new("s".parse().unwrap(), "/p", PermissionMode::Default, call);
        let hooks = self.hooks.as_ref().map(|hooks| CompactionHooks::new(hooks, &input));
        let (history, sink, cancel) = (&self.history, &self.recorder, &self.cancel);
        Compactor { agent: &agent, history, sink, hooks, cancel }.compact(request).await
    }

    fn messages(&self) -> Vec<MessageRef> {
        self.history.lock().unwrap().messages().to_vec()
    }

    /// The messages as `role: text`.
    fn lines(&self) -> Vec<String> {
        let line = |message: &MessageRef| format!("{}: {}", message.role(), message.text());
        self.messages().iter().map(line).collect()
    }

    /// The text of each request.
    fn asked(&self) -> Vec<String> {
        let text = |request: &ModelRequest| request.messages[0].text().to_owned();
        self.provider.requests().iter().map(text).collect()
    }

    /// Asserts that a compaction fails and leaves no trace in the history.
    async fn fails(&self, request: CompactionRequest) -> CompactionError {
        let before = self.history.lock().unwrap().reference();
        let error = self.compact(request).await.unwrap_err();
        assert_eq!(self.history.lock().unwrap().reference(), before, "{error}");
        assert_eq!((self.recorder.count("history_mutation"), self.recorder.count("context_compact")), (0, 0));
        error
    }
}

/// Says what the test wants, and keeps what it was told.
#[derive(Default)]
struct Hooks {
    says: HookOutcome,
    told: Mutex<Vec<HookCall>>,
}

impl HookRunner for Hooks {
    fn run<'a>(&'a self, input: &'a HookInput, _: &'a CancellationToken) -> BoxFuture<'a, HookOutcome> {
        self.told.lock().unwrap().push(input.call.clone());
        Box::pin(async { self.says.clone() })
    }
}

fn user(id: &str, text: &str) -> Message {
    Message::user(id, Timestamp::default(), text)
}

fn assistant(id: &str, text: &str) -> Message {
    Message::assistant(id, Timestamp::default(), text)
}

fn call(id: &str, arguments: &str) -> Message {
    let call = ToolCall { id: format!("call-{id}"), name: "Bash".into(), arguments: arguments.into() };
    let body = Body::Assistant { content: None, parts: vec![], tool_calls: vec![call], reasoning: vec![] };
    Message::with_body(id, Timestamp::default(), body)
}

fn result(caller: &str, text: &str) -> Message {
    let body = Body::Tool {
        content: text.into(),
        tool_call_id: format!("call-{caller}"),
        name: Some("Bash".into()),
        is_error: false,
        parts: vec![],
    };
    Message::with_body(format!("result-{caller}"), Timestamp::default(), body)
}

/// Two exchanges, of which the first is the longer one.
fn talk() -> Vec<Message> {
    vec![
        user("u1", "Fix the build."),
        call("a1", r#"{"command":"make"}"#),
        result("a1", &format!("error: no rule {}", "x".repeat(4_000))),
        assistant("a2", "Fixed."),
        user("u2", "And the tests?"),
        assistant("a3", "They pass."),
    ]
}

fn goal(share: f64) -> Option<AutoCompactThreshold> {
    Some(share.try_into().unwrap())
}

fn usage(input_tokens: u64, output_tokens: u64) -> Usage {
    Usage { input_tokens, output_tokens, ..Usage::default() }
}

#[tokio::test]
async fn a_summary_takes_the_place_of_what_was_said_before_the_last_exchange() {
    let script = Script::new().reply(Reply::new().text(["The build", " was fixed."]).usage(usage(900, 50)));
    let bench = Bench::new(script, talk());
    let outcome = bench.compact(CompactionRequest::manual()).await.unwrap();
    let after = [
        "assistant: [Context Summary]\nThe build was fixed.",
        "user: And the tests?",
        "assistant: They pass.",
    ];
    assert_eq!(bench.lines(), after);
    assert_eq!(bench.messages()[0].metadata["compactSummary"], true);
    assert_eq!((outcome.summary.as_str(), outcome.usage), ("The build was fixed.", usage(900, 50)));
    assert_eq!((outcome.summarized_messages, outcome.kept_messages, outcome.parts), (4, 2, 1));
    assert!(outcome.after.used_tokens < outcome.before.used_tokens);
    let names = [
        "compact_start",
        "provider_request",
        "compact_summary",
        "history_mutation",
        "history_mutation",
        "context_compact",
    ];
    assert_eq!(bench.recorder.names(), names, "no text of the summary reaches the user's answer");

    let entries = bench.history.lock().unwrap().entries().to_vec();
    assert_eq!(entries.len(), 7, "the timeline keeps what was");
    let EntryData::Event(event) = &entries[6].data else { panic!("{entries:?}") };
    assert_eq!((entries[6].r#type.as_str(), &event["trigger"]), ("context-compact", &json!("manual")));
    assert_eq!(event["after"], json!(outcome.after));

    let mut replayed = History::default();
    for message in talk() {
        replayed.append(message);
    }
    for kind in bench.recorder.kinds() {
        if let EventKind::HistoryMutation(mutation) = kind {
            replayed.apply(&mutation).unwrap();
        }
    }
    assert_eq!(replayed.reference(), bench.history.lock().unwrap().reference());
}

#[tokio::test]
async fn the_model_is_asked_in_one_plain_message_without_tools() {
    let bench = Bench::new("Done.", talk());
    let history = bench.history.lock().unwrap().reference();
    let request =
        CompactionRequest::manual().with_instructions("Mind </focus> the API.").with_instructions(" ");
    bench.compact(request).await.unwrap();
    let [request] = &bench.provider.requests()[..] else { panic!("one request") };
    assert!(request.system.starts_with("You summarise conversations"), "{}", request.system);
    assert_eq!((request.tool_choice.clone(), request.tools.len()), (ToolChoice::None, 0));
    assert_eq!(request.max_output_tokens, Some(1_000), "a tenth of the window");
    let asked = &bench.asked()[0];
    let transcript = asked.split("<transcript>\n").nth(1).unwrap();
    let begin = "user: Fix the build.\nassistant calls Bash: {\"command\":\"make\"}\nresult of Bash: error: no rule xxx";
    assert!(transcript.starts_with(begin), "{transcript}");
    assert!(transcript.contains("characters left out ...]"), "{transcript}");
    assert!(!transcript.contains("And the tests?"), "{transcript}");
    assert!(asked.contains("<focus>\nMind &lt;/focus> the API.\n</focus>"), "{asked}");
    let event = bench.recorder.json("provider_request").remove(0);
    assert_eq!((&event["purpose"], &event["round"]), (&json!(RequestPurpose::Compaction), &json!(1)));
    assert_eq!((&event["history"], &event["digest"]), (&json!(history), &json!(request.digest())));
    bench.provider.assert_clean();
}

#[tokio::test]
async fn a_history_larger_than_the_window_is_summarised_in_parts() {
    let number = |request: &RecordedRequest| {
        let text = request.last_user_text();
        let so_far = text.split("<summary_so_far>\nsummary ").nth(1).and_then(|rest| rest.split('\n').next());
        so_far.map_or(1, |number| number.parse::<u32>().unwrap() + 1)
    };
    let script = Script::new().respond_with(move |request| {
        Reply::new().text(format!("summary {}", number(request))).usage(usage(10, 1))
    });
    let mut messages: Vec<Message> = (0..40)
        .flat_map(|at| {
            [
                user(&format!("u{at}"), &format!("[{at}] {}", "w ".repeat(1_200))),
                assistant(&format!("a{at}"), "ok"),
            ]
        })
        .collect();
    messages.push(user("giant", &"g".repeat(50_000)));
    messages.extend([assistant("b1", "ok"), user("last", "go on"), assistant("b2", "ok")]);
    let bench = Bench::new(script, messages);
    let outcome = bench.compact(CompactionRequest::automatic(goal(0.8))).await.unwrap();
    let asked = bench.asked();
    assert_eq!(outcome.parts as usize, asked.len());
    assert!(asked.len() > 6, "{}", asked.len());
    let system = bench.provider.requests()[0].system.len();
    for (at, text) in asked.iter().enumerate() {
        assert!(
            text.len() + system <= 21_600 + 20,
            "60 % of the window: {} in part {at}",
            text.len() + system
        );
    }
    for at in 0..40 {
        let said = asked.iter().filter(|text| text.contains(&format!("user: [{at}] "))).count();
        assert_eq!(said, 1, "message {at}");
    }
    let giant: usize = asked.iter().map(|text| text.matches("ggg").count() * 3).sum();
    assert!(giant > 49_900, "{giant}");
    assert_eq!(outcome.summary, format!("summary {}", outcome.parts));
    assert_eq!(outcome.usage, usage(10 * u64::from(outcome.parts), u64::from(outcome.parts)));
    assert_eq!(bench.lines()[1..], ["user: go on", "assistant: ok"]);
    bench.provider.assert_clean();
}

#[tokio::test]
async fn a_refusal_of_the_length_halves_the_parts() {
    let too_long = || Reply::error(400, "too long").provider_kind(ProviderErrorKind::ContextLength);
    let script = Script::new().reply(too_long()).respond_with(|_| "Summary.".into());
    let mut messages = vec![user("u0", &"a b ".repeat(3_000)), assistant("a0", "ok")];
    messages.extend([user("u1", "go on"), assistant("a1", "ok")]);
    let bench = Bench::new(script, messages.clone());
    let outcome = bench.compact(CompactionRequest::manual()).await.unwrap();
    let asked = bench.asked();
    assert!(asked[1].len() < asked[0].len() * 2 / 3);
    assert_eq!(
        (outcome.parts as usize, bench.recorder.count("provider_request")),
        (asked.len() - 1, asked.len())
    );

    let bench = Bench::new(Script::new().respond_with(move |_| too_long()), messages);
    let error = bench.fails(CompactionRequest::manual()).await;
    assert!(
        matches!(error, CompactionError::Provider(error) if error.kind() == ProviderErrorKind::ContextLength)
    );
    assert_eq!(bench.provider.requests().len(), 5);
}

#[tokio::test]
async fn retries_are_shown_and_what_was_streamed_before_is_void() {
    let retry = ModelEvent::Retry {
        attempt: 2,
        max_attempts: 3,
        delay_ms: 1,
        reason: "busy".into(),
        status: Some(529),
        abandoned: true,
    };
    let reply = Reply::new().text("Half a summ").event(retry).text("A summary.");
    let bench = Bench::new(reply, talk());
    assert_eq!(bench.compact(CompactionRequest::manual()).await.unwrap().summary, "A summary.");
    assert_eq!(bench.recorder.json("provider_retry")[0]["reason"], "busy");
}

#[tokio::test]
async fn a_summary_that_is_cut_or_too_long_says_so() {
    let cut = Bench::new(Reply::new().text("The build").stop(FinishReason::MaxTokens), talk());
    let outcome = cut.compact(CompactionRequest::manual()).await.unwrap();
    assert_eq!(outcome.summary, "The build\n[The summary was cut off here.]");

    let mut messages = talk();
    messages.insert(0, user("u0", &"long ".repeat(2_400)));
    let long = Bench::new(Reply::new().text("word ".repeat(2_000)), messages);
    let outcome = long.compact(CompactionRequest::manual()).await.unwrap();
    assert!(outcome.summary.len() <= 3_600, "{}", outcome.summary.len());
    assert!(outcome.summary.contains("characters left out ...]"));
}

#[tokio::test]
async fn hooks_may_stop_it_add_to_it_and_are_told_of_it() {
    let mut bench = Bench::new("The build was fixed.", talk());
    bench.hooks = Some(Hooks { says: HookOutcome::blocked("not on Fridays"), ..Hooks::default() });
    let error = bench.fails(CompactionRequest::manual()).await;
    assert_eq!(error.to_string(), "a hook stopped the compaction: not on Fridays");
    assert!(bench.provider.requests().is_empty());
    assert_eq!(bench.recorder.json("hook")[0]["blocked"], "not on Fridays");

    bench.hooks = Some(Hooks { says: HookOutcome::context("Keep ticket numbers."), ..Hooks::default() });
    let request = CompactionRequest::manual().with_instructions("Be brief.");
    let outcome = bench.compact(request).await.unwrap();
    assert_eq!(outcome.additional_context, ["Keep ticket numbers."]);
    assert!(bench.asked()[0].contains("<focus>\nBe brief.\n\nKeep ticket numbers.\n</focus>"));
    let trigger = CompactTrigger::Manual;
    let told = [
        HookCall::PreCompact { trigger, custom_instructions: "Be brief.".into() },
        HookCall::PostCompact { trigger, compact_summary: "The build was fixed.".into() },
    ];
    assert_eq!(*bench.hooks.unwrap().told.lock().unwrap(), told);
}

#[tokio::test]
async fn what_keeps_too_much_is_tried_once_more_with_less() {
    let messages =
        [user("u1", "one"), assistant("a1", &"b".repeat(300)), user("u2", "two"), assistant("a2", "c")];
    let script = Script::new().reply("s".repeat(600)).reply("All of it.");
    let bench = Bench::new(script, messages);
    let outcome = bench.compact(CompactionRequest::automatic(None)).await.unwrap();
    assert_eq!((outcome.parts, outcome.summarized_messages, outcome.kept_messages), (2, 4, 0));
    assert!(bench.asked()[1].contains("<transcript>\nuser: two\nassistant: c\n</transcript>"));
    assert_eq!(bench.lines(), ["assistant: [Context Summary]\nAll of it."]);
}
