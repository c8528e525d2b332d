//! What happens to the calls of one answer.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use robota_core::{Authorization, ErrorKind, EventKind, FinishReason, TurnEnd, erase};
use robota_testkit::{Gate, Reply, Script, ScriptedGate};
use serde_json::json;

use crate::bench::{Bench, Broken, Echo, Gone, echo};

fn calls(names: &[&str]) -> Reply {
    names.iter().enumerate().fold(Reply::new(), |reply, (at, name)| {
        reply.tool_call(format!("c{at}"), *name, json!({"word": format!("{name}{at}")}))
    })
}

fn script(reply: Reply) -> Script {
    Script::new().reply(reply).reply(Reply::new().text("done"))
}

#[tokio::test]
async fn safe_calls_overlap_up_to_five_and_answer_in_call_order() {
    let gate = Gate::new("all");
    let tool = Echo::new("Look").parallel().hold_at(gate.clone());
    let most = tool.most.clone();
    let bench = Bench::new(script(calls(&["Look"; 7]))).tools([erase(tool)]);
    let open = async {
        let requests = std::cell::Cell::new(0);
        let fifth = |kind: &EventKind| {
            requests
                .set(requests.get() + usize::from(matches!(kind, EventKind::ToolExecutionRequest { .. })));
            requests.get() == 5
        };
        bench.recorder.wait_for(fifth).await;
        gate.open();
    };
    let (report, ()) = tokio::join!(bench.run("go"), open);
    report.outcome.unwrap();
    assert_eq!(most.load(Ordering::SeqCst), 5);
    let results: Vec<String> = (0..7).map(|at| format!("tool: Look{at}")).collect();
    assert_eq!(bench.transcript()[2..9], results);
}

#[tokio::test]
async fn a_call_that_is_not_safe_runs_alone_and_in_its_place() {
    let (look, act) = (Echo::new("Look").parallel(), Echo::new("Act"));
    let most_acting = act.most.clone();
    let bench =
        Bench::new(script(calls(&["Look", "Look", "Act", "Act", "Look"]))).tools([erase(look), erase(act)]);
    bench.run("go").await.outcome.unwrap();
    assert_eq!(most_acting.load(Ordering::SeqCst), 1);
    let ended = bench.recorder.json("tool_execution_result");
    let order: Vec<_> = ended.iter().map(|event| event["toolCallId"].as_str().unwrap()).collect();
    assert_eq!(order, ["c0", "c1", "c2", "c3", "c4"]);
}

#[tokio::test]
async fn unknown_tools_and_malformed_arguments_are_answered() {
    let reply = Reply::new()
        .tool_call("c1", "Nope", json!({}))
        .tool_call("c2", "Echo", "{\"word\": \"un")
        .tool_call("c3", "Echo", "");
    let bench = Bench::new(script(reply)).tools([echo("Echo")]);
    bench.run("go").await.outcome.unwrap();
    let transcript = bench.transcript();
    assert_eq!(transcript[2], "tool!: There is no tool `Nope`. Available tools: Echo.");
    assert_eq!(
        transcript[3],
        "tool!: the arguments of Echo cannot be used: they are no JSON object: the text ends within a string at \
         line 1 column 12, right after `{\"word\": \"un`"
    );
    assert_eq!(transcript[4], "tool: (no output)");
    let codes: Vec<_> =
        bench.recorder.json("tool_execution_result").iter().map(|event| event["errorCode"].clone()).collect();
    assert_eq!(codes, [json!("unknown_tool"), json!("invalid_arguments"), json!(null)]);
}

