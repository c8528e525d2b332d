//! Every rule, broken once in each API that knows it.

use robota_testkit::{FakeModelServer, Rule, Script};
use serde_json::{Value, json};

use crate::client::{anthropic, anthropic_body, openai, openai_body, send};

fn user(content: &Value) -> Value {
    json!({"role": "user", "content": content})
}

fn assistant(content: &Value) -> Value {
    json!({"role": "assistant", "content": content})
}

fn tool_use(id: &str) -> Value {
    json!({"type": "tool_use", "id": id, "name": "Read", "input": {}})
}

fn tool_result(id: &str) -> Value {
    json!({"type": "tool_result", "tool_use_id": id, "content": ""})
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

/// A valid body with `field` replaced.
fn with(mut body: Value, field: &str, value: Value) -> Value {
    body[field] = value;
    body
}

fn good() -> Value {
    anthropic_body(&json!([user(&"hi".into())]))
}

/// The Anthropic messages after a first prompt.
fn after_prompt(messages: &[Value]) -> Value {
    let first = [user(&"hi".into())];
    anthropic_body(&first.iter().chain(messages).cloned().collect())
}

fn broken_anthropic_messages() -> Vec<(Rule, Value)> {
    let first = || anthropic_body(&json!([user(&json!([tool_result("a")]))]));
    let called = |calls: Value, next: Value| after_prompt(&[assistant(&calls), user(&next)]);
    let unsigned = json!([{"type": "thinking", "thinking": "t"}, text("x")]);
    vec![
        (Rule::Body, json!([])),
        (Rule::Body, with(good(), "model", Value::Null)),
        (Rule::Body, with(good(), "messages", json!([]))),
        (Rule::MaxTokens, with(good(), "max_tokens", 0.into())),
        (Rule::Roles, anthropic_body(&json!([assistant(&"hi".into())]))),
        (Rule::Roles, after_prompt(&[json!({"role": "system", "content": "x"})])),
        (Rule::Alternation, after_prompt(&[user(&"again".into())])),
        (Rule::EmptyText, with(good(), "system", "".into())),
        (Rule::EmptyText, with(good(), "system", json!([text(" ")]))),
        (Rule::EmptyText, after_prompt(&[assistant(&"".into())])),
        (Rule::EmptyText, after_prompt(&[assistant(&json!([]))])),
        (Rule::EmptyText, after_prompt(&[assistant(&json!([text("\n")]))])),
        (Rule::PairedCalls, first()),
        (Rule::PairedCalls, after_prompt(&[assistant(&json!([tool_use("a")]))])),
        (Rule::PairedCalls, called(json!([tool_use("a")]), "no result".into())),
        (Rule::PairedCalls, called(json!([tool_use("a")]), json!([tool_result("a"), tool_result("a")]))),
        (Rule::PairedCalls, called(json!([tool_use("a"), tool_use("a")]), json!([tool_result("a")]))),
        (Rule::ResultPlace, called(json!([tool_use("a")]), json!([text("x"), tool_result("a")]))),
        (Rule::ThinkingSignature, called(unsigned, "go on".into())),
    ]
}

fn broken_anthropic_tools() -> Vec<(Rule, Value)> {
    let object = json!({"type": "object"});
    let tool = |name: &str, schema: &Value| json!({"name": name, "description": "d", "input_schema": schema});
    let tools = |tools: &[Value]| with(good(), "tools", tools.into());
    let call = |name: &str, input: &Value| {
        let call = json!({"type": "tool_use", "id": "a", "name": name, "input": input});
        after_prompt(&[assistant(&json!([call])), user(&json!([tool_result("a")]))])
    };
    let reference = json!({"type": "object", "properties": {"p": {"$ref": "#/x"}}});
    let marked = |text: &str| json!({"type": "text", "text": text, "cache_control": {"type": "ephemeral"}});
    let marks: Value = ["a", "b", "c", "d", "e"].into_iter().map(marked).collect();
    vec![
        (Rule::CallInput, call("Read", &"{}".into())),
        (Rule::ToolNames, call("no spaces", &json!({}))),
        (Rule::ToolNames, tools(&[tool("a.b", &object)])),
        (Rule::ToolNames, tools(&[tool(&"x".repeat(65), &object)])),
        (Rule::ToolNames, tools(&[tool("A", &object), tool("A", &object)])),
        (Rule::ToolSchemas, tools(&[tool("A", &json!({"type": "string"}))])),
        (Rule::ToolSchemas, tools(&[tool("A", &json!({"type": "object", "$schema": "x"}))])),
        (Rule::ToolSchemas, tools(&[tool("A", &reference)])),
        (Rule::CacheMarks, anthropic_body(&json!([user(&marks)]))),
    ]
}

#[tokio::test]
async fn every_rule_of_anthropic_messages_is_checked() {
    let cases = [broken_anthropic_messages(), broken_anthropic_tools()].concat();
    let server = FakeModelServer::start(Script::new()).await.unwrap();
    for (number, (rule, body)) in (1..).zip(&cases) {
        assert_eq!(send(anthropic(&server, body)).await.unwrap().status, 400, "{rule:?}: {body}");
        let found = server.violations().into_iter().filter(|violation| violation.request == number);
        let found: Vec<Rule> = found.map(|violation| violation.rule).collect();
        assert!(found.contains(rule), "{rule:?} was not found but {found:?} in {body}");
    }
    let request = anthropic(&server, &good()).build().unwrap();
    let bare = crate::client::http().post(request.url().as_str()).body(good().to_string());
    assert!(send(bare).await.unwrap().text().contains("Headers: the header `anthropic-version` is missing"));
}

fn call(id: &str, arguments: &Value) -> Value {
    json!({"id": id, "type": "function", "function": {"name": "Read", "arguments": arguments}})
}

fn calls(calls: &[Value]) -> Value {
    json!({"role": "assistant", "content": null, "tool_calls": calls})
}

fn result(id: &str) -> Value {
    json!({"role": "tool", "tool_call_id": id, "content": ""})
}

fn broken_openai() -> Vec<(Rule, Value)> {
    let after_prompt = |messages: &[Value]| {
        let first = [user(&"hi".into())];
        openai_body(&first.iter().chain(messages).cloned().collect())
    };
    let good = || openai_body(&json!([user(&"hi".into())]));
    let object = json!({"type": "object"});
    let function = |name: &str, schema: &Value| json!({"type": "function", "function": {"name": name, "description": "d", "parameters": schema}});
    let a = || call("a", &"{}".into());
    vec![
        (Rule::Body, json!("text")),
        (Rule::Body, with(good(), "tools", json!([]))),
        (Rule::Roles, openai_body(&json!([{"role": "system", "content": "x"}]))),
        (Rule::Roles, after_prompt(&[json!({"role": "function", "content": "x"})])),
        (Rule::EmptyText, openai_body(&json!([user(&"".into())]))),
        (Rule::EmptyText, openai_body(&json!([user(&json!([text("")]))]))),
        (Rule::EmptyText, after_prompt(&[assistant(&Value::Null)])),
        (Rule::PairedCalls, after_prompt(&[calls(&[a()])])),
        (Rule::PairedCalls, after_prompt(&[result("a")])),
        (Rule::PairedCalls, after_prompt(&[calls(&[a()]), result("a"), result("a")])),
        (Rule::PairedCalls, after_prompt(&[calls(&[call("", &"{}".into())]), result("")])),
        (Rule::ResultPlace, after_prompt(&[calls(&[a()]), user(&"x".into()), result("a")])),
        (Rule::CallInput, after_prompt(&[calls(&[call("a", &json!({}))]), result("a")])),
        (Rule::CallInput, after_prompt(&[calls(&[call("a", &"{half".into())]), result("a")])),
        (Rule::ToolNames, with(good(), "tools", json!([function("a b", &object)]))),
        (Rule::ToolNames, with(good(), "tools", json!([function("A", &object), function("A", &object)]))),
        (Rule::ToolSchemas, with(good(), "tools", json!([function("A", &Value::Null)]))),
    ]
}

#[tokio::test]
async fn every_rule_of_openai_chat_is_checked() {
    let server = FakeModelServer::start(Script::new()).await.unwrap();
    for (number, (rule, body)) in (1..).zip(&broken_openai()) {
        assert_eq!(send(openai(&server, body)).await.unwrap().status, 400, "{rule:?}: {body}");
        let found = server.violations().into_iter().filter(|violation| violation.request == number);
        let found: Vec<Rule> = found.map(|violation| violation.rule).collect();
        assert!(found.contains(rule), "{rule:?} was not found but {found:?} in {body}");
    }
}

#[tokio::test]
async fn what_is_allowed_passes() {
    let server = FakeModelServer::builder(Script::new().respond_with(|_| "ok".into())).start().unwrap();
    let good_anthropic = after_prompt(&[
        assistant(&json!([text("I look."), tool_use("a"), tool_use("b")])),
        user(&json!([tool_result("b"), tool_result("a"), text("and now?")])),
        assistant(&json!([{"type": "redacted_thinking", "data": "x"}, text("done")])),
        user(&json!([text("again"), {"type": "image", "source": {}}])),
    ]);
    let tools = json!([{"name": "Read", "input_schema": {"type": "object", "properties": {}}},
        {"type": "web_search_20250305", "name": "web_search"}]);
    let good_anthropic = with(with(good_anthropic, "tools", tools), "system", json!([text("be brief")]));
    let answer = send(anthropic(&server, &good_anthropic)).await.unwrap();
    assert_eq!(answer.status, 200, "{}", answer.text());
    let good_openai = openai_body(&json!([
        {"role": "developer", "content": "be brief"}, {"role": "system", "content": [text("very")]},
        user(&"hi".into()), user(&"there".into()),
        {"role": "assistant", "content": "", "tool_calls": [call("a", &"{}".into()), call("b", &"{\"x\": 1}".into())]},
        result("b"), result("a"), assistant(&"done".into()),
    ]));
    let answer = send(openai(&server, &good_openai)).await.unwrap();
    assert_eq!(answer.status, 200, "{}", answer.text());
    server.assert_clean();
}
