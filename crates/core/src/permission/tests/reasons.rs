use super::*;
use crate::Basis;

fn default_mode(deny: &[&str], ask: &[&str], allow: &[&str]) -> PermissionPolicy {
    policy(PermissionMode::Default, deny, ask, allow)
}

#[test]
fn verdicts_name_the_rule_its_origin_and_the_part_it_matched() {
    let policy = default_mode(&["Bash(rm *)"], &["Read(*.pem)"], &["Bash(git *)"]);
    assert_eq!(
        policy.bash("cd x && sudo rm -rf y"),
        Verdict {
            decision: Decision::Deny,
            reason: "The deny rule `Bash(rm *)` (user settings) matches `sudo rm -rf y` in the command."
                .into(),
            rule: Some("Bash(rm *)".into()),
            basis: Basis::Rule,
            allow_rules: Vec::new(),
        }
    );
    assert_eq!(
        policy.on_path("Read", "/work/app/key.pem").reason,
        "The ask rule `Read(*.pem)` (user settings) matches `/work/app/key.pem`, so a person must agree."
    );
    assert_eq!(
        policy.bash("git  status"),
        Verdict {
            decision: Decision::Allow,
            reason: "The allow rule `Bash(git *)` (user settings) covers `git  status`.".into(),
            rule: Some("Bash(git *)".into()),
            basis: Basis::Rule,
            allow_rules: Vec::new(),
        }
    );
}

#[test]
fn what_is_not_covered_is_said_with_the_rule_that_would_cover_it() {
    let policy = default_mode(&[], &[], &["Bash(git *)", "Bash(env *)"]);
    for (text, reason, allow_rules) in [
        (
            "cargo  test",
            "In default mode Bash needs consent, and no allow rule covers `cargo  test`.",
            Some("Bash(cargo test)"),
        ),
        (
            "git status; rm y",
            "In default mode Bash needs consent, and no allow rule covers `rm y`.",
            Some("Bash(rm y)"),
        ),
        (
            "git status\nrm y",
            "In default mode Bash needs consent, and no allow rule covers `rm y`.",
            Some("Bash(rm y)"),
        ),
        (
            "env ls",
            "In default mode Bash needs consent, and `Bash(env *)` (user settings) does not cover `env ls`: `env` runs \
             the command in its arguments, so only a narrower rule does.",
            Some("Bash(env ls)"),
        ),
        ("", "In default mode Bash needs consent, and the command is empty.", None),
    ] {
        let verdict = policy.bash(text);
        assert_eq!(
            (verdict.reason.as_str(), verdict.allow_rules.first().map(String::as_str)),
            (reason, allow_rules),
            "{text:?}"
        );
    }
}

#[test]
fn suggestions_are_as_narrow_as_the_call() {
    let policy = policy(PermissionMode::Plan, &[], &[], &[]);
    for (name, access, expected) in [
        ("Read", path("Read", "/etc/passwd"), "Read(//etc/passwd)"),
        ("Read", path("Read", "/"), "Read(//)"),
        ("Glob", path("Glob", "/work/application"), "Glob(//work/application)"),
        ("Write", path("Write", "/work/app/src/a b (1).rs"), "Edit(/src/a b \\(1\\).rs)"),
        ("Edit", path("Edit", "/work/lib/x{y}*"), "Edit(//work/lib/x\\{y\\}\\*)"),
        ("Read", linked_path("Read", "link/x", "/etc/x"), "Read(//etc/x)"),
        ("WebFetch", host("docs.rs"), "WebFetch(domain:docs.rs)"),
        ("WebFetch", host("[::1]"), "WebFetch(domain:[::1])"),
        ("Agent", name("explore"), "Agent(explore)"),
        ("Skill", name("a*b (x)"), "Skill(a\\*b \\(x\\))"),
        ("Bash", command("git commit -m \"it's (a) *\""), "Bash(git commit -m 'it'\\''s (a) *')"),
        ("Bash", command("ls *.rs a=b"), "Bash(ls \\*.rs a=b)"),
        ("mcp__a__b", path("Write", "/etc/x"), "mcp__a__b"),
    ] {
        let verdict = policy.evaluate(&tool(name), &[access]);
        assert_eq!(verdict.allow_rules, [expected], "{}", verdict.reason);
    }
}

