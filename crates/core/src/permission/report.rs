//! What a command line comes to, part by part, for a person who maintains rules.

use super::Verdict;

/// A command line taken apart, and what rules and mode make of it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CommandReport {
    /// Every simple command in it, in the order in which they are written, and everything that is more than
    /// simple commands, such as a redirection that writes.
    pub parts: Vec<CommandPart>,
    /// The verdict about all of it.
    pub verdict: Verdict,
}

/// One part of a command line.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CommandPart {
    /// The part as it is written.
    pub text: String,
    /// What is around it, outermost first, such as `pipeline` or `substitution`.
    pub within: Vec<&'static str>,
    /// What becomes of it.
    pub state: PartState,
}

/// What rules make of one part of a command line.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PartState {
    /// A deny rule concerns it.
    Denied {
        /// The rule.
        rule: String,
    },
    /// An ask rule concerns it.
    Asked {
        /// The rule.
        rule: String,
    },
    /// An allow rule covers it.
    Covered {
        /// The rule.
        rule: String,
    },
    /// No allow rule covers it, for this reason.
    Uncovered {
        /// Why.
        why: String,
    },
}
