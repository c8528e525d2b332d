//! Logs to look at again: the whole life of a session, and turns that only the engine can make.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use futures_util::future::{BoxFuture, ready};
use robota_core::{
    Agent, AgentConfig, CompactTrigger, ContextState, Error, Event, EventKind, EventSink, History,
    HistoryEntry, Message, MessageRef, PermissionMode, Pressure, RawCapture, RequestPurpose, Timestamp,
    ToolOutcome, Turn, TurnEnd, TurnHost, Usage,
};
use robota_session::Session;
use robota_testkit::{AllowAll, EventRecorder, Reply, Script, ScriptedProvider, fixed_ambient};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::scene::{Scene, TestTool, events, id};

/// A session with tools, a denial, an unknown tool, an abort, a failure, an id that comes twice, a resume
/// with another prompt and limit, and a cleared history; and its fork.
pub(crate) async fn whole_life() -> (Scene, Vec<Event>) {
    let script = Script::new()
        .reply(
            Reply::new()
                .thinking("Hm.", "signed")
                .text("Looking.")
                .tool_call("c1", "Look", json!({"at": 1}))
                .tool_call("c2", "Change", json!({}))
                .tool_call("c3", "Missing", json!({})),
        )
        .reply("Seen.")
        .reply(Reply::new().text("Half an").gate("middle").text(" answer"))
        .reply(Reply::error(401, "bad key"))
        .reply(Reply::new().tool_call("c1", "Look", json!({})).tool_call("c1", "Look", json!({"at": 2})))
        .reply("Twice.");
    let look = TestTool::parallel("Look", |_| {
        Box::pin(async { Ok(ToolOutcome::success("a view").with_structured(json!({"exitCode": 0}))) })
    });
    let mut scene = Scene::new(script).with_tools([
        look.0,
        TestTool::serial("Change", |_| Box::pin(async { Ok(ToolOutcome::success("never")) })).0,
    ]);
    scene.options.permissions.mode = PermissionMode::Default;
    scene.options.permissions.rules.allow = vec!["Look".parse().unwrap()];
    scene.options.max_output_tokens = Some(500);
    let session = Arc::new(Session::create(scene.options()).await.unwrap());
    session.run("one").await.unwrap();
    let running = tokio::spawn({
        let session = session.clone();
        async move { session.run("two").await }
    });
    scene.provider.gate("middle").reached().await;
    session.abort();
    running.await.unwrap().unwrap();
    session.run("three").await.unwrap_err();
    session.run("four").await.unwrap();
    session.shutdown("other").await.unwrap();

    let (_, mut options) = scene.options_with(Script::new().reply("Again.").reply("Fresh.").reply("More."));
    options.system_prompt = "Be very brief.".into();
    options.max_output_tokens = None;
    let session = Session::resume(options, &id("s")).await.unwrap();
    session.run("five").await.unwrap();
    session.clear_history().unwrap();
    let note = HistoryEntry::event("n".into(), Timestamp::default(), "note", json!("cleared"));
    session.add_history_entry(note).unwrap();
    session.run("six").await.unwrap();
    session.run("seven").await.unwrap();
    session.shutdown("other").await.unwrap();

    let (_, mut options) = scene.options_with("Forked.");
    options.session_id = Some(id("f"));
    let session = Session::fork(options, &id("s")).await.unwrap();
    session.run("eight").await.unwrap();
    session.shutdown("other").await.unwrap();
    let events = scene.events();
    (scene, events)
}

/// The events of the fork.
pub(crate) fn fork_of(scene: &Scene) -> Vec<Event> {
    events(scene.workspace.read(".robota/logs/f.jsonl").as_bytes())
}

/// The events with one field of one line changed.
pub(crate) fn tampered(events: &[Event], at: usize, change: impl FnOnce(&mut Value)) -> Vec<Event> {
    let mut line = serde_json::to_value(&events[at]).unwrap();
    change(&mut line);
    let mut events = events.to_vec();
    events[at] = serde_json::from_str(&line.to_string()).unwrap();
    events
}

/// What is done to a turn from outside, each at its number of the occasion, from 0.
#[derive(Default)]
pub(crate) struct Outside {
    /// What the user says meanwhile, by how often the engine has asked before.
    pub(crate) said: Vec<(usize, &'static str)>,
    /// What a hook says when the model has finished, in order.
    pub(crate) continued: Vec<&'static str>,
    /// The occasions at which the history is compacted, by how often the engine has asked before.
    pub(crate) compacted: Vec<usize>,
}

/// A host that does what the test says, and records it.
struct Host<'a> {
    outside: Outside,
    history: &'a Mutex<History>,
    sink: Arc<EventRecorder>,
    asked: Mutex<(usize, usize)>,
    continued: Mutex<VecDeque<&'static str>>,
}

