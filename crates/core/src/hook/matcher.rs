//! Which occurrences of an event a group of hooks is for.

use regex_lite::Regex;

use super::HookCall;

/// Which occurrences of an event a group of hooks is for: by name of the tool, type of the agent, trigger,
/// source or reason, whatever the [event has](HookCall::subjects).
///
/// It is read as scripts for Claude Code expect it:
///
/// - an empty one, and `*`, is for all;
/// - names separated by `|` or `,` (letters, digits, `_`, `-`) are for exactly these: `Edit|Write`;
/// - anything else is a regular expression that fits wherever it occurs: `mcp__.*`, `^Notebook`;
/// - what is no regular expression stands for itself.
///
/// Upper and lower case count.
#[derive(Clone, Debug, Default)]
pub struct HookMatcher {
    text: String,
    test: Test,
}

#[derive(Clone, Debug, Default)]
enum Test {
    #[default]
    All,
    Names(Vec<String>),
    Pattern(Regex),
    /// Neither names nor a regular expression.
    Itself,
}

impl HookMatcher {
    /// Reads a matcher.
    #[must_use]
    pub fn new(text: &str) -> Self {
        let test = if matches!(text.trim(), "" | "*") {
            Test::All
        } else if text.chars().all(|letter| letter.is_ascii_alphanumeric() || "_- ,|".contains(letter)) {
            let names = text.split(['|', ',']).map(str::trim).filter(|name| !name.is_empty());
            Test::Names(names.map(str::to_owned).collect())
        } else {
            Regex::new(text).map_or(Test::Itself, Test::Pattern)
        };
        Self { text: text.to_owned(), test }
    }

    /// The matcher as written.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether it fits `subject`.
    #[must_use]
    pub fn fits(&self, subject: &str) -> bool {
        match &self.test {
            Test::All => true,
            Test::Names(names) => names.iter().any(|name| name == subject),
            Test::Pattern(pattern) => pattern.is_match(subject),
            Test::Itself => self.text == subject,
        }
    }

    /// Whether it fits what happens: one of its subjects, or anything where it has none.
    #[must_use]
    pub fn fits_call(&self, call: &HookCall) -> bool {
        let [first, second] = call.subjects();
        match (first, second) {
            (None, None) => true,
            _ => [first, second].into_iter().flatten().any(|subject| self.fits(subject)),
        }
    }

    /// True when it was meant to be a regular expression and is none that robota can read.
    pub(super) fn is_broken(&self) -> bool {
        matches!(self.test, Test::Itself)
    }
}

impl PartialEq for HookMatcher {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for HookMatcher {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CompactTrigger, SessionSource};

    #[test]
    fn matchers_fit_as_in_claude_code() {
        let cases: [(&str, &[&str], &[&str]); 10] = [
            ("", &["Bash", ""], &[]),
            ("*", &["Bash"], &[]),
            ("Edit|Write", &["Edit", "Write"], &["MultiEdit", "WriteFile", "edit"]),
            ("Edit, Write", &["Edit", "Write"], &["Edit, Write"]),
            ("mcp__memory", &["mcp__memory"], &["mcp__memory__put"]),
            ("mcp__.*", &["mcp__memory__put"], &["Bash"]),
            ("mcp__github__(create|delete)", &["mcp__github__create_issue"], &["mcp__github__list"]),
            ("^Notebook", &["NotebookEdit"], &["MyNotebook"]),
            ("^(Edit|Write)$", &["Edit"], &["MultiEdit"]),
            ("Bash(", &["Bash("], &["Bash"]),
        ];
        for (text, fitting, others) in cases {
            let matcher = HookMatcher::new(text);
            assert!(fitting.iter().all(|subject| matcher.fits(subject)), "{text}");
            assert!(!others.iter().any(|subject| matcher.fits(subject)), "{text}");
        }
    }

    #[test]
    fn the_subject_is_the_one_of_the_event() {
        let agent = HookCall::SubagentStart { agent_id: "a1".into(), agent_type: "Explore".into() };
        let start = HookCall::SessionStart { source: SessionSource::Resume };
        let compact = HookCall::PostCompact { trigger: CompactTrigger::Auto, compact_summary: "s".into() };
        let prompt = HookCall::UserPromptSubmit { prompt: "Bash".into() };
        let fits = |text: &str, call: &HookCall| HookMatcher::new(text).fits_call(call);
        assert!(fits("a1", &agent) && fits("Explore", &agent) && !fits("Plan", &agent));
        assert!(fits("resume", &start) && !fits("startup", &start));
        assert!(fits("auto", &compact) && !fits("manual", &compact));
        assert!(fits("whatever", &prompt));
    }
}
