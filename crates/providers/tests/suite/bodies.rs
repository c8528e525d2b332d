//! What is sent: the whole of a rich history, its stable prefix, and the fields servers differ in.

use std::sync::Arc;

use robota_core::{
    Body, Message, MessageRef, MessageState, ModelRequest, Part, Reasoning, Timestamp, ToolChoice,
};
use robota_providers::ProviderKind;
use robota_testkit::{Reply, Script};
use serde_json::{Value, json};

use crate::api::{provider, request, send, server, spec, text, tool};
use crate::conversation::{message, result, sent, tool_calls, user};

fn assistant(text: &str, calls: &[(&str, &str, &str)], reasoning: Vec<Reasoning>) -> MessageRef {
    message(
        "a",
        Body::Assistant {
            content: Some(text.to_owned()),
            parts: Vec::new(),
            tool_calls: tool_calls(calls),
            reasoning,
        },
    )
}

fn thought(provider: &str, text: &str, signature: Option<&str>, redacted: Option<&str>) -> Reasoning {
    Reasoning {
        provider: provider.into(),
        text: text.into(),
        signature: signature.map(Into::into),
        redacted: redacted.map(Into::into),
    }
}

fn image() -> Part {
    Part::ImageInline { mime_type: "image/png".into(), data: "aGk=".into() }
}

/// Everything a history can hold.
fn rich_history() -> Vec<MessageRef> {
    let mut interrupted = Message::assistant("i", Timestamp::default(), "I was about to ");
    interrupted.state = MessageState::Interrupted;
    let thoughts = vec![
        thought("anthropic", "Look first.", Some("sig-1"), None),
        thought("anthropic", "", None, Some("opaque")),
        thought("anthropic", "unsigned", None, None),
        thought("openai", "foreign", None, None),
    ];
    let pictures = vec![image(), Part::ImageUri { uri: "https://a.example/b.png".into(), mime_type: None }];
    vec![
        message(
            "u1",
            Body::User { content: "What is this?".into(), parts: pictures, name: Some("Ada".into()) },
        ),
        user("  "),
        assistant(
            "Let me look. \n",
            &[("call_1", "Read", "{\"filePath\": \"a\"}"), ("c:2", "a.b", "{oops")],
            thoughts,
        ),
        result("call_1", "a picture", false, vec![image()]),
        result("c:2", "there is no tool a.b", true, Vec::new()),
        message("s", Body::System { content: "The file changed.".into() }),
        assistant("", &[("call_3", "Glob", "")], Vec::new()),
        result("call_3", "", false, Vec::new()),
        interrupted.into(),
        user("Go on."),
        assistant(" ", &[], vec![thought("anthropic", "silent", Some("sig-2"), None)]),
        user("Still there?"),
    ]
}

fn rich_request() -> ModelRequest {
    let mut request = ModelRequest::new("model-1", rich_history());
    request.system = "You are robota.".into();
    request.tools = Arc::new([tool("Read"), tool("Glob")]);
    request.tool_choice = ToolChoice::None;
    request.max_output_tokens = Some(1000);
    request
}

#[tokio::test]
async fn a_rich_history_is_sent_whole() {
    for kind in crate::api::KINDS {
        let server = server("ok").await;
        let body = sent(&provider(kind, &server), &server, rich_request()).await;
        let pretty = serde_json::to_string_pretty(&body).unwrap();
        insta::assert_snapshot!(format!("rich_history_{kind}"), pretty);
    }
}

#[tokio::test]
async fn a_history_kept_for_one_api_is_sent_to_the_other_as_well() {
    let (one, other) = (server(Script::from_iter(["ok", "ok"])).await, server("ok").await);
    let request = rich_request();
    let first = sent(&provider(ProviderKind::Anthropic, &one), &one, request.clone()).await;
    let foreign = sent(&provider(ProviderKind::OpenAi, &other), &other, request.clone()).await;
    assert_eq!(foreign["messages"][0]["role"], "system");
    // The same conversation in a session of its own, never encoded before.
    let fresh = server("ok").await;
    let mut request = request;
    request.messages = rich_history();
    assert_eq!(sent(&provider(ProviderKind::Anthropic, &fresh), &fresh, request).await, first);
}

