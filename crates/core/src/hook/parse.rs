//! Hooks as settings write them.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Map, Value};

use super::{HookAction, HookEvent, HookGroup, HookMatcher, HookOrigin, HookSpec, HooksConfig};

/// The longest that a hook may be given: a day.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);
const COMMAND_TIMEOUT: Duration = Duration::from_secs(600);
const HTTP_TIMEOUT: Duration = Duration::from_secs(10);
const PROMPT_TIMEOUT: Duration = Duration::from_secs(30);
const AGENT_TIMEOUT: Duration = Duration::from_secs(60);
const AGENT_TURNS: u32 = 50;

/// Hooks that cannot be read: something has the wrong shape.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {reason}", shown(path))]
#[non_exhaustive]
pub struct InvalidHooks {
    /// The keys, and the positions in lists, that lead from the hooks to what is wrong.
    pub path: Vec<String>,
    /// What is wrong, for a person.
    pub reason: String,
}

/// Something in hooks that has no effect.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {message}", shown(path))]
#[non_exhaustive]
pub struct HookWarning {
    /// The keys, and the positions in lists, that lead from the hooks to it.
    pub path: Vec<String>,
    /// What it is, for a person.
    pub message: String,
}

impl HooksConfig {
    /// Reads `value`, the `hooks` of a settings file, in the shape of Claude Code (facts sheet 2.7):
    /// `{"<Event>": [{"matcher": "…", "hooks": […], "env": {…}}]}`.
    ///
    /// What robota does not know is left out, with a warning: other events, other types of hooks, other
    /// fields.
    ///
    /// # Errors
    ///
    /// When something has the wrong shape: a guard that is misspelt must not be missing unnoticed.
    pub fn from_value(value: &Value, origin: &HookOrigin) -> Result<(Self, Vec<HookWarning>), InvalidHooks> {
        let mut reader = Reader { origin, path: Vec::new(), warnings: Vec::new() };
        let groups = reader.events(value)?;
        Ok((Self { groups }, reader.warnings))
    }
}

/// `PreToolUse[0].hooks[1].timeout`, below `hooks`.
fn shown(path: &[String]) -> String {
    let mut text = "hooks".to_owned();
    for key in path {
        if key.bytes().all(|byte| byte.is_ascii_digit()) {
            text.push_str(&format!("[{key}]"));
        } else {
            text.push('.');
            text.push_str(key);
        }
    }
    text
}

/// Reads hooks, and knows where it is.
struct Reader<'a> {
    origin: &'a HookOrigin,
    path: Vec<String>,
    warnings: Vec<HookWarning>,
}

type Read<T> = Result<T, InvalidHooks>;

