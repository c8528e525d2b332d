//! What the model says arrives as it was said.

use robota_core::{Citation, FinishReason, ModelEvent, Usage};
use robota_testkit::{Dialect, Reply};
use serde_json::json;

use super::case::{Case, cases};
use super::events::{content, finish, text, thinking, usage};
use super::subject::Subject;

pub(super) const CASES: &[Case] = cases![
    plain_text,
    an_answer_without_content,
    many_small_pieces_keep_their_order,
    ten_thousand_pieces[OwnWire],
    one_piece_of_a_megabyte[OwnWire],
    text_of_all_languages,
    white_space_and_markup_stay,
    token_counts,
    token_counts_with_reads_of_the_cache,
    token_counts_with_writes_to_the_cache[CacheWrites],
    an_answer_without_token_counts,
    an_answer_that_was_cut_by_the_output_limit,
    an_answer_that_the_filter_ended,
    a_paused_answer[PauseTurn],
    thinking_before_text,
    thinking_alone,
    a_proof_of_thinking[Redaction],
    thinking_that_nobody_may_read[Redaction],
    a_tool_of_the_service_and_its_sources[ServerTools],
];

async fn plain_text(subject: &Subject) {
    let stage = subject.plays(Reply::new().text(["Hello, ", "world"])).await;
    let events = stage.answer().await;
    assert!(matches!(&events[0], ModelEvent::Started { response_id: Some(_), model: Some(_) }), "{events:?}");
    assert_eq!((text(&events).as_str(), finish(&events)), ("Hello, world", FinishReason::EndTurn));
}

async fn an_answer_without_content(subject: &Subject) {
    let events = subject.plays(Reply::new()).await.answer().await;
    assert_eq!((text(&events).as_str(), finish(&events)), ("", FinishReason::EndTurn));
}

async fn many_small_pieces_keep_their_order(subject: &Subject) {
    let pieces = (0..500).map(|number| format!("{number} ")).collect::<Vec<_>>();
    let events = subject.plays(Reply::new().text(pieces.clone())).await.answer().await;
    assert_eq!(text(&events), pieces.concat());
    let deltas = events.iter().filter(|event| matches!(event, ModelEvent::TextDelta(_))).count();
    assert!(deltas >= 490, "pieces are handed on as they come, not {deltas}");
}

async fn ten_thousand_pieces(subject: &Subject) {
    let events = subject.plays(Reply::new().text(vec!["word "; 10_000])).await.answer().await;
    assert_eq!(text(&events), "word ".repeat(10_000));
}

async fn one_piece_of_a_megabyte(subject: &Subject) {
    let long = "0123456789abcde\n".repeat(65_536);
    let events = subject.plays(Reply::new().text(long.as_str())).await.answer().await;
    assert!(text(&events) == long, "a long text changed");
}

async fn text_of_all_languages(subject: &Subject) {
    let pieces = ["Grüße ", "日本", "語 ", "👩‍👩‍👧 ", "שלום ", "e\u{301} ", "\u{2028}\u{feff} ", "\"\\/\u{1}"];
    let events = subject.plays(Reply::new().text(pieces)).await.answer().await;
    assert_eq!(text(&events), pieces.concat());
}

async fn white_space_and_markup_stay(subject: &Subject) {
    let said = "  if a < b && c > d:\n\n\tprint(\"<tag>\")  \r\n<b>x</b>\n\ndata: [DONE]\n";
    let events = subject.plays(Reply::new().text(["Look:", said])).await.answer().await;
    assert_eq!(text(&events), format!("Look:{said}"));
}

async fn counts(subject: &Subject, counted: Usage) {
    let events = subject.plays(Reply::new().text("hi").usage(counted)).await.answer().await;
    assert_eq!(usage(&events), Some(counted));
}

async fn token_counts(subject: &Subject) {
    counts(subject, Usage { input_tokens: 200, output_tokens: 30, ..Usage::default() }).await;
}

async fn token_counts_with_reads_of_the_cache(subject: &Subject) {
    let read = Usage { input_tokens: 200, output_tokens: 30, cache_read_tokens: 1000, ..Usage::default() };
    counts(subject, read).await;
}

async fn token_counts_with_writes_to_the_cache(subject: &Subject) {
    let counted =
        Usage { input_tokens: 4, output_tokens: 30, cache_read_tokens: 1000, cache_write_tokens: 200 };
    counts(subject, counted).await;
}

