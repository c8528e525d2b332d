//! The program of `docs/embedding.md` that looks after a session.

#![expect(clippy::print_stdout, reason = "an embedder is a host of its own")]

use super::Order;

// docs: supervised
use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use robota_core::{EventKind, Provider};
use robota_session::archive::{self, ExportOptions};
use robota_session::{
    ExternalApproval, FileStore, LogItem, ReviewDecision, Session, SessionObserver, SessionOptions,
    SessionStore, Subscription, ToolExecution, replay,
};

/// Shows text as it comes, and what was not allowed.
struct Screen;

impl SessionObserver for Screen {
    fn text_delta(&self, delta: &str) {
        print!("{delta}");
    }

    fn tool_execution(&self, execution: &ToolExecution) {
        if let ToolExecution::End { tool_name, denied: true, .. } = execution {
            println!("not allowed: {tool_name}");
        }
    }
}

/// Answers questions about tool calls from outside of the turn, until the session is closed.
async fn decide(session: Arc<Session>, mut events: Subscription) {
    while let Some(event) = events.recv().await {
        if let EventKind::PermissionRequest { tool_call_id, .. } = &event.kind {
            session.notify_approval(tool_call_id, ReviewDecision::Approved);
        }
    }
}

/// Runs `prompts`, compacts, and gives the session back as one document that has been replayed.
async fn supervise(
    provider: Arc<dyn Provider>,
    folder: &Path,
    prompts: &[&str],
) -> Result<Vec<u8>, Box<dyn Error>> {
    let store: Arc<dyn SessionStore> = Arc::new(FileStore::new(folder.join("sessions")));
    let mut options = SessionOptions::new(provider, "claude-sonnet-4-5", folder);
    options.tools = vec![Arc::new(Order::new())];
    options.context_window = 200_000; // without it, the session never compacts by itself
    options.observer = Some(Arc::new(Screen));
    options.permission_handler = Some(Arc::new(ExternalApproval));
    options.store = Arc::clone(&store);
    let session = Arc::new(Session::create(options).await?);
    let deciding = tokio::spawn(decide(Arc::clone(&session), session.subscribe()));
    for prompt in prompts {
        session.run(*prompt).await?;
    }
    let compacted = session.compact(Some("Keep all counts.")).await?;
    println!("{} messages became {}", compacted.summarized_messages, compacted.summary);
    session.shutdown("other").await?;
    deciding.await?;

    let id = session.session_id();
    let mut events = Vec::new();
    for item in store.read_log(id).await?.ok_or("the session has no log")?.into_reader() {
        if let LogItem::Event(event) = item? {
            events.push(*event);
        }
    }
    if let Some(divergence) = replay(&events).await.first_divergence() {
        return Err(divergence.to_string().into());
    }
    let mut document = Vec::new();
    archive::export(store.as_ref(), id, &ExportOptions::default(), &mut document).await?;
    Ok(document)
}
// docs: end

#[tokio::test]
async fn the_supervised_session_is_asked_compacted_replayed_and_exported() {
    use robota_testkit::{Reply, Script, ScriptedProvider, TempWorkspace};
    use serde_json::{Value, json};

    let order = json!({"item": "bolt", "count": 100});
    let script = Script::new().reply(Reply::new().tool_call("c1", "Order", order));
    let script = script.reply("Ordered.").reply("No nuts, then.").reply("100 bolts are ordered.");
    let provider = Arc::new(ScriptedProvider::new(script));
    let space = TempWorkspace::new();
    let prompts = ["We are out of bolts.", "And of nuts?"];
    let document = supervise(provider.clone(), space.root(), &prompts).await.unwrap();
    let document: Value = serde_json::from_slice(&document).unwrap();
    let messages = document["record"]["messages"].as_array().unwrap();
    let told: Vec<&str> = messages.iter().map(|message| message["content"].as_str().unwrap()).collect();
    assert_eq!(told, ["[Context Summary]\n100 bolts are ordered.", "And of nuts?", "No nuts, then."]);
    provider.assert_clean();
}
