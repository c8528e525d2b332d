use proptest::collection;
use proptest::prelude::*;
use proptest::sample::select;

use super::*;
use crate::{CommandPart, PartState};

/// Command lines out of everything that means something to a shell.
fn command_line() -> impl Strategy<Value = String> {
    let parts = vec![
        "git", "status", "rm", "x", " ", " ", " ", "'", "\"", "\\", ";", "&", "|", "<", ">", "(", ")", "{",
        "}", "$", "`", "#", "\n", "=", "*", "?", "[", "~", "!", "-c", "env", "sh", "/", ",", ":", "ä", "\t",
        "A=1 ", "'a b'", "\"c d\"",
    ];
    collection::vec(select(parts), 0..14).prop_map(|parts| parts.concat())
}

/// Command lines that are mostly simple.
fn simple_command_line() -> impl Strategy<Value = String> {
    let words = vec![
        "git", "env", "a\\ b", "'c;d'", "\"e f\"", "*.rs", "~/x", "-n", "''", "it\\'s", "[", "k=v", "\\*",
        "'\n'", "(", "ß",
    ];
    collection::vec(select(words), 1..6).prop_map(|words| words.join(" "))
}

fn rule_set() -> impl Strategy<Value = RuleSet> {
    let rules = vec![
        "Bash(git *)",
        "Bash(rm *)",
        "Bash(git status)",
        "Bash(x *)",
        "Bash",
        "Bash(* x)",
        "Read(x)",
        "Edit(/**)",
    ];
    let list = move || collection::vec(select(rules.clone()), 0..4);
    let parse = |rules: Vec<&str>| rules.iter().map(|rule| rule.parse().unwrap()).collect();
    (list(), list(), list()).prop_map(move |(deny, ask, allow)| RuleSet {
        deny: parse(deny),
        ask: parse(ask),
        allow: parse(allow),
    })
}

fn rank(decision: Decision) -> u8 {
    match decision {
        Decision::Allow => 0,
        Decision::Ask => 1,
        Decision::Deny => 2,
    }
}

/// The words of the only simple command in a line.
fn words(text: &str) -> Option<String> {
    super::super::command::only_command(text)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn what_is_denied_stays_denied_between_anything(before in "[a-z ;&|(){}`!=*?~,-]{0,12}", after in command_line()) {
        let text = format!("{before}\nrm x\n{after}");
        prop_assert!(denies("Bash(rm *)", &text), "{}", text);
    }

    #[test]
    fn a_deny_rule_finds_everything_its_allow_twin_covers(text in simple_command_line()) {
        for rule in ["Bash(git *)", "Bash(git * ß)", "Bash(* -n *)", "Bash(git \"*\" k=v)"] {
            prop_assert!(!allows(rule, &text) || denies(rule, &text), "{} {}", rule, text);
        }
    }

    #[test]
    fn another_deny_rule_never_widens(text in command_line(), first in rule_set(), second in rule_set()) {
        let widest = |rules| PermissionPolicy { rules, ..policy(PermissionMode::AcceptEdits, &[], &[], &[]) };
        let before = widest(first.clone()).bash(&text).decision;
        let deny = RuleSet { deny: second.deny.clone(), ask: second.ask.clone(), ..RuleSet::default() };
        let narrowed = widest(RuleSet::join([first.clone(), deny])).bash(&text).decision;
        prop_assert!(rank(narrowed) >= rank(before), "{:?} {:?} {}", before, narrowed, text);
        let joined = widest(RuleSet::join([first, second])).bash(&text).decision;
        prop_assert!(before != Decision::Deny || joined == Decision::Deny, "{}", text);
    }

    #[test]
    fn an_explanation_agrees_with_the_verdict(text in command_line(), rules in rule_set()) {
        let policy = PermissionPolicy { rules, ..policy(PermissionMode::Default, &[], &[], &[]) };
        let report = policy.explain_command(&tool("Bash"), &text, std::path::Path::new("/work/app"));
        prop_assert_eq!(&report.verdict, &policy.bash(&text));
        let is_covered = |part: &CommandPart| matches!(part.state, PartState::Covered { .. });
        let all_covered = !report.parts.is_empty() && report.parts.iter().all(is_covered);
        match report.verdict.decision {
            Decision::Allow => prop_assert!(report.parts.iter().all(is_covered), "{:?}", report),
            _ => prop_assert!(!all_covered || report.verdict.rule.is_some(), "{:?}", report),
        }
    }

    #[test]
    fn a_suggested_command_rule_suffices(text in simple_command_line(), other in simple_command_line()) {
        let verdict = policy(PermissionMode::Default, &[], &[], &[]).bash(&text);
        prop_assert_eq!(verdict.allow_rules.is_empty(), text.contains('\n') || words(&text).is_none(), "{}", text);
        let together: Vec<&str> = verdict.allow_rules.iter().map(String::as_str).collect();
        if !together.is_empty() {
            let policy = policy(PermissionMode::Default, &[], &[], &together);
            prop_assert_eq!(policy.bash(&text).decision, Decision::Allow, "{:?} {}", together, text);
            let plain = |text: &str| words(text).map(|words| words.replace('\u{FDD0}', "*"));
            let is_same = plain(&text) == plain(&other);
            prop_assert!(is_same || policy.bash(&other).decision != Decision::Allow, "{:?} {}", together, other);
        }
    }

    #[test]
    fn nothing_a_rule_can_say_makes_it_panic(name in select(&["Bash", "Read", "WebFetch", "X"][..]), text in ".{0,20}", call in command_line()) {
        if let Ok(rule) = format!("{name}({text})").parse::<Rule>() {
            let rules = RuleSet { deny: vec![rule.clone()], ask: vec![], allow: vec![rule] };
            let policy = PermissionPolicy { rules, ..policy(PermissionMode::Default, &[], &[], &[]) };
            policy.bash(&call);
            policy.on_path("Read", &call);
        }
    }
}
