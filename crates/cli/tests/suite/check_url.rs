//! `robota permissions check-url`.

use robota_testkit::Script;
use serde_json::{Value, json};

use crate::context::{Context, Run};

fn check_url(rows: impl Into<Vec<u8>>) -> Run {
    let context = Context::new(Script::new());
    let mut command = context.bare(&["permissions", "check-url"]);
    command.env("HTTP_PROXY", "http://127.0.0.1:1").env("ALL_PROXY", "no address");
    Run::of(command.write_stdin(rows).output().unwrap())
}

#[test]
fn every_row_has_its_line_and_a_broken_one_stops_nothing() {
    let dns = json!({"a.example": [["93.184.216.34"], ["127.0.0.1"]]});
    let again = json!([{"from": "https://a.example/", "status": 301, "location": "/b"}]);
    let rows = [
        json!({"id": "once", "url": "https://a.example/", "dns": dns, "redirects": [], "env": {"HTTPS_PROXY": "x"}}),
        json!({"id": 2, "url": "https://a.example/", "dns": dns, "redirects": again, "env": {}}),
        json!({"id": "broken", "url": "https://a.example/", "dns": {"a.example": "93.184.216.34"}}),
        json!({"id": null, "url": "http://[::ffff:7f00:1]/"}),
    ];
    let mut input = rows.map(|row| format!("{row}\n")).join(" \t\n");
    input.push_str("\n{\n{\"id\":3}\n{\"id\":\"last\",\"url\":\"https://unknown.example/\"}");
    let run = check_url(input);
    run.assert_success();
    let told: Vec<_> =
        run.frames().iter().map(|line| (line["id"].clone(), line["verdict"].clone())).collect();
    let expected = [
        (json!("once"), json!("allow")),
        (json!(2), json!("block")),
        (json!("broken"), Value::Null),
        (Value::Null, json!("block")),
        (Value::Null, Value::Null),
        (json!(3), Value::Null),
        (json!("last"), json!("block")),
    ];
    assert_eq!(told, expected);
    let reasons: Vec<_> = run.frames().iter().map(|line| line["reason"].is_string()).collect();
    assert_eq!(reasons, [true, true, false, true, false, false, true]);
    assert_eq!(
        run.frames()[2]["error"],
        "`dns`: invalid type: string \"93.184.216.34\", expected a sequence"
    );
    assert_eq!(run.frames()[5]["error"], "the line is not a row: missing field `url`");
}

#[test]
fn no_input_has_no_verdicts() {
    let run = check_url("\n\r\n");
    run.assert_success();
    assert_eq!((run.stdout.as_str(), run.stderr.as_str()), ("", ""));
}
