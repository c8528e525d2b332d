//! What a tool states about itself.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Name, schema and safety of a tool: what the model sees, and what the host must know.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ToolSpec {
    /// The name the model calls; 1 to 64 of `[A-Za-z0-9_-]`.
    pub name: String,
    /// What it does and when to use it, for the model.
    pub description: String,
    /// JSON schema of the arguments: an object without `$ref`, `$schema` and `title`.
    pub input_schema: Value,
    /// What kind of effect it has; decides what a permission mode lets through.
    #[serde(skip)]
    pub class: ToolClass,
    /// Calling it twice with the same arguments has the effect of calling it once.
    #[serde(skip)]
    pub idempotent: bool,
    /// It may run beside other calls of the same answer.
    #[serde(skip)]
    pub parallel_safe: bool,
    /// Arguments that have several names: the one that hooks are told, as scripts for Claude Code know it, and
    /// all others that the tool takes.
    #[serde(skip)]
    pub spellings: Spellings,
}

/// Names of arguments: each with the others that stand for the same.
pub type Spellings = &'static [(&'static str, &'static [&'static str])];

impl ToolSpec {
    /// A tool of `class` that is neither idempotent nor safe to run in parallel.
    #[must_use]
    pub fn new(name: impl Into<String>, class: ToolClass, description: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            input_schema: Value::Null,
            class,
            idempotent: false,
            parallel_safe: false,
            spellings: &[],
        }
    }

    /// The same tool, marked as harmless to repeat and to run beside others.
    #[must_use]
    pub fn read_only(mut self) -> Self {
        self.idempotent = true;
        self.parallel_safe = true;
        self
    }

    /// The same tool, with the names its arguments have.
    #[must_use]
    pub fn with_spellings(mut self, spellings: Spellings) -> Self {
        self.spellings = spellings;
        self
    }

    /// The arguments under the names that hooks know, whatever the model calls them: a guard must not miss one
    /// for its name. Objects in a list of the arguments are told the same way.
    #[must_use]
    pub fn as_hooks_know(&self, arguments: Value) -> Value {
        let Value::Object(arguments) = arguments else { return arguments };
        let known = |name: String| {
            let found = self.spellings.iter().find(|(_, others)| others.contains(&name.as_str()));
            found.map_or(name, |(known, _)| (*known).to_owned())
        };
        let inner = |value| match value {
            Value::Array(items) => items.into_iter().map(|item| self.as_hooks_know(item)).collect(),
            value => value,
        };
        arguments.into_iter().map(|(name, value)| (known(name), inner(value))).collect()
    }

    /// The same tool with `schema` for its arguments.
    #[must_use]
    pub fn with_input_schema(mut self, schema: Value) -> Self {
        self.input_schema = schema;
        self
    }
}

/// What kind of effect a tool has (facts sheet 2.6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ToolClass {
    /// Looks and changes nothing: Read, Glob, Grep, WebSearch; also what stays within the session:
    /// AskUserQuestion, TodoWrite.
    Inspect,
    /// Changes files: Write, Edit.
    Modify,
    /// Runs programs: Bash.
    Execute,
    /// Reaches an address the model chose: WebFetch.
    Network,
    /// Anything else; treated like `Execute`.
    #[default]
    Other,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn hooks_are_told_arguments_under_the_names_they_know() {
        let spec =
            ToolSpec::new("Bash", ToolClass::Execute, "").with_spellings(&[("command", &["cmd", "script"])]);
        let told = |arguments| spec.as_hooks_know(arguments);
        assert_eq!(told(json!({"cmd": "ls", "timeout": 5})), json!({"command": "ls", "timeout": 5}));
        assert_eq!(told(json!({"command": "ls"})), json!({"command": "ls"}));
        let several = json!({"calls": [{"cmd": "ls", "more": [{"script": "x"}]}, "cmd"]});
        assert_eq!(told(several), json!({"calls": [{"command": "ls", "more": [{"command": "x"}]}, "cmd"]}));
        assert_eq!(told(json!("broken")), json!("broken"));
    }
}
