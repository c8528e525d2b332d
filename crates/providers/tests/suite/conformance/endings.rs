//! A stream that ends too early is a failure of the network, and what came before is given, never half of anything.

use robota_core::{ModelEvent, ProviderErrorKind as Kind};
use robota_testkit::{FakeModelServer, Reply};
use serde_json::json;

use super::case::{Case, cases};
use super::events::{content, text, thinking};
use super::recording::{Recording, hears, light_server};
use super::subject::Subject;
use crate::api::{failure, request, send};

pub(super) const CASES: &[Case] = cases![
    an_end_within_text,
    a_cut_within_text,
    an_end_within_thinking,
    an_end_within_a_call,
    an_end_after_any_event[Http],
    an_end_at_any_byte[Http],
    a_cut_after_any_event[Http, OwnWire],
    no_events_at_all[Http],
    a_connection_that_is_closed_without_an_answer,
    a_server_that_is_not_there[Http],
    a_name_that_does_not_exist[Http],
];

async fn fails_after(subject: &Subject, reply: Reply) -> Vec<ModelEvent> {
    let (events, error) = subject.plays(reply).await.call().await;
    let error = error.unwrap_or_else(|| panic!("{events:?}"));
    assert!(error.kind() == Kind::Network && error.is_retryable(), "{error:?}");
    assert!(!events.iter().any(|event| matches!(event, ModelEvent::Finish(_))), "{events:?}");
    events
}

async fn an_end_within_text(subject: &Subject) {
    assert_eq!(text(&fails_after(subject, Reply::new().text(["half ", "of"]).end()).await), "half of");
}

async fn a_cut_within_text(subject: &Subject) {
    assert_eq!(text(&fails_after(subject, Reply::new().text(["half ", "of"]).cut()).await), "half of");
}

async fn an_end_within_thinking(subject: &Subject) {
    let events = fails_after(subject, Reply::new().thinking(["half ", "of"], "cHJvb2Y=").end()).await;
    assert_eq!(thinking(&events), "half of");
}

async fn an_end_within_a_call(subject: &Subject) {
    for reply in [
        Reply::new().text("Look").tool_call("c", "Read", "{\"filePa").end(),
        Reply::new().text("Look").tool_call("c", "Read", "{\"filePa").cut(),
    ] {
        let events = fails_after(subject, reply).await;
        assert_eq!(text(&events), "Look");
        assert!(!events.iter().any(|event| matches!(event, ModelEvent::ToolCallEnd { .. })), "{events:?}");
    }
}

fn reply() -> Reply {
    Reply::new()
        .thinking(["Let ", "me"], "cHJvb2Y=")
        .text(["Grü", "ße"])
        .tool_call("call_1", "Read", ["{\"filePath\":", "\"a\"}"])
        .tool_call("call_2", "Glob", json!({"pattern": "*"}))
}

/// Whether `part` is how `whole` begins, its last event possibly shorter.
fn begins(whole: &[ModelEvent], part: &[ModelEvent]) -> bool {
    let Some((last, before)) = part.split_last() else { return true };
    let Some(next) = whole.get(before.len()) else { return false };
    let shorter = match (next, last) {
        (ModelEvent::TextDelta(whole), ModelEvent::TextDelta(part))
        | (ModelEvent::ThinkingDelta(whole), ModelEvent::ThinkingDelta(part)) => {
            whole.starts_with(part.as_str())
        }
        (
            ModelEvent::ToolCallArguments { index, delta },
            ModelEvent::ToolCallArguments { index: same, delta: part },
        ) => index == same && delta.starts_with(part.as_str()),
        _ => next == last,
    };
    whole.starts_with(before) && shorter
}

/// Sends the first bytes of the answer, to each of the `ends`.
async fn ends_at(subject: &Subject, ends: impl Fn(&Recording) -> Vec<usize>, cut: bool) {
    let recording = Recording::of(subject, reply()).await;
    let ends = ends(&recording);
    let replies = ends.iter().map(|end| {
        let bytes = &recording.text.as_bytes()[..*end];
        let reply = Reply::new().raw(bytes);
        if cut { reply.cut() } else { reply.end() }
    });
    let server = light_server(replies.collect());
    let provider = subject.connect(server.base_url());
    for end in ends {
        let (events, error) = send(&provider, request()).await;
        let events = content(&events);
        match error {
            // What was essential had arrived.
            None => {
                let counts = |event: &&ModelEvent| !matches!(event, ModelEvent::Usage(_));
                assert!(
                    events.iter().filter(counts).eq(recording.content.iter().filter(counts)),
                    "{end}: {events:?}"
                );
            }
            Some(error) => {
                assert_eq!(error.kind(), Kind::Network, "{end}: {error:?}");
                assert!(begins(&recording.content, &events), "{end}: {events:?} of {:?}", recording.content);
            }
        }
    }
}

fn event_ends(recording: &Recording) -> Vec<usize> {
    let ends = recording.events().into_iter().scan(0, |end, event| {
        *end += event.len();
        Some(*end)
    });
    let mut ends = ends.collect::<Vec<_>>();
    // The whole is no early end.
    ends.pop();
    ends
}

async fn an_end_after_any_event(subject: &Subject) {
    ends_at(subject, event_ends, false).await;
}

async fn a_cut_after_any_event(subject: &Subject) {
    ends_at(subject, event_ends, true).await;
}

async fn an_end_at_any_byte(subject: &Subject) {
    let step = subject.stride() + 2;
    ends_at(subject, |recording| (1..recording.text.len()).step_by(step).collect(), false).await;
}

async fn no_events_at_all(subject: &Subject) {
    for reply in
        [Reply::body(200, "text/event-stream", ""), Reply::body(200, "text/event-stream", ": hello\n\n")]
    {
        let (events, error) = hears(subject, reply).await;
        assert_eq!((events, error.map(|error| error.kind())), (vec![], Some(Kind::Network)));
    }
}

async fn a_connection_that_is_closed_without_an_answer(subject: &Subject) {
    let error = subject.plays(Reply::hang_up()).await.failure().await;
    assert!(error.kind() == Kind::Network && error.is_retryable(), "{error:?}");
}

async fn a_server_that_is_not_there(subject: &Subject) {
    let server = FakeModelServer::start(Reply::new()).await.unwrap();
    let (url, port) = (server.base_url(), server.port());
    server.shutdown().await;
    let error = failure(&subject.connect(url)).await;
    assert!(error.kind() == Kind::Network && error.is_retryable(), "{error:?}");
    assert!(error.to_string().contains(&format!("127.0.0.1:{port}")) && error.hint().is_some(), "{error:?}");
}

async fn a_name_that_does_not_exist(subject: &Subject) {
    // A proxy of the system would be asked for any other name that is not this machine's.
    let error = failure(&subject.connect("http://nowhere.invalid.localhost:1/")).await;
    assert_eq!(error.kind(), Kind::Network);
    assert!(error.to_string().contains("nowhere.invalid.localhost"), "{error}");
}