impl Reader<'_> {
    fn events(&mut self, value: &Value) -> Read<Vec<HookGroup>> {
        let mut groups = Vec::new();
        if value.is_null() {
            return Ok(groups);
        }
        for (name, list) in self.object(value, "an object with events as keys")? {
            self.below(name, |reader| {
                let Ok(event) = name.parse::<HookEvent>() else {
                    reader.warn(format!("robota has no event `{name}`, so these hooks never run"));
                    return Ok(());
                };
                for (at, group) in reader.list(list)?.iter().enumerate() {
                    groups.push(reader.below(&at.to_string(), |reader| reader.group(event, group))?);
                }
                Ok(())
            })?;
        }
        Ok(groups)
    }

    fn group(&mut self, event: HookEvent, value: &Value) -> Read<HookGroup> {
        let fields = self.object(value, "an object with `matcher` and `hooks`")?;
        self.warn_about_others(fields, &["matcher", "hooks", "env"]);
        let matcher = HookMatcher::new(self.text(fields, "matcher")?.unwrap_or_default());
        if matcher.is_broken() {
            let text = matcher.text();
            let message =
                format!("`{text}` is not a regular expression that robota reads, so it fits only itself");
            self.below("matcher", |reader| reader.warn(message));
        }
        let Some(hooks) = fields.get("hooks") else {
            return Err(self.invalid("`hooks` is missing: a list of what to run"));
        };
        let hooks = self.below("hooks", |reader| {
            let mut read = Vec::new();
            for (at, hook) in reader.list(hooks)?.iter().enumerate() {
                read.extend(reader.below(&at.to_string(), |reader| reader.hook(hook))?);
            }
            Ok(read)
        })?;
        let env = self.below_field(fields, "env", Self::variables)?.unwrap_or_default();
        Ok(HookGroup { event, matcher, hooks, env, origin: self.origin.clone() })
    }

    /// One hook; `None` when robota does not have its type.
    fn hook(&mut self, value: &Value) -> Read<Option<HookSpec>> {
        let fields = self.object(value, "an object with `type`")?;
        let Some(kind) = self.text(fields, "type")? else {
            return Err(self.invalid("`type` is missing: `command`, `http`, `prompt` or `agent`"));
        };
        let (action, timeout) = match kind {
            "command" => (self.command(fields)?, COMMAND_TIMEOUT),
            "http" => (self.http(fields)?, HTTP_TIMEOUT),
            "prompt" => (self.prompt(fields)?, PROMPT_TIMEOUT),
            "agent" => (self.agent(fields)?, AGENT_TIMEOUT),
            other => {
                let message = format!("robota has no hooks of type `{other}`, so this one never runs");
                self.below("type", |reader| reader.warn(message));
                return Ok(None);
            }
        };
        let timeout = self.below_field(fields, "timeout", Self::seconds)?.unwrap_or(timeout);
        Ok(Some(HookSpec { action, timeout }))
    }

    fn command(&mut self, fields: &Map<String, Value>) -> Read<HookAction> {
        self.warn_about_others(fields, &["type", "timeout", "command", "args"]);
        let command = self.required(fields, "command")?;
        let arguments = self.below_field(fields, "args", Self::texts)?;
        let command = match arguments {
            Some(arguments) => command_line(command, &arguments),
            None => command.to_owned(),
        };
        if command.contains('\0') {
            return Err(self.invalid("a command cannot contain a NUL character"));
        }
        Ok(HookAction::Command { command })
    }

    fn http(&mut self, fields: &Map<String, Value>) -> Read<HookAction> {
        self.warn_about_others(fields, &["type", "timeout", "url", "headers", "allowedEnvVars"]);
        let url = self.required(fields, "url")?;
        if !["http://", "https://"].iter().any(|scheme| url.starts_with(scheme) && url.len() > scheme.len()) {
            return self.below("url", |reader| Err(reader.invalid("must begin with http:// or https://")));
        }
        let headers = self.below_field(fields, "headers", Self::text_map)?.unwrap_or_default();
        let allowed_variables = self.below_field(fields, "allowedEnvVars", Self::texts)?.unwrap_or_default();
        Ok(HookAction::Http { url: url.to_owned(), headers, allowed_variables })
    }

    fn prompt(&mut self, fields: &Map<String, Value>) -> Read<HookAction> {
        self.warn_about_others(fields, &["type", "timeout", "prompt", "model"]);
        let prompt = self.required(fields, "prompt")?.to_owned();
        Ok(HookAction::Prompt { prompt, model: self.text(fields, "model")?.map(str::to_owned) })
    }

    fn agent(&mut self, fields: &Map<String, Value>) -> Read<HookAction> {
        self.warn_about_others(fields, &["type", "timeout", "prompt", "agent", "model", "maxTurns"]);
        let name = if fields.contains_key("agent") { "agent" } else { "prompt" };
        let prompt = self.required(fields, name)?.to_owned();
        let model = self.text(fields, "model")?.map(str::to_owned);
        let max_turns = self.below_field(fields, "maxTurns", Self::turns)?.unwrap_or(AGENT_TURNS);
        Ok(HookAction::Agent { prompt, model, max_turns })
    }

    fn variables(&mut self, value: &Value) -> Read<BTreeMap<String, String>> {
        let variables = self.text_map(value)?;
        for (name, value) in &variables {
            if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
                let reason = "names and values of variables cannot contain NUL, names neither `=`";
                return self.below(name, |reader| Err(reader.invalid(reason)));
            }
        }
        Ok(variables)
    }

    fn seconds(&mut self, value: &Value) -> Read<Duration> {
        let seconds = value.as_f64().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        let allowed = seconds.filter(|timeout| !timeout.is_zero() && *timeout <= LONGEST);
        allowed.ok_or_else(|| self.invalid("must be seconds, more than 0 and at most 86400"))
    }

    fn turns(&mut self, value: &Value) -> Read<u32> {
        let turns = value.as_u64().and_then(|turns| u32::try_from(turns).ok()).filter(|turns| *turns > 0);
        turns.ok_or_else(|| self.invalid("must be a whole number, 1 or more"))
    }

    fn text_map(&mut self, value: &Value) -> Read<BTreeMap<String, String>> {
        let mut texts = BTreeMap::new();
        for (name, value) in self.object(value, "an object with texts as values")? {
            let text = value.as_str().map(str::to_owned);
            let text = text.ok_or_else(|| self.below(name, |reader| reader.invalid("must be a text")))?;
            texts.insert(name.clone(), text);
        }
        Ok(texts)
    }

    fn texts(&mut self, value: &Value) -> Read<Vec<String>> {
        let texts = self.list(value)?.iter().map(|text| text.as_str().map(str::to_owned));
        texts.collect::<Option<_>>().ok_or_else(|| self.invalid("must be a list of texts"))
    }

    fn required<'v>(&mut self, fields: &'v Map<String, Value>, name: &str) -> Read<&'v str> {
        match self.text(fields, name)? {
            Some(text) if !text.trim().is_empty() => Ok(text),
            _ => Err(self.invalid(&format!("`{name}` is missing or empty"))),
        }
    }

    /// The text in `name`; `None` when it is missing or null.
    fn text<'v>(&mut self, fields: &'v Map<String, Value>, name: &str) -> Read<Option<&'v str>> {
        match fields.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => self.below(name, |reader| Err(reader.invalid("must be a text"))),
        }
    }

    fn object<'v>(&self, value: &'v Value, what: &str) -> Read<&'v Map<String, Value>> {
        value.as_object().ok_or_else(|| self.invalid(&format!("must be {what}")))
    }

    fn list<'v>(&self, value: &'v Value) -> Read<&'v Vec<Value>> {
        value.as_array().ok_or_else(|| self.invalid("must be a list"))
    }

    fn below<T>(&mut self, key: &str, read: impl FnOnce(&mut Self) -> T) -> T {
        self.path.push(key.to_owned());
        let result = read(self);
        self.path.pop();
        result
    }

    /// What `read` makes of the field `name`; `None` when it is missing or null.
    fn below_field<T>(
        &mut self,
        fields: &Map<String, Value>,
        name: &str,
        read: impl FnOnce(&mut Self, &Value) -> Read<T>,
    ) -> Read<Option<T>> {
        let value = fields.get(name).filter(|value| !value.is_null());
        value.map(|value| self.below(name, |reader| read(reader, value))).transpose()
    }

    fn warn_about_others(&mut self, fields: &Map<String, Value>, known: &[&str]) {
        let others = fields.iter().filter(|(name, _)| !known.contains(&name.as_str()));
        for (name, _) in others.filter(|(_, value)| !matches!(value, Value::Null | Value::Bool(false))) {
            let message = match name.as_str() {
                "async" | "asyncRewake" => "robota waits for every hook, also for this one".to_owned(),
                "if" => {
                    "robota has no conditions of hooks: this one runs whenever its matcher fits".to_owned()
                }
                _ => format!("`{name}` has no effect here: robota does not know it"),
            };
            self.below(name, |reader| reader.warn(message));
        }
    }

    fn warn(&mut self, message: String) {
        self.warnings.push(HookWarning { path: self.path.clone(), message });
    }

    fn invalid(&self, reason: &str) -> InvalidHooks {
        InvalidHooks { path: self.path.clone(), reason: reason.to_owned() }
    }
}

