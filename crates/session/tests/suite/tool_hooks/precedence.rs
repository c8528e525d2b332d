//! Who has the last word about a call: rules, protection, mode, approvals, hooks, a person.

use std::sync::atomic::Ordering;

use robota_core::{HookDecision, HookOutcome, PermissionMode};
use robota_session::{PermissionAnswer, Session};
use robota_testkit::ScriptedHooks;
use serde_json::json;

use super::{hooks_on, results, writer};
use crate::permission::{Shell, answering, shell};

/// What became of a call.
#[derive(Debug, PartialEq)]
enum End {
    /// It ran, and nobody was asked.
    Ran,
    /// A person was asked, who said yes.
    Asked,
    /// It did not run, and nobody was asked.
    Refused,
}
use End::{Asked, Ran, Refused};

/// Runs `make test` under the rules, with what the hooks say; a person would say yes.
async fn run(rules: (&str, &str), mode: PermissionMode, hooks: ScriptedHooks, person: bool) -> (End, Shell) {
    let mut shell = shell(&["make test"]);
    shell.scene.options.permissions.mode = mode;
    let list = match rules.0 {
        "deny" => Some(&mut shell.scene.options.permissions.rules.deny),
        "ask" => Some(&mut shell.scene.options.permissions.rules.ask),
        "allow" => Some(&mut shell.scene.options.permissions.rules.allow),
        _ => None,
    };
    if let Some(list) = list {
        list.push(rules.1.parse().unwrap());
    }
    hooks_on(&mut shell.scene, hooks);
    let asked = person.then(|| answering(&mut shell.scene.options, |_| PermissionAnswer::Allow));
    let session = Session::create(shell.scene.options()).await.unwrap();
    session.run("Test it.").await.unwrap();
    let asked = asked.is_some_and(|asked| asked.load(Ordering::SeqCst) > 0);
    let ran = !shell.ran.lock().unwrap().is_empty();
    let end = match (ran, asked) {
        (true, false) => Ran,
        (true, true) => Asked,
        (false, false) => Refused,
        (false, true) => panic!("a person said yes"),
    };
    (end, shell)
}

fn pre(decision: HookDecision) -> ScriptedHooks {
    ScriptedHooks::new().always("PreToolUse", HookOutcome::decided(decision, "as told"))
}

#[tokio::test]
async fn of_rules_mode_and_hooks_the_stricter_counts() {
    use HookDecision::{Allow, Ask, Defer, Deny};
    use PermissionMode::{BypassPermissions, Default, Plan};
    let open = ("", "");
    let (deny, ask, allow) = (("deny", "Bash"), ("ask", "Bash"), ("allow", "Bash(make test)"));
    let cases = [
        // A hook's consent settles what the mode leaves open, and nothing else.
        (open, Default, Allow, Ran, Ran),
        (open, Plan, Allow, Refused, Refused),
        (deny, BypassPermissions, Allow, Refused, Refused),
        (ask, BypassPermissions, Allow, Asked, Refused),
        (allow, Default, Allow, Ran, Ran),
        // A person is asked, whatever rules and mode would let through.
        (open, BypassPermissions, Ask, Asked, Refused),
        (allow, Default, Ask, Asked, Refused),
        (open, Default, Ask, Asked, Refused),
        (deny, Default, Ask, Refused, Refused),
        (allow, Default, Defer, Asked, Refused),
        (open, BypassPermissions, Defer, Asked, Refused),
        (deny, Default, Defer, Refused, Refused),
        // A no is a no.
        (allow, BypassPermissions, Deny, Refused, Refused),
        (ask, Default, Deny, Refused, Refused),
    ];
    for (rules, mode, decision, with_a_person, alone) in cases {
        let case = format!("{rules:?} {mode:?} {decision:?}");
        assert_eq!(run(rules, mode, pre(decision), true).await.0, with_a_person, "{case}");
        assert_eq!(run(rules, mode, pre(decision), false).await.0, alone, "{case}, nobody there");
    }
}

