//! How the bytes of a stream are laid out changes nothing about what it says.

use robota_testkit::Reply;
use serde_json::json;

use super::case::{Case, cases};
use super::recording::{Recording, light_server};
use super::subject::Subject;
use crate::api::{request, send};

pub(super) const CASES: &[Case] = cases![
    a_boundary_at_every_byte[Http],
    chunks_of_one_byte[Http],
    carriage_returns[Http],
    carriage_returns_in_chunks_of_one_byte[Http, OwnWire],
    comments[Http],
    comments_within_events[Http],
    pings[Http],
    a_byte_order_mark[Http],
    no_space_after_the_colon[Http],
    data_on_several_lines[Http],
    ids_and_retry_times[Http],
    further_blank_lines[Http],
    no_names_of_events[Http],
    unknown_events[Http],
    no_blank_line_at_the_end[Http],
    rubbish_after_the_end[Http],
];

fn reply() -> Reply {
    Reply::new().thinking("Hm", "cHJvb2Y=").text("Grüße 🌍").tool_call(
        "call_1",
        "Read",
        json!({"filePath": "ä"}),
    )
}

async fn recording(subject: &Subject) -> Recording {
    Recording::of(subject, reply()).await
}

async fn a_boundary_at_every_byte(subject: &Subject) {
    let short = Reply::new().text("é").tool_call("c", "Read", json!({"a": "ü"})).without_usage();
    let recording = Recording::of(subject, short).await;
    let positions = (1..recording.text.len()).step_by(subject.stride());
    let replies = positions.clone().map(|position| {
        let (before, after) = recording.text.as_bytes().split_at(position);
        Reply::new().raw(before).raw(after).end()
    });
    let server = light_server(replies.collect());
    let provider = subject.connect(server.base_url());
    for position in positions {
        let (events, error) = send(&provider, request()).await;
        assert!(error.is_none(), "{position}: {error:?}");
        assert_eq!(super::events::content(&events), recording.content, "{position}");
    }
}

async fn chunks_of_one_byte(subject: &Subject) {
    let recording = recording(subject).await;
    recording.is_meant_by(subject, recording.reply(recording.text.as_bytes()).chunk_bytes(1)).await;
}

async fn carriage_returns(subject: &Subject) {
    let recording = recording(subject).await;
    recording.means_the_same(subject, recording.text.replace('\n', "\r\n")).await;
}

async fn carriage_returns_in_chunks_of_one_byte(subject: &Subject) {
    let recording = recording(subject).await;
    let bytes = recording.text.replace('\n', "\r\n");
    recording.is_meant_by(subject, recording.reply(bytes).chunk_bytes(1)).await;
}

/// The recording with `text` before each of its events.
fn before_events(recording: &Recording, text: &str) -> String {
    recording.events().iter().flat_map(|event| [text, event]).collect()
}

async fn comments(subject: &Subject) {
    let recording = recording(subject).await;
    recording.means_the_same(subject, before_events(&recording, ": keepalive\n\n:\n\n")).await;
}

async fn comments_within_events(subject: &Subject) {
    let recording = recording(subject).await;
    recording
        .means_the_same(subject, recording.text.replace("data: ", ": OPENROUTER PROCESSING\ndata: "))
        .await;
}

async fn pings(subject: &Subject) {
    let recording = recording(subject).await;
    let pinged = Reply::new()
        .ping()
        .thinking("Hm", "cHJvb2Y=")
        .ping()
        .text("Grüße 🌍")
        .ping()
        .tool_call("call_1", "Read", json!({"filePath": "ä"}))
        .ping();
    recording.is_meant_by(subject, pinged).await;
}

async fn a_byte_order_mark(subject: &Subject) {
    let recording = recording(subject).await;
    recording.means_the_same(subject, format!("\u{feff}{}", recording.text)).await;
}

async fn no_space_after_the_colon(subject: &Subject) {
    let recording = recording(subject).await;
    recording
        .means_the_same(subject, recording.text.replace("data: ", "data:").replace("event: ", "event:"))
        .await;
}

async fn data_on_several_lines(subject: &Subject) {
    let recording = recording(subject).await;
    let several = recording.text.replace("data: {", "data: {\ndata:\ndata: ");
    recording.means_the_same(subject, several).await;
}

async fn ids_and_retry_times(subject: &Subject) {
    let recording = recording(subject).await;
    recording
        .means_the_same(subject, before_events(&recording, "id: 7\nretry: 1000\nfurther: field\nbare\n"))
        .await;
}

async fn further_blank_lines(subject: &Subject) {
    let recording = recording(subject).await;
    recording.means_the_same(subject, before_events(&recording, "\n\n\n")).await;
}

async fn no_names_of_events(subject: &Subject) {
    let recording = recording(subject).await;
    let lines = recording.text.split_inclusive('\n').filter(|line| !line.starts_with("event:"));
    recording.means_the_same(subject, lines.collect::<String>()).await;
}

async fn unknown_events(subject: &Subject) {
    let recording = recording(subject).await;
    let events = recording.events();
    let (last, others) = events.split_last().unwrap();
    let unknown = "event: response.new\ndata: {\"type\":\"response.new\",\"new\":[{}]}\n\n";
    let bytes = others.iter().flat_map(|event| [*event, unknown]).chain([*last]).collect::<String>();
    recording.means_the_same(subject, bytes).await;
}

async fn no_blank_line_at_the_end(subject: &Subject) {
    let recording = recording(subject).await;
    recording.means_the_same(subject, recording.text.trim_end()).await;
}

async fn rubbish_after_the_end(subject: &Subject) {
    let recording = recording(subject).await;
    for rubbish in ["<html>", "data: {\"half\":\n\n", "data: <oops>\n\n", "\0\0\0", "event: "] {
        let reply = recording.reply(recording.text.as_bytes()).trailing(rubbish);
        recording.is_meant_by(subject, reply).await;
    }
}