impl Host<'_> {
    fn compact(&self) {
        let mut history = self.history.lock().unwrap();
        self.sink.emit(EventKind::ProviderRequest {
            round: 1,
            provider: "scripted".into(),
            model: "m".into(),
            history: history.reference(),
            last_words: false,
            purpose: RequestPurpose::Compaction,
            digest: None,
        });
        let summary = format!("{} messages", history.messages().len());
        let usage = Usage { input_tokens: 7, ..Usage::default() };
        self.sink.emit(EventKind::CompactSummary { part: 1, summary: summary.clone(), usage });
        let prompt = history.messages().iter().find(|message| message.role() == "user").cloned();
        let text = format!("[Context Summary]\n{summary}");
        let summary: MessageRef =
            Message::assistant(format!("sum-{summary}"), Timestamp::default(), text).into();
        let replaced = history.replace(std::iter::once(summary).chain(prompt).collect());
        self.sink.emit(EventKind::HistoryMutation(replaced));
        let state = ContextState::default();
        self.sink.emit(EventKind::ContextCompact {
            trigger: CompactTrigger::Auto,
            before: state,
            after: state,
            summarized_messages: 1,
            kept_messages: 1,
            parts: 1,
            usage,
        });
    }
}

impl TurnHost for Host<'_> {
    fn take_input(&self) -> Vec<Message> {
        let mut asked = self.asked.lock().unwrap();
        asked.0 += 1;
        let now = self.outside.said.iter().filter(|(at, _)| *at + 1 == asked.0);
        now.map(|(_, text)| Message::user(format!("said-{text}"), Timestamp::default(), *text)).collect()
    }

    fn make_room(&self, _: Pressure) -> BoxFuture<'_, Result<bool, Error>> {
        let mut asked = self.asked.lock().unwrap();
        asked.1 += 1;
        let compacted = self.outside.compacted.contains(&(asked.1 - 1));
        if compacted {
            self.compact();
        }
        Box::pin(ready(Ok(compacted)))
    }

    fn finished<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Option<Message>> {
        let text = self.continued.lock().unwrap().pop_front();
        let message = text.map(|text| Message::user(format!("hook-{text}"), Timestamp::default(), text));
        Box::pin(ready(message))
    }
}

/// The log of two turns in which the model follows `script`: the first with `outside`, the second alone.
pub(crate) async fn turns(script: Script, max_rounds: u32, outside: Outside) -> Vec<Event> {
    let agent = Agent::new(AgentConfig {
        provider: Arc::new(ScriptedProvider::new(script).lenient()),
        model: "m".into(),
        system: "Be brief.".into(),
        tools: vec![TestTool::prompt("Look")],
        max_rounds,
        context_window: 0,
        max_output_tokens: None,
        output_budget: 0,
        spill: None,
        tuning: robota_core::RequestTuning::default(),
        idle_timeout: None,
        raw_capture: RawCapture::Off,
        ambient: fixed_ambient(),
    });
    let recorder = Arc::new(EventRecorder::new());
    let history = Mutex::new(History::default());
    recorder.emit(init_of(&agent));
    let continued = Mutex::new(outside.continued.iter().copied().collect());
    let busy =
        Host { outside, history: &history, sink: recorder.clone(), asked: Mutex::default(), continued };
    for (prompt, host) in [("p1", &busy as &dyn TurnHost), ("p2", &robota_core::NoHost)] {
        recorder.emit(EventKind::User { content: prompt.into(), steering: false });
        let sink: Arc<dyn EventSink> = recorder.clone();
        let report = agent
            .run_turn(Turn {
                history: &history,
                prompt: Message::user(prompt, Timestamp::default(), prompt),
                response_format: None,
                sink: &sink,
                gate: &AllowAll,
                cancel: &CancellationToken::new(),
                host,
            })
            .await;
        recorder.emit(EventKind::Complete {
            ended: report.outcome.unwrap_or(TurnEnd::Failed),
            rounds: report.rounds,
            usage: report.usage,
            history: history.lock().unwrap().reference(),
            duration_ms: 0,
            api_duration_ms: 0,
        });
    }
    stamped(recorder.kinds())
}

fn init_of(agent: &Agent) -> EventKind {
    EventKind::SessionInit {
        cwd: "/p".into(),
        name: None,
        provider: agent.config().provider.info().id.clone(),
        model: "m".into(),
        permission_mode: PermissionMode::Default,
        system_prompt: agent.config().system.clone(),
        system_prompt_length: 9,
        tool_schemas: agent.tool_specs().clone(),
        forked_from: None,
        max_output_tokens: None,
        raw_capture: RawCapture::Off,
        tuning: robota_core::RequestTuning::default(),
    }
}

/// The events of a log, the turns counted by their prompts.
fn stamped(kinds: Vec<EventKind>) -> Vec<Event> {
    let mut turn = 0;
    let stamped = kinds.into_iter().enumerate().map(|(at, kind)| {
        turn += u32::from(matches!(kind, EventKind::User { steering: false, .. }));
        Event {
            seq: at as u64 + 1,
            timestamp: Timestamp::default(),
            session_id: id("s"),
            turn,
            redacted: false,
            kind,
        }
    });
    stamped.collect()
}
