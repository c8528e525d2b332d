use std::path::Path;

use super::*;

#[test]
fn deny_rules_with_patterns_keep_paths_from_being_read() {
    let deny = [
        "Read(.env)",
        "Read(/secrets/**)",
        "Grep(~/keys)",
        "Glob(//srv/*.pem)",
        "Edit(/src/**)",
        "Bash(cat *)",
    ];
    let policy = policy(PermissionMode::BypassPermissions, &deny, &["Read(/ask)"], &["Read"]);
    for path in [
        "/work/app/.env",
        "/work/lib/x/.env",
        "/work/app/.env/below",
        "/work/app/secrets",
        "/work/app/secrets/a/b",
        "/home/ada/keys/id",
        "/srv/a.pem",
        "/work/app/src/../secrets/a",
    ] {
        assert!(policy.denies_reading(Path::new(path)), "{path}");
    }
    for path in [
        "/work/app/env",
        "/work/lib/secrets/a",
        "/work/app/secrets2",
        "/work/app/src/a",
        "/work/app/ask",
        "/",
    ] {
        assert!(!policy.denies_reading(Path::new(path)), "{path}");
    }
}

#[test]
fn a_tool_that_is_denied_as_a_whole_denies_no_path() {
    let denials = |rule: &str| policy(PermissionMode::Default, &[rule], &[], &[]).reading_denials();
    assert!(denials("Read").is_none() && denials("Read(*)").is_none());
    assert!(denials("Read(//)").unwrap().deny(Path::new("/any/file")));
}
