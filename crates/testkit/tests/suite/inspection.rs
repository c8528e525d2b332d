//! What the server remembers, and computed replies.

use robota_testkit::{FakeModelServer, Reply, Rule, Script};
use serde_json::json;

use crate::client::{anthropic, anthropic_body, ask_anthropic, ask_openai, openai, openai_body, send};

#[tokio::test]
async fn requests_are_kept_as_they_came() {
    let server = FakeModelServer::start(Script::new().reply("a").reply("b")).await.unwrap();
    let waiting = server.request(2);
    let asking = async {
        ask_anthropic(&server).await;
        ask_openai(&server).await;
    };
    let (second, ()) = tokio::join!(waiting, asking);
    assert_eq!((second.number, second.path.as_str()), (2, "/v1/chat/completions"));
    let requests = server.requests();
    let first = &requests[0];
    assert_eq!((first.method.as_str(), first.path.as_str()), ("POST", "/v1/messages"));
    assert_eq!(first.query.as_deref(), Some("beta=true"));
    assert_eq!(first.header("x-api-key"), Some("key"));
    assert_eq!(
        serde_json::from_slice::<serde_json::Value>(&first.body).unwrap(),
        first.json.clone().unwrap()
    );
    assert_eq!(first.last_user_text(), "hi");
    server.assert_clean();
}

#[tokio::test]
async fn replies_can_be_computed_from_requests_of_either_api() {
    let script = Script::new().respond_with(|request| {
        let results = request.new_tool_results();
        match results.first() {
            Some(result) => Reply::new().text(format!("{}: {}", result.call_id, result.content)),
            None => Reply::new().tool_call("c1", "Read", json!({"filePath": request.last_user_text()})),
        }
    });
    let server = FakeModelServer::start(script).await.unwrap();
    let call = json!({"type": "tool_use", "id": "c1", "name": "Read", "input": {}});
    let result =
        json!({"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "R"}]});
    let messages = json!([{"role": "user", "content": "hi"}, {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result]}]);
    let answer = send(anthropic(&server, &anthropic_body(&messages))).await.unwrap();
    assert!(answer.text().contains("c1: R"), "{}", answer.text());
    let call = json!({"id": "c1", "type": "function", "function": {"name": "Read", "arguments": "{}"}});
    let messages = json!([{"role": "user", "content": "hi"}, {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "R"}]);
    let answer = send(openai(&server, &openai_body(&messages))).await.unwrap();
    assert!(answer.text().contains("c1: R"), "{}", answer.text());
    server.assert_clean();
}

#[test]
fn blocking_tests_need_no_runtime() {
    let server = FakeModelServer::start_blocking(Reply::new().gate("door").text("a")).unwrap();
    let base = server.base_url();
    let client = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let body = anthropic_body(&json!([{"role": "user", "content": "hi"}]));
        let request = crate::client::http().post(format!("{base}/v1/messages"));
        let request = request.header("anthropic-version", "1").body(body.to_string());
        runtime.block_on(send(request)).unwrap().status
    });
    assert_eq!(server.request_blocking(1).last_user_text(), "hi");
    server.gate("door").reached_blocking();
    server.gate("door").open();
    assert_eq!(client.join().unwrap(), 200);
}

#[tokio::test]
async fn replies_can_be_added_while_the_server_runs() {
    let server = FakeModelServer::start(Script::new()).await.unwrap();
    server.enqueue("late");
    assert!(ask_openai(&server).await.text().contains("late"));
    server.played_out().await;
}

#[tokio::test]
async fn strictness_is_a_setting() {
    let body = anthropic_body(&json!([{"role": "assistant", "content": "hi"}]));
    let strict = FakeModelServer::start("a").await.unwrap();
    let answer = send(anthropic(&strict, &body)).await.unwrap();
    assert_eq!(answer.status, 400);
    let message = answer.json()["error"]["message"].as_str().unwrap().to_owned();
    assert_eq!(message, "request 1: Roles: message 1 is the model's; the first must be the user's");
    assert_eq!(ask_anthropic(&strict).await.status, 200, "a refused call uses up no reply");

    let lenient = FakeModelServer::builder("a").strict(false).start().unwrap();
    assert_eq!(send(anthropic(&lenient, &body)).await.unwrap().status, 200);
    assert_eq!(lenient.violations().len(), 1);

    let ignoring = FakeModelServer::builder("a").ignore(Rule::Roles).start().unwrap();
    assert_eq!(send(anthropic(&ignoring, &body)).await.unwrap().status, 200);
    ignoring.assert_clean();
}

#[tokio::test]
#[should_panic(expected = "request 1: MaxTokens")]
async fn asserting_cleanness_shows_the_violations() {
    let server = FakeModelServer::start("a").await.unwrap();
    let mut body = anthropic_body(&json!([{"role": "user", "content": "hi"}]));
    body.as_object_mut().unwrap().remove("max_tokens");
    send(anthropic(&server, &body)).await.unwrap();
    server.assert_clean();
}

#[tokio::test]
async fn a_light_server_answers_and_keeps_nothing() {
    let server = FakeModelServer::builder("a").light().start().unwrap();
    let answer = ask_openai(&server).await;
    assert_eq!(answer.events().last().unwrap().1, "[DONE]");
    assert_eq!(answer.events()[0].1["model"], "fake");
    assert!(server.requests().is_empty());
}
