//! A command line taken apart: what a [`reader`](super::reader) makes of it.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use super::words::WORD_GAP;

/// A command line that is understood in full.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::permission) struct Script {
    /// The words of all parts, with [`WORD_GAP`] between those of one part.
    words: String,
    pub(super) parts: Vec<Part>,
    contexts: Vec<Context>,
    /// For every shell but the first, which has the number 0, the one it was started in.
    shells: Vec<usize>,
    /// The functions that the line defines.
    pub(super) functions: Vec<Function>,
    /// Where the bodies of here-documents stand in which nothing is expanded, in their order.
    pub(super) literal_bodies: Vec<Range<usize>>,
    /// Whether it has more than plain words, lists, pipes and harmless redirections, so that a second
    /// reading must agree.
    pub(super) is_deep: bool,
}

/// Something in a command line that a rule covers, or that none can.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part {
    /// Where it stands in the source.
    pub(super) range: Range<usize>,
    /// What is around it.
    pub(super) context: usize,
    /// The shell that runs it.
    pub(super) shell: usize,
    /// Whether its shell may run it again, in a loop or as part of a function.
    pub(super) repeats: bool,
    pub(super) kind: PartKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PartKind {
    /// Nothing is run: the place of a command without words.
    Nothing,
    /// A program or a command of the shell, with the range of its words.
    Simple(Range<usize>),
    /// A file that becomes the input of commands, with the range of its name.
    Input(Range<usize>),
    /// More than simple commands: no pattern covers it.
    Gap(Cow<'static, str>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Context {
    parent: usize,
    name: &'static str,
}

/// A function that the line defines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Function {
    pub(super) name: String,
    /// Whether the definition is always run, and where it then counts from; otherwise a call may be
    /// of something else.
    pub(super) certain_from: Option<usize>,
}

/// Why a command line is not understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::permission) struct Misread {
    /// Where, in bytes.
    pub(super) at: usize,
    pub(super) why: Cow<'static, str>,
}

impl fmt::Display for Misread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

impl Script {
    /// The words of a part, given as its range.
    pub(super) fn words(&self, range: &Range<usize>) -> &str {
        self.words.get(range.clone()).unwrap_or_default()
    }

    /// Whether there is at most one simple command.
    pub(super) fn is_single(&self) -> bool {
        self.parts.len() < 2 || self.commands().nth(1).is_none()
    }

    /// The words of every simple command.
    pub(super) fn commands(&self) -> impl Iterator<Item = (&Part, &str)> {
        self.parts.iter().filter_map(|part| match &part.kind {
            PartKind::Simple(words) => Some((part, self.words(words))),
            _ => None,
        })
    }

    /// What is around a part, outermost first.
    pub(super) fn within(&self, part: &Part) -> Vec<&'static str> {
        let mut names = Vec::new();
        let mut at = part.context;
        while let Some(context) = at.checked_sub(1).and_then(|index| self.contexts.get(index)) {
            names.push(context.name);
            at = context.parent;
        }
        names.reverse();
        names
    }

    /// The shell in which `shell` was started.
    pub(super) fn parent_of(&self, shell: usize) -> Option<usize> {
        self.shells.get(shell.checked_sub(1)?).copied()
    }

    pub(super) fn add_words(&mut self, words: &str) -> Range<usize> {
        let from = self.words.len();
        self.words.push_str(words);
        from..self.words.len()
    }

    /// Notes a context within `parent`; 0 is the command line itself.
    pub(super) fn add_context(&mut self, parent: usize, name: &'static str) -> usize {
        self.contexts.push(Context { parent, name });
        self.contexts.len()
    }

    pub(super) fn add_shell(&mut self, parent: usize) -> usize {
        self.shells.push(parent);
        self.shells.len()
    }

    /// The number of contexts, to [`wrap`](Self::wrap) what comes after.
    pub(super) fn mark(&self) -> (usize, usize) {
        (self.parts.len(), self.contexts.len())
    }

    /// Puts what was added in `parent` since `mark` into a context of its own, and returns that.
    pub(super) fn wrap(&mut self, mark: (usize, usize), parent: usize, name: &'static str) -> usize {
        let wrapped = self.contexts.len() + 1;
        for part in self.parts.iter_mut().skip(mark.0).filter(|part| part.context == parent) {
            part.context = wrapped;
        }
        for context in self.contexts.iter_mut().skip(mark.1).filter(|context| context.parent == parent) {
            context.parent = wrapped;
        }
        self.add_context(parent, name)
    }
}

/// The program that a simple command names.
pub(super) fn program(words: &str) -> &str {
    words.split(WORD_GAP).next().unwrap_or_default()
}
