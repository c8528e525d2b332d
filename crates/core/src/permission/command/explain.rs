//! A command line part by part, for a person.

use super::cover::judge;
use super::folders::Folders;
use super::pieces::Pieces;
use super::script::{Misread, PartKind};
use super::words::{WORD_GAP, unmarked};
use crate::permission::call::{Call, CommandTarget};
use crate::permission::rule::Pattern;
use crate::permission::{CommandPart, PartState, Rule, RuleSet};

/// Every part of the command with what becomes of it.
pub(in crate::permission) fn explain(
    rules: &RuleSet,
    call: &Call<'_>,
    command: &CommandTarget<'_>,
) -> Vec<CommandPart> {
    let whole = rules.allow.iter().find(|rule| rule.pattern.is_none() && rule.tool.matches(&call.spec.name));
    let script = match (command.script(), whole) {
        (Ok(script), _) => script,
        (Err(misread), None) => return vec![not_understood(&command.text, misread)],
        (Err(_), Some(rule)) => {
            let state = PartState::Covered { rule: rule.to_string() };
            return vec![CommandPart { text: command.text.clone().into_owned(), within: Vec::new(), state }];
        }
    };
    let mut folders = Folders::new(script, &call.places, &command.cwd);
    let mut parts = Vec::new();
    for part in &script.parts {
        let judged = judge(&rules.allow, call, &command.text, script, &mut folders, part);
        let text = command.text.get(part.range.clone()).unwrap_or_default().trim().to_owned();
        let words = match &part.kind {
            PartKind::Nothing => continue,
            PartKind::Simple(range) => unmarked(script.words(range)),
            PartKind::Input(_) | PartKind::Gap(_) => String::new(),
        };
        let stated = |rules: &[Rule]| concerning(rules, &call.spec.name, &words).map(ToString::to_string);
        let state = match (stated(&rules.deny), stated(&rules.ask), judged) {
            (Some(rule), ..) => PartState::Denied { rule },
            (None, Some(rule), _) => PartState::Asked { rule },
            (None, None, Ok(Some(rule))) => PartState::Covered { rule: rule.to_string() },
            (None, None, judged) => match (whole, judged) {
                (Some(rule), _) => PartState::Covered { rule: rule.to_string() },
                (None, Ok(_)) => continue,
                (None, Err(why)) => PartState::Uncovered { why },
            },
        };
        parts.push((part.range.start, CommandPart { text, within: script.within(part), state }));
    }
    parts.sort_by_key(|(at, _)| *at);
    let mut parts: Vec<_> = parts.into_iter().map(|(_, part)| part).collect();
    if let (Some(why), None) = (command.objection(), whole) {
        let state = PartState::Uncovered { why: why.to_owned() };
        parts.push(CommandPart { text: command.text.clone().into_owned(), within: Vec::new(), state });
    }
    parts
}

fn not_understood(source: &str, misread: &Misread) -> CommandPart {
    let rest = source.get(misread.at..).filter(|rest| !rest.trim().is_empty()).unwrap_or(source);
    let state = PartState::Uncovered { why: misread.why.clone().into_owned() };
    CommandPart { text: rest.trim().to_owned(), within: Vec::new(), state }
}

/// The first rule that concerns the command with these words.
fn concerning<'p>(rules: &'p [Rule], tool: &str, words: &str) -> Option<&'p Rule> {
    let pieces = Pieces::of_words(words);
    rules.iter().filter(|rule| rule.tool.matches(tool)).find(|rule| match &rule.pattern {
        None => true,
        Some(Pattern::Command(pattern)) => {
            !words.is_empty() && pattern.concerns(&words.replace(WORD_GAP, " "), &pieces).is_some()
        }
        Some(_) => false,
    })
}
