use Decision::{Allow, Ask, Deny};

use super::*;

#[test]
fn the_mode_decides_what_no_rule_does() {
    let inside = |name| vec![path(name, "/work/lib/x")];
    let outside = |name| vec![path(name, "/etc/x")];
    let rows: [(&str, Vec<Access>, [Decision; 4]); 15] = [
        ("Read", inside("Read"), [Allow, Allow, Allow, Allow]),
        ("Read", outside("Read"), [Ask, Ask, Ask, Allow]),
        ("Grep", vec![path("Grep", "/work/application")], [Ask, Ask, Ask, Allow]),
        ("WebSearch", vec![], [Allow, Allow, Allow, Allow]),
        ("Write", inside("Write"), [Deny, Ask, Allow, Allow]),
        ("Edit", outside("Edit"), [Deny, Ask, Ask, Allow]),
        ("Bash", vec![command("ls")], [Deny, Ask, Ask, Allow]),
        ("WebFetch", vec![host("x.y")], [Ask, Ask, Ask, Allow]),
        ("mcp__a__b", vec![], [Deny, Ask, Ask, Allow]),
        ("Edit", [inside("Edit"), outside("Edit")].concat(), [Deny, Ask, Ask, Allow]),
        // A tool that calls itself harmless but declares more is judged by what it declares.
        ("Glob", vec![path("Write", "/work/app/x")], [Deny, Ask, Allow, Allow]),
        ("Read", vec![command("ls")], [Deny, Ask, Ask, Allow]),
        ("Read", vec![host("x.y")], [Ask, Ask, Ask, Allow]),
        ("Read", vec![name("x")], [Allow, Allow, Allow, Allow]),
        ("Agent", vec![name("explore")], [Deny, Ask, Ask, Allow]),
    ];
    for (name, access, expected) in rows {
        let found = PermissionMode::ALL
            .map(|mode| policy(mode, &[], &[], &[]).evaluate(&tool(name), &access).decision);
        assert_eq!(found, expected, "{name} {access:?}");
    }
}

#[test]
fn a_call_with_several_targets_is_as_free_as_its_least_free_one() {
    let access = [path("Edit", "/work/app/a"), path("Edit", "/etc/b")];
    let decide = |deny: &[&str], allow: &[&str]| {
        policy(PermissionMode::AcceptEdits, deny, &[], allow).evaluate(&tool("Edit"), &access).decision
    };
    assert_eq!(decide(&[], &["Edit(/a)"]), Ask);
    assert_eq!(decide(&[], &["Edit(//etc/b)"]), Allow);
    assert_eq!(decide(&["Edit(/a)"], &["Edit"]), Deny);
}

#[test]
fn domains_and_servers() {
    let decide = |rule: &str, name: &str, access: &[Access]| {
        policy(PermissionMode::Default, &[], &[], &[rule]).evaluate(&tool(name), access).decision
    };
    assert_eq!(decide("WebFetch(domain:rust-lang.org)", "WebFetch", &[host("doc.rust-lang.org")]), Allow);
    assert_eq!(decide("WebFetch(domain:rust-lang.org)", "WebFetch", &[host("rust-lang.org.evil.net")]), Ask);
    assert_eq!(decide("WebFetch(domain:*)", "WebFetch", &[host("x.y")]), Allow);
    assert_eq!(decide("mcp__git", "mcp__git__log", &[]), Allow);
    assert_eq!(decide("mcp__git__log", "mcp__git__push", &[]), Ask);
}

#[test]
fn a_pattern_that_cannot_be_compared_covers_nothing_and_asks_when_it_denies() {
    let decide = |deny: &[&str], allow: &[&str], mode| {
        policy(mode, deny, &[], allow).evaluate(&tool("Agent"), &[]).decision
    };
    assert_eq!(decide(&[], &["Agent(explore)"], PermissionMode::Default), Ask);
    assert_eq!(decide(&[], &["Agent"], PermissionMode::Default), Allow);
    assert_eq!(decide(&["Agent(explore)"], &["Agent"], PermissionMode::BypassPermissions), Ask);
    assert_eq!(decide(&["Agent(explore)", "Agent"], &[], PermissionMode::BypassPermissions), Deny);
}

#[test]
fn agents_and_skills_are_named() {
    let decide = |deny: &[&str], allow: &[&str], tool_name: &str, called: &str| {
        policy(PermissionMode::Default, deny, &[], allow).evaluate(&tool(tool_name), &[name(called)])
    };
    for (rule, tool_name, called, expected) in [
        ("Agent(explore)", "Agent", "explore", Allow),
        ("Agent(explore)", "Agent", "explorer", Ask),
        ("Task(explore)", "Agent", "explore", Allow),
        ("Task", "Agent", "explore", Allow),
        ("Agent(explore)", "Task", "explore", Allow),
        ("Agent(explore)", "Skill", "explore", Ask),
        ("Skill(deploy)", "Skill", "deploy", Allow),
        ("Skill(deploy)", "Skill", "deploy prod", Ask),
        ("Skill(tools:*)", "Skill", "tools:deploy", Allow),
        ("Skill(deploy *)", "Skill", "deploy prod", Allow),
        ("Skill(deploy *)", "Skill", "deploy-prod", Ask),
    ] {
        let verdict = decide(&[], &[rule], tool_name, called);
        assert_eq!(verdict.decision, expected, "{rule} {tool_name} {called}: {}", verdict.reason);
    }
    let verdict = decide(&["Skill(Deploy)"], &["Skill"], "Skill", "/deploy");
    let reason = "The deny rule `Skill(Deploy)` (user settings) matches `Skill(/deploy)`.";
    assert_eq!((verdict.decision, &*verdict.reason), (Deny, reason));
    assert_eq!(decide(&["Task(explore)"], &["Agent"], "Agent", "plan").decision, Allow);
}

#[test]
fn an_agent_that_only_looks_cannot_change_or_run_anything() {
    let allow = ["Bash", "Edit", "Write", "Read", "WebFetch", "mcp__git", "Agent"];
    let own = policy(PermissionMode::BypassPermissions, &[], &[], &allow);
    let rules = RuleSet::join([own.rules.clone(), RuleSet::read_only()]);
    let policy = PermissionPolicy { rules, ..own };
    let mcp_that_looks = ToolSpec::new("mcp__git__log", ToolClass::Inspect, "");
    for (spec, access, expected) in [
        (tool("Read"), vec![path("Read", "/work/app/x")], Allow),
        (tool("Grep"), vec![path("Grep", "/work/app")], Allow),
        (tool("WebFetch"), vec![host("docs.rs")], Allow),
        (tool("WebSearch"), vec![], Allow),
        (tool("Bash"), vec![command("ls")], Deny),
        (tool("Write"), vec![path("Write", "/work/app/x")], Deny),
        (tool("Edit"), vec![path("Edit", "/work/app/x")], Deny),
        (tool("mcp__git__push"), vec![], Deny),
        (mcp_that_looks, vec![], Deny),
        (tool("Agent"), vec![name("explore")], Deny),
        // What a tool declares counts more than what it calls itself.
        (tool("Read"), vec![command("ls")], Deny),
        (tool("Read"), vec![path("Write", "/work/app/x")], Deny),
    ] {
        let verdict = policy.evaluate(&spec, &access);
        assert_eq!(verdict.decision, expected, "{} {access:?}: {}", spec.name, verdict.reason);
    }
    assert_eq!(
        policy.evaluate(&tool("Agent"), &[name("explore")]).reason,
        "The deny rule `read-only` (read-only agent) is about everything but looking, so also about \
         `Agent(explore)`."
    );
}
