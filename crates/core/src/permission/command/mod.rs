//! What a command line of Bash does, for rules.
//!
//! Allow rules read strictly. A [`reader`] of the grammar takes the line apart into simple commands
//! and what is more than those; a line beyond plain lists and pipes is read a second time by
//! tree-sitter (`second_reading`), and only what both agree on is understood. [`cover`] then
//! looks for a rule for every simple command, whose words are matched as the shell would make them:
//! quotes undone, and expansions standing for any text. Nothing is covered by a pattern with `*` that
//! runs other programs (`wrapper`, `runners`, `options`, `git`, `sed`), changes what later
//! commands mean (`builtins`), or runs in a folder that changes what its words mean (`folders`).
//!
//! Deny and ask rules read generously: [`pieces`] cuts the line at everything that may begin a command
//! (`data` is what certainly does not), and `targets` finds the files that redirections name.

mod builtins;
mod cover;
mod data;
mod explain;
mod folders;
mod git;
mod interpreters;
mod option_table;
mod options;
mod pattern;
mod pieces;
mod reader;
mod runners;
mod script;
mod second_reading;
mod sed;
mod starts;
mod targets;
mod words;
mod wrapper;

pub(super) use cover::{cover, missing};
pub(super) use data::without_data;
pub(super) use explain::explain;
pub(super) use pattern::{CommandPattern, Coverage};
pub(super) use pieces::Pieces;
pub(super) use script::{Misread, Script};
pub(super) use targets::{FileTarget, file_targets};
pub(super) use words::WORD_GAP;

/// Takes a command line apart.
pub(super) fn read(source: &str) -> Result<Script, Misread> {
    reader::read(source)
}

/// Why another reading of the grammar does not agree about what the commands of `script` are.
pub(super) fn objection(source: &str, script: &Script) -> Option<&'static str> {
    if script.is_deep { second_reading::objection(source, script) } else { None }
}

/// The words of the only part of a command line.
#[cfg(test)]
pub(super) fn only_command(source: &str) -> Option<String> {
    let script = read(source).ok()?;
    let mut commands = script.commands();
    let (_, words) = commands.next()?;
    (script.parts.len() == 1 && commands.next().is_none()).then(|| words.to_owned())
}
