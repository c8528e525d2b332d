//! The rules in force.

use super::Rule;

/// The rules in force, joined over all layers.
///
/// The lists are read with opposite care:
///
/// - An **allow** rule covers what it names and nothing else. Paths count as resolved. A command line
///   counts only when all of it is understood and every simple command in it is covered, by this rule
///   or another: assignments, redirections that write, and programs that the shell chooses are not. A
///   rule with `*` does not cover what runs or writes something else, such as `env`, `sh -c` or
///   `tar --checkpoint-action`; an exact one does.
/// - A **deny** or **ask** rule concerns everything that may be meant. Paths count as requested and
///   as resolved, with what lies below them, and names at any depth in the whole file system;
///   `Read(…)` concerns changes and searches too. A command counts in every part that may be a
///   command: behind separators, within quotes and substitutions, behind assignments and wrappers,
///   by path or by name. This keeps a model from straying; it cannot keep a command line from
///   assembling a name at run time, which only a sandbox can.
///
/// `Tool` alone is about that tool only, except that `Edit` is about Write too.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "plain data, built with `..Default::default()`")]
pub struct RuleSet {
    /// What never runs.
    pub deny: Vec<Rule>,
    /// What is always asked for.
    pub ask: Vec<Rule>,
    /// What runs without asking.
    pub allow: Vec<Rule>,
}

impl RuleSet {
    /// The allow rules every session has (seed `001`, default allow patterns): Read and Glob on
    /// `.agents`, `.claude` and `.robota` of the workspace.
    #[must_use]
    pub fn seed_defaults() -> Self {
        let folders = [".agents", ".claude", ".robota"];
        let texts = ["Read", "Glob"]
            .into_iter()
            .flat_map(|tool| folders.map(|folder| format!("{tool}({folder}/**)")));
        let allow = texts.filter_map(|text| Rule::parse(&text, "defaults").ok()).collect();
        Self { allow, ..Self::default() }
    }

    /// The deny rules of an agent that only looks: no Bash, Write or Edit, no MCP tools, and no other tool that
    /// changes something or does not say what it does. What is left: tools of the classes `inspect` and `network`,
    /// as long as a call declares no change and no command.
    #[must_use]
    pub fn read_only() -> Self {
        const ORIGIN: &str = "read-only agent";
        let named = ["Bash", "Write", "Edit"].into_iter().filter_map(|tool| Rule::parse(tool, ORIGIN).ok());
        Self { deny: named.chain([Rule::about_changes(ORIGIN)]).collect(), ..Self::default() }
    }

    /// The rules of all `layers` together. A layer can add rules, never take one away.
    #[must_use]
    pub fn join(layers: impl IntoIterator<Item = Self>) -> Self {
        layers.into_iter().fold(Self::default(), |mut joined, layer| {
            joined.deny.extend(layer.deny);
            joined.ask.extend(layer.ask);
            joined.allow.extend(layer.allow);
            joined
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_add_up() {
        let deny = RuleSet { deny: vec!["Bash(rm *)".parse().unwrap()], ..RuleSet::default() };
        let joined = RuleSet::join([RuleSet::seed_defaults(), deny.clone(), RuleSet::default()]);
        assert_eq!(joined.deny, deny.deny);
        let texts: Vec<_> = joined.allow.iter().map(Rule::text).collect();
        assert_eq!(
            texts,
            [
                "Read(.agents/**)",
                "Read(.claude/**)",
                "Read(.robota/**)",
                "Glob(.agents/**)",
                "Glob(.claude/**)",
                "Glob(.robota/**)"
            ]
        );
    }
}
