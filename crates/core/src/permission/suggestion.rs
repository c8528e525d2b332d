//! The narrowest rule that would allow a call.

use std::path::Path;

use super::Rule;
use super::call::{Call, Target, disguises};
use super::command::{self, Coverage};
use super::path_pattern::escape;

/// The rules that would let `open`, the targets nothing allows yet, go through; none when rules
/// cannot or should not: what a person could misread is not for them to copy.
pub(super) fn narrowest(allow: &[Rule], call: &Call<'_>, open: &[&Target<'_>]) -> Vec<String> {
    if let [Target::Command(command)] = open
        && call.spec.name == "Bash"
    {
        let rules = command::missing(allow, call, command);
        return if rules.iter().any(|rule| rule.contains(disguises)) { Vec::new() } else { rules };
    }
    single(call, open).into_iter().collect()
}

fn single(call: &Call<'_>, open: &[&Target<'_>]) -> Option<String> {
    let text = match open {
        [] => return None,
        [target] => rule_for(call, target)?,
        targets if targets.iter().any(|target| matches!(target, Target::Command(_))) => return None,
        _ => call.spec.name.clone(),
    };
    let rule: Rule = text.parse().ok().filter(|_| !text.contains(disguises))?;
    open.iter().all(|target| rule.covers(call, target) == Coverage::Covered).then_some(text)
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
