//! A call in the terms that rules are matched in, prepared once for all rules.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::path::Path;

use super::PermissionPolicy;
use super::command::{self, FileTarget, Misread, Pieces, Script};
use super::place::{Places, is_settled, text_of};
use crate::{Access, PathAccess, ToolClass, ToolSpec};

/// The longest part of a command or path that a reason quotes, in characters.
const LONGEST_QUOTE: usize = 120;

/// A call that waits for its verdict.
#[derive(Debug)]
pub(super) struct Call<'a> {
    pub(super) spec: &'a ToolSpec,
    pub(super) places: Places,
    pub(super) targets: Vec<Target<'a>>,
}

/// One thing the call would touch.
#[derive(Debug)]
pub(super) enum Target<'a> {
    /// Nothing that the tool declares: the call as a whole.
    Whole,
    Path(PathTarget<'a>),
    Command(Box<CommandTarget<'a>>),
    Host(&'a str),
    /// An agent of a type, a skill.
    Name(&'a str),
}

#[derive(Debug)]
pub(super) struct PathTarget<'a> {
    pub(super) kind: PathAccess,
    pub(super) resolved: &'a Path,
    /// The resolved path as text.
    pub(super) text: String,
    /// Whether the resolved path is what it should be: absolute and free of `..`.
    pub(super) settled: bool,
    /// The requested path as text, when it differs: a symlink on the way leads elsewhere.
    pub(super) literal: Option<String>,
    /// The path as the model wrote it.
    requested: &'a str,
}

#[derive(Debug)]
pub(super) struct CommandTarget<'a> {
    /// The command as it would be written in the folder that rules are about.
    pub(super) text: Cow<'a, str>,
    /// The folder it would run in, written so.
    pub(super) cwd: Cow<'a, Path>,
    script: OnceCell<Result<Script, Misread>>,
    objection: OnceCell<Option<&'static str>>,
    pieces: OnceCell<Pieces>,
    files: OnceCell<Vec<FileTarget>>,
}

impl<'a> Call<'a> {
    pub(super) fn new(policy: &PermissionPolicy, spec: &'a ToolSpec, access: &'a [Access]) -> Self {
        let places = Places::of(policy);
        let mut targets: Vec<_> = access.iter().map(|access| Target::new(access, &places)).collect();
        if targets.is_empty() {
            targets.push(Target::Whole);
        }
        Self { spec, places, targets }
    }
}

impl<'a> Target<'a> {
    fn new(access: &'a Access, places: &Places) -> Self {
        match access {
            Access::Path { kind, requested, resolved } => {
                let text = text_of(resolved);
                let literal = Some(places.literal(requested)).filter(|literal| *literal != text);
                let settled = is_settled(resolved);
                Self::Path(PathTarget { kind: *kind, resolved, text, settled, literal, requested })
            }
            Access::Command { command, cwd } => {
                Self::Command(Box::new(CommandTarget::new(command, cwd, places)))
            }
            Access::Url { host, .. } => Self::Host(host),
            Access::Name { name } => Self::Name(name),
        }
    }

    /// What kind of effect a tool of `class` has here: what it declares, unless it touches more than that.
    pub(super) fn class(&self, class: ToolClass) -> ToolClass {
        match (self, class) {
            (Self::Path(path), ToolClass::Inspect) if path.kind == PathAccess::Write => ToolClass::Modify,
            (Self::Command(_), ToolClass::Inspect | ToolClass::Modify | ToolClass::Network) => {
                ToolClass::Execute
            }
            (Self::Host(_), ToolClass::Inspect) => ToolClass::Network,
            _ => class,
        }
    }

    /// The target in words, for reasons.
    pub(super) fn describe(&self, tool: &str) -> String {
        match self {
            Self::Whole => format!("`{tool}`"),
            Self::Path(path) => path.describe(),
            Self::Command(command) => format!("`{}`", quote(&command.text)),
            Self::Host(host) => format!("the host `{}`", quote(host)),
            Self::Name(name) => format!("`{tool}({})`", quote(name)),
        }
    }
}

impl PathTarget<'_> {
    /// Whether the path is known to lie in the workspace.
    pub(super) fn is_inside(&self, places: &Places) -> bool {
        self.settled && places.contain(&self.text)
    }

    /// The paths that deny rules and protection look at: where it leads, and what it is called.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        [Some(&*self.text), self.literal.as_deref()].into_iter().flatten()
    }

    /// The path in words; where a symlink leads elsewhere, as it was written too.
    pub(super) fn describe(&self) -> String {
        let resolved = quote(&self.resolved.to_string_lossy());
        if self.literal.is_some() {
            format!("`{}` → `{resolved}`", quote(self.requested))
        } else {
            format!("`{resolved}`")
        }
    }
}