#[test]
fn each_open_target_gets_a_rule_of_its_own() {
    let access = |paths: &[&str]| paths.iter().map(|text| path("Edit", text)).collect::<Vec<_>>();
    let policy = default_mode(&[], &[], &["Edit(/known)"]);
    let rules = |paths: &[&str]| policy.evaluate(&tool("Edit"), &access(paths)).allow_rules;
    let many = ["/work/app/a", "/work/app/known", "/etc/b", "/work/app/a"];
    assert_eq!(rules(&many), ["Edit(/a)", "Edit(//etc/b)"]);
    let granted = PermissionPolicy {
        rules: RuleSet {
            allow: rules(&many).iter().map(|rule| rule.parse().unwrap()).collect(),
            ..RuleSet::default()
        },
        ..default_mode(&[], &[], &[])
    };
    assert_eq!(
        granted.evaluate(&tool("Edit"), &access(&["/etc/b", "/work/app/a"])).decision,
        Decision::Allow
    );
    // One target that no rule can be shown for, and none is: together they would not do.
    assert_eq!(rules(&["/work/app/a", "/etc/a\nb"]), Vec::<String>::new());
}

#[test]
fn reasons_tell_where_a_link_leads() {
    let access = [linked_path("Read", "link/x", "/etc/x")];
    let reason = |policy: PermissionPolicy| policy.evaluate(&tool("Read"), &access).reason;
    assert_eq!(
        reason(default_mode(&["Read(/link)"], &[], &[])),
        "The deny rule `Read(/link)` (user settings) matches `link/x` → `/etc/x`."
    );
    assert_eq!(
        reason(default_mode(&[], &[], &["Read(//etc/x)"])),
        "The allow rule `Read(//etc/x)` (user settings) covers `link/x` → `/etc/x`."
    );
    assert_eq!(
        reason(default_mode(&[], &[], &[])),
        "`link/x` → `/etc/x` lies outside the workspace, so in default mode Read needs consent, and no allow rule \
         covers `link/x` → `/etc/x`."
    );
}

#[test]
fn what_a_person_could_misread_is_escaped_and_not_suggested() {
    let policy = default_mode(&[], &[], &[]);
    for (text, shown) in [
        ("echo 'a\nb'", "`echo 'a\\nb'`"),
        ("echo x\u{202E}y", "`echo x\\u{202e}y`"),
        ("ls \u{2066}a\u{200F}", "`ls \\u{2066}a\\u{200f}`"),
        ("ls 'a\u{1b}[2J'", "`ls 'a\\u{1b}[2J'`"),
    ] {
        let verdict = policy.bash(text);
        assert_eq!(verdict.allow_rules, Vec::<String>::new(), "{text:?}");
        assert!(verdict.reason.contains(shown), "{}", verdict.reason);
    }
    let verdict = policy.on_path("Read", "/etc/a\n\u{202E}b");
    assert_eq!(verdict.allow_rules, Vec::<String>::new());
    assert!(verdict.reason.contains("`/etc/a\\n\\u{202e}b`"), "{}", verdict.reason);
}

#[test]
fn reasons_stay_short_and_on_one_line() {
    let policy = default_mode(&["Bash(rm *)"], &[], &[]);
    for text in
        [format!("rm {}", "x\u{1b}[2J".repeat(1000)), format!("echo 'a\n\u{202E}{}'", "ä".repeat(1000))]
    {
        let reason = policy.bash(&text).reason;
        assert!(reason.chars().count() < 300 && !reason.contains(['\n', '\u{1b}', '\u{202E}']), "{reason}");
    }
}
