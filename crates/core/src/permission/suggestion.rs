//! The narrowest rule that would allow a call.

use std::path::Path;

use super::Rule;
use super::call::{Call, Target, disguises};
use super::command::{self, Coverage};
use super::name_pattern::escape as escape_name;
use super::path_pattern::escape;

/// The rules that would let `open`, the targets nothing allows yet, go through; none when rules
/// cannot or should not: what a person could misread is not for them to copy.
pub(super) fn narrowest(allow: &[Rule], call: &Call<'_>, open: &[&Target<'_>]) -> Vec<String> {
    let mut rules = Vec::new();
    for target in open {
        let missing = match target {
            Target::Command(command) if call.spec.name == "Bash" => command::missing(allow, call, command),
            _ => single(call, target).into_iter().collect(),
        };
        if missing.is_empty() || missing.iter().any(|rule| rule.contains(disguises)) {
            return Vec::new();
        }
        for rule in missing {
            if !rules.contains(&rule) {
                rules.push(rule);
            }
        }
    }
    rules
}

/// The rule for one target, when it does what it is for.
fn single(call: &Call<'_>, target: &Target<'_>) -> Option<String> {
    let text = rule_for(call, target)?;
    let rule: Rule = text.parse().ok().filter(|_| !text.contains(disguises))?;
    (rule.covers(call, target) == Coverage::Covered).then_some(text)
}

fn rule_for(call: &Call<'_>, target: &Target<'_>) -> Option<String> {
    let tool = &*call.spec.name;
    match (target, tool) {
        (Target::Path(path), "Read" | "Grep" | "Glob") => {
            Some(format!("{tool}({})", pattern_for(call, path.resolved)?))
        }
        (Target::Path(path), "Edit" | "Write") => {
            Some(format!("Edit({})", pattern_for(call, path.resolved)?))
        }
        (Target::Name(name), "Agent" | "Task" | "Skill") => Some(format!("{tool}({})", escape_name(name))),
        (Target::Host(host), "WebFetch") => Some(format!("WebFetch(domain:{host})")),
        _ => Some(tool.to_owned()),
    }
}

/// The pattern for `path`: relative to the first root when inside it, absolute otherwise.
fn pattern_for(call: &Call<'_>, path: &Path) -> Option<String> {
    // A path that is not text has no pattern of its own.
    path.to_str()?;
    let text = super::place::text_of(path);
    let below = call.places.root_above(0).and_then(|root| text.strip_prefix(root));
    match below {
        Some("") => Some("/".to_owned()),
        Some(below) if below.starts_with('/') => Some(escape(below)),
        _ => Some(format!("/{}", if text.is_empty() { "/".to_owned() } else { escape(&text) })),
    }
}
