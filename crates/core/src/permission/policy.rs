//! The evaluation of a call against rules and mode.

use std::path::{Path, PathBuf};

use super::call::{Call, Target, quote};
use super::command::{self, Coverage};
use super::mode_matrix::by_mode;
use super::protected::protected;
use super::suggestion::narrowest;
use super::{CommandConfinement, CommandReport, PermissionMode, ReadingDenials, Rule, RuleSet};
use crate::{Access, PathAccess, ToolSpec};

/// What happens to a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "hosts must handle every decision")]
pub enum Decision {
    /// It runs.
    Allow,
    /// A person decides; where there is none, it does not run.
    Ask,
    /// It does not run.
    Deny,
}

/// A decision with its reason.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Verdict {
    /// What happens.
    pub decision: Decision,
    /// Why, for a person and for the model: the rule or the mode, and the part of the call it concerns.
    pub reason: String,
    /// The rule that decided, as written; `None` when the mode did.
    pub rule: Option<String>,
    /// What kind of thing decided.
    pub basis: Basis,
    /// The narrowest rules that would, all together, allow the call; empty where none can or should.
    /// What a person is shown and approves is exactly these.
    pub allow_rules: Vec<String>,
}

/// What kind of thing decided about a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Basis {
    /// A rule, named in [`Verdict::rule`].
    Rule,
    /// The file is protected: no rule, mode, hook or earlier approval lets its change through, only a person
    /// who is asked.
    Protection,
    /// The mode, because no rule did.
    Mode,
    /// The command runs confined, and the user lets such commands run without asking.
    Confinement,
}

/// Rules, mode and the folders they refer to.
#[derive(Clone, Debug)]
#[expect(clippy::exhaustive_structs, reason = "plain data that hosts build")]
pub struct PermissionPolicy {
    /// What happens where no rule decides.
    pub mode: PermissionMode,
    /// The rules in force.
    pub rules: RuleSet,
    /// The workspace root and additional directories, absolute and resolved; the first is the root
    /// that relative patterns refer to.
    pub roots: Vec<PathBuf>,
    /// The working directory of the session, absolute and resolved: what relative paths of calls start
    /// from, and the only folder in which an allow rule covers a command.
    pub cwd: PathBuf,
    /// The user's home folder, for `~/` patterns.
    pub home: Option<PathBuf>,
    /// Folders of robota's state that need not be called `.robota`, such as the user's own, absolute and
    /// resolved; what is protected in a `.robota` folder is protected in them.
    pub protected_dirs: Vec<PathBuf>,
    /// What of the commands of Bash runs confined; `None` where nothing does.
    pub confinement: Option<CommandConfinement>,
}

impl PermissionPolicy {
    /// Whether a deny rule keeps `path` from being read, so that searches must leave it out: one of
    /// Read, Grep or Glob with a pattern that matches it or a folder above it.
    ///
    /// `path` is absolute. A rule without a pattern denies its tool and no path. For a whole tree of
    /// files ask [`reading_denials`](Self::reading_denials).
    #[must_use]
    pub fn denies_reading(&self, path: &Path) -> bool {
        self.reading_denials().is_some_and(|denials| denials.deny(path))
    }

    /// [`denies_reading`](Self::denies_reading) for many paths; `None` when no path is denied. Later
    /// changes of the policy do not reach it.
    #[must_use]
    pub fn reading_denials(&self) -> Option<ReadingDenials> {
        ReadingDenials::of(self)
    }

    /// Decides a call to the tool `spec` that would touch `access`.
    ///
    /// Deny rules come first, then ask rules, then protected files, then allow rules, then the mode.
    /// Changes of protected files (git's own, robota's state, settings and hooks, what editors and
    /// shells run by themselves) are asked for even in `bypassPermissions` mode, so that where nobody can be
    /// asked they do not happen. A call is denied when anything it touches is, and allowed only when
    /// everything it touches is.
    #[must_use]
    pub fn evaluate(&self, spec: &ToolSpec, access: &[Access]) -> Verdict {
        let call = Call::new(self, spec, access);
        if let Some(verdict) = self.denied(&call).or_else(|| self.asked(&call)) {
            return verdict;
        }
        let verdict = self.allowed_or_open(&call);
        match protects(&call) {
            // No rule can allow the call; the mode can still refuse it.
            Some(_) if verdict.decision == Decision::Deny => Verdict { allow_rules: Vec::new(), ..verdict },
            Some(protected) => protected,
            None => verdict,
        }
    }

    /// Takes the command line `command`, as Bash would run it in `cwd`, apart, and says what rules make of each
    /// part.
    #[must_use]
    pub fn explain_command(&self, spec: &ToolSpec, command: &str, cwd: &Path) -> CommandReport {
        let access = [Access::Command { command: command.to_owned(), cwd: cwd.to_owned() }];
        let call = Call::new(self, spec, &access);
        let parts = call.targets.iter().flat_map(|target| match target {
            Target::Command(command) => command::explain(&self.rules, &call, command),
            _ => Vec::new(),
        });
        CommandReport { parts: parts.collect(), verdict: self.evaluate(spec, &access) }
    }

    fn denied(&self, call: &Call<'_>) -> Option<Verdict> {
        let (rule, detail) = concerning(&self.rules.deny, call)?;
        Some(Verdict::new(Decision::Deny, format!("The deny rule {} {detail}.", named(rule)), Some(rule)))
    }

