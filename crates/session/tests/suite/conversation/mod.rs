//! The contract of seed `003`: every item has a test named after it, an edge case, and its place in the
//! scenario. `docs/conversation.md` holds the table.

mod errors;
mod export;
mod history;
mod lifecycle;
mod metadata;
mod page;
mod scenario;
mod tokens;
mod turns;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use robota_core::{Ambient, Body, Event, IdSource, Message, MessageRef, Timestamp, ToolCall};
use robota_session::{
    Conversation, ConversationEntry, ConversationOptions, FileStore, LogItem, LogReader, Speaker,
};
use robota_testkit::{FixedClock, TempWorkspace};

/// The time at which the clock of the tests stands, in milliseconds.
const NOW: i64 = 1_767_225_600_000;

/// UUIDs that are counted.
#[derive(Default)]
struct CountedUuids(AtomicU64);

impl IdSource for CountedUuids {
    fn next_id(&self) -> String {
        uuid(self.0.fetch_add(1, Ordering::SeqCst) + 1)
    }
}

fn uuid(number: u64) -> String {
    format!("019aa6b2-0000-7000-8000-{number:012}")
}

/// Conversations in the store of a temporary folder.
struct Room {
    workspace: TempWorkspace,
    store: FileStore,
    clock: Arc<FixedClock>,
    options: ConversationOptions,
}

impl Room {
    fn new() -> Self {
        let workspace = TempWorkspace::new();
        let clock = Arc::new(FixedClock::default());
        let store = FileStore::with_clock(workspace.path(".robota"), clock.clone());
        let mut options = ConversationOptions::new("model-1", workspace.root());
        options.store = Arc::new(store.clone());
        options.ambient = Ambient { clock: clock.clone(), ids: Arc::new(CountedUuids::default()) };
        Self { workspace, store, clock, options }
    }

    fn options(&self) -> ConversationOptions {
        self.options.clone()
    }

    /// A conversation that has no log yet.
    fn conversation(&self) -> Conversation {
        Conversation::new(self.options()).unwrap()
    }

    /// A conversation with a log.
    async fn recorded(&self) -> Conversation {
        let mut conversation = self.conversation();
        conversation.initialize().await.unwrap();
        conversation
    }

    fn log(&self, session: &str) -> String {
        self.workspace.read(&format!(".robota/logs/{session}.jsonl"))
    }

    fn events(&self, session: &str) -> Vec<Event> {
        let log = self.log(session);
        let event = |item: std::io::Result<LogItem>| match item.unwrap() {
            LogItem::Event(event) => *event,
            other => panic!("{other:?}"),
        };
        LogReader::new(log.as_bytes()).map(event).collect()
    }

    fn is_locked(&self, session: &str) -> bool {
        self.workspace.exists(&format!(".robota/sessions/{session}.lock"))
    }
}

/// A conversation that lives in memory alone.
fn in_memory() -> Conversation {
    let mut options = ConversationOptions::new("model-1", "/work");
    options.ambient =
        Ambient { clock: Arc::new(FixedClock::default()), ids: Arc::new(CountedUuids::default()) };
    Conversation::new(options).unwrap()
}

fn entry(speaker: Speaker, text: &str) -> ConversationEntry {
    ConversationEntry { timestamp_ms: NOW, text: text.to_owned(), speaker }
}

fn texts(messages: &[MessageRef]) -> Vec<&str> {
    messages.iter().map(|message| message.text()).collect()
}

/// An answer that calls a tool.
fn call(id: &str) -> Message {
    let call = ToolCall { id: id.to_owned(), name: "Bash".into(), arguments: r#"{"command":"ls"}"#.into() };
    let body = Body::Assistant { content: None, parts: vec![], tool_calls: vec![call], reasoning: vec![] };
    Message::with_body(format!("call of {id}"), Timestamp::from_millis(NOW), body)
}

/// The result of the call `id`.
fn result(id: &str) -> Message {
    let body = Body::Tool {
        content: "done".into(),
        tool_call_id: id.to_owned(),
        name: Some("Bash".into()),
        is_error: false,
        parts: vec![],
    };
    Message::with_body(format!("result of {id}"), Timestamp::from_millis(NOW), body)
}
