//! Whether allow rules cover a command line: all of it, or it is not covered.

use super::builtins;
use super::folders::Folders;
use super::pattern::Coverage;
use super::script::{Part, PartKind, Script, program};
use super::words::{WORD_GAP, to_pattern};
use crate::permission::Rule;
use crate::permission::call::{Call, CommandTarget, quote};
use crate::permission::rule::Pattern;

/// The longest command that a suggested rule repeats, in bytes.
const LONGEST_COMMAND: usize = 2000;

/// The rule that covers the first command of the line, when rules cover everything in it; otherwise
/// what they leave uncovered, and why.
pub(in crate::permission) fn cover<'p>(
    rules: &'p [Rule],
    call: &Call<'_>,
    command: &CommandTarget<'_>,
) -> Result<&'p Rule, String> {
    let tool = &*call.spec.name;
    if let Some(rule) = rules.iter().find(|rule| rule.pattern.is_none() && rule.tool.matches(tool)) {
        return Ok(rule);
    }
    if !command.is_at_home(&call.places) {
        let (there, here) = (command.cwd.to_string_lossy(), call.places.cwd().to_string_lossy());
        return Err(format!(
            "it would run in `{}`, and rules cover commands only in `{}`",
            quote(&there),
            quote(&here)
        ));
    }
    let script = command.script().map_err(|misread| misread.to_string())?;
    let mut folders = Folders::new(script, &call.places, &command.cwd);
    let mut first = None;
    for part in &script.parts {
        let rule = judge(rules, call, &command.text, script, &mut folders, part)?;
        first = first.or(rule);
    }
    if script.parts.is_empty() {
        return Err("the command is empty".to_owned());
    }
    let first = first.ok_or_else(|| format!("no allow rule covers `{}`", quote(&command.text)))?;
    match command.objection() {
        Some(why) => Err(format!("allow rules cover only what can be understood, and {why}")),
        None => Ok(first),
    }
}

/// The rule that covers `part`, or `None` when it needs none; the error says why it is not covered.
pub(super) fn judge<'p>(
    rules: &'p [Rule],
    call: &Call<'_>,
    source: &str,
    script: &Script,
    folders: &mut Folders<'_>,
    part: &Part,
) -> Result<Option<&'p Rule>, String> {
    let shown = || quote(source.get(part.range.clone()).unwrap_or_default());
    let place = folders.pass(part).map_err(|why| format!("no allow rule covers `{}`: {why}", shown()));
    match &part.kind {
        PartKind::Nothing => Ok(None),
        PartKind::Gap(why) => Err(format!("no allow rule with a pattern covers `{}`: {why}", shown())),
        PartKind::Input(_) => place.map(|()| None),
        PartKind::Simple(range) => {
            let words = script.words(range);
            if is_resolved(script, part, words) {
                return place.map(|()| None);
            }
            check_alone(script, words).map_err(|why| format!("no allow rule covers `{}`: {why}", shown()))?;
            let rule = covering(rules, &call.spec.name, words, &shown)?;
            place.map(|()| Some(rule))
        }
    }
}

/// The rule that covers a simple command by its words.
fn covering<'p>(
    rules: &'p [Rule],
    tool: &str,
    words: &str,
    shown: &dyn Fn() -> String,
) -> Result<&'p Rule, String> {
    let mut withheld = None;
    for rule in rules {
        let Some(Pattern::Command(pattern)) = &rule.pattern else { continue };
        if !rule.tool.matches(tool) {
            continue;
        }
        match pattern.covers(words) {
            Coverage::Covered => return Ok(rule),
            Coverage::Uncovered => {}
            Coverage::Withheld(why) => withheld = withheld.or(Some((rule, why))),
        }
    }
    Err(match withheld {
        Some((rule, why)) => {
            let origin = rule.origin().map(|origin| format!(" ({origin})")).unwrap_or_default();
            format!("`{rule}`{origin} does not cover `{}`: {why}, so only a narrower rule does", shown())
        }
        None => format!("no allow rule covers `{}`", shown()),
    })
}

/// Whether the command is certainly a call of a function of this line, whose commands are judged where
/// it is defined.
fn is_resolved(script: &Script, part: &Part, words: &str) -> bool {
    let name = program(words);
    let mut definitions = script.functions.iter().filter(|function| function.name == name).peekable();
    definitions.peek().is_some()
        && definitions.all(|function| function.certain_from.is_some_and(|from| from <= part.range.start))
}

/// Commands that change what others mean are covered only where there are no others.
fn check_alone(script: &Script, words: &str) -> Result<(), String> {
    let name = program(words);
    if script.functions.iter().any(|function| function.name == name) {
        return Err("it may be the program, or the function that is defined here".to_owned());
    }
    let changes = builtins::changes(name, words.split(WORD_GAP).skip(1)).filter(|_| !script.is_single());
    changes.map_or(Ok(()), |why| Err(format!("{why}, so it is covered only where it stands alone")))
}

/// The narrowest rules that would, all together, cover the command where `rules` do not; none when
/// nothing but `Bash` alone can.
pub(in crate::permission) fn missing(
    rules: &[Rule],
    call: &Call<'_>,
    command: &CommandTarget<'_>,
) -> Vec<String> {
    let Ok(script) = command.script() else { return Vec::new() };
    let mut texts: Vec<String> = Vec::new();
    for (part, words) in script.commands() {
        let is_covered =
            is_resolved(script, part, words) || covering(rules, &call.spec.name, words, &String::new).is_ok();
        if is_covered {
            continue;
        }
        if words.len() > LONGEST_COMMAND {
            return Vec::new();
        }
        let text = format!("{}({})", call.spec.name, to_pattern(words));
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    let Ok(added) = texts.iter().map(|text| text.parse()).collect::<Result<Vec<Rule>, _>>() else {
        return Vec::new();
    };
    let together: Vec<Rule> = rules.iter().chain(&added).cloned().collect();
    if cover(&together, call, command).is_ok() { texts } else { Vec::new() }
}
