use super::*;

/// Whether `rule` lets `name` go to `path` where nothing else would.
fn covers(rule: &str, name: &str, text: &str) -> bool {
    let policy = policy(PermissionMode::Plan, &[], &[], &[rule]);
    let verdict = policy.on_path(name, text);
    verdict.decision == Decision::Allow && verdict.rule.as_deref() == Some(rule)
}

fn blocks(rule: &str, name: &str, text: &str) -> bool {
    policy(PermissionMode::BypassPermissions, &[rule], &[], &[]).on_path(name, text).decision
        == Decision::Deny
}

#[test]
fn patterns_are_relative_to_what_their_beginning_says() {
    for (pattern, path, expected) in [
        ("/src/**", "/work/app/src/a/b.rs", true),
        ("/src/**", "/work/app/src", true),
        ("/src/**", "/work/app/src2/a.rs", false),
        ("/src/**", "/src/a.rs", false),
        ("/src/**", "/work/lib/src/a.rs", false),
        ("src/**", "/work/app/src/a.rs", true),
        ("./src/**", "/work/app/src/a.rs", true),
        ("../lib/**", "/work/lib/a.rs", true),
        ("../lib", "/work/library", false),
        ("//etc/**", "/etc/passwd", true),
        ("//etc/**", "/work/app/etc/passwd", false),
        ("//", "/etc/passwd", true),
        ("~/notes/*", "/home/ada/notes/a", true),
        ("~/notes/*", "/home/bob/notes/a", false),
        ("~", "/home/ada/x", true),
        ("**", "/work/app/a/b", true),
        ("**", "/work/lib/a", false),
        ("/", "/work/app/a/b", true),
        (".", "/work/app/a/b", true),
    ] {
        assert_eq!(covers(&format!("Read({pattern})"), "Read", path), expected, "{pattern} {path}");
    }
}

#[test]
fn wildcards_know_names_from_folders() {
    for (pattern, path, expected) in [
        ("/src/*.rs", "/work/app/src/a.rs", true),
        ("/src/*.rs", "/work/app/src/a/b.rs", false),
        ("/src/*.rs", "/work/app/src/a.rs/b", false),
        ("/src/*", "/work/app/src/.hidden", true),
        ("/src/?.rs", "/work/app/src/ä.rs", true),
        ("/src/?.rs", "/work/app/src/.rs", false),
        ("/**/test/*.rs", "/work/app/test/a.rs", true),
        ("/**/test/*.rs", "/work/app/x/y/test/a.rs", true),
        ("/**/test/*.rs", "/work/app/x/mytest/a.rs", false),
        ("/a/**/b", "/work/app/a/b", true),
        ("/a/**/b", "/work/app/a/x/y/b/below", true),
        ("/src**.rs", "/work/app/src/x/y.rs", true),
        ("/[a-c]/x", "/work/app/b/x", true),
        ("/[!a-c]/x", "/work/app/b/x", false),
        ("/{src,test}/*.{rs,toml}", "/work/app/test/a.toml", true),
        ("/{src,test}/*.{rs,toml}", "/work/app/test/a.md", false),
        ("/a\\*b", "/work/app/a*b", true),
        ("/a\\*b", "/work/app/axb", false),
        ("*.md", "/work/app/x/y.md", true),
        ("*.md", "/work/lib/y.md", true),
        ("*.md", "/etc/y.md", false),
        ("README.md", "/work/app/docs/README.md", true),
        ("src", "/work/app/src/a/b", true),
        ("src/", "/work/app/x/src/a", true),
        ("/src/", "/work/app/src/a", true),
        ("/Src", "/work/app/src", false),
    ] {
        assert_eq!(covers(&format!("Read({pattern})"), "Read", path), expected, "{pattern} {path}");
    }
}

#[test]
fn a_path_that_is_not_settled_is_not_covered() {
    for resolved in ["/work/app/src/../../../etc/passwd", "src/a.rs", "/work/app/src/.."] {
        assert!(!covers("Read(/src/**)", "Read", resolved), "{resolved}");
        let policy = policy(PermissionMode::Default, &[], &[], &[]);
        assert_eq!(policy.on_path("Read", resolved).decision, Decision::Ask, "{resolved}");
        assert_eq!(policy.on_path("Read", resolved).allow_rules, Vec::<String>::new());
    }
    assert!(blocks("Read(//etc/**)", "Read", "/work/app/../../etc/passwd"));
}