/// Takes the marks of the prompt cache away and gives their places.
fn without_marks(value: &mut Value, place: &str, marks: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            if fields.remove("cache_control").is_some() {
                marks.push(place.to_owned());
            }
            fields
                .iter_mut()
                .for_each(|(name, value)| without_marks(value, &format!("{place}/{name}"), marks));
        }
        Value::Array(items) => {
            let items = items.iter_mut().enumerate();
            items.for_each(|(at, value)| without_marks(value, &format!("{place}/{at}"), marks));
        }
        _ => {}
    }
}

#[tokio::test]
async fn each_round_marks_the_prefix_that_the_round_before_has_written_to_the_cache() {
    let server = server(Script::from_iter(["ok", "ok"])).await;
    let provider = provider(ProviderKind::Anthropic, &server);
    let mut request = request();
    let mut first = sent(&provider, &server, request.clone()).await;
    request.messages.push(assistant("Looking.", &[("c", "Read", "{}")], Vec::new()));
    request.messages.push(result("c", "text", false, Vec::new()));
    let mut second = sent(&provider, &server, request).await;

    let (mut before, mut after) = (Vec::new(), Vec::new());
    without_marks(&mut first, "", &mut before);
    without_marks(&mut second, "", &mut after);
    assert_eq!(before, ["/tools/1", "/system/0", "/messages/0/content/0"]);
    assert_eq!(after, ["/tools/1", "/system/0", "/messages/0/content/0", "/messages/2/content/0"]);
    // Apart from the marks, the first request is the beginning of the second one.
    let (first, second) = (first.to_string(), second.to_string());
    assert!(second.starts_with(first.strip_suffix("]}").unwrap()), "{first}\n{second}");
}

/// Roles and texts of the messages in a body, the system prompt left out.
fn spoken(body: &Value) -> Vec<(String, Vec<String>)> {
    let messages = body["messages"].as_array().unwrap().iter().filter(|message| message["role"] != "system");
    let texts = |content: &Value| match content {
        Value::Array(blocks) => {
            blocks.iter().map(|block| block["text"].as_str().unwrap_or("").to_owned()).collect()
        }
        text => vec![text.as_str().unwrap_or("").to_owned()],
    };
    messages
        .map(|message| (message["role"].as_str().unwrap().to_owned(), texts(&message["content"])))
        .collect()
}

fn says(role: &str, texts: &[&str]) -> (String, Vec<String>) {
    (role.to_owned(), texts.iter().map(ToString::to_string).collect())
}

#[tokio::test]
async fn a_conversation_that_begins_with_an_answer_is_sendable() {
    let missing = says("user", &["[The beginning of this conversation is not included.]"]);
    for kind in crate::api::KINDS {
        let server = server("ok").await;
        let mut request = request();
        let summary = assistant("Summary.", &[], Vec::new());
        request.messages = vec![user(" "), summary, user("Go on.")];
        let body = sent(&provider(kind, &server), &server, request).await;
        let expected = [missing.clone(), says("assistant", &["Summary."]), says("user", &["Go on."])];
        assert_eq!(spoken(&body), expected, "{kind}");
    }
}

