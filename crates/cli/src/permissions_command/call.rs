//! A call as a model writes it, in the terms that rules are matched in.

use std::sync::Arc;

use robota_core::{Access, DynTool, ToolClass, ToolSpec};
use robota_tools::{ToolOptions, Workspace, builtin_tools};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::rows::without_place;

/// Under which arguments the name stands that rules write as `Agent(type)` and `Skill(name)`.
const NAMES: [(&str, &[&str]); 3] =
    [("Agent", AGENT_TYPE), ("Task", AGENT_TYPE), ("Skill", &["skill", "name", "command"])];

const AGENT_TYPE: &[&str] = &["subagent_type", "subagentType", "agent_type", "agentType", "type", "agent"];

/// Tools of Claude Code that rules know as Edit, and under which arguments they name their file.
const EDITS: [(&str, &[&str]); 2] = [
    ("MultiEdit", &["file_path", "filePath", "path"]),
    ("NotebookEdit", &["notebook_path", "notebookPath", "file_path", "filePath"]),
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
        if let Some(call) = self.built_in(tool, args.get()) {
            return call;
        }
        if let Some((_, keys)) = EDITS.iter().find(|(known, _)| *known == tool) {
            let file = text_in(args, keys)?.ok_or_else(|| format!("`args` of {tool} name no file"))?;
            let edit = json!({"filePath": file, "oldString": "old", "newString": "new"});
            return self
                .built_in("Edit", &edit.to_string())
                .unwrap_or_else(|| Err(format!("{tool} is unknown")));
        }
        let spec = Arc::new(ToolSpec::new(tool, ToolClass::Other, ""));
        let access = match NAMES.iter().find(|(known, _)| *known == tool) {
            Some((_, keys)) => text_in(args, keys)?.map(|name| Access::Name { name }).into_iter().collect(),
            None => Vec::new(),
        };
        Ok(Call { spec, access })
    }

    /// The call when the tool is built in.
    fn built_in(&self, tool: &str, args: &str) -> Option<Result<Call, String>> {
        let known = self.tools.iter().find(|known| known.spec().name == tool)?;
        let prepared = known.prepare(args).map_err(|error| without_place(&error));
        Some(prepared.map(|call| Call { spec: Arc::clone(known.spec()), access: call.access().to_vec() }))
    }
}

/// The text under the first of `keys` that is there.
fn text_in(args: &RawValue, keys: &[&str]) -> Result<Option<String>, String> {
    let args: Map<String, Value> =
        serde_json::from_str(args.get()).map_err(|error| format!("`args` cannot be used: {error}"))?;
    let Some((key, name)) = keys.iter().find_map(|key| Some((key, args.get(*key)?))) else { return Ok(None) };
    let name = name.as_str().ok_or_else(|| format!("`args.{key}` must be a string"))?;
    Ok(Some(name.to_owned()))
}