impl<'a> CommandTarget<'a> {
    /// In a folder of the workspace that is not the one rules are about, the command is what it would be behind
    /// a `cd` into that folder; in any other one it stays what it is, and no rule with a pattern allows it.
    fn new(command: &'a str, cwd: &'a Path, places: &Places) -> Self {
        let elsewhere = cwd != places.cwd() && is_settled(cwd) && places.contain(&text_of(cwd));
        let (text, cwd) = match cd_into(cwd, places).filter(|_| elsewhere) {
            Some(cd) => (Cow::Owned(format!("{cd} && {command}")), Cow::Owned(places.cwd().to_owned())),
            None => (Cow::Borrowed(command), Cow::Borrowed(cwd)),
        };
        let (script, objection) = (OnceCell::new(), OnceCell::new());
        Self { text, cwd, script, objection, pieces: OnceCell::new(), files: OnceCell::new() }
    }

    /// Whether it would run in the folder that allow rules are about.
    pub(super) fn is_at_home(&self, places: &Places) -> bool {
        *self.cwd == *places.cwd()
    }

    /// The parts of the command, or what cannot be understood in it.
    pub(super) fn script(&self) -> Result<&Script, &Misread> {
        self.script.get_or_init(|| command::read(&self.text)).as_ref()
    }

    /// Why another reading of the grammar does not come to the same parts.
    pub(super) fn objection(&self) -> Option<&'static str> {
        let object = || self.script().ok().and_then(|script| command::objection(&self.text, script));
        *self.objection.get_or_init(object)
    }

    /// Everything in it that may be a command.
    pub(super) fn pieces(&self) -> &Pieces {
        self.pieces.get_or_init(|| {
            let Ok(script) = self.script() else { return Pieces::cut(&self.text) };
            let text = match command::without_data(&self.text, script) {
                // What data is must be certain; asked last, because it costs most.
                Cow::Owned(_) if self.objection().is_some() => Cow::Borrowed(&*self.text),
                text => text,
            };
            let mut pieces = Pieces::cut(&text);
            pieces.add(script);
            pieces
        })
    }

    /// The files that its redirections name.
    pub(super) fn files(&self, places: &Places) -> &[FileTarget] {
        self.files.get_or_init(|| command::file_targets(self.pieces(), places, &self.cwd))
    }
}

/// The command that goes from the folder that rules are about to `folder`; `None` where it cannot be written.
fn cd_into(folder: &Path, places: &Places) -> Option<String> {
    let below = folder.strip_prefix(places.cwd()).ok().and_then(Path::to_str);
    let target = below.filter(|below| !below.is_empty() && !below.starts_with('-'));
    let target = target.or_else(|| folder.to_str())?;
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@%,:".contains(c);
    if target.chars().all(plain) {
        return Some(format!("cd {target}"));
    }
    Some(format!("cd '{}'", target.replace('\'', r"'\''")))
}

/// `text` on one line, cut to a readable length; characters that could disguise it are escaped.
pub(super) fn quote(text: &str) -> String {
    let mut quoted = String::new();
    let mut length = 0;
    for c in text.trim().chars() {
        let shown: &mut dyn Iterator<Item = char> =
            if disguises(c) { &mut c.escape_default() } else { &mut std::iter::once(c) };
        for c in shown {
            quoted.push(c);
            length += 1;
        }
        if length >= LONGEST_QUOTE {
            quoted.push('…');
            break;
        }
    }
    quoted
}

/// Whether a person cannot see `c`, or sees what is around it in another order or on another line.
pub(super) fn disguises(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{061C}' | '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}')
        || matches!(c, '\u{2060}'..='\u{2069}' | '\u{FEFF}' | '\u{E0000}'..='\u{E007F}')
}
