//! Everything that goes wrong on purpose, and everything that only looks odd.

use futures_util::StreamExt;
use robota_testkit::{FakeModelServer, Reply, Script};
use serde_json::json;

use crate::client::{anthropic, anthropic_body, ask_anthropic, ask_openai, http, send};

fn reply() -> Reply {
    Reply::new().text("Grüße 🌍").tool_call("c1", "Read", json!({"filePath": "ä"}))
}

#[tokio::test]
async fn odd_chunks_carry_the_same_bytes() {
    let script = Script::new().reply(reply()).reply(reply().chunk_bytes(1)).reply(reply().chunk_bytes(7));
    let server = FakeModelServer::builder(script).start().unwrap();
    let [plain, single, seven] =
        [ask_anthropic(&server).await, ask_anthropic(&server).await, ask_anthropic(&server).await];
    let same_id = |answer: &crate::client::Answer| {
        let text = answer.text();
        text.replace("msg_fake_2", "msg_fake_1").replace("msg_fake_3", "msg_fake_1")
    };
    assert_eq!(same_id(&single), plain.text());
    assert_eq!(same_id(&seven), plain.text());
    assert!(single.chunks.iter().all(|chunk| chunk.len() == 1));
    let (last, others) = seven.chunks.split_last().unwrap();
    assert!(last.len() <= 7 && others.iter().all(|chunk| chunk.len() == 7));
}

