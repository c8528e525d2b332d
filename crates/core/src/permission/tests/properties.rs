use proptest::collection;
use proptest::prelude::*;
use proptest::sample::select;

use super::*;
use crate::Basis;

fn file_path() -> impl Strategy<Value = String> {
    let names = vec![
        "app", "src", "a b", "x ", "*", "[a]", "{b,c}", "(d)", "e\\f", "~", "!g", "ü", "\n", "..x", "\\ ",
    ];
    let roots = vec!["/work/app", "/work/lib", "/etc", ""];
    (select(roots), collection::vec(select(names), 0..4))
        .prop_map(|(root, names)| names.iter().fold(root.to_owned(), |path, name| format!("{path}/{name}")))
        .prop_filter("a path", |path| !path.is_empty())
}

fn mode() -> impl Strategy<Value = PermissionMode> {
    select(&PermissionMode::ALL[..])
}

/// A rule about anything that calls below touch.
fn rule() -> impl Strategy<Value = Rule> {
    let tools = vec!["Read", "Edit", "Write", "Glob", "Grep", "Task", "MultiEdit", "NotebookEdit"];
    let patterns =
        vec!["/src/**", "//etc/**", "~/x", "*.rs", "/**/b", "src", "../lib/**", "//", "explore", ".git"];
    let on_paths = (select(tools), select(patterns)).prop_map(|(tool, pattern)| format!("{tool}({pattern})"));
    let whole = select(vec![
        "Read",
        "Edit",
        "Bash",
        "Task",
        "mcp__a",
        "WebFetch(domain:x.y)",
        "Bash(ls *)",
        "Agent(explore)",
    ]);
    prop_oneof![on_paths, whole.prop_map(str::to_owned)].prop_map(|text| text.parse().unwrap())
}

fn rule_set() -> impl Strategy<Value = RuleSet> {
    let list = || collection::vec(rule(), 0..3);
    (list(), list(), list()).prop_map(|(deny, ask, allow)| RuleSet { deny, ask, allow })
}

/// A call of some tool that touches one or two things.
fn call() -> impl Strategy<Value = (&'static str, Vec<Access>)> {
    let tools = vec!["Read", "Edit", "Write", "Glob", "Grep"];
    let places = vec!["/work/app/src/a.rs", "/work/lib/b", "/etc/b", "/home/ada/x", "/work/app/.git/config"];
    let linked = (select(places.clone()), select(places));
    let paths = (select(tools), collection::vec(linked, 1..3)).prop_map(|(tool, paths)| {
        (tool, paths.iter().map(|(requested, resolved)| linked_path(tool, requested, resolved)).collect())
    });
    let others = select(vec![
        ("Bash", command("ls x")),
        ("Agent", name("explore")),
        ("WebFetch", host("a.x.y")),
        ("mcp__a__b", path("Write", "/etc/b")),
    ]);
    prop_oneof![paths, others.prop_map(|(tool, access)| (tool, vec![access]))]
}

fn freedom(decision: Decision) -> u8 {
    match decision {
        Decision::Deny => 0,
        Decision::Ask => 1,
        Decision::Allow => 2,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn a_suggested_path_rule_suffices(text in file_path(), other in file_path(), name in select(&["Read", "Glob", "Edit", "Write"][..])) {
        let verdict = policy(PermissionMode::Plan, &[], &[], &[]).on_path(name, &text);
        prop_assert_eq!(verdict.allow_rules.is_empty(), verdict.decision == Decision::Allow || text.contains('\n'));
        for rule in verdict.allow_rules {
            let policy = policy(PermissionMode::Plan, &[], &[], &[&rule]);
            prop_assert_eq!(policy.on_path(name, &text).rule, Some(rule.clone()));
            let below = std::path::Path::new(&other).starts_with(&text);
            prop_assert_eq!(policy.on_path(name, &other).rule.is_some(), below, "{} {}", rule, other);
        }
    }

    #[test]
    fn wildcards_agree_with_another_matcher(pattern in "(/([ab?]|[ab]?[*][ab]?|[*][*]|[ab]{2}|[*]a[*])){1,5}", path in "(/[ab]{1,3}){1,5}") {
        let reference = globset::GlobBuilder::new(&pattern).literal_separator(true).build().unwrap().compile_matcher();
        let names_folder = !pattern.rsplit('/').next().unwrap_or_default().contains(['*', '?']);
        let mut ancestors = std::path::Path::new(&path).ancestors().take(if names_folder { usize::MAX } else { 1 });
        let is_the_folder = pattern.ends_with("/**") && reference.is_match(format!("{path}/x"));
        let expected = is_the_folder || ancestors.any(|ancestor| reference.is_match(ancestor));
        let rule = format!("Read({pattern})");
        let verdict = policy(PermissionMode::Plan, &[], &[], &[&rule]).on_path("Read", &format!("/work/app{path}"));
        prop_assert_eq!(verdict.rule.is_some(), expected, "{} {}", pattern, path);
    }

    #[test]
    fn a_deny_rule_never_widens((mode, rules, added, (name, access)) in (mode(), rule_set(), rule(), call())) {
        let with = |rules| PermissionPolicy { rules, ..policy(mode, &[], &[], &[]) }.evaluate(&tool(name), &access);
        let before = with(rules.clone());
        let mut more = rules;
        more.deny.push(added);
        let after = with(more);
        prop_assert!(freedom(after.decision) <= freedom(before.decision), "{} / {}", before.reason, after.reason);
    }

    #[test]
    fn a_layer_takes_no_denial_and_no_question_away((mode, rules, layer, (name, access)) in (mode(), rule_set(), rule_set(), call())) {
        let with = |rules| PermissionPolicy { rules, ..policy(mode, &[], &[], &[]) }.evaluate(&tool(name), &access);
        let before = with(rules.clone());
        for joined in [RuleSet::join([rules.clone(), layer.clone()]), RuleSet::join([layer, rules])] {
            let after = with(joined);
            // What the mode alone decided, an allow rule may change; what a rule or protection decided, none may.
            if before.decision != Decision::Allow && before.basis != Basis::Mode {
                prop_assert!(freedom(after.decision) <= freedom(before.decision), "{} / {}", before.reason, after.reason);
            }
        }
    }
}