/// A program and its arguments as one line for the shell. The one variable that Claude Code puts into
/// arguments is left to the shell.
fn command_line(program: &str, arguments: &[String]) -> String {
    const PROJECT: &str = "${CLAUDE_PROJECT_DIR}";
    let quoted = |text: &str| format!("'{}'", text.replace('\'', r"'\''"));
    let words = std::iter::once(program).chain(arguments.iter().map(String::as_str));
    let words = words.map(|word| {
        let literals: Vec<String> = word.split(PROJECT).map(quoted).collect();
        literals.join(&format!("\"{PROJECT}\""))
    });
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::HookScope;

    fn read(value: &Value) -> Result<(HooksConfig, Vec<String>), String> {
        let origin = HookOrigin { place: "settings.json".into(), scope: HookScope::User };
        let (config, warnings) =
            HooksConfig::from_value(value, &origin).map_err(|error| error.to_string())?;
        Ok((config, warnings.iter().map(ToString::to_string).collect()))
    }

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn every_type_is_read_with_its_defaults() {
        let (config, warnings) = read(&json!({"PreToolUse": [
            {"matcher": "Bash", "env": {"A": "1"}, "hooks": [
                {"type": "command", "command": "guard.sh", "timeout": 1.5},
                {"type": "command", "command": "a b", "args": ["${CLAUDE_PROJECT_DIR}/x", "it's"]},
                {"type": "http", "url": "http://localhost/h", "headers": {"A": "$B"}, "allowedEnvVars": ["B"]},
            ]},
            {"hooks": [
                {"type": "prompt", "prompt": "Is it safe? $ARGUMENTS"},
                {"type": "agent", "agent": "look", "model": "m", "maxTurns": 3, "timeout": 5},
            ]},
        ]}))
        .unwrap();
        assert_eq!(warnings, [""; 0]);
        let [first, second] = config.groups.as_slice() else { panic!("two groups") };
        assert_eq!((first.matcher.text(), second.matcher.text()), ("Bash", ""));
        assert_eq!(first.env, BTreeMap::from([("A".to_owned(), "1".to_owned())]));
        let command = |command: &str| HookAction::Command { command: command.into() };
        let http = HookAction::Http {
            url: "http://localhost/h".into(),
            headers: [("A".to_owned(), "$B".to_owned())].into(),
            allowed_variables: vec!["B".into()],
        };
        let quoted = command(r#"'a b' ''"${CLAUDE_PROJECT_DIR}"'/x' 'it'\''s'"#);
        let expected = [
            HookSpec::new(command("guard.sh"), Duration::from_millis(1_500)),
            HookSpec::new(quoted, seconds(600)),
            HookSpec::new(http, seconds(10)),
        ];
        assert_eq!(first.hooks, expected);
        let prompt = HookAction::Prompt { prompt: "Is it safe? $ARGUMENTS".into(), model: None };
        let agent = HookAction::Agent { prompt: "look".into(), model: Some("m".into()), max_turns: 3 };
        assert_eq!(second.hooks, [HookSpec::new(prompt, seconds(30)), HookSpec::new(agent, seconds(5))]);
    }

    #[test]
    fn what_is_not_known_is_left_out_and_told() {
        let (config, warnings) = read(&json!({
            "TaskCreated": "whatever",
            "Stop": [{"matcher": "(", "once": true, "hooks": [
                {"type": "mcp_tool", "server": "s"},
                {"type": "command", "command": "x", "async": true, "if": "Bash(rm *)", "statusMessage": "…"},
                {"type": "command", "command": "y", "async": false},
            ]}],
        }))
        .unwrap();
        let hooks: Vec<_> = config.groups.iter().flat_map(|group| &group.hooks).collect();
        assert_eq!(hooks.len(), 2);
        assert_eq!(
            warnings,
            [
                "hooks.TaskCreated: robota has no event `TaskCreated`, so these hooks never run",
                "hooks.Stop[0].once: `once` has no effect here: robota does not know it",
                "hooks.Stop[0].matcher: `(` is not a regular expression that robota reads, so it fits only itself",
                "hooks.Stop[0].hooks[0].type: robota has no hooks of type `mcp_tool`, so this one never runs",
                "hooks.Stop[0].hooks[1].async: robota waits for every hook, also for this one",
                "hooks.Stop[0].hooks[1].if: robota has no conditions of hooks: this one runs whenever its matcher fits",
                "hooks.Stop[0].hooks[1].statusMessage: `statusMessage` has no effect here: robota does not know it",
            ]
        );
    }

    #[test]
    fn what_is_misshapen_is_an_error_at_its_place() {
        let hook = |hook: Value| json!({"Stop": [{"hooks": [hook]}]});
        let cases = [
            (json!([]), "hooks: must be an object with events as keys"),
            (json!({"Stop": {}}), "hooks.Stop: must be a list"),
            (json!({"Stop": [{}]}), "hooks.Stop[0]: `hooks` is missing: a list of what to run"),
            (json!({"Stop": [{"matcher": 1, "hooks": []}]}), "hooks.Stop[0].matcher: must be a text"),
            (json!({"Stop": [{"hooks": [], "env": {"A": 1}}]}), "hooks.Stop[0].env.A: must be a text"),
            (hook(json!("x")), "hooks.Stop[0].hooks[0]: must be an object with `type`"),
            (
                hook(json!({"command": "x"})),
                "hooks.Stop[0].hooks[0]: `type` is missing: `command`, `http`, `prompt` or `agent`",
            ),
            (hook(json!({"type": "command"})), "hooks.Stop[0].hooks[0]: `command` is missing or empty"),
            (
                hook(json!({"type": "command", "command": "x", "timeout": 0})),
                "hooks.Stop[0].hooks[0].timeout: must be seconds, more than 0 and at most 86400",
            ),
            (
                hook(json!({"type": "command", "command": "x", "timeout": 1e300})),
                "hooks.Stop[0].hooks[0].timeout: must be seconds, more than 0 and at most 86400",
            ),
            (
                hook(json!({"type": "http", "url": "ftp://x"})),
                "hooks.Stop[0].hooks[0].url: must begin with http:// or https://",
            ),
            (
                hook(json!({"type": "agent", "prompt": "x", "maxTurns": -1})),
                "hooks.Stop[0].hooks[0].maxTurns: must be a whole number, 1 or more",
            ),
        ];
        for (value, expected) in cases {
            assert_eq!(read(&value).unwrap_err(), expected);
        }
        assert_eq!(read(&Value::Null).unwrap().0, HooksConfig::default());
    }
}