#[tokio::test]
async fn arguments_with_slips_are_mended_for_all_who_judge_them_and_stay_in_the_history_as_written() {
    let written = "{\"word\": \"a\nb\",}";
    let mut bench = Bench::new(script(Reply::new().tool_call("c1", "Echo", written))).tools([echo("Echo")]);
    let gate = Arc::new(ScriptedGate::in_order([Authorization::Allowed]));
    bench.gate = gate.clone();
    bench.run("go").await.outcome.unwrap();
    assert_eq!(bench.transcript()[2], "tool: a\nb");
    assert_eq!(gate.asked()[0].arguments, r#"{"word": "a\nb"}"#);
    let parameters = &bench.recorder.json("tool_execution_request")[0]["parameters"];
    assert_eq!(*parameters, json!({"word": "a\nb"}));
    let history = bench.history.lock().unwrap();
    assert_eq!(history.messages()[1].tool_calls()[0].arguments, written);
}

#[tokio::test]
async fn a_call_in_the_middle_of_which_the_answer_was_cut_does_not_run() {
    for written in ["", "{\"word\": \"un"] {
        let reply = Reply::new()
            .tool_call("c1", "Echo", json!({"word": "a"}))
            .tool_call("c2", "Echo", written)
            .stop(FinishReason::MaxTokens);
        let bench = Bench::new(script(reply)).tools([echo("Echo")]);
        bench.run("go").await.outcome.unwrap();
        let transcript = bench.transcript();
        assert_eq!(transcript[2], "tool: a");
        let told =
            "tool!: Not run: the answer was cut at the output limit while the arguments of Echo were written";
        assert!(transcript[3].starts_with(told), "{}", transcript[3]);
        assert_eq!(bench.recorder.json("tool_execution_result")[1]["errorCode"], json!("arguments_cut"));
    }
    let whole = Reply::new().tool_call("c1", "Echo", json!({"word": "a"})).stop(FinishReason::MaxTokens);
    let bench = Bench::new(script(whole)).tools([echo("Echo")]);
    bench.run("go").await.outcome.unwrap();
    assert_eq!(bench.transcript()[2], "tool: a");
}

#[tokio::test]
async fn a_denied_call_does_not_run_and_the_model_learns_why() {
    let denied = Authorization::Denied { reason: "Not today.".into(), allow_rules: vec!["Act".into()] };
    let mut bench = Bench::new(script(calls(&["Act", "Act"]))).tools([echo("Act")]);
    bench.gate = Arc::new(ScriptedGate::in_order([denied, Authorization::Allowed]));
    bench.run("go").await.outcome.unwrap();
    assert_eq!(
        bench.transcript()[2..4],
        ["tool!: Permission denied: Not today. The user could allow it with the rule `Act`.", "tool: Act1"]
    );
    assert_eq!(bench.recorder.count("tool_execution_request"), 2, "a denied call has a start, too");
    assert_eq!(bench.recorder.json("permission_denied")[0]["allowRules"], json!(["Act"]));
}

#[tokio::test]
async fn ids_that_a_provider_uses_twice_are_told_apart() {
    let reply = || Reply::new().tool_call("call_0", "Echo", json!({"word": "x"}));
    let script = Script::new().reply(reply()).reply(reply()).reply(Reply::new().text("done"));
    let bench = Bench::new(script).tools([echo("Echo")]);
    bench.run("go").await.outcome.unwrap();
    let history = bench.history.lock().unwrap();
    let ids: Vec<&str> = history.messages().iter().filter_map(|message| message.answers()).collect();
    assert_eq!(ids.len(), 2);
    assert_ne!(ids[0], ids[1]);
}

#[tokio::test]
async fn a_crash_of_a_tool_is_its_own_and_a_broken_world_ends_the_turn() {
    let reply = Reply::new()
        .tool_call("c1", "Broken", json!({"word": "panic"}))
        .tool_call("c2", "Broken", json!({"word": "fatal"}))
        .tool_call("c3", "Echo", json!({"word": "after"}));
    let bench = Bench::new(Script::new().reply(reply)).tools([erase(Broken), echo("Echo")]);
    let error = bench.run("go").await.outcome.unwrap_err();
    assert_eq!((error.kind(), error.to_string().as_str()), (ErrorKind::Tool, "the disk is gone"));
    let transcript = bench.transcript();
    assert!(transcript[2].contains("Broken crashed"), "{}", transcript[2]);
    assert_eq!(transcript[3], "tool!: Broken failed: the disk is gone");
    assert_eq!(transcript[4], "tool!: Not run: an earlier call failed in a way that ended the turn.");
    assert_eq!(transcript.len(), 5, "every call is answered");
    assert_eq!(bench.recorder.count("tool_execution_request"), 2, "the last call never begins");
    let ended = bench.recorder.json("tool_execution_result");
    let codes: Vec<_> = ended.iter().map(|event| event["errorCode"].as_str().unwrap()).collect();
    assert_eq!(codes, ["tool_crashed", "tool_failed"]);
}

#[tokio::test]
async fn a_broken_world_lets_running_calls_end_and_begins_no_other() {
    let reply = calls(&["Look", "Look", "Look", "Look", "Gone", "Look", "Look"]);
    let gate = Gate::new("all");
    let look = Echo::new("Look").parallel().hold_at(gate.clone());
    let bench = Bench::new(Script::new().reply(reply)).tools([erase(look), erase(Gone)]);
    let open = async {
        bench
            .recorder
            .wait_for(|kind| {
                matches!(kind, EventKind::ToolExecutionResult { tool_name, .. } if tool_name == "Gone")
            })
            .await;
        gate.open();
    };
    let (report, ()) = tokio::join!(bench.run("go"), open);
    assert_eq!(report.outcome.unwrap_err().kind(), ErrorKind::Tool);
    let results: Vec<bool> =
        bench.transcript()[2..].iter().map(|line| line.starts_with("tool: Look")).collect();
    assert_eq!(results, [true, true, true, true, false, false, false]);
    assert_eq!(bench.recorder.count("tool_execution_request"), 5);
    assert_eq!(bench.recorder.count("tool_execution_result"), 5);
}

#[tokio::test]
async fn an_abort_stops_the_running_call_and_answers_the_rest() {
    let gate = Gate::new("never");
    let bench = Bench::new(Script::new().reply(calls(&["Act", "Act"])))
        .tools([erase(Echo::new("Act").hold_at(gate.clone()))]);
    let abort = async {
        gate.reached().await;
        bench.cancel.cancel();
    };
    let (report, ()) = tokio::join!(bench.run("go"), abort);
    assert_eq!(report.outcome.unwrap(), TurnEnd::Interrupted);
    let rest = ["tool!: stopped by the interrupt", "tool!: Not run: the user interrupted the turn."];
    assert_eq!(bench.transcript()[2..], rest);
}

#[tokio::test]
async fn nothing_is_shown_or_run_that_the_log_could_not_record() {
    let bench = Bench::new(Script::new().reply(calls(&["Act"]).gate("end"))).tools([echo("Act")]);
    let gate = bench.provider.gate("end");
    let fill_the_disk = async {
        gate.reached().await;
        bench.recorder.break_log("disk full");
        gate.open();
    };
    let (report, ()) = tokio::join!(bench.run("go"), fill_the_disk);
    assert_eq!(report.outcome.unwrap_err().kind(), ErrorKind::Storage);
    assert_eq!(bench.recorder.count("tool_progress"), 0);
    assert_eq!(bench.transcript()[2], "tool!: Act failed: disk full");

    let error = bench.run("again").await.outcome.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Storage);
    assert_eq!(bench.provider.requests().len(), 1, "the model is not called again");
}

#[tokio::test]
async fn long_results_lose_their_middle() {
    let word = "x".repeat(500);
    let mut bench =
        Bench::new(script(Reply::new().tool_call("c1", "Echo", json!({"word": word})))).tools([echo("Echo")]);
    bench.config.output_budget = 100;
    bench.run("go").await.outcome.unwrap();
    assert!(bench.transcript()[2].contains("400 characters cut from the middle"));
}
