//! What stands around the calls of one answer, and what it may do to them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use robota_core::{After, Authorization, Before, TurnEnd, TurnHost, erase};
use robota_testkit::{AllowAll, Gate, Reply, Script, ScriptedGate};
use serde_json::json;

use crate::bench::{Bench, Broken, Echo, echo};

fn one_call() -> Script {
    let reply = Reply::new().tool_call("c0", "Act", json!({"word": "model"}));
    Script::new().reply(reply).reply(Reply::new().text("done"))
}

fn bench(gate: ScriptedGate) -> (Bench, Arc<ScriptedGate>) {
    let gate = Arc::new(gate);
    let mut bench = Bench::new(one_call()).tools([echo("Act")]);
    bench.gate = gate.clone();
    (bench, gate)
}

fn allowing() -> ScriptedGate {
    ScriptedGate::new(|_| Authorization::Allowed)
}

fn with_arguments(arguments: &str) -> Before {
    let mut said = Before::default();
    said.arguments = Some(arguments.to_owned());
    said
}

fn saying(context: &str) -> After {
    let mut said = After::default();
    said.context = vec![context.to_owned()];
    said
}

#[tokio::test]
async fn other_arguments_are_decided_logged_and_run_and_the_answer_keeps_its_own() {
    let (bench, gate) = bench(allowing().before(|_| with_arguments(r#"{"word":"hook"}"#)));
    bench.run("go").await.outcome.unwrap();
    assert_eq!(bench.transcript()[2], "tool: hook");
    assert_eq!(gate.asked()[0].arguments, r#"{"word":"hook"}"#);
    let request = &bench.recorder.json("tool_execution_request")[0];
    assert_eq!(request["parameters"], json!({"word": "hook"}));
    let history = bench.history.lock().unwrap();
    assert_eq!(history.messages()[1].tool_calls()[0].arguments, r#"{"word":"model"}"#);
}

#[tokio::test]
async fn other_arguments_that_do_not_fit_are_answered_and_not_run() {
    let (bench, gate) = bench(allowing().before(|_| with_arguments(r#"{"word":7}"#)));
    bench.run("go").await.outcome.unwrap();
    let told = bench.transcript()[2].clone();
    let expected =
        "tool!: Not run: a hook changed the arguments, and then the arguments of Act cannot be used:";
    assert!(told.starts_with(expected), "{told}");
    assert!(gate.asked().is_empty() && gate.ended().is_empty());
    assert_eq!(bench.recorder.json("tool_execution_result")[0]["errorCode"], json!("invalid_arguments"));
}

#[tokio::test]
async fn a_call_can_be_sent_back_with_other_arguments_once() {
    let once = ScriptedGate::new(|request| match request.said.arguments {
        None => Authorization::Revised(Box::new(with_arguments(r#"{"word":"safer"}"#))),
        Some(_) => Authorization::Allowed,
    });
    let (once, _) = bench(once);
    once.run("go").await.outcome.unwrap();
    assert_eq!(once.transcript()[2], "tool: safer");

    let always = |_: &robota_core::GateRequest<'_>| {
        Authorization::Revised(Box::new(with_arguments(r#"{"word":"again"}"#)))
    };
    let (always, gate) = bench(ScriptedGate::new(always));
    always.run("go").await.outcome.unwrap();
    let told = "tool!: Permission denied: its arguments were changed more than once.";
    assert_eq!((always.transcript()[2].as_str(), gate.asked().len()), (told, 2));
}

#[tokio::test]
async fn a_refusal_before_the_decision_is_a_denial_with_its_reason() {
    let refuse = |_: &robota_core::GateRequest<'_>| {
        let mut said = Before::default();
        (said.refusal, said.context) = (Some("not on Fridays".into()), vec!["Try on Monday.".into()]);
        said
    };
    let (bench, gate) = bench(allowing().before(refuse));
    bench.run("go").await.outcome.unwrap();
    let told =
        "tool!: Blocked by hook: not on Fridays\n\n<system-reminder>\nTry on Monday.\n</system-reminder>";
    assert_eq!(bench.transcript()[2], told);
    let denied = &bench.recorder.json("permission_denied")[0];
    assert_eq!(
        (&denied["reason"], denied.get("allowRules")),
        (&json!("Blocked by hook: not on Fridays"), None)
    );
    assert_eq!(bench.recorder.json("tool_execution_result")[0]["errorCode"], json!("hook_blocked"));
    assert!(gate.asked().is_empty() && gate.ended().is_empty());
}

#[tokio::test]
async fn what_is_said_of_a_result_stands_behind_it_whole_and_cannot_close_its_block() {
    let word = "x".repeat(500);
    let call = Reply::new().tool_call("c0", "Act", json!({"word": word}));
    let gate = Arc::new(
        allowing()
            .before(|_| {
                let mut said = Before::default();
                said.context = vec!["before".into()];
                said
            })
            .after(|_| saying("behind </system-reminder> it")),
    );
    let mut bench = Bench::new(Script::new().reply(call).reply("done")).tools([echo("Act")]);
    bench.gate = gate.clone();
    bench.config.output_budget = 20;
    bench.run("go").await.outcome.unwrap();
    let told = bench.transcript()[2].clone();
    let behind = "xxxxx\n\n<system-reminder>\nbefore\n\nbehind <\\/system-reminder> it\n</system-reminder>";
    assert!(told.contains("480 characters cut") && told.ends_with(behind), "{told}");
    assert!(gate.ended()[0].1.contains("480 characters cut"), "hooks see what the model sees");
}

#[tokio::test]
async fn calls_that_ran_are_told_of_and_no_others() {
    let reply = Reply::new()
        .tool_call("c0", "Act", json!({"word": "fine"}))
        .tool_call("c1", "Nope", json!({}))
        .tool_call("c2", "Act", "{")
        .tool_call("c3", "Broken", json!({"word": "panic"}))
        .tool_call("c4", "Broken", json!({"word": "fatal"}))
        .tool_call("c5", "Act", json!({"word": "late"}));
    let gate = Arc::new(allowing());
    let mut bench = Bench::new(Script::new().reply(reply)).tools([echo("Act"), erase(Broken)]);
    bench.gate = gate.clone();
    bench.run("go").await.outcome.unwrap_err();
    let ended: Vec<String> = gate.ended().into_iter().map(|(call, _)| call.id).collect();
    assert_eq!(ended, ["c0", "c3", "c4"]);
}

#[tokio::test]
async fn a_gate_that_crashes_lets_nothing_through() {
    let (before, _) = bench(allowing().before(|_| panic!("as asked")));
    let (decision, _) = bench(ScriptedGate::new(|_| panic!("as asked")));
    for bench in [before, decision] {
        bench.run("go").await.outcome.unwrap();
        let told = bench.transcript()[2].clone();
        assert!(told.starts_with("tool!: ") && told.contains("the check before it crashed"), "{told}");
    }
    let (after, _) = bench(allowing().after(|_| panic!("as asked")));
    after.run("go").await.outcome.unwrap();
    assert_eq!(after.transcript()[2], "tool: model");
}

/// Stops the turn from the moment it is told to.
#[derive(Default)]
struct Stopping(Arc<AtomicBool>);

impl TurnHost for Stopping {
    fn stopped(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}

#[tokio::test]
async fn a_stop_lets_running_calls_end_and_no_other_begin() {
    let reply = Reply::new()
        .tool_call("c0", "Look", json!({"word": "a"}))
        .tool_call("c1", "Look", json!({"word": "b"}))
        .tool_call("c2", "Act", json!({"word": "c"}));
    let host = Stopping::default();
    let stop = host.0.clone();
    let gate = allowing().after(move |ended| {
        stop.fetch_or(ended.call.id == "c0", Ordering::SeqCst);
        After::default()
    });
    let held = Gate::new("both");
    let look = erase(Echo::new("Look").parallel().hold_at(held.clone()));
    let mut bench = Bench::new(Script::new().reply(reply)).tools([look, echo("Act")]);
    (bench.gate, bench.host) = (Arc::new(gate), Arc::new(host));
    let open = async {
        held.reached().await;
        held.open();
    };
    let (report, ()) = tokio::join!(bench.run("go"), open);
    assert_eq!(report.outcome.unwrap(), TurnEnd::Stopped);
    assert_eq!(bench.transcript()[2..], ["tool: a", "tool: b", "tool!: Not run: a hook ended the turn."]);
    assert_eq!(bench.provider.requests().len(), 1);
}

#[tokio::test]
async fn a_turn_that_is_stopped_before_it_begins_calls_no_model() {
    let mut bench = Bench::new(Script::new());
    let host = Stopping::default();
    host.0.store(true, Ordering::SeqCst);
    (bench.gate, bench.host) = (Arc::new(AllowAll), Arc::new(host));
    assert_eq!(bench.run("go").await.outcome.unwrap(), TurnEnd::Stopped);
    assert!(bench.provider.requests().is_empty());
}
