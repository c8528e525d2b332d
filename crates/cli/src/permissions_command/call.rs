//! A call as a model writes it, in the terms that rules are matched in.

use std::sync::Arc;

use robota_core::{Access, DynTool, ToolClass, ToolSpec};
use robota_tools::{ToolOptions, Workspace, builtin_tools};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// Under which arguments the name stands that rules write as `Agent(type)` and `Skill(name)`.
const NAMES: [(&str, &[&str]); 3] = [
    ("Agent", &["subagent_type", "agent_type", "agentType", "type", "agent"]),
    ("Task", &["subagent_type", "agent_type", "agentType", "type", "agent"]),
    ("Skill", &["skill", "name", "command"]),
];

/// The tools of a session, which are asked what a call would touch and never run.
pub(super) struct Toolbox {
    tools: Vec<Arc<dyn DynTool>>,
}

/// A call that waits for its verdict.
pub(super) struct Call {
    pub(super) spec: Arc<ToolSpec>,
    pub(super) access: Vec<Access>,
}

impl Toolbox {
    /// The built-in tools of a session in `workspace`.
    pub(super) fn new(workspace: Workspace) -> Self {
        Self { tools: builtin_tools(ToolOptions::new(workspace, Vec::new())) }
    }

    /// What a call of `tool` with `args` would touch. Of a tool that is not built in, only its name is known.
    ///
    /// # Errors
    ///
    /// When the tool does not take the arguments.
    pub(super) fn call(&self, tool: &str, args: &RawValue) -> Result<Call, String> {
        if !args.get().starts_with('{') {
            return Err("`args` must be an object".to_owned());
        }
        if let Some(known) = self.tools.iter().find(|known| known.spec().name == tool) {
            let prepared = known.prepare(args.get()).map_err(|error| error.to_string())?;
            return Ok(Call { spec: Arc::clone(known.spec()), access: prepared.access().to_vec() });
        }
        let spec = Arc::new(ToolSpec::new(tool, ToolClass::Other, ""));
        let access = match NAMES.iter().find(|(known, _)| *known == tool) {
            Some((_, keys)) => name_in(args, keys)?.map(|name| Access::Name { name }).into_iter().collect(),
            None => Vec::new(),
        };
        Ok(Call { spec, access })
    }
}

/// The name under the first of `keys` that is there.
fn name_in(args: &RawValue, keys: &[&str]) -> Result<Option<String>, String> {
    let args: Map<String, Value> =
        serde_json::from_str(args.get()).map_err(|error| format!("`args` cannot be used: {error}"))?;
    let Some((key, name)) = keys.iter().find_map(|key| Some((key, args.get(*key)?))) else { return Ok(None) };
    let name = name.as_str().ok_or_else(|| format!("`args.{key}` must be a string"))?;
    Ok(Some(name.to_owned()))
}