async fn an_answer_without_token_counts(subject: &Subject) {
    let events = subject.plays(Reply::new().text("hi").without_usage()).await.answer().await;
    assert_eq!((text(&events).as_str(), finish(&events)), ("hi", FinishReason::EndTurn));
}

async fn an_answer_that_was_cut_by_the_output_limit(subject: &Subject) {
    let events =
        subject.plays(Reply::new().text("and then").stop(FinishReason::MaxTokens)).await.answer().await;
    assert_eq!((text(&events).as_str(), finish(&events)), ("and then", FinishReason::MaxTokens));
}

async fn an_answer_that_the_filter_ended(subject: &Subject) {
    let stage = subject.plays(Reply::new().text("well").stop(FinishReason::ContentFilter)).await;
    let events = stage.answer().await;
    let reason = finish(&events);
    assert!(matches!(reason, FinishReason::Refusal | FinishReason::ContentFilter), "{reason:?}");
    assert_eq!(text(&events), "well");
}

async fn a_paused_answer(subject: &Subject) {
    let events = subject.plays(Reply::new().text("first").stop(FinishReason::PauseTurn)).await.answer().await;
    assert_eq!(finish(&events), FinishReason::PauseTurn);
}

async fn thinking_before_text(subject: &Subject) {
    let reply = Reply::new().thinking(["Let me ", "see"], "cHJvb2Y=").text("Done");
    let events = subject.plays(reply).await.answer().await;
    assert_eq!((thinking(&events).as_str(), text(&events).as_str()), ("Let me see", "Done"));
    let kinds = content(&events).into_iter().filter_map(|event| match event {
        ModelEvent::ThinkingDelta(_) => Some("thinking"),
        ModelEvent::ThinkingEnd { .. } => Some("end"),
        ModelEvent::TextDelta(_) => Some("text"),
        _ => None,
    });
    assert_eq!(kinds.collect::<Vec<_>>(), ["thinking", "end", "text"]);
}

async fn thinking_alone(subject: &Subject) {
    let events = subject.plays(Reply::new().thinking("Hm", "cHJvb2Y=")).await.answer().await;
    assert_eq!((thinking(&events).as_str(), text(&events).as_str()), ("Hm", ""));
    assert!(events.iter().any(|event| matches!(event, ModelEvent::ThinkingEnd { .. })), "{events:?}");
}

async fn a_proof_of_thinking(subject: &Subject) {
    let events = subject.plays(Reply::new().thinking("Hm", "cHJvb2Y=").text("ok")).await.answer().await;
    let proof = ModelEvent::ThinkingEnd { signature: Some("cHJvb2Y=".into()) };
    assert!(events.contains(&proof), "{events:?}");
}

async fn thinking_that_nobody_may_read(subject: &Subject) {
    let step = robota_testkit::Step::RedactedThinking("opaque".into());
    let events = subject.plays(Reply::new().step(step).text("ok")).await.answer().await;
    assert!(events.contains(&ModelEvent::RedactedThinking("opaque".into())), "{events:?}");
}

async fn a_tool_of_the_service_and_its_sources(subject: &Subject) {
    let found = json!([{"type": "web_search_result", "url": "https://a.example/x", "title": "A",
        "encrypted_content": "e", "page_age": null}]);
    let source = Citation {
        url: Some("https://a.example/x".into()),
        title: Some("A".into()),
        text: Some("said".into()),
    };
    let reply = Reply::new()
        .server_tool("srv_1", "web_search", json!({"query": "rust"}), found)
        .text("It says so.")
        .citation(source.clone());
    let events = subject.plays(reply).await.answer().await;
    let asked = ModelEvent::ServerTool { tool: "web_search".into(), query: "rust".into() };
    assert!(events.contains(&asked), "{events:?}");
    let cited = events.iter().find_map(|event| match event {
        ModelEvent::Citation(citation) => Some(citation.clone()),
        _ => None,
    });
    let cited = cited.unwrap_or_else(|| panic!("{events:?}"));
    // Responses say where, not what.
    let expected = if subject.dialect == Dialect::OpenAiResponses { cited.text.clone() } else { source.text };
    assert_eq!(cited, Citation { text: expected, ..source });
    assert_eq!(text(&events), "It says so.");
}
