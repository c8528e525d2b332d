//! `robota permissions list`.

use std::borrow::Cow;

use robota_core::Rule;
use robota_framework::ModeSource;
use serde::Serialize;

use super::effective::Effective;
use crate::exit::{Exit, Failure};
use crate::harmless::one_line;
use crate::permissions_args::ListArgs;
use crate::report::print;
use crate::stdout::Output;

/// Everything that decides about calls, as JSON has it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Listing<'a> {
    mode: &'static str,
    mode_from: &'static str,
    trusted: bool,
    cwd: Cow<'a, str>,
    /// The first is the project.
    roots: Vec<Cow<'a, str>>,
    deny: Vec<Listed<'a>>,
    ask: Vec<Listed<'a>>,
    allow: Vec<Listed<'a>>,
    ignored: Vec<String>,
}

#[derive(Serialize)]
struct Listed<'a> {
    rule: &'a str,
    /// `file:line`, or who else set it.
    from: &'a str,
}

pub(super) fn run(args: &ListArgs) -> Result<Exit, Failure> {
    let effective = Effective::of(&args.policy)?;
    let policy = &effective.permissions.policy;
    let listing = Listing {
        mode: policy.mode.as_str(),
        mode_from: source(effective.permissions.mode_source),
        trusted: effective.settings.trusted,
        cwd: effective.paths.cwd.to_string_lossy(),
        roots: policy.roots.iter().map(|root| root.to_string_lossy()).collect(),
        deny: listed(&policy.rules.deny),
        ask: listed(&policy.rules.ask),
        allow: listed(&policy.rules.allow),
        ignored: effective.ignored(),
    };
    print(&listing, args.json, |output| listing.tell(output))
}

fn listed(rules: &[Rule]) -> Vec<Listed<'_>> {
    let from = |rule| Rule::origin(rule).unwrap_or_default();
    rules.iter().map(|rule| Listed { rule: rule.text(), from: from(rule) }).collect()
}

const fn source(source: ModeSource) -> &'static str {
    match source {
        ModeSource::Host => "the command line",
        ModeSource::Variable => "ROBOTA_PERMISSION_MODE",
        ModeSource::Settings => "permissions.defaultMode of the settings",
        _ => "defaults",
    }
}

impl Listing<'_> {
    fn tell(&self, output: &mut Output) {
        let trust = if self.trusted { "trusted" } else { "not trusted" };
        output.line(&format!("mode       {} ({})", self.mode, self.mode_from));
        for (index, root) in self.roots.iter().enumerate() {
            let (head, note) = match index {
                0 => ("workspace", format!(" ({trust})")),
                _ => ("", String::new()),
            };
            output.line(&format!("{head:10} {}{note}", one_line(root)));
        }
        for (name, rules) in [("deny", &self.deny), ("ask", &self.ask), ("allow", &self.allow)] {
            output.line(&format!("\n{name}"));
            let width = rules.iter().map(|listed| listed.rule.chars().count()).max().unwrap_or_default();
            for Listed { rule, from } in rules {
                let width = width.min(WIDEST);
                output.line(&format!("  {:width$}  {}", one_line(rule), one_line(from)));
            }
            if rules.is_empty() {
                output.line("  (no rules)");
            }
        }
        if !self.ignored.is_empty() {
            output.line("\nnot in force");
            self.ignored.iter().for_each(|what| output.line(&format!("  {}", one_line(what))));
        }
    }
}

/// Rules up to this width stand in a column, in characters.
const WIDEST: usize = 60;
