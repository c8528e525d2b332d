//! Which paths deny rules keep from being read.

use std::path::Path;

use super::PermissionPolicy;
use super::path_pattern::PathPattern;
use super::place::{Places, text_of};
use super::rule::Pattern;

/// The deny rules about reading, ready to be asked for every file of a tree.
#[derive(Clone, Debug)]
pub struct ReadingDenials {
    patterns: Vec<PathPattern>,
    places: Places,
}

impl ReadingDenials {
    pub(super) fn of(policy: &PermissionPolicy) -> Option<Self> {
        let is_about_reading =
            |rule: &&super::Rule| ["Read", "Grep", "Glob"].iter().any(|tool| rule.tool.is(tool));
        let patterns =
            policy.rules.deny.iter().filter(is_about_reading).filter_map(|rule| match &rule.pattern {
                Some(Pattern::Path(pattern)) => Some(pattern.clone()),
                _ => None,
            });
        let patterns: Vec<_> = patterns.collect();
        (!patterns.is_empty()).then(|| Self { patterns, places: Places::of(policy) })
    }

    /// Whether a rule denies reading `path`, which is absolute, or a folder above it.
    #[must_use]
    pub fn deny(&self, path: &Path) -> bool {
        let text = text_of(path);
        self.patterns.iter().any(|pattern| pattern.concerns(&text, &self.places))
    }
}