#[tokio::test]
async fn a_refusal_says_whose_it_is() {
    use HookDecision::{Ask, Defer, Deny};
    let reason = async |hooks: ScriptedHooks| {
        let (end, shell) = run(("", ""), PermissionMode::BypassPermissions, hooks, false).await;
        assert_eq!(end, Refused);
        let events = shell.scene.events();
        let denied =
            events.iter().find(|event| robota_testkit::event_name(&event.kind) == "permission_denied");
        (results(&shell.scene).remove(0), serde_json::to_value(&denied.unwrap().kind).unwrap())
    };
    let (told, denied) = reason(pre(Deny)).await;
    assert_eq!(told, "Blocked by hook: as told");
    assert_eq!((&denied["reason"], denied.get("allowRules")), (&json!("Blocked by hook: as told"), None));
    let blocked = ScriptedHooks::new().always("PreToolUse", HookOutcome::blocked("exit code 2"));
    assert_eq!(reason(blocked).await.0, "Blocked by hook: exit code 2");
    let told = reason(pre(Ask)).await.0;
    assert_eq!(told, "Permission denied: A PreToolUse hook wants a person to agree: as told");
    let told = reason(pre(Defer)).await.0;
    assert_eq!(told, "Permission denied: A PreToolUse hook deferred this call to a person: as told");
}

#[tokio::test]
async fn protected_files_are_for_a_person_whatever_hooks_say() {
    for event in ["PreToolUse", "PermissionRequest"] {
        let yes = HookOutcome::decided(HookDecision::Allow, "fine");
        let mut scene = writer(&[".git/config", ".git/config"]);
        hooks_on(&mut scene, ScriptedHooks::new().always(event, yes));
        let session = Session::create(scene.options()).await.unwrap();
        let denials = session.run("Change it.").await.unwrap().denials;
        assert_eq!(denials.len(), 2, "{event}");

        // Nor does an approval last.
        let asked = answering(&mut scene.options, |_| PermissionAnswer::AllowForSession);
        let (_, mut options) = scene.options_with(super::writes(&[".git/config", ".git/config"]));
        options.session_id = None;
        let session = Session::create(options).await.unwrap();
        assert!(session.run("Change it.").await.unwrap().denials.is_empty());
        assert_eq!(asked.load(Ordering::SeqCst), 2, "{event}");
    }
}

#[tokio::test]
async fn hooks_answer_in_the_place_of_a_person_what_the_mode_leaves_open() {
    use PermissionMode::Default;
    let answer = |outcome| ScriptedHooks::new().always("PermissionRequest", outcome);
    let yes = || HookOutcome::decided(HookDecision::Allow, "fine");
    assert_eq!(run(("", ""), Default, answer(yes()), true).await.0, Ran);
    assert_eq!(run(("", ""), Default, answer(yes()), false).await.0, Ran);
    assert_eq!(run(("ask", "Bash"), Default, answer(yes()), true).await.0, Asked);
    assert_eq!(run(("ask", "Bash"), Default, answer(yes()), false).await.0, Refused);
    let no = HookOutcome::decided(HookDecision::Deny, "not here");
    let (end, shell) = run(("", ""), Default, answer(no), true).await;
    assert_eq!((end, results(&shell.scene)[0].as_str()), (Refused, "Blocked by hook: not here"));
    // A question that another hook raised can be answered, a call that it deferred cannot.
    let both = |decision| pre(decision).always("PermissionRequest", yes());
    assert_eq!(run(("allow", "Bash"), Default, both(HookDecision::Ask), true).await.0, Ran);
    assert_eq!(run(("allow", "Bash"), Default, both(HookDecision::Defer), true).await.0, Asked);
}

#[tokio::test]
async fn an_approval_answers_a_hook_that_asks_and_none_that_defers() {
    let end = async |decision| {
        let mut shell = shell(&["make test", "make test"]);
        let hooks = ScriptedHooks::new()
            .answer("PreToolUse", HookOutcome::default())
            .always("PreToolUse", HookOutcome::decided(decision, "sure?"));
        hooks_on(&mut shell.scene, hooks);
        let asked = answering(&mut shell.scene.options, |_| PermissionAnswer::AllowForSession);
        let session = Session::create(shell.scene.options()).await.unwrap();
        session.run("Test it.").await.unwrap();
        assert_eq!(shell.ran.lock().unwrap().len(), 2);
        asked.load(Ordering::SeqCst)
    };
    assert_eq!(end(HookDecision::Ask).await, 1);
    assert_eq!(end(HookDecision::Defer).await, 2);
}
