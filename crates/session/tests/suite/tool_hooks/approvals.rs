//! What a person approves, how far it reaches, and who is told that a person is asked.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use robota_core::{Error, ErrorKind, EventKind, HookCall, PermissionResolution};
use robota_session::{
    ExternalApproval, PermissionAnswer, PermissionRequest, ReviewDecision, RuleKeeper, Session,
};
use robota_testkit::{Gate, ScriptedHooks};

use super::hooks_on;
use crate::permission::{Shell, answering, shell};
use crate::scene::wait_for;

/// Keeps rules, or fails to.
#[derive(Default)]
struct Keeper {
    kept: Mutex<Vec<String>>,
    fails: bool,
}

impl RuleKeeper for Keeper {
    fn keep<'a>(&'a self, rules: &'a [String]) -> BoxFuture<'a, Result<String, Error>> {
        Box::pin(async move {
            if self.fails {
                return Err(Error::new(ErrorKind::Storage, "the disk is full"));
            }
            self.kept.lock().unwrap().extend_from_slice(rules);
            Ok("settings.local.json".to_owned())
        })
    }
}

/// How questions were settled, and what a person was told of it.
fn resolutions(shell: &Shell) -> Vec<(PermissionResolution, Option<String>)> {
    let resolved = shell.scene.events().into_iter().filter_map(|event| match event.kind {
        EventKind::PermissionResolved { resolution, note, .. } => Some((resolution, note)),
        _ => None,
    });
    resolved.collect()
}

#[tokio::test]
async fn what_is_allowed_for_good_is_kept_and_counts_at_once() {
    let mut shell = shell(&["make test", "make test"]);
    let keeper = Arc::new(Keeper::default());
    shell.scene.options.rule_keeper = Some(keeper.clone());
    let asked = answering(&mut shell.scene.options, |request: &PermissionRequest| {
        assert!(request.can_keep);
        PermissionAnswer::AllowForProject
    });
    let session = Session::create(shell.scene.options()).await.unwrap();
    session.run("Test it.").await.unwrap();
    assert_eq!((asked.load(Ordering::SeqCst), shell.ran.lock().unwrap().len()), (1, 2));
    assert_eq!(*keeper.kept.lock().unwrap(), ["Bash(make test)"]);
    assert_eq!(session.session_allowed(), ["Bash(make test)"]);
    let note = "`Bash(make test)` stands in settings.local.json now".to_owned();
    assert_eq!(resolutions(&shell), [(PermissionResolution::AllowedForProject, Some(note))]);
}

#[tokio::test]
async fn what_cannot_be_kept_lasts_as_long_as_the_session_and_says_so() {
    for (keeper, why) in [
        (
            Some(Arc::new(Keeper { fails: true, ..Keeper::default() }) as Arc<dyn RuleKeeper>),
            "the disk is full",
        ),
        (None, "nobody keeps rules for this project"),
    ] {
        let mut shell = shell(&["make test"]);
        let can_keep = keeper.is_some();
        shell.scene.options.rule_keeper = keeper;
        answering(&mut shell.scene.options, move |request: &PermissionRequest| {
            assert_eq!(request.can_keep, can_keep);
            PermissionAnswer::AllowForProject
        });
        let session = Session::create(shell.scene.options()).await.unwrap();
        session.run("Test it.").await.unwrap();
        assert_eq!((shell.ran.lock().unwrap().len(), session.session_allowed().len()), (1, 1));
        let note = format!("`Bash(make test)` could not be kept and lasts until the session ends: {why}");
        assert_eq!(resolutions(&shell), [(PermissionResolution::AllowedForSession, Some(note))]);
    }
}

#[tokio::test]
async fn where_no_rule_is_narrow_enough_an_answer_is_for_this_once() {
    let mut shell = shell(&["make test > out; cat <(ls)", "make test > out; cat <(ls)"]);
    shell.scene.options.permissions.rules.ask = vec!["Bash".parse().unwrap()];
    let asked = answering(&mut shell.scene.options, |_| PermissionAnswer::AllowForSession);
    let session = Session::create(shell.scene.options()).await.unwrap();
    session.run("Test it.").await.unwrap();
    assert!(session.session_allowed().is_empty());
    assert_eq!(asked.load(Ordering::SeqCst), 2);
    assert_eq!(
        resolutions(&shell),
        [(PermissionResolution::Allowed, None), (PermissionResolution::Allowed, None)]
    );
}

#[tokio::test]
async fn a_program_may_allow_for_good_too() {
    let mut shell = shell(&["make test"]);
    shell.scene.options.permission_handler = Some(Arc::new(ExternalApproval));
    shell.scene.options.rule_keeper = Some(Arc::new(Keeper::default()));
    let session = Session::create(shell.scene.options()).await.unwrap();
    let mut events = session.subscribe();
    let answer = async {
        wait_for(&mut events, "permission_request").await;
        assert!(session.notify_approval("c0", ReviewDecision::ApprovedForProject));
    };
    let (outcome, ()) = tokio::join!(session.run("Test it."), answer);
    outcome.unwrap();
    assert_eq!(resolutions(&shell)[0].0, PermissionResolution::AllowedForProject);
}

#[tokio::test]
async fn who_watches_is_told_that_a_person_is_asked_and_is_not_waited_for() {
    let mut shell = shell(&["make test"]);
    let door = Gate::new("never");
    let hooks = hooks_on(&mut shell.scene, ScriptedHooks::new().hold_at("Notification", door.clone()));
    let told = door.clone();
    shell.scene.options.permission_handler = Some(Arc::new(move |_: PermissionRequest| {
        let told = told.clone();
        Box::pin(async move {
            told.reached().await;
            PermissionAnswer::Allow
        }) as BoxFuture<'static, PermissionAnswer>
    }));
    let session = Session::create(shell.scene.options()).await.unwrap();
    session.run("Test it.").await.unwrap();
    assert_eq!(shell.ran.lock().unwrap().len(), 1);
    let notification = HookCall::Notification {
        message: "robota needs your permission to use Bash".into(),
        notification_type: "permission_prompt".into(),
    };
    assert!(hooks.calls().contains(&notification));
}
