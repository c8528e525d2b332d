//! `robota permissions explain`.

use std::borrow::Cow;

use robota_core::{Access, CommandPart, CommandReport, PartState, PermissionPolicy, Rule, Verdict};
use robota_tools::Workspace;
use serde::Serialize;
use serde_json::json;
use serde_json::value::{RawValue, to_raw_value};

use super::call::{Call, Toolbox};
use super::effective::Effective;
use super::name_of;
use crate::exit::{Exit, Failure};
use crate::harmless::{lines, one_line};
use crate::permissions_args::ExplainArgs;
use crate::report::print;
use crate::stdout::Output;

/// What is said about a call, as JSON has it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Explanation<'a> {
    tool: &'a str,
    /// The command line of a call of Bash.
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<&'a str>,
    cwd: Cow<'a, str>,
    mode: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    parts: Option<Vec<Part<'a>>>,
    verdict: &'static str,
    reason: &'a str,
    rule: Option<&'a str>,
    allow_rules: &'a [String],
    ignored: &'a [String],
}

#[derive(Serialize)]
struct Part<'a> {
    text: &'a str,
    within: &'a [&'static str],
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<&'a str>,
}

pub(super) fn run(args: &ExplainArgs) -> Result<Exit, Failure> {
    let effective = Effective::of(&args.policy)?;
    let policy = &effective.permissions.policy;
    let call = call(args, policy)?;
    let (parts, verdict, command) = match &call.access[..] {
        [Access::Command { command, cwd }] => {
            let CommandReport { parts, verdict, .. } = policy.explain_command(&call.spec, command, cwd);
            (Some(parts), verdict, Some((command.as_str(), cwd.as_path())))
        }
        access => (None, policy.evaluate(&call.spec, access), None),
    };
    let ignored = effective.ignored();
    let explanation = Explanation {
        tool: &call.spec.name,
        command: command.map(|(text, _)| text),
        cwd: command.map_or(policy.cwd.as_path(), |(_, cwd)| cwd).to_string_lossy(),
        mode: policy.mode.as_str(),
        parts: parts.as_ref().map(|parts| parts.iter().map(Part::of).collect()),
        verdict: name_of(verdict.decision),
        reason: &verdict.reason,
        rule: verdict.rule.as_deref(),
        allow_rules: &verdict.allow_rules,
        ignored: &ignored,
    };
    print(&explanation, args.json, |output| tell(&explanation, &verdict, policy, output))
}

/// What to do about arguments that a tool does not take.
const ARGS_HINT: &str =
    r#"--args takes what a model would write, such as '{"file_path":"notes.txt"}' for Read"#;

/// The call that `args` describe.
fn call(args: &ExplainArgs, policy: &PermissionPolicy) -> Result<Call, Failure> {
    let unusable = |reason: String| Failure::new(Exit::Usage, reason);
    let workspace = Workspace::new(&policy.cwd, policy.roots.iter().cloned(), policy.home.clone());
    let tools = Toolbox::new(workspace);
    let called = match (&args.tool, &args.args) {
        (Some(tool), Some(text)) => {
            let args: Box<RawValue> = serde_json::from_str(text)
                .map_err(|error| unusable(format!("--args: this is not JSON: {error}")))?;
            tools.call(tool, &args)
        }
        _ => {
            let args = to_raw_value(&json!({"command": command_line(&args.command)}));
            tools.call("Bash", &args.map_err(|error| unusable(error.to_string()))?)
        }
    };
    called.map_err(|reason| unusable(reason).with_hint(ARGS_HINT))
}

/// The command line that `words` are: one word is it already, several would reach a program as they are.
fn command_line(words: &[String]) -> String {
    match words {
        [line] => line.clone(),
        words => words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "),
    }
}

/// A word that a shell reads back as `word`.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:@%+,=".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

impl<'a> Part<'a> {
    fn of(part: &'a CommandPart) -> Self {
        let (state, rule, why) = match &part.state {
            PartState::Denied { rule } => ("denied", Some(rule), None),
            PartState::Asked { rule } => ("asked", Some(rule), None),
            PartState::Covered { rule } => ("covered", Some(rule), None),
            PartState::Uncovered { why } => ("uncovered", None, Some(why)),
            _ => ("unknown", None, None),
        };
        Self {
            text: &part.text,
            within: &part.within,
            state,
            rule: rule.map(String::as_str),
            why: why.map(String::as_str),
        }
    }

    /// What becomes of the part, in one line.
    fn told(&self, policy: &PermissionPolicy) -> String {
        let rules = &policy.rules;
        let (what, list) = match self.state {
            "denied" => ("denied by", &rules.deny),
            "asked" => ("asked for because of", &rules.ask),
            "covered" => ("covered by", &rules.allow),
            _ => return format!("not covered: {}", self.why.unwrap_or_default()),
        };
        format!("{what} {}", placed(self.rule.unwrap_or_default(), list))
    }
}

/// A rule and where it is written.
fn placed(text: &str, list: &[Rule]) -> String {
    match list.iter().find(|rule| rule.text() == text).and_then(Rule::origin) {
        Some(origin) => format!("`{text}` ({origin})"),
        None => format!("`{text}`"),
    }
}

fn tell(told: &Explanation<'_>, verdict: &Verdict, policy: &PermissionPolicy, output: &mut Output) {
    output.line(&format!("{} in {}, mode {}", told.tool, one_line(&told.cwd), told.mode));
    for line in told.command.map(lines).unwrap_or_default().lines() {
        output.line(&format!("  {line}"));
    }
    for (index, part) in told.parts.iter().flatten().enumerate() {
        if index == 0 {
            output.line("\nparts");
        }
        let within = match part.within {
            [] => String::new(),
            around => format!("  (in {})", around.join(" > ")),
        };
        output.line(&format!("  {}. {}{within}", index + 1, one_line(part.text)));
        output.line(&format!("     {}", one_line(&part.told(policy))));
    }
    output.line(&format!("\nverdict: {}", told.verdict));
    output.line(&format!("  {}", one_line(&verdict.reason)));
    if let [first, rest @ ..] = &verdict.allow_rules[..] {
        output.line(if rest.is_empty() {
            "\nthis rule would allow it"
        } else {
            "\nthese rules would allow it"
        });
        [first].into_iter().chain(rest).for_each(|rule| output.line(&format!("  {}", one_line(rule))));
    }
    if !told.ignored.is_empty() {
        output.line("\nnot in force");
        told.ignored.iter().for_each(|what| output.line(&format!("  {}", one_line(what))));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_words_reach_the_program_as_they_are() {
        let line = |words: &[&str]| command_line(&words.iter().map(ToString::to_string).collect::<Vec<_>>());
        assert_eq!(line(&["git status && ls"]), "git status && ls");
        assert_eq!(line(&["git", "commit", "-m", "it's; done", ""]), r"git commit -m 'it'\''s; done' ''");
    }
}
