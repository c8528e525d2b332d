//! `--json-schema`: an answer that a program can rely on.

use robota_testkit::{Reply, Script};
use serde_json::{Value, json};

use crate::context::Context;

const SCHEMA: &str =
    r#"{"type": "object", "properties": {"bolts": {"type": "integer"}}, "required": ["bolts"]}"#;

const VALID: &str = r#"{"bolts": 12}"#;

/// A model that says these things in turn.
fn says(texts: &[&str]) -> Script {
    texts.iter().fold(Script::new(), |script, text| script.reply(*text))
}

fn result(context: &Context, format: &str) -> (Option<i32>, Value) {
    let run = context.run(&["-p", "How many bolts?", "--json-schema", SCHEMA, "--output-format", format]);
    assert_eq!(run.stderr, "");
    (run.code, run.frames().pop().unwrap())
}

#[test]
fn as_text_the_value_is_all_there_is() {
    let look = Reply::new().text("I look first.").tool_call("c1", "Glob", json!({"pattern": "*"}));
    let context = Context::new(Script::new().reply(look).reply("```json\n{\"bolts\": 12}\n```"));
    context.space.write("project/schemas/bolts.json", SCHEMA);
    let run = context.run(&["-p", "How many bolts?", "--json-schema", "schemas/bolts.json"]);
    assert_eq!(run.assert_success().stdout, "{\"bolts\":12}\n");
    context.server.assert_clean();
}

#[test]
fn as_json_the_value_stands_beside_the_words() {
    for format in ["json", "stream-json"] {
        let context = Context::new(says(&["Twelve.", VALID]));
        let (code, result) = result(&context, format);
        assert_eq!(code, Some(0));
        assert_eq!(result["structured_output"], json!({"bolts": 12}));
        assert_eq!((&result["subtype"], &result["num_turns"]), (&json!("success"), &json!(2)));
        assert_eq!(result["result"], VALID);
        context.server.assert_clean();
    }
}

#[test]
fn an_answer_that_never_fits_is_a_failure_that_says_what_is_wrong() {
    let wrong = r#"{"bolts": "12"}"#;
    let context = Context::new(says(&[wrong; 4]));
    let (code, result) = result(&context, "json");
    assert_eq!((code, &result["is_error"]), (Some(1), &json!(true)));
    assert_eq!(result["subtype"], "error_max_structured_output_retries");
    assert!(result.get("structured_output").is_none() && result.get("result").is_none(), "{result}");
    let error = result["errors"][0].as_str().unwrap();
    assert!(error.contains("- /bolts: \"12\" is not of type \"integer\""), "{error}");

    let context = Context::new(says(&[wrong; 4]));
    let run = context.run(&["-p", "How many bolts?", "--json-schema", SCHEMA]);
    assert_eq!(run.stdout, "");
    run.assert_failure(
        1,
        &["error: there is no answer in the form of the schema: after 3 repairs", "hint: "],
    );
}

#[test]
fn a_schema_that_cannot_be_used_is_refused_before_anything_is_asked() {
    let context = Context::new(Script::new());
    let refused = |schema: &str, parts: &[&str]| {
        context.run(&["-p", "x", "--json-schema", schema]).assert_failure(2, parts);
    };
    refused("{\"type\": ", &["--json-schema is no JSON: EOF while parsing", "line 1 column 9"]);
    refused("nowhere.json", &["the schema nowhere.json cannot be read"]);
    refused("[]", &["a schema is a JSON object"]);
    refused(r#"{"type": "string"}"#, &["its root has to say `\"type\": \"object\"` (at `/type`)"]);
    refused(
        r#"{"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1:1/s"}}}"#,
        &["it refers to `http://127.0.0.1:1/s`, and nothing is fetched (at `/properties/a/$ref`)"],
    );
    context.space.write("project/s.json", r#"{"type": "object", "required": "bolts"}"#);
    refused("s.json", &["s.json: the output schema cannot be used", "(at `/required`)"]);
    assert_eq!(context.server.requests().len(), 0);
}
