//! `json` and `stream-json`, as programs for that format read them.

use robota_core::Usage;
use robota_testkit::{Reply, Script};
use serde_json::{Value, json};

use crate::context::{Context, Run};

fn kinds(frames: &[Value]) -> Vec<String> {
    let kind = |frame: &Value| match frame["subtype"].as_str() {
        Some(subtype) => format!("{}/{subtype}", frame["type"].as_str().unwrap()),
        None => frame["type"].as_str().unwrap().to_owned(),
    };
    frames.iter().map(kind).collect()
}

fn usage(input: u64, output: u64) -> Usage {
    Usage { input_tokens: input, output_tokens: output, ..Usage::default() }
}

#[test]
fn a_turn_with_tools_streams_its_frames() {
    let context = Context::new(
        Script::new()
            .reply(
                Reply::new()
                    .thinking("Hm.", "sig")
                    .text("Looking.")
                    .tool_call("c1", "Bash", json!({"command": "echo hi"}))
                    .usage(usage(900, 30)),
            )
            .reply(Reply::new().tool_call("c2", "Bash", json!({"command": "touch no"})))
            .reply(Reply::new().text("Done.").usage(usage(50, 5))),
    );
    let run = context.run(&["-p", "go", "--output-format", "stream-json", "--allowed-tools", "Bash(echo *)"]);
    let frames = run.assert_success().frames();
    let expected = [
        "system/init",
        "assistant",
        "assistant",
        "assistant",
        "user",
        "assistant",
        "system/permission_denied",
        "user",
        "assistant",
        "result/success",
    ];
    assert_eq!(kinds(&frames), expected);

    let session = &frames[0]["session_id"];
    assert!(frames.iter().all(|frame| frame["session_id"] == *session && frame["uuid"].is_string()));
    assert_eq!(frames[0]["permissionMode"], "default");
    assert_eq!(frames[0]["tools"].as_array().unwrap().len(), 10);
    assert_eq!(
        frames[1]["message"]["content"],
        json!([{"type": "thinking", "thinking": "Hm.", "signature": "sig"}])
    );
    assert_eq!(frames[2]["message"]["content"], json!([{"type": "text", "text": "Looking."}]));
    assert_eq!(frames[2]["message"]["id"], frames[3]["message"]["id"], "blocks of one message share its id");
    let call = json!([{"type": "tool_use", "id": "c1", "name": "Bash", "input": {"command": "echo hi"}}]);
    assert_eq!(frames[3]["message"]["content"], call);
    let result = &frames[4]["message"]["content"][0];
    assert_eq!((&result["type"], &result["tool_use_id"]), (&json!("tool_result"), &json!("c1")));
    assert!(result["content"].as_str().unwrap().contains("hi"), "{result}");
    assert_eq!(frames[4]["tool_use_result"]["exitCode"], 0);
    assert_eq!(frames[7]["message"]["content"][0]["is_error"], true);

    let last = &frames[9];
    assert_eq!(
        (&last["is_error"], &last["result"], &last["num_turns"]),
        (&json!(false), &json!("Done."), &json!(3))
    );
    assert_eq!(last["usage"]["input_tokens"], 900 + 100 + 50);
    assert_eq!(last["usage"]["output_tokens"], 30 + 10 + 5);
    assert!(last["total_cost_usd"].as_f64().unwrap() > 0.0, "the default model has a price");
    let denial = json!([{"tool_name": "Bash", "tool_use_id": "c2", "tool_input": {"command": "touch no"}}]);
    assert_eq!(last["permission_denials"], denial);
    assert_eq!(last["terminal_reason"], "completed");
    assert_eq!(last["stop_reason"], "end_turn");
}

#[test]
fn json_is_the_result_alone() {
    let context = Context::new("Four.");
    let frames = context.run(&["-p", "2+2", "--output-format=json"]).assert_success().frames();
    assert_eq!(kinds(&frames), ["result/success"]);
    for key in ["duration_ms", "duration_api_ms", "modelUsage", "usage", "session_id", "uuid"] {
        assert!(!frames[0][key].is_null(), "{key} is missing");
    }
    assert_eq!(frames[0]["result"], "Four.");
}

#[test]
fn a_failing_model_is_a_result_with_its_status() {
    let context = Context::new(Script::new().reply(Reply::error(400, "bad thing")));
    let run = context.run(&["-p", "x", "--output-format", "json"]);
    assert_eq!((run.code, run.stderr.as_str()), (Some(1), ""));
    let result = &run.frames()[0];
    assert_eq!((&result["subtype"], &result["is_error"]), (&json!("success"), &json!(true)));
    assert!(result["result"].as_str().unwrap().starts_with("API Error: "), "{result}");
    assert_eq!((&result["api_error_status"], &result["terminal_reason"]), (&json!(400), &json!("api_error")));
}

#[test]
fn a_limit_has_its_own_subtype() {
    let look = Reply::new().tool_call("c1", "Glob", json!({"pattern": "*"}));
    let context = Context::new(Script::new().reply(look).reply("so far"));
    let run = context.run(&["-p", "x", "--max-turns", "1", "--output-format", "json"]);
    assert_eq!((run.code, run.stderr.as_str()), (Some(1), ""));
    let result = &run.frames()[0];
    assert_eq!(
        (&result["subtype"], &result["terminal_reason"]),
        (&json!("error_max_turns"), &json!("max_turns"))
    );
    assert_eq!(result["num_turns"], 1);
}

#[test]
fn what_fails_before_the_session_is_a_result_too() {
    let context = Context::new(Script::new());
    let run = Run::of(context.bare(&["-p", "x", "--output-format", "stream-json"]).output().unwrap());
    assert_eq!((run.code, run.stderr.as_str()), (Some(3), ""));
    let result = &run.frames()[0];
    assert_eq!((&result["type"], &result["is_error"]), (&json!("result"), &json!(true)));
    assert!(result["errors"][1].as_str().unwrap().contains("ANTHROPIC_API_KEY"), "{result}");
}

#[test]
fn retries_are_frames() {
    let context =
        Context::new(Script::new().reply(Reply::error(429, "slow down").retry_after(0)).reply("ok"));
    let frames = context.run(&["-p", "x", "--output-format", "stream-json"]).assert_success().frames();
    assert_eq!(kinds(&frames), ["system/init", "system/api_retry", "assistant", "result/success"]);
    assert_eq!((&frames[1]["attempt"], &frames[1]["error_status"]), (&json!(1), &json!(429)));
}
