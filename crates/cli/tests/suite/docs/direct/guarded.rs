//! The program of `docs/embedding.md` that has hooks of its own.

use super::Order;

// docs: guarded
use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use robota_core::{
    HookEngine, HookEngineOptions, HookExecutors, HookOrigin, HookScope, HooksConfig, Provider, Rule,
};
use robota_session::{Session, SessionOptions, TurnOutcome};
use robota_tools::CommandHook;
use serde_json::json;

/// Hooks of the host: small orders only.
fn small_orders(folder: &Path) -> Result<HookEngine, Box<dyn Error>> {
    let guard = r#"grep -qE '"count":[0-9]{3}' && { echo "At most 99 at a time." >&2; exit 2; } || true"#;
    let hooks = json!({
        "PreToolUse": [{"matcher": "Order", "hooks": [{"type": "command", "command": guard}]}],
    });
    let origin = HookOrigin { place: "the warehouse".to_owned(), scope: HookScope::User };
    let (config, _unknown) = HooksConfig::from_value(&hooks, &origin)?;
    let environment = vec![("PATH".into(), "/usr/bin:/bin".into())];
    let executors = HookExecutors {
        command: Some(Arc::new(CommandHook::new("/bin/sh", folder, environment))),
        ..HookExecutors::default()
    };
    Ok(HookEngine::new(config, executors, HookEngineOptions::default()))
}

/// Runs one prompt: orders are allowed by rule, and held against the hooks.
async fn order(provider: Arc<dyn Provider>, folder: &Path) -> Result<TurnOutcome, Box<dyn Error>> {
    let mut options = SessionOptions::new(provider, "claude-sonnet-4-5", folder);
    options.tools = vec![Arc::new(Order::new())];
    options.permissions.rules.allow.push(Rule::parse("Order", "the warehouse")?);
    options.hooks = Some(Arc::new(small_orders(folder)?));
    let session = Session::create(options).await?;
    let outcome = session.run("We are out of bolts.").await;
    session.shutdown("other").await?;
    Ok(outcome?)
}
// docs: end

#[tokio::test]
async fn the_guarded_session_orders_little_at_a_time() {
    use robota_testkit::{Reply, Script, ScriptedProvider, TempWorkspace};

    let call = |id, count| Reply::new().tool_call(id, "Order", json!({"item": "bolt", "count": count}));
    let script = Script::new().reply(call("c1", 100)).reply(call("c2", 50)).reply("Ordered 50.");
    let provider = Arc::new(ScriptedProvider::new(script));
    let outcome = order(provider.clone(), TempWorkspace::new().root()).await.unwrap();
    assert_eq!(outcome.text, "Ordered 50.");
    let requests = provider.requests();
    assert_eq!(requests[1].messages[2].text(), "Blocked by hook: At most 99 at a time.");
    assert_eq!(requests[2].messages[4].text(), "ordered 50 x bolt");
    assert_eq!(outcome.denials.len(), 1);
    provider.assert_clean();
}
