//! What was said is sent again as each API wants it: valid, complete, and unchanged from round to round.

use robota_core::{
    Body, Message, MessageRef, MessageState, ModelRequest, Part, Reasoning, Timestamp, ToolChoice,
};
use robota_testkit::{Reply, Script};
use serde_json::json;

use super::case::{Case, cases};
use super::events::{calls, message, text};
use super::stage::Stage;
use super::subject::Subject;
use crate::api::{request, tool};
use crate::conversation::{result as returns, tool_calls, user};

pub(super) const CASES: &[Case] = cases![
    the_conversation_is_sent,
    thinking_goes_back_to_whom_it_came_from[Proofs, Http],
    thinking_of_others_stays_here[Http],
    thirty_rounds_of_calls,
    several_calls_at_once_in_each_round[OwnWire],
    an_interrupted_answer,
    notes_of_the_host_within_the_conversation,
    a_conversation_that_begins_with_an_answer,
    blank_messages[Http],
    odd_names_of_tools[Http],
    malformed_arguments_of_earlier_calls[Http],
    failed_and_empty_results,
    images_of_the_user_and_of_tools,
    an_image_is_sent_whole[OwnWire],
    text_of_all_languages,
    a_choice_of_tools[ToolChoice],
    a_choice_without_tools[ToolChoice],
    a_conversation_that_another_api_has_begun[Http],
    the_limit_of_output_is_sent[Http],
    what_a_profile_adds_to_requests[Http],
];

fn note(text: &str) -> MessageRef {
    Message::system("s", Timestamp::default(), text).into()
}

fn says(content: &str, calls: &[(&str, &str, &str)], reasoning: Vec<Reasoning>) -> MessageRef {
    let content = (!content.is_empty()).then(|| content.to_owned());
    let tool_calls = tool_calls(calls);
    let body = Body::Assistant { content, parts: Vec::new(), tool_calls, reasoning };
    Message::with_body("a", Timestamp::default(), body).into()
}

fn result(call: &str, content: &str) -> MessageRef {
    returns(call, content, false, Vec::new())
}

/// A request of this conversation.
fn conversation(messages: Vec<MessageRef>) -> ModelRequest {
    let mut request = request();
    request.messages = messages;
    request
}

/// The body that the subject sends for this conversation, which the server must accept.
async fn sent(subject: &Subject, messages: Vec<MessageRef>) -> String {
    let stage = subject.plays("ok").await;
    assert_eq!(text(&stage.answer_to(conversation(messages)).await), "ok");
    body(&stage, 0)
}

fn body(stage: &Stage, number: usize) -> String {
    stage.requests()[number].json.as_ref().unwrap().to_string()
}

async fn the_conversation_is_sent(subject: &Subject) {
    let stage = subject.plays("ok").await;
    let messages = vec![user("first-question"), says("first-answer", &[], vec![]), user("second-question")];
    stage.answer_to(conversation(messages)).await;
    let body = body(&stage, 0);
    for part in ["Be brief.", "first-question", "first-answer", "second-question", "Read", "Glob"] {
        assert!(body.contains(part), "{part}: {body}");
    }
    assert!(body.find("first-question") < body.find("first-answer"));
    assert!(body.find("first-answer") < body.find("second-question"));
    assert_eq!(stage.requests()[0].model(), Some("model-1"));
}

async fn thinking_goes_back_to_whom_it_came_from(subject: &Subject) {
    let thinks = Reply::new().thinking("Look first.", "cHJvb2Y=").text("I look.");
    let script =
        Script::new().reply(thinks.tool_call("call_1", "Read", json!({"filePath": "a"}))).reply("ok");
    let stage = subject.plays(script).await;
    let events = stage.answer_to(conversation(vec![user("Look.")])).await;
    let answer = message(&events, &stage.provider.info().id);
    let id = calls(&events)[0].0.clone();
    stage.answer_to(conversation(vec![user("Look."), answer, result(&id, "text")])).await;
    let body = body(&stage, 1);
    assert!(body.contains("cHJvb2Y=") && body.contains("I look."), "{body}");
}

async fn thinking_of_others_stays_here(subject: &Subject) {
    let foreign = Reasoning {
        provider: "another".into(),
        text: "foreign-thought".into(),
        signature: Some("foreign-proof".into()),
        redacted: None,
    };
    let messages = vec![
        user("Look."),
        says("I look.", &[("call_1", "Read", "{}")], vec![foreign]),
        result("call_1", "text"),
    ];
    let body = sent(subject, messages).await;
    assert!(!body.contains("foreign-"), "{body}");
}