#[tokio::test]
async fn what_a_user_says_in_several_messages_is_sent_as_each_api_wants_it() {
    let first = [user("Do it."), user("Quickly."), assistant("Looking.", &[("c", "Read", "{}")], Vec::new())];
    let then = [result("c", "text", false, Vec::new()), user("Stop."), user("Go on.")];
    for kind in crate::api::KINDS {
        let server = server(Script::from_iter(["ok", "ok"])).await;
        let provider = provider(kind, &server);
        let mut request = request();
        request.messages = first[..2].to_vec();
        sent(&provider, &server, request.clone()).await;
        request.messages = [first.as_slice(), &then].concat();
        // That the second request repeats the first one unchanged is a rule of the server.
        let body = sent(&provider, &server, request).await;
        let expected = match kind {
            // Roles take turns, and results come first.
            ProviderKind::Anthropic => vec![
                says("user", &["Do it.", "Quickly."]),
                says("assistant", &["Looking.", ""]),
                says("user", &["", "Stop.", "Go on."]),
            ],
            _ => vec![
                says("user", &["Do it."]),
                says("user", &["Quickly."]),
                says("assistant", &["Looking."]),
                says("tool", &["text"]),
                says("user", &["Stop."]),
                says("user", &["Go on."]),
            ],
        };
        assert_eq!(spoken(&body), expected, "{kind}");
    }
}

#[tokio::test]
async fn tool_choices_and_limits_are_written_as_each_api_wants_them() {
    let choices = [
        (ToolChoice::Auto, Value::Null, Value::Null),
        (ToolChoice::None, json!({"type": "none"}), json!("none")),
        (ToolChoice::Required, json!({"type": "any"}), json!("required")),
        (
            ToolChoice::Tool("Glob".into()),
            json!({"type": "tool", "name": "Glob"}),
            json!({"type": "function", "function": {"name": "Glob"}}),
        ),
    ];
    for (choice, anthropic, openai) in choices {
        for (kind, expected) in [(ProviderKind::Anthropic, anthropic), (ProviderKind::OpenAi, openai)] {
            let server = server("ok").await;
            let mut request = request();
            request.tool_choice = choice.clone();
            let mut spec = spec(kind, server.base_url());
            spec.default_max_output_tokens = Some(77);
            spec.options.body.insert("service_tier".into(), json!("flex"));
            let body = sent(&spec.connect().unwrap(), &server, request).await;
            assert_eq!(body["tool_choice"], expected, "{kind}");
            let limit = if kind == ProviderKind::Anthropic { "max_tokens" } else { "max_completion_tokens" };
            assert_eq!((&body[limit], &body["service_tier"]), (&json!(77), &json!("flex")), "{kind}");
        }
    }
}

#[tokio::test]
async fn a_field_the_server_does_not_know_is_left_out_and_not_tried_again() {
    let refusal = |message: &str| Reply::error(400, message);
    let script = Script::new()
        .reply(refusal("Unrecognized request argument supplied: stream_options"))
        .reply(refusal("Unsupported parameter: 'max_completion_tokens'"))
        .reply("first")
        .reply("second");
    let server = server(script).await;
    let provider = provider(ProviderKind::OpenAi, &server);
    let mut request = request();
    request.max_output_tokens = Some(50);
    for expected in ["first", "second"] {
        let (events, error) = send(&provider, request.clone()).await;
        assert!(error.is_none(), "{error:?}");
        assert_eq!(text(&events), expected);
        // The next request asks for something else, so that it is another conversation.
        request.messages = vec![user("Another question")];
    }
    let fields = |number: usize| {
        let body = server.requests()[number - 1].json.clone().unwrap();
        ["stream_options", "max_completion_tokens", "max_tokens"].map(|field| body.get(field).is_some())
    };
    assert_eq!(fields(1), [true, true, false]);
    assert_eq!(fields(2), [false, true, false]);
    assert_eq!(fields(3), [false, false, true]);
    assert_eq!(fields(4), [false, false, true]);
}

#[tokio::test]
async fn a_refused_value_is_no_unknown_field() {
    let server = server(Reply::error(400, "max_completion_tokens is too large: 900000")).await;
    let (_, error) = send(&provider(ProviderKind::OpenAi, &server), request()).await;
    assert!(error.unwrap().to_string().contains("too large"));
    assert_eq!(server.requests().len(), 1);
}
