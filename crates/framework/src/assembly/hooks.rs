//! Hooks: settings joined with what runs each type.

use std::ffi::OsStr;
use std::sync::Arc;

use robota_core::{HookAction, HookEngine, HookEngineOptions, HookExecutor, HookExecutors, HookRunner};
use robota_session::SessionOptions;
use robota_tools::process::find_shell;
use robota_tools::{CommandHook, HttpHook};

use super::{AssemblyError, Equipment, SessionBlueprint, surroundings};
use crate::hook::{AgentHook, PromptHook};

/// What runs the hooks of a session with `options`; `None` when it has none.
pub(super) fn runner(
    blueprint: &SessionBlueprint,
    options: &SessionOptions,
) -> Result<Option<Arc<dyn HookRunner>>, AssemblyError> {
    let settings = &blueprint.settings;
    if !blueprint.run_hooks || settings.hooks.groups.iter().all(|group| group.hooks.is_empty()) {
        return Ok(None);
    }
    let engine_options = HookEngineOptions { failure: settings.hook_failure };
    let executors = executors(blueprint, options)?;
    Ok(Some(Arc::new(HookEngine::new(settings.hooks.clone(), executors, engine_options))))
}

fn executors(blueprint: &SessionBlueprint, options: &SessionOptions) -> Result<HookExecutors, AssemblyError> {
    let environment = surroundings::of_children(blueprint);
    let path = environment.iter().find(|(name, _)| name == OsStr::new("PATH"));
    let shell = find_shell(path.map(|(_, value)| value.as_os_str()));
    let command = CommandHook::new(shell, &blueprint.paths.root, environment);
    let http = HttpHook::new(surroundings::of_headers(blueprint));
    let prompt = PromptHook::new(
        Arc::clone(&options.provider),
        Arc::clone(&options.model),
        Arc::clone(&blueprint.ambient.clock),
    );
    let executor = |executor: Arc<dyn HookExecutor>| Some(executor);
    let mut hooks = blueprint.settings.hooks.groups.iter().flat_map(|group| &group.hooks);
    let agent = if hooks.any(|hook| matches!(hook.action, HookAction::Agent { .. })) {
        // Tools of its own: what such an agent reads, the model has not seen. It only looks at files.
        let tools = blueprint.tools(&options.permissions, Equipment::default())?;
        executor(Arc::new(AgentHook::new(options.clone(), tools)))
    } else {
        None
    };
    Ok(HookExecutors {
        command: executor(Arc::new(command)),
        http: executor(Arc::new(http)),
        prompt: executor(Arc::new(prompt)),
        agent,
    })
}
