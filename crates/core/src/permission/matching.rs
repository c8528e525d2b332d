//! Whether a rule concerns or covers what a call would touch.

use super::Rule;
use super::call::{Call, Target, quote};
use super::command::{self, Coverage, WORD_GAP};
use super::rule::{Pattern, ToolName};
use crate::{PathAccess, ToolClass};

impl Rule {
    /// Which part of `target` this rule concerns as a deny or ask rule, in words that follow its name.
    ///
    /// Matches generously: paths as requested and as resolved, every piece of a command, and any
    /// tool that declares the access.
    pub(super) fn concerns(&self, call: &Call<'_>, target: &Target<'_>) -> Option<String> {
        let tool = &*call.spec.name;
        if self.tool == ToolName::Changing {
            let changes = tool.starts_with("mcp__") || changes(target.class(call.spec.class));
            return changes.then(|| {
                format!("is about everything but looking, so also about {}", target.describe(tool))
            });
        }
        let Some(pattern) = &self.pattern else {
            return self.names(tool).then(|| format!("covers every call of `{tool}`"));
        };
        // A tool that bears the name another program gives to one of ours.
        if self.text() == tool {
            return Some(format!("covers every call of `{tool}`"));
        }
        match (pattern, target) {
            (Pattern::Path(pattern), Target::Path(path)) => {
                let applies = match path.kind {
                    _ if self.tool.is("Read") => true,
                    PathAccess::Write if self.tool.is("Edit") => true,
                    _ => self.tool.matches(tool),
                };
                path.names().find(|name| applies && pattern.concerns(name, &call.places))?;
                Some(format!("matches {}", path.describe()))
            }
            (Pattern::Command(pattern), Target::Command(command)) if self.tool.matches(tool) => {
                let part = pattern.concerns(&command.text, command.pieces())?;
                Some(format!("matches `{}` in the command", quote(&part.replace(WORD_GAP, " "))))
            }
            (Pattern::Path(pattern), Target::Command(command)) => {
                let applies = |writes: bool| match self.tool_name() {
                    "Read" => true,
                    "Edit" | "Write" => writes,
                    _ => false,
                };
                let mut files = command.files(&call.places).iter().filter(|file| applies(file.writes));
                let file =
                    files.find(|file| file.names.iter().any(|name| pattern.concerns(name, &call.places)))?;
                Some(format!("matches `{}`, which the command {}", quote(&file.shown), file.verb()))
            }
            (Pattern::Domain(pattern), Target::Host(host)) if pattern.matches(host) => {
                Some(format!("matches {}", target.describe(tool)))
            }
            (Pattern::Name(pattern), Target::Name(name))
                if self.tool.matches(tool) && pattern.concerns(name) =>
            {
                Some(format!("matches {}", target.describe(tool)))
            }
            _ => None,
        }
    }

    /// Whether the rule is about the tool of `call`, but nobody knows what its pattern means, or the call does
    /// not say what the pattern is about.
    pub(super) fn is_unclear_about(&self, call: &Call<'_>) -> bool {
        let named = || call.targets.iter().any(|target| matches!(target, Target::Name(_)));
        let unclear = match &self.pattern {
            Some(Pattern::Opaque) => true,
            Some(Pattern::Name(_)) => !named(),
            _ => false,
        };
        unclear && self.tool.matches(&call.spec.name)
    }

    /// Whether this rule, as an allow rule, covers `target`. Matches strictly: the resolved path,
    /// commands in the session's working directory, and only the tools it is written for.
    pub(super) fn covers(&self, call: &Call<'_>, target: &Target<'_>) -> Coverage {
        let tool = &*call.spec.name;
        let Some(pattern) = &self.pattern else {
            return if self.names(tool) { Coverage::Covered } else { Coverage::Uncovered };
        };
        let covered = match (pattern, target) {
            (Pattern::Path(pattern), Target::Path(path)) => {
                let reads =
                    path.kind != PathAccess::Write && self.tool.is("Read") && matches!(tool, "Grep" | "Glob");
                (self.names(tool) || reads) && path.settled && pattern.covers(&path.text, &call.places)
            }
            (Pattern::Command(_), Target::Command(command)) if self.tool.matches(tool) => {
                command::cover(std::slice::from_ref(self), call, command).is_ok()
            }
            (Pattern::Domain(pattern), Target::Host(host)) => {
                self.tool.matches(tool) && pattern.matches(host)
            }
            (Pattern::Name(pattern), Target::Name(name)) => self.tool.matches(tool) && pattern.covers(name),
            _ => false,
        };
        if covered { Coverage::Covered } else { Coverage::Uncovered }
    }

    /// The name of the built-in tool that the rule is written for.
    fn tool_name(&self) -> &str {
        ["Read", "Edit", "Write"].into_iter().find(|name| self.tool.is(name)).unwrap_or_default()
    }

    /// Whether the rule is about the tool `name`; rules for Edit are about Write too.
    fn names(&self, name: &str) -> bool {
        self.tool.matches(name) || (name == "Write" && self.tool.is("Edit"))
    }
}

/// Whether a tool of this class does more than look.
const fn changes(class: ToolClass) -> bool {
    !matches!(class, ToolClass::Inspect | ToolClass::Network)
}
