//! A session in a temporary folder, with a scripted model and small tools.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::BoxFuture;
use robota_core::{
    DynTool, Event, InvalidArguments, PermissionMode, PreparedCall, SessionId, ToolClass, ToolContext,
    ToolOutcome, ToolResult, ToolSpec,
};
use robota_session::{FileStore, LineFilter, LogItem, LogReader, SessionOptions, SessionStore, Subscription};
use robota_testkit::{FixedClock, Script, ScriptedProvider, TempWorkspace, event_name, fixed_ambient};
use serde_json::json;

pub(crate) struct Scene {
    pub(crate) workspace: TempWorkspace,
    pub(crate) store: FileStore,
    pub(crate) provider: Arc<ScriptedProvider>,
    pub(crate) options: SessionOptions,
}

impl Scene {
    /// A model that follows `script`, in permission mode `bypassPermissions`; ids, time and session
    /// id `s` are the same in every run.
    pub(crate) fn new(script: impl Into<Script>) -> Self {
        let workspace = TempWorkspace::new();
        let store = FileStore::with_clock(workspace.path(".robota"), Arc::new(FixedClock::default()));
        let provider = Arc::new(ScriptedProvider::new(script));
        let mut options = SessionOptions::new(provider.clone(), "model-1", workspace.root());
        options.system_prompt = "Be brief.".into();
        options.permissions.mode = PermissionMode::BypassPermissions;
        options.store = Arc::new(store.clone());
        options.ambient = fixed_ambient();
        options.session_id = Some(id("s"));
        Self { workspace, store, provider, options }
    }

    pub(crate) fn with_tools(mut self, tools: impl IntoIterator<Item = Arc<dyn DynTool>>) -> Self {
        self.options.tools = tools.into_iter().collect();
        self
    }

    pub(crate) fn options(&self) -> SessionOptions {
        self.options.clone()
    }

    /// Options for going on with the model following `script`.
    pub(crate) fn options_with(&self, script: impl Into<Script>) -> (Arc<ScriptedProvider>, SessionOptions) {
        let provider = Arc::new(ScriptedProvider::new(script));
        let mut options = self.options();
        options.provider = provider.clone();
        (provider, options)
    }

    pub(crate) fn log(&self) -> String {
        self.workspace.read(".robota/logs/s.jsonl")
    }

    pub(crate) fn events(&self) -> Vec<Event> {
        events(self.log().as_bytes())
    }

    pub(crate) async fn defects(&self) -> Vec<String> {
        let stored = self.store.load(&id("s")).await.unwrap();
        stored.defects.listed().iter().map(|defect| format!("{:?}", defect.kind)).collect()
    }
}

pub(crate) fn id(id: &str) -> SessionId {
    id.parse().unwrap()
}

/// The events of an intact log.
pub(crate) fn events(log: &[u8]) -> Vec<Event> {
    let event = |item: std::io::Result<LogItem>| match item.unwrap() {
        LogItem::Event(event) => *event,
        other => panic!("{other:?}"),
    };
    LogReader::new(log).map(event).collect()
}

pub(crate) fn names(events: &[Event]) -> Vec<String> {
    events.iter().map(|event| event_name(&event.kind)).collect()
}

/// Waits for the event called `name`.
pub(crate) async fn wait_for(events: &mut Subscription, name: &str) -> Arc<Event> {
    loop {
        let event = events.recv().await.unwrap_or_else(|| panic!("the session ended before `{name}`"));
        if event_name(&event.kind) == name {
            return event;
        }
    }
}

/// A filter that takes the word `hunter2` out of what is written.
pub(crate) fn without_hunter2() -> LineFilter {
    LineFilter::new(|line: &mut Vec<u8>| {
        let text = String::from_utf8(std::mem::take(line)).unwrap();
        *line = text.replace("hunter2", "[REDACTED]").into_bytes();
        text.contains("hunter2")
    })
}

/// What a test says that a tool does.
type Work = dyn Fn(ToolContext) -> BoxFuture<'static, ToolResult> + Send + Sync;

/// A tool that does what the test says, and counts its calls.
pub(crate) struct TestTool {
    spec: Arc<ToolSpec>,
    calls: Arc<AtomicUsize>,
    work: Arc<Work>,
}

impl TestTool {
    /// A tool that may run beside others.
    pub(crate) fn parallel(
        name: &str,
        work: impl Fn(ToolContext) -> BoxFuture<'static, ToolResult> + Send + Sync + 'static,
    ) -> (Arc<dyn DynTool>, Arc<AtomicUsize>) {
        Self::of(ToolSpec::new(name, ToolClass::Other, "Does it.").read_only(), work)
    }

    /// A tool that runs alone.
    pub(crate) fn serial(
        name: &str,
        work: impl Fn(ToolContext) -> BoxFuture<'static, ToolResult> + Send + Sync + 'static,
    ) -> (Arc<dyn DynTool>, Arc<AtomicUsize>) {
        Self::of(ToolSpec::new(name, ToolClass::Other, "Does it."), work)
    }

    fn of(
        spec: ToolSpec,
        work: impl Fn(ToolContext) -> BoxFuture<'static, ToolResult> + Send + Sync + 'static,
    ) -> (Arc<dyn DynTool>, Arc<AtomicUsize>) {
        let spec = Arc::new(spec.with_input_schema(json!({"type": "object"})));
        let calls = Arc::new(AtomicUsize::new(0));
        (Arc::new(Self { spec, calls: calls.clone(), work: Arc::new(work) }), calls)
    }

    /// A tool that succeeds at once.
    pub(crate) fn prompt(name: &str) -> Arc<dyn DynTool> {
        Self::parallel(name, |_| Box::pin(async { Ok(ToolOutcome::success("done")) })).0
    }
}

impl DynTool for TestTool {
    fn spec(&self) -> &Arc<ToolSpec> {
        &self.spec
    }

    fn prepare(&self, _: &str) -> Result<PreparedCall, InvalidArguments> {
        let (calls, work) = (self.calls.clone(), self.work.clone());
        Ok(PreparedCall::new(Vec::new(), move |context| {
            calls.fetch_add(1, Ordering::SeqCst);
            work(context)
        }))
    }
}