    fn asked(&self, call: &Call<'_>) -> Option<Verdict> {
        let unclear = |list: &'static str, rules| {
            let detail = "may concern this call, but its pattern cannot be compared with it".to_owned();
            unclear(rules, call).map(|rule| (list, rule, detail))
        };
        let (list, rule, detail) = concerning(&self.rules.ask, call)
            .map(|(rule, detail)| ("ask", rule, detail))
            .or_else(|| unclear("deny", &self.rules.deny))
            .or_else(|| unclear("ask", &self.rules.ask))?;
        let reason = format!("The {list} rule {} {detail}, so a person must agree.", named(rule));
        Some(Verdict::new(Decision::Ask, reason, Some(rule)))
    }

    fn allowed_or_open(&self, call: &Call<'_>) -> Verdict {
        let mut covering: Option<&Rule> = None;
        let mut worst: Option<(Decision, String)> = None;
        let mut open = Vec::new();
        let mut confined = None;
        for target in &call.targets {
            let gap = match self.cover(call, target) {
                Ok(rule) => {
                    covering = covering.or(Some(rule));
                    continue;
                }
                Err(gap) => gap,
            };
            let (decision, reason) = by_mode(self.mode, call, target, &gap);
            if decision == Decision::Ask && self.is_unasked(call, target) {
                confined = Some(target);
                continue;
            }
            if decision != Decision::Allow {
                open.push(target);
            }
            if worst.as_ref().is_none_or(|(known, _)| severity(*known) < severity(decision)) {
                worst = Some((decision, reason));
            }
        }
        match (worst, confined, covering) {
            (Some((decision, reason)), ..) => Verdict {
                allow_rules: narrowest(&self.rules.allow, call, &open),
                ..Verdict::new(decision, reason, None)
            },
            (None, Some(target), _) => {
                let what = target.describe(&call.spec.name);
                let reason = format!("{what} runs in the sandbox, where commands run without asking.");
                Verdict { basis: Basis::Confinement, ..Verdict::new(Decision::Allow, reason, None) }
            }
            (None, None, Some(rule)) => {
                let what =
                    call.targets.first().map(|target| target.describe(&call.spec.name)).unwrap_or_default();
                let reason = format!("The allow rule {} covers {what}.", named(rule));
                Verdict::new(Decision::Allow, reason, Some(rule))
            }
            (None, None, None) => {
                Verdict::new(Decision::Ask, "Nothing is known about this call.".to_owned(), None)
            }
        }
    }

    /// The allow rule that covers `target`, or why none does.
    fn cover(&self, call: &Call<'_>, target: &Target<'_>) -> Result<&Rule, String> {
        if let Target::Command(command) = target {
            return command::cover(&self.rules.allow, call, command);
        }
        let mut withheld = None;
        for rule in &self.rules.allow {
            match rule.covers(call, target) {
                Coverage::Covered => return Ok(rule),
                Coverage::Uncovered => {}
                Coverage::Withheld(why) => withheld = withheld.or(Some((rule, why))),
            }
        }
        if let Some((rule, why)) = withheld {
            return Err(format!("{} does not cover it: {why}, so only a narrower rule does", named(rule)));
        }
        Err(format!("no allow rule covers {}", target.describe(&call.spec.name)))
    }
}

impl Verdict {
    fn new(decision: Decision, reason: String, rule: Option<&Rule>) -> Self {
        let basis = if rule.is_some() { Basis::Rule } else { Basis::Mode };
        Self {
            decision,
            reason,
            rule: rule.map(|rule| rule.text().to_owned()),
            basis,
            allow_rules: Vec::new(),
        }
    }
}

/// The first rule that concerns something `call` touches, and which part.
fn concerning<'a>(rules: &'a [Rule], call: &Call<'_>) -> Option<(&'a Rule, String)> {
    rules.iter().find_map(|rule| {
        let detail = call.targets.iter().find_map(|target| rule.concerns(call, target))?;
        Some((rule, detail))
    })
}

/// The first rule about the call's tool whose pattern cannot be compared with the call.
fn unclear<'a>(rules: &'a [Rule], call: &Call<'_>) -> Option<&'a Rule> {
    rules.iter().find(|rule| rule.is_unclear_about(call))
}

/// A change of a protected file is asked for, whatever allow rules and mode say: with it, anything
/// could be made to run later.
fn protects(call: &Call<'_>) -> Option<Verdict> {
    call.targets.iter().find_map(|target| {
        let (what, shown) = match target {
            Target::Path(path) => {
                let what = path
                    .names()
                    .filter(|_| path.kind == PathAccess::Write)
                    .find_map(|name| protected(name, &call.places))?;
                (what, path.describe())
            }
            Target::Command(command) => {
                let mut files = command.files(&call.places).iter().filter(|file| file.writes);
                files.find_map(|file| {
                    let what = file.names.iter().find_map(|name| protected(name, &call.places))?;
                    Some((what, format!("`{}`, which the command writes,", quote(&file.shown))))
                })?
            }
            _ => return None,
        };
        let reason = format!(
            "{shown} is protected ({what}): its change needs consent in every mode and under every rule."
        );
        Some(Verdict { basis: Basis::Protection, ..Verdict::new(Decision::Ask, reason, None) })
    })
}

const fn severity(decision: Decision) -> u8 {
    match decision {
        Decision::Allow => 0,
        Decision::Ask => 1,
        Decision::Deny => 2,
    }
}

/// A rule and where it comes from, for reasons.
fn named(rule: &Rule) -> String {
    match rule.origin() {
        Some(origin) => format!("`{rule}` ({origin})"),
        None => format!("`{rule}`"),
    }
}