#[tokio::test]
async fn line_ends_and_comments_change_no_event() {
    let script = Script::new().reply(reply()).reply(reply().crlf().comments());
    let server = FakeModelServer::start(script).await.unwrap();
    let (plain, odd) = (ask_openai(&server).await, ask_openai(&server).await);
    let text = odd.text();
    assert!(text.starts_with(": comment\r\n\r\ndata: {"), "{text}");
    assert!(!text.replace("\r\n", "").contains('\n'));
    let contents = |answer: &crate::client::Answer| {
        let events = answer.events().into_iter();
        events.map(|(_, chunk)| chunk["choices"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(contents(&odd), contents(&plain));
}

#[tokio::test]
async fn a_cut_breaks_the_body_and_an_end_does_not() {
    let script = Script::new().reply(Reply::new().text("half").cut()).reply(Reply::new().text("half").end());
    let server = FakeModelServer::start(script).await.unwrap();
    for broken in [true, false] {
        let answer = ask_anthropic(&server).await;
        assert_eq!((answer.status, answer.broken), (200, broken));
        let events = answer.events();
        let names: Vec<&str> = events.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["message_start", "content_block_start", "content_block_delta"]);
    }
}

#[tokio::test]
async fn all_that_precedes_a_cut_arrives() {
    let text = "x".repeat(300_000);
    let server = FakeModelServer::start(Reply::new().text(text.as_str()).text("last").cut()).await.unwrap();
    let answer = ask_openai(&server).await;
    assert!(answer.broken);
    assert!(answer.text().contains("last"));
}

#[tokio::test]
async fn hanging_up_gives_no_response_at_all() {
    let server = FakeModelServer::start(Reply::hang_up()).await.unwrap();
    let body = anthropic_body(&json!([{"role": "user", "content": "hi"}]));
    assert!(send(anthropic(&server, &body)).await.is_err());
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn a_gate_holds_the_stream_until_it_is_opened() {
    let reply = Reply::new().text("before").gate("middle").text("after");
    let server = FakeModelServer::start(reply).await.unwrap();
    let body = anthropic_body(&json!([{"role": "user", "content": "hi"}]));
    let response = anthropic(&server, &body).send().await.unwrap();
    let mut stream = response.bytes_stream();
    server.gate("middle").reached().await;
    let mut text = String::new();
    while !text.contains("before") {
        text.push_str(std::str::from_utf8(&stream.next().await.unwrap().unwrap()).unwrap());
    }
    assert!(
        futures_util::future::poll_immediate(stream.next()).await.is_none(),
        "nothing comes before the gate opens"
    );
    server.gate("middle").open();
    while let Some(chunk) = stream.next().await {
        text.push_str(std::str::from_utf8(&chunk.unwrap()).unwrap());
    }
    assert!(text.contains("\"after\"") && text.contains("message_stop"), "{text}");
    assert_eq!(text.matches("content_block_start\"").count(), 1, "the text block goes on after the gate");
    server.wait_idle().await;
}

#[tokio::test]
async fn a_held_reply_sends_nothing_before_its_gate_opens() {
    let server = FakeModelServer::start(Reply::error(503, "later").hold_at("door")).await.unwrap();
    let body = anthropic_body(&json!([{"role": "user", "content": "hi"}]));
    let mut asking = Box::pin(send(anthropic(&server, &body)));
    let door = server.gate("door");
    tokio::select! {
        _ = &mut asking => panic!("answered before the gate was open"),
        () = door.reached() => door.open(),
    }
    assert_eq!(asking.await.unwrap().status, 503);
}

#[tokio::test]
async fn errors_have_the_shape_of_the_api() {
    let limited = Reply::error(429, "slow down").retry_after(3).header("X-Own", "1");
    let script = Script::new().reply(limited.clone()).reply(limited).reply(Reply::error(529, "full"));
    let server = FakeModelServer::start(script).await.unwrap();
    let answer = ask_anthropic(&server).await;
    assert_eq!(
        (answer.status, &answer.headers["retry-after"], &answer.headers["x-own"]),
        (429, &"3".parse().unwrap(), &"1".parse().unwrap())
    );
    let error = json!({"type": "rate_limit_error", "message": "slow down"});
    assert_eq!(answer.json(), json!({"type": "error", "error": error, "request_id": "req_fake_1"}));
    let error =
        json!({"message": "slow down", "type": "requests", "param": null, "code": "rate_limit_exceeded"});
    assert_eq!(ask_openai(&server).await.json(), json!({"error": error}));
    assert_eq!(ask_anthropic(&server).await.json()["error"]["type"], "overloaded_error");
}

#[tokio::test]
async fn whole_bodies_are_sent_as_they_are() {
    let script = Script::new()
        .reply(Reply::body(502, "text/html", "<h1>Bad Gateway</h1>"))
        .reply(Reply::new().raw("data: {\"choices\":[]}\n\n").raw(vec![0xff, b'\n', b'\n']).end());
    let server = FakeModelServer::start(script).await.unwrap();
    let answer = ask_openai(&server).await;
    assert_eq!((answer.status, answer.text().as_str()), (502, "<h1>Bad Gateway</h1>"));
    assert_eq!(answer.headers["content-type"], "text/html");
    let answer = ask_openai(&server).await;
    assert_eq!(answer.chunks.concat(), b"data: {\"choices\":[]}\n\n\xff\n\n");
}

#[tokio::test]
async fn an_error_within_the_stream_ends_it() {
    let reply = || Reply::new().text("a").stream_error("overloaded_error", "full").text("never");
    let server = FakeModelServer::start(Script::new().reply(reply()).reply(reply())).await.unwrap();
    let answer = ask_anthropic(&server).await;
    assert_eq!((answer.status, answer.broken), (200, false));
    let error = json!({"type": "overloaded_error", "message": "full"});
    assert_eq!(
        answer.events().last().unwrap(),
        &("error".to_owned(), json!({"type": "error", "error": error}))
    );
    let answer = ask_openai(&server).await;
    assert_eq!(answer.events().last().unwrap().1["error"]["message"], "full");
}

#[tokio::test]
async fn an_exhausted_script_says_so() {
    let server = FakeModelServer::start("only one").await.unwrap();
    assert_eq!(ask_anthropic(&server).await.status, 200);
    let answer = ask_anthropic(&server).await;
    assert_eq!(answer.status, 500);
    assert_eq!(answer.json()["error"]["message"], "the script has no reply for model call 2");
    let violations = server.violations();
    assert_eq!(violations.len(), 1);
    assert_eq!(
        violations[0].to_string(),
        "request 2: ScriptExhausted: the script has no reply for model call 2"
    );
}

#[tokio::test]
async fn a_stopped_server_cuts_streams_and_frees_its_port() {
    let server = FakeModelServer::start(Reply::new().text("a").gate("never")).await.unwrap();
    let port = server.port();
    let body = anthropic_body(&json!([{"role": "user", "content": "hi"}]));
    let asking = tokio::spawn(send(anthropic(&server, &body)));
    server.gate("never").reached().await;
    server.shutdown().await;
    assert!(asking.await.unwrap().unwrap().broken);
    let again = FakeModelServer::builder("b").port(port).start().unwrap();
    assert_eq!(ask_openai(&again).await.status, 200);
}

#[tokio::test]
async fn unknown_paths_and_methods_get_json_errors() {
    let server = FakeModelServer::start(Script::new().models(["m-1"])).await.unwrap();
    let get = |path: &str| http().get(format!("{}{path}", server.base_url()));
    let answer = send(get("/v2/nothing")).await.unwrap();
    assert_eq!(
        (answer.status, answer.json()["error"]["type"].clone()),
        (404, json!("invalid_request_error"))
    );
    let answer = send(get("/v2/nothing").header("x-api-key", "k")).await.unwrap();
    assert_eq!((answer.status, answer.json()["error"]["type"].clone()), (404, json!("not_found_error")));
    assert_eq!(send(get("/v1/messages")).await.unwrap().status, 405);
    let models = send(get("/v1/models")).await.unwrap().json();
    assert_eq!((&models["object"], &models["data"][0]["id"]), (&json!("list"), &json!("m-1")));
    let models = send(get("/v1/models").header("anthropic-version", "x")).await.unwrap().json();
    assert_eq!((&models["last_id"], &models["data"][0]["type"]), (&json!("m-1"), &json!("model")));
    server.assert_clean();
}

#[tokio::test]
async fn gates_can_be_watched_and_opened_over_http() {
    let server = FakeModelServer::start(Reply::new().gate("door").text("after")).await.unwrap();
    let gate = format!("{}/fake/gates/door", server.base_url());
    let asking = tokio::spawn({
        let body = anthropic_body(&json!([{"role": "user", "content": "hi"}]));
        send(anthropic(&server, &body))
    });
    assert_eq!(send(http().get(&gate)).await.unwrap().json(), json!({"gate": "door"}));
    assert_eq!(send(http().post(&gate)).await.unwrap().status, 200);
    assert!(asking.await.unwrap().unwrap().text().contains("after"));
    assert_eq!(server.requests().len(), 1);
}
