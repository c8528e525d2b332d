use Decision::{Allow, Ask, Deny};

use super::*;

#[test]
fn the_mode_decides_what_no_rule_does() {
    let inside = |name| vec![path(name, "/work/lib/x")];
    let outside = |name| vec![path(name, "/etc/x")];
    let rows: [(&str, Vec<Access>, [Decision; 4]); 12] = [
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