/// Thirty rounds, each with as many calls; the server's rule is that nothing it has seen changes.
async fn rounds(subject: &Subject, calls_each: usize) {
    let script = Script::new().respond_with(move |request| {
        let round = request.tool_results().len() / calls_each;
        if round == 30 {
            return "done".into();
        }
        let begin = Reply::new().thinking("Hm", "cHJvb2Y=").text(format!("round {round}"));
        (0..calls_each).fold(begin, |reply, call| {
            reply.tool_call(format!("call_{round}_{call}"), "Read", json!({"filePath": round.to_string()}))
        })
    });
    let stage = subject.plays(script).await;
    let mut messages = vec![user("Do it.")];
    loop {
        let events = stage.answer_to(conversation(messages.clone())).await;
        let called = calls(&events);
        messages.push(message(&events, &stage.provider.info().id));
        if called.is_empty() {
            break;
        }
        messages.extend(called.iter().map(|(id, _, _)| result(id, "content of the file")));
    }
    assert_eq!((stage.requests().len(), messages.last().unwrap().text().to_string().as_str()), (31, "done"));
}

async fn thirty_rounds_of_calls(subject: &Subject) {
    rounds(subject, 1).await;
}

async fn several_calls_at_once_in_each_round(subject: &Subject) {
    rounds(subject, 3).await;
}

async fn an_interrupted_answer(subject: &Subject) {
    let mut interrupted = Message::assistant("i", Timestamp::default(), "I was about to ");
    interrupted.state = MessageState::Interrupted;
    let body = sent(subject, vec![user("Begin."), interrupted.into(), user("Go on.")]).await;
    assert!(body.contains("I was about to"), "{body}");
}

async fn notes_of_the_host_within_the_conversation(subject: &Subject) {
    let messages = vec![
        note("note-one"),
        user("Look."),
        says("", &[("call_1", "Read", "{}")], vec![]),
        result("call_1", "text"),
        note("note-two"),
        says("Done.", &[], vec![]),
        user("And?"),
        note("note-three"),
    ];
    let body = sent(subject, messages).await;
    assert!(["note-one", "note-two", "note-three"].iter().all(|note| body.contains(note)), "{body}");
}

async fn a_conversation_that_begins_with_an_answer(subject: &Subject) {
    let body = sent(subject, vec![user("And?"), says("Summary.", &[], vec![]), user("Go on.")]).await;
    assert!(body.contains("Summary."), "{body}");
    if subject.has_http() {
        sent(subject, vec![says("Summary.", &[], vec![]), user("Go on.")]).await;
    }
}

async fn blank_messages(subject: &Subject) {
    let messages = vec![user(" "), user("One."), says(" \n", &[], vec![]), user(""), user("Two."), note(" ")];
    let body = sent(subject, messages).await;
    assert!(body.contains("One.") && body.contains("Two."), "{body}");
}

async fn odd_names_of_tools(subject: &Subject) {
    let long = "x".repeat(70);
    let names = ["a.b", "fö ö", "", long.as_str(), "mcp::server/tool", "read file!"];
    let ids = (0..names.len()).map(|number| format!("call_{number}")).collect::<Vec<_>>();
    let named = ids.iter().zip(names).map(|(id, name)| (id.as_str(), name, "{}")).collect::<Vec<_>>();
    let answers = ids.iter().map(|id| returns(id, "there is no such tool", true, Vec::new()));
    let messages = [user("Look."), says("", &named, vec![])].into_iter().chain(answers).collect();
    sent(subject, messages).await;
}

async fn malformed_arguments_of_earlier_calls(subject: &Subject) {
    let written = ["{oops", "", "[1]", "\"text\"", "{\"a\":1}}", "null"];
    let ids = (0..written.len()).map(|number| format!("call_{number}")).collect::<Vec<_>>();
    let called = ids.iter().zip(written).map(|(id, text)| (id.as_str(), "Read", text)).collect::<Vec<_>>();
    let answers = ids.iter().map(|id| returns(id, "not valid JSON", true, Vec::new()));
    let messages = [user("Look."), says("", &called, vec![])].into_iter().chain(answers).collect();
    sent(subject, messages).await;
}

async fn failed_and_empty_results(subject: &Subject) {
    let called = [("call_1", "Read", "{}"), ("call_2", "Read", "{}"), ("call_3", "Read", "{}")];
    let messages = vec![
        user("Look."),
        says("", &called, vec![]),
        result("call_1", ""),
        returns("call_2", "no such file", true, Vec::new()),
        result("call_3", " \n"),
    ];
    assert!(sent(subject, messages).await.contains("no such file"));
}

/// A name that tells every kind of server that its model sees.
const SEEING: &str = "model-4v-vl-m3-vision";

fn image() -> Part {
    Part::ImageInline { mime_type: "image/png".into(), data: "aW1hZ2Utb25l".into() }
}