#[test]
fn a_link_counts_by_where_it_leads_and_is_denied_by_its_name_too() {
    let access = [linked_path("Read", "secrets/key", "/etc/key")];
    let allow = policy(PermissionMode::Default, &[], &[], &["Read(/secrets/**)"]);
    assert_eq!(allow.evaluate(&tool("Read"), &access).decision, Decision::Ask);
    for rule in ["Read(/secrets/**)", "Read(//etc/key)"] {
        let deny = policy(PermissionMode::BypassPermissions, &[rule], &[], &[]);
        assert_eq!(deny.evaluate(&tool("Read"), &access).decision, Decision::Deny, "{rule}");
    }
    let home = [linked_path("Write", "~/.bashrc", "/home/ada/dotfiles/shell")];
    let bypass = policy(PermissionMode::BypassPermissions, &[], &[], &["Write"]);
    assert_eq!(bypass.evaluate(&tool("Write"), &home).decision, Decision::Ask);
}

#[test]
fn requested_paths_start_at_the_working_directory() {
    let below = |rule: &str| {
        let policy = policy(PermissionMode::BypassPermissions, &[rule], &[], &[]);
        PermissionPolicy { cwd: PathBuf::from("/work/app/sub"), ..policy }
    };
    let decide = |rule: &str, requested: &str, resolved: &str| {
        below(rule).evaluate(&tool("Read"), &[linked_path("Read", requested, resolved)]).decision
    };
    assert_eq!(decide("Read(/secrets/**)", "secrets/x", "/work/app/sub/secrets/x"), Decision::Allow);
    assert_eq!(decide("Read(/secrets/**)", "../secrets/x", "/work/app/secrets/x"), Decision::Deny);
    assert_eq!(decide("Read(/sub/link.txt)", "link.txt", "/work/app/other.txt"), Decision::Deny);
}

#[test]
fn rules_reach_the_tools_they_are_about() {
    for (rule, name, expected) in [
        ("Edit(/src/**)", "Edit", true),
        ("Edit(/src/**)", "Write", true),
        ("Edit", "Write", true),
        ("Write(/src/**)", "Write", true),
        ("Write(/src/**)", "Edit", false),
        ("Write", "Edit", false),
        ("Read(/src/**)", "Grep", true),
        ("Read(/src/**)", "Glob", true),
        ("Read(/src/**)", "Edit", false),
        ("Grep(/src/**)", "Read", false),
        ("Glob(/src/**)", "Glob", true),
        ("Read(*)", "Read", true),
        ("Read", "Grep", false),
    ] {
        assert_eq!(covers(rule, name, "/work/app/src/a"), expected, "{rule} {name}");
    }
    for (rule, name, expected) in [
        ("Read(/src/**)", "Read", true),
        ("Read(/src/**)", "Edit", true),
        ("Read(/src/**)", "Write", true),
        ("Read(/src/**)", "Grep", true),
        ("Read(/src/**)", "mcp__files__open", true),
        ("Edit(/src/**)", "Read", false),
        ("Edit(/src/**)", "Write", true),
        ("Grep(/src/**)", "Glob", false),
        ("Read", "Edit", false),
        ("Edit", "Write", true),
    ] {
        assert_eq!(blocks(rule, name, "/work/app/src/a"), expected, "{rule} {name}");
    }
}

#[test]
fn deny_rules_for_names_hold_everywhere() {
    for (pattern, path, expected) in [
        (".env", "/etc/x/.env", true),
        ("*.pem", "/home/ada/k.pem", true),
        ("**/.env", "/work/lib/.env", true),
        ("**/secrets/**", "/srv/secrets/x/y", true),
        ("/**/.env", "/work/lib/.env", false),
        ("/priv*", "/work/app/private/x", true),
        ("/secrets", "/work/app/secrets2", false),
    ] {
        assert_eq!(blocks(&format!("Read({pattern})"), "Read", path), expected, "{pattern} {path}");
    }
}

#[test]
fn protected_files_are_asked_for_whatever_is_allowed() {
    for mode in PermissionMode::ALL {
        let policy = policy(mode, &[], &[], &["Edit", "Edit(/.git/**)", "Read"]);
        for path in [
            "/work/app/.git/config",
            "/work/app/.claude/settings.local.json",
            "/home/ada/.zshrc",
            "/work/app/sub/.robota/logs/x",
            "/work/lib/.envrc",
        ] {
            let verdict = policy.on_path("Edit", path);
            assert_eq!((verdict.decision, verdict.allow_rules), (Decision::Ask, Vec::new()), "{mode} {path}");
            assert_eq!(policy.on_path("Read", path).decision, Decision::Allow, "{mode} {path}");
        }
    }
    let plan = policy(PermissionMode::Plan, &[], &[], &[]).on_path("Edit", "/work/app/.git/config");
    assert_eq!((plan.decision, plan.allow_rules), (Decision::Deny, Vec::new()));
}
