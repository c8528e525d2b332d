//! Hooks: settings joined with what runs each type.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::sync::Arc;

use robota_core::{HookEngine, HookEngineOptions, HookExecutor, HookExecutors, HookRunner};
use robota_session::SessionOptions;
use robota_tools::process::find_shell;
use robota_tools::{CommandHook, HttpHook};

use super::{AssemblyError, SessionBlueprint, surroundings};
use crate::hook::{AgentHook, PromptHook};

/// What runs the hooks of a session with `options`; `None` when it has none.
pub(super) fn runner(
    blueprint: &SessionBlueprint,
    options: &SessionOptions,
    folders: &[PathBuf],
) -> Result<Option<Arc<dyn HookRunner>>, AssemblyError> {
    let settings = &blueprint.settings;
    if !blueprint.run_hooks || settings.hooks.groups.iter().all(|group| group.hooks.is_empty()) {
        return Ok(None);
    }
    let engine_options = HookEngineOptions { failure: settings.hook_failure };
    let executors = executors(blueprint, options, folders)?;
    Ok(Some(Arc::new(HookEngine::new(settings.hooks.clone(), executors, engine_options))))
}

fn executors(
    blueprint: &SessionBlueprint,
    options: &SessionOptions,
    folders: &[PathBuf],
) -> Result<HookExecutors, AssemblyError> {
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
    // Tools of its own: what such an agent reads, the model has not seen.
    let agent = AgentHook::new(options.clone(), blueprint.tools(folders, &options.permissions)?);
    let executor = |executor: Arc<dyn HookExecutor>| Some(executor);
    Ok(HookExecutors {
        command: executor(Arc::new(command)),
        http: executor(Arc::new(http)),
        prompt: executor(Arc::new(prompt)),
        agent: executor(Arc::new(agent)),
    })
}
