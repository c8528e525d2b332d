//! What confinement changes about a verdict, and what it does not.

use std::path::Path;

use super::*;
use crate::{Basis, CommandConfinement};

fn confined(mode: PermissionMode, deny: &[&str], ask: &[&str], excluded: &[&str]) -> PermissionPolicy {
    let excluded = excluded.iter().map(|rule| rule.parse().unwrap()).collect();
    let confinement = Some(CommandConfinement { unasked: true, excluded });
    PermissionPolicy { confinement, ..policy(mode, deny, ask, &[]) }
}

#[test]
fn a_confined_command_runs_where_only_the_mode_would_ask() {
    use PermissionMode::{AcceptEdits, Default, Plan};
    let (deny, ask, excluded) = (["Bash(rm *)"], ["Bash(git push *)"], ["Bash(docker *)"]);
    for (mode, text, decision, basis) in [
        (Default, "make", Decision::Allow, Basis::Confinement),
        (AcceptEdits, "make; ls > out", Decision::Allow, Basis::Confinement),
        (Default, "$x; eval y", Decision::Allow, Basis::Confinement),
        (Plan, "make", Decision::Deny, Basis::Mode),
        (Default, "make && rm x", Decision::Deny, Basis::Rule),
        (Default, "git push origin", Decision::Ask, Basis::Rule),
        (Default, "echo x > .git/config", Decision::Ask, Basis::Protection),
        // Outside, all is as ever.
        (Default, "docker ps", Decision::Ask, Basis::Mode),
        (Default, "docker ps; docker images", Decision::Ask, Basis::Mode),
        (Default, "docker ps; make", Decision::Allow, Basis::Confinement),
    ] {
        let verdict = confined(mode, &deny, &ask, &excluded).bash(text);
        assert_eq!((verdict.decision, verdict.basis), (decision, basis), "{text}: {}", verdict.reason);
    }
    let write = confined(Default, &[], &[], &[]).on_path("Write", "/work/app/a");
    assert_eq!(write.decision, Decision::Ask);
    let mut asking = confined(Default, &[], &[], &[]);
    asking.confinement.as_mut().unwrap().unasked = false;
    assert_eq!(asking.bash("make").decision, Decision::Ask);
}

#[test]
fn a_line_is_excluded_only_as_a_whole_and_where_rules_cover_commands() {
    let policy = confined(PermissionMode::Default, &[], &[], &["Bash(docker *)", "Bash(git status)"]);
    let here = Path::new("/work/app");
    for (text, excluded) in [
        ("docker ps", true),
        ("git status && docker ps", true),
        ("docker ps; curl x", false),
        ("docker ps > out", false),
        ("x=1 docker ps", false),
        ("$(docker ps)", false),
        ("docker $(curl x)", false),
        ("", false),
        ("docker 'ps", false),
    ] {
        assert_eq!(policy.is_excluded(text, here), excluded, "{text}");
    }
    assert!(!policy.is_excluded("docker ps", Path::new("/work/lib")));
    assert!(!super::policy(PermissionMode::Default, &[], &[], &["Bash"]).is_excluded("docker ps", here));
}
