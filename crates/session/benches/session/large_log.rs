//! Opening a session of which nothing is left but a log of 100 MB.

use std::time::Instant;

use robota_core::{
    Body, EventKind, EventSink, FinishReason, History, Message, PermissionMode, RawCapture, RequestPurpose,
    SessionId, Timestamp, ToolCall, TurnEnd, Usage,
};
use robota_session::{Journal, JournalOptions, Session, SessionStore};
use serde_json::json;
use tokio::runtime::Runtime;

use crate::scene::Scene;
use crate::stopwatch::Stopwatch;
use crate::{memory, show, wanted};

const NAME: &str = "resume of a log of 100 MB without a snapshot";
const BYTES: u64 = 100_000_000;
/// Text of an answer, and of a result.
const ANSWER: usize = 1_500;
const RESULT: usize = 3_000;

/// Writes the log, opens the session, and prints how long that took and the most memory it needed.
pub(crate) fn report(runtime: &Runtime) {
    if !wanted(NAME) {
        return;
    }
    let scene = Scene::new();
    let messages = runtime.block_on(write(&scene));
    let before = memory::resident();
    memory::forget_peak();
    let begun = Instant::now();
    let opened = runtime.block_on(Session::resume(scene.options(Stopwatch::new(0)), &id())).unwrap();
    let took = begun.elapsed();
    assert_eq!(opened.history().len(), messages);
    assert!(opened.defects().is_empty(), "{}", opened.defects());
    show(&format!("{NAME}, {messages} messages"), &format!("{:.2} s", took.as_secs_f64()));
    if let (Some(before), Some(peak)) = (before, memory::peak()) {
        let figure = format!("{:.0} MB, {:.0} MB of it before", peak as f64 / 1e6, before as f64 / 1e6);
        show(&format!("{NAME}: peak memory"), &figure);
    }
    runtime.block_on(opened.shutdown("other")).unwrap();
}

fn id() -> SessionId {
    "large".parse().unwrap()
}

/// Turns of one call each, as sessions log them; returns how many messages they have.
async fn write(scene: &Scene) -> usize {
    let log = scene.store.create(&id()).await.unwrap();
    let journal = Journal::start(JournalOptions::new(id()), log);
    let mut history = History::default();
    journal.emit(EventKind::SessionInit {
        cwd: scene.workspace.root().to_owned(),
        name: None,
        provider: "scripted".into(),
        model: "model-1".into(),
        permission_mode: PermissionMode::Default,
        system_prompt: "Work.".into(),
        system_prompt_length: 5,
        tool_schemas: [].into(),
        forked_from: None,
        max_output_tokens: None,
        raw_capture: RawCapture::Off,
        tuning: robota_core::RequestTuning::default(),
    });
    let mut turn = 0;
    while journal.mark().offset < BYTES {
        turn += 1;
        journal.set_turn(turn);
        self::turn(&journal, &mut history, turn);
        journal.written().await.unwrap();
    }
    journal.close().await;
    history.messages().len()
}

fn turn(journal: &Journal, history: &mut History, turn: u32) {
    let text = |length: usize| format!("turn {turn}: ").repeat(length / 10 + 1);
    journal.emit(EventKind::User { content: "Go on.".into(), steering: false });
    append(journal, history, Message::user(format!("u{turn}"), Timestamp::default(), "Go on."));
    let call = ToolCall { id: format!("c{turn}"), name: "Note".into(), arguments: "{}".into() };
    answer(journal, history, turn, 1, text(ANSWER), vec![call]);
    journal.emit(EventKind::ToolExecutionRequest {
        index: 0,
        tool_name: "Note".into(),
        tool_call_id: format!("c{turn}"),
        parameters: json!({}),
    });
    let body = Body::Tool {
        content: text(RESULT),
        tool_call_id: format!("c{turn}"),
        name: Some("Note".into()),
        is_error: false,
        parts: Vec::new(),
    };
    append(journal, history, Message::with_body(format!("r{turn}"), Timestamp::default(), body));
    answer(journal, history, turn, 2, text(ANSWER), Vec::new());
    journal.emit(EventKind::Complete {
        ended: TurnEnd::Completed,
        rounds: 2,
        usage: Usage::default(),
        history: history.reference(),
        duration_ms: 1,
        api_duration_ms: 1,
    });
}

fn answer(
    journal: &Journal,
    history: &mut History,
    turn: u32,
    round: u32,
    text: String,
    tool_calls: Vec<ToolCall>,
) {
    journal.emit(EventKind::ProviderRequest {
        round,
        provider: "scripted".into(),
        model: "model-1".into(),
        history: history.reference(),
        last_words: false,
        purpose: RequestPurpose::Turn,
        digest: None,
    });
    journal.emit(EventKind::TextDelta { delta: text.clone() });
    let message_id = format!("a{turn}-{round}");
    journal.emit(EventKind::ProviderResponseNormalized {
        round,
        message_id: message_id.clone(),
        response_id: None,
        model: "model-1".into(),
        finish_reason: FinishReason::EndTurn,
        usage: Usage::default(),
        tool_calls_count: tool_calls.len(),
        renamed_calls: serde_json::Map::new(),
    });
    let body = Body::Assistant { content: Some(text), parts: Vec::new(), tool_calls, reasoning: Vec::new() };
    append(journal, history, Message::with_body(message_id, Timestamp::default(), body));
}

fn append(journal: &Journal, history: &mut History, message: Message) {
    journal.emit(EventKind::HistoryMutation(history.append(message)));
}
