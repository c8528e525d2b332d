//! Hooks of the type `agent`.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use robota_core::{
    DynTool, HookAction, HookExecutor, HookFailure, HookReply, HookTask, PermissionMode, TurnEnd,
};
use robota_session::{NullStore, Session, SessionOptions};
use tokio_util::sync::CancellationToken;

use super::judgement::{self, RULES, question};

/// The tools of such an agent: it looks and changes nothing, so there is no Bash.
const TOOLS: [&str; 3] = ["Read", "Glob", "Grep"];

/// Runs hooks of the type `agent`: a session of its own that may look at files, keeps nothing, and has no hooks.
pub(crate) struct AgentHook {
    options: SessionOptions,
}

impl AgentHook {
    /// Agents with provider, model and rules of `options`, and those of `tools` that only look. In `plan` mode nothing but looking
    /// is allowed, and nobody is asked.
    pub(crate) fn new(mut options: SessionOptions, tools: Vec<Arc<dyn DynTool>>) -> Self {
        options.tools = tools;
        options.tools.retain(|tool| TOOLS.contains(&tool.spec().name.as_str()));
        options.permissions.mode = PermissionMode::Plan;
        options.permission_handler = None;
        options.rule_keeper = None;
        options.observer = None;
        options.hooks = None;
        options.store = Arc::new(NullStore);
        options.session_id = None;
        options.name = None;
        options.compact_instructions = None;
        options.system_prompt =
            format!("{RULES}\nYou may look at the files of the project with your tools.").into();
        Self { options }
    }

    async fn run(&self, task: HookTask<'_>) -> Result<HookReply, HookFailure> {
        let HookAction::Agent { prompt, model, max_turns } = task.action else {
            return Err(HookFailure::new("is not an agent"));
        };
        let mut options = self.options.clone();
        options.max_turns = *max_turns;
        if let Some(model) = model {
            options.model = model.as_str().into();
        }
        let failed = |error| HookFailure::new("could not be run").because(error);
        let question = question(prompt, task.json)?;
        let session = Session::create(options).await.map_err(failed)?;
        let outcome = session.run(question).await.map_err(failed)?;
        // It keeps nothing, so there is nothing that could not be written.
        let _ = session.shutdown("other").await;
        match outcome.ended {
            TurnEnd::Completed => judgement::read(&outcome.text),
            end => Err(HookFailure::new(format!("came to no judgement: {end:?}"))),
        }
    }
}

impl HookExecutor for AgentHook {
    fn execute<'a>(
        &'a self,
        task: HookTask<'a>,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<HookReply, HookFailure>> {
        Box::pin(async move {
            // Dropping the run ends its turn.
            let reply = cancel.run_until_cancelled(Box::pin(self.run(task))).await;
            reply.unwrap_or_else(|| Err(HookFailure::new("was cancelled")))
        })
    }
}