async fn images_of_the_user_and_of_tools(subject: &Subject) {
    let linked =
        Part::ImageUri { uri: "https://a.example/b.png".into(), mime_type: Some("image/png".into()) };
    let shown = Body::User { content: "What is it?".into(), parts: vec![image(), linked], name: None };
    let wordless = Body::User { content: String::new(), parts: vec![image()], name: None };
    let messages = vec![
        Message::with_body("u", Timestamp::default(), shown).into(),
        says("", &[("call_1", "Read", "{}")], vec![]),
        returns("call_1", "a picture", false, vec![image()]),
        says("A cat.", &[], vec![]),
        Message::with_body("w", Timestamp::default(), wordless).into(),
    ];
    assert!(sent(subject, messages).await.contains("What is it?"));
}

async fn an_image_is_sent_whole(subject: &Subject) {
    let data = "QUJD".repeat(100_000);
    let parts = vec![Part::ImageInline { mime_type: "image/png".into(), data: data.clone() }];
    let shown = Body::User { content: "What is it?".into(), parts, name: None };
    let stage = subject.plays("ok").await;
    let mut request = conversation(vec![Message::with_body("u", Timestamp::default(), shown).into()]);
    request.model = SEEING.into();
    stage.answer_to(request).await;
    assert!(body(&stage, 0).contains(&data), "the image is not in the request");
}

async fn text_of_all_languages(subject: &Subject) {
    let odd = "Grüße 日本語 👩‍👧 \u{2028} \"quoted\" \\ \u{1} </s>";
    let stage = subject.plays("ok").await;
    let messages = vec![user(odd), says(odd, &[("call_1", "Read", "{}")], vec![]), result("call_1", odd)];
    stage.answer_to(conversation(messages)).await;
    let body = body(&stage, 0);
    let written = serde_json::to_string(odd).unwrap();
    assert_eq!(body.matches(written.trim_matches('"')).count(), 3, "{body}");
}

async fn a_choice_of_tools(subject: &Subject) {
    let mut bodies = std::collections::BTreeSet::new();
    let choices = [ToolChoice::Auto, ToolChoice::None, ToolChoice::Required, ToolChoice::Tool("Glob".into())];
    for choice in choices {
        let stage = subject.plays("ok").await;
        let mut request = request();
        request.tool_choice = choice;
        stage.answer_to(request).await;
        assert_eq!(stage.requests()[0].tool_names(), ["Read", "Glob"], "tools stay, so that caches hit");
        bodies.insert(body(&stage, 0));
    }
    assert!(bodies.len() >= 3, "the choices look alike: {bodies:?}");
}

async fn a_choice_without_tools(subject: &Subject) {
    for choice in [ToolChoice::None, ToolChoice::Required] {
        let stage = subject.plays("ok").await;
        let mut request = request();
        request.tools = [].into();
        request.tool_choice = choice;
        stage.answer_to(request).await;
        assert_eq!(stage.requests()[0].tool_names(), [""; 0]);
    }
}

async fn a_conversation_that_another_api_has_begun(subject: &Subject) {
    let messages = vec![
        user("Look."),
        says("I look.", &[("call_1", "Read", "{\"filePath\": \"a\"}")], vec![]),
        result("call_1", "text"),
    ];
    let fresh = sent(subject, messages.clone()).await;
    // What another wire has kept with the messages is not taken for one's own.
    for other in [robota_providers::ProviderKind::Anthropic, robota_providers::ProviderKind::OpenAi] {
        let server = crate::api::server("ok").await;
        let provider = crate::api::provider(other, &server);
        crate::api::send(&provider, conversation(messages.clone())).await;
        server.assert_clean();
    }
    let kept = sent(subject, messages).await;
    assert_eq!(kept, fresh);
}

async fn the_limit_of_output_is_sent(subject: &Subject) {
    let stage = subject.plays("ok").await;
    let mut request = request();
    request.max_output_tokens = Some(4321);
    stage.answer_to(request).await;
    assert!(body(&stage, 0).contains("4321"), "{}", body(&stage, 0));
}

async fn what_a_profile_adds_to_requests(subject: &Subject) {
    let stage = subject
        .plays_with("ok", |spec| {
            spec.options.headers = vec![("x-tenant".into(), "tenant-7".into())];
            spec.options.body.insert("x_extra".into(), json!({"a": 1}));
        })
        .await;
    let mut request = request();
    request.tools = [tool("Read")].into();
    stage.answer_to(request).await;
    let sent = stage.requests()[0].clone();
    assert_eq!((sent.header("x-tenant"), sent.field("x_extra")), (Some("tenant-7"), &json!({"a": 1})));
}
