//! Sessions in a temporary folder, short or long.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use robota_core::{
    Body, DynTool, HistoryEntry, InvalidArguments, Message, PermissionMode, PreparedCall, Provider, RuleSet,
    Timestamp, ToolCall, ToolClass, ToolOutcome, ToolResult, ToolSpec,
};
use robota_session::{FileStore, Session, SessionOptions};
use robota_testkit::TempWorkspace;

/// Messages of a long session.
pub(crate) const MESSAGES: usize = 2_000;

/// A workspace with a store of sessions in it.
pub(crate) struct Scene {
    pub(crate) workspace: TempWorkspace,
    pub(crate) store: FileStore,
}

impl Scene {
    pub(crate) fn new() -> Self {
        let workspace = TempWorkspace::new();
        let store = FileStore::new(workspace.path(".robota"));
        Self { workspace, store }
    }

    /// A session with the tool `Note`, some rules, and an ordinary system prompt, in the store.
    pub(crate) fn options(&self, provider: Arc<dyn Provider>) -> SessionOptions {
        let mut options = SessionOptions::new(provider, "model-1", self.workspace.root());
        options.system_prompt = "Work carefully and say what you did. ".repeat(100).into();
        options.tools = vec![Arc::new(Note::new())];
        options.permissions.mode = PermissionMode::Default;
        options.permissions.rules = RuleSet::seed_defaults();
        options.store = Arc::new(self.store.clone());
        options
    }
}

/// Adds `count` messages to an idle session: a prompt, then calls and their results in turn, and no call
/// that is left open.
pub(crate) fn fill(session: &Session, count: usize, bytes: usize) {
    let text = "words of a file, \"as\" a tool read them\n".repeat(bytes / 39 + 1);
    let text = || text.get(..bytes).unwrap_or_default().to_owned();
    let call = |at| ToolCall { id: format!("call_{at}"), name: "Note".into(), arguments: "{}".into() };
    for at in 0..count {
        let body = match at {
            0 => Body::User { content: "Read everything.".into(), parts: Vec::new(), name: None },
            _ if at % 2 == 1 => Body::Assistant {
                content: Some(text()),
                parts: Vec::new(),
                tool_calls: if at + 1 < count { vec![call(at)] } else { Vec::new() },
                reasoning: Vec::new(),
            },
            _ => Body::Tool {
                content: text(),
                tool_call_id: format!("call_{}", at - 1),
                name: Some("Note".into()),
                is_error: false,
                parts: Vec::new(),
            },
        };
        let message = Message::with_body(format!("message-{at}"), Timestamp::from_millis(0), body);
        session.add_history_entry(HistoryEntry::chat(message.into())).unwrap();
    }
}

/// The small tool of a small call.
struct Note(Arc<ToolSpec>);

impl Note {
    fn new() -> Self {
        let schema = serde_json::json!({"type": "object", "properties": {"word": {"type": "string"}}});
        let spec = ToolSpec::new("Note", ToolClass::Inspect, "Takes note of a word.").read_only();
        Self(Arc::new(spec.with_input_schema(schema)))
    }
}

impl DynTool for Note {
    fn spec(&self) -> &Arc<ToolSpec> {
        &self.0
    }

    fn prepare(&self, arguments: &str) -> Result<PreparedCall, InvalidArguments> {
        let noted = format!("noted {arguments}");
        let run = move |_| -> BoxFuture<'static, ToolResult> {
            Box::pin(async move { Ok(ToolOutcome::success(noted)) })
        };
        Ok(PreparedCall::new(Vec::new(), run))
    }
}
