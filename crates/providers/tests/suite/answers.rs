//! What the model says arrives as it was said, whatever the API.

use robota_core::{FinishReason, ModelEvent, Usage};
use robota_providers::ProviderKind;
use robota_testkit::Reply;
use serde_json::json;

use crate::api::{answer, provider, server, text};

/// The calls of an answer: id, name and joined arguments. Each must be ended.
fn calls(events: &[ModelEvent]) -> Vec<(String, String, String)> {
    let mut calls: Vec<(String, String, String)> = Vec::new();
    let mut ended = 0;
    for event in events {
        match event {
            ModelEvent::ToolCallStart { index, id, name } => {
                assert_eq!(*index, calls.len());
                calls.push((id.clone(), name.clone(), String::new()));
            }
            ModelEvent::ToolCallArguments { index, delta } => calls[*index].2.push_str(delta),
            ModelEvent::ToolCallEnd { .. } => ended += 1,
            _ => {}
        }
    }
    assert_eq!(ended, calls.len());
    calls
}

fn called(id: &str, name: &str, arguments: &str) -> (String, String, String) {
    (id.into(), name.into(), arguments.into())
}

#[tokio::test]
async fn text_usage_and_finish() {
    let usage =
        Usage { input_tokens: 200, output_tokens: 30, cache_read_tokens: 1000, cache_write_tokens: 0 };
    for kind in crate::api::KINDS {
        let server = server(Reply::new().text(["Grü", "ße, ", "world"]).usage(usage)).await;
        let events = answer(&provider(kind, &server)).await;
        assert!(matches!(&events[0], ModelEvent::Started { response_id: Some(_), model: Some(_) }), "{kind}");
        assert_eq!(text(&events), "Grüße, world", "{kind}");
        let tail = [ModelEvent::Usage(usage), ModelEvent::Finish(FinishReason::EndTurn)];
        assert_eq!(events[events.len() - 2..], tail, "{kind}");
        server.assert_clean();
    }
}

#[tokio::test]
async fn thinking_comes_before_text_and_keeps_its_signature() {
    for kind in crate::api::KINDS {
        let server = server(Reply::new().thinking(["Let me ", "see"], "sig-1").text("Done")).await;
        let events = answer(&provider(kind, &server)).await;
        let signature = (kind == ProviderKind::Anthropic).then(|| "sig-1".to_owned());
        let expected = [
            ModelEvent::ThinkingDelta("Let me ".into()),
            ModelEvent::ThinkingDelta("see".into()),
            ModelEvent::ThinkingEnd { signature },
            ModelEvent::TextDelta("Done".into()),
        ];
        let content: Vec<_> = events
            .into_iter()
            .filter(|event| {
                !matches!(event, ModelEvent::Started { .. } | ModelEvent::Usage(_) | ModelEvent::Finish(_))
            })
            .collect();
        assert_eq!(content, expected, "{kind}");
    }
}

#[tokio::test]
async fn parallel_tool_calls_and_malformed_arguments_arrive_as_written() {
    for kind in crate::api::KINDS {
        let reply = Reply::new()
            .text("Both.")
            .tool_call("call_1", "Read", ["{\"filePath\"", ":\"a\"}"])
            .tool_call("call_2", "Read", "{\"filePath\": oops")
            .tool_call("call_3", "Glob", json!({}));
        let server = server(reply).await;
        let events = answer(&provider(kind, &server)).await;
        let expected = [
            called("call_1", "Read", "{\"filePath\":\"a\"}"),
            called("call_2", "Read", "{\"filePath\": oops"),
            called("call_3", "Glob", "{}"),
        ];
        assert_eq!(calls(&events), expected, "{kind}");
        assert_eq!(events.last(), Some(&ModelEvent::Finish(FinishReason::ToolUse)), "{kind}");
    }
}

#[tokio::test]
async fn an_answer_cut_by_the_output_limit_says_so() {
    for kind in crate::api::KINDS {
        let server = server(Reply::new().text("and then").stop(FinishReason::MaxTokens)).await;
        let events = answer(&provider(kind, &server)).await;
        assert_eq!(events.last(), Some(&ModelEvent::Finish(FinishReason::MaxTokens)), "{kind}");
    }
}

#[tokio::test]
async fn chunks_of_any_size_crlf_comments_and_pings_do_not_show() {
    let reply = || {
        Reply::new()
            .thinking("Hm", "s")
            .ping()
            .text("Grüße")
            .tool_call("c", "Read", json!({"filePath": "ä"}))
            .without_usage()
    };
    for kind in crate::api::KINDS {
        let plain = {
            let server = server(reply()).await;
            answer(&provider(kind, &server)).await
        };
        for bytes in [1, 2, 3, 7, 64] {
            let server = server(reply().chunk_bytes(bytes).crlf().comments()).await;
            let events = answer(&provider(kind, &server)).await;
            assert_eq!(events[1..], plain[1..], "{kind}, {bytes}");
        }
    }
}

#[tokio::test]
async fn an_event_stream_under_another_content_type_is_read_all_the_same() {
    let body =
        "data: {\"choices\":[{\"delta\":{\"content\":\"hi\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]";
    let server = server(Reply::body(200, "text/plain", body)).await;
    assert_eq!(text(&answer(&provider(ProviderKind::OpenAi, &server)).await), "hi");
}

#[tokio::test]
async fn rubbish_after_a_finished_answer_does_no_harm() {
    let body = "data: {\"choices\":[{\"delta\":{\"content\":\"hi\"},\"finish_reason\":\"stop\"}]}\n\ndata: <rubbish>\n\n";
    let server = server(Reply::body(200, "text/event-stream", body)).await;
    assert_eq!(text(&answer(&provider(ProviderKind::OpenAi, &server)).await), "hi");
}
