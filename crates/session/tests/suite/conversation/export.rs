//! Export and import.

use robota_core::{SessionId, Usage};
use robota_session::{Conversation, ConversationExport, ConversationOptions, RateLimits, Speaker};
use serde_json::{Value, json};

use super::{NOW, call, entry, in_memory, result, uuid};

async fn full() -> Conversation {
    let conversation = in_memory();
    conversation.add_to_history(entry(Speaker::User, "Go.")).await.unwrap();
    conversation.record_message(call("c1")).unwrap();
    conversation.record_message(result("c1")).unwrap();
    conversation.add_approved_command("Bash(ls)").unwrap();
    conversation.add_approved_command("Bash(git status)").unwrap();
    let usage = Usage { input_tokens: 10, output_tokens: 2, cache_read_tokens: 3, cache_write_tokens: 0 };
    conversation.record_usage(&usage);
    let limits =
        RateLimits { remaining_requests: Some(9), reset_requests: Some("1s".into()), ..Default::default() };
    conversation.set_rate_limits(limits);
    conversation
}

fn options() -> ConversationOptions {
    ConversationOptions::new("model-2", "/elsewhere")
}

fn import(value: &Value) -> Result<Conversation, String> {
    let export = ConversationExport::from_value(value).map_err(|error| error.to_string())?;
    Conversation::import(export, options()).map_err(|error| error.to_string())
}

#[tokio::test]
async fn export_has_exactly_the_format_of_the_contract() {
    let conversation = full().await;
    let expected = json!({
        "id": format!("conv_{}", uuid(1)),
        "state": {
            "history": {"items": [
                {"id": uuid(2), "timestamp": "2026-01-01T00:00:00.000Z", "state": "complete", "role": "user", "content": "Go."},
                {"id": "call of c1", "timestamp": "2026-01-01T00:00:00.000Z", "state": "complete", "role": "assistant", "content": null,
                 "toolCalls": [{"id": "c1", "type": "function", "function": {"name": "Bash", "arguments": "{\"command\":\"ls\"}"}}]},
                {"id": "result of c1", "timestamp": "2026-01-01T00:00:00.000Z", "state": "complete", "role": "tool", "content": "done",
                 "toolCallId": "c1", "name": "Bash"},
            ]},
            "approvedCommands": ["Bash(git status)", "Bash(ls)"],
            "tokenInfo": {"input_tokens": 10, "output_tokens": 2, "total_tokens": 15, "cache_read_input_tokens": 3},
            "latestRateLimits": {"remaining_requests": 9, "reset_requests": "1s"},
        },
        "metadata": {"created": NOW, "lastAccessed": NOW, "messageCount": 3},
    });
    assert_eq!(serde_json::to_value(conversation.export()).unwrap(), expected);
}

#[tokio::test]
async fn export_of_nothing_leaves_out_what_is_not_known() {
    let conversation = in_memory();
    conversation.start_turn().unwrap();
    conversation.inject_input("Wait.").unwrap();
    conversation.add_error("it broke", None);
    conversation.request_interrupt();
    let expected = json!({
        "id": format!("conv_{}", uuid(1)),
        "state": {"history": {"items": []}, "approvedCommands": []},
        "metadata": {"created": NOW, "lastAccessed": NOW, "messageCount": 0},
    });
    assert_eq!(serde_json::to_value(conversation.export()).unwrap(), expected);
}

#[tokio::test]
async fn import_gives_the_conversation_back_with_fresh_runtime_state() {
    let conversation = full().await;
    conversation.start_turn().unwrap();
    conversation.add_error("it broke", None);
    conversation.track_tool_usage("Bash");
    conversation.request_interrupt();
    let export = conversation.export();
    let json = serde_json::to_vec(&export).unwrap();
    let read = ConversationExport::from_json(&json).unwrap();
    assert_eq!(read, export);
    assert_eq!(serde_json::from_slice::<ConversationExport>(&json).unwrap(), export);

    let imported = Conversation::import(read, options()).unwrap();
    assert_eq!(imported.export(), export);
    assert_eq!(imported.conversation_history(), conversation.conversation_history());
    assert_eq!(imported.approvals().rules().len(), 2);
    assert!(!imported.is_active_turn() && !imported.is_interrupt_requested());
    assert!(imported.errors().is_empty() && imported.tool_usage().is_empty());
    assert_eq!(&*imported.metadata().current_model, "model-2");
    assert_eq!(imported.start_turn().unwrap(), 1);
}

#[tokio::test]
async fn import_under_another_id_is_a_copy() {
    let mut options = options();
    options.session_id = Some("copy".parse::<SessionId>().unwrap());
    let conversation = full().await;
    let copy = Conversation::import(conversation.export(), options).unwrap();
    assert_eq!(copy.session_id().as_str(), "copy");
    assert_ne!(copy.conversation_id(), conversation.conversation_id());
    assert_eq!(copy.conversation_history(), conversation.conversation_history());
}

/// Changes each place of a good export to the JSON beside it, and expects it to be refused as told.
async fn assert_refused(cases: &[(&str, &str, &str)]) {
    let good = serde_json::to_value(full().await.export()).unwrap();
    assert!(import(&good).is_ok());
    for (place, json, told) in cases {
        let mut bad = good.clone();
        *bad.pointer_mut(place).unwrap() = serde_json::from_str(json).unwrap();
        let error = import(&bad).unwrap_err();
        assert_eq!(error, format!("not an export of a conversation: {told}"));
    }
}

#[tokio::test]
async fn import_refuses_any_other_format_and_names_the_field() {
    assert_refused(&[
        ("/id", r#""s-1""#, "`id`: expected `conv_` and a UUID, found `s-1`"),
        ("/id", r#""conv_x""#, "`id`: expected `conv_` and a UUID, found `conv_x`"),
        ("/state", "[1]", "`state`: expected an object, found a list"),
        ("/state/history", "[]", "`state.history`: expected an object, found a list"),
        ("/state/approvedCommands", "{}", "`state.approvedCommands`: expected a list, found an object"),
        (
            "/state/approvedCommands/1",
            r#"" ""#,
            "`state.approvedCommands[1]`: expected a text that is not empty, found ` `",
        ),
        (
            "/state/tokenInfo/total_tokens",
            "-1",
            "`state.tokenInfo.total_tokens`: expected a whole number from 0 on, found -1",
        ),
        (
            "/state/latestRateLimits/reset_requests",
            "7",
            "`state.latestRateLimits.reset_requests`: expected a text that is not empty, found 7",
        ),
        (
            "/metadata/created",
            "9223372036854775807",
            "`metadata.created`: expected milliseconds since the Unix epoch, found 9223372036854775807",
        ),
        (
            "/metadata/messageCount",
            "7",
            "`metadata.messageCount`: expected 3, the number of items of the history, found 7",
        ),
    ])
    .await;
}

#[tokio::test]
async fn import_refuses_items_that_are_no_messages() {
    let no_time = |found| {
        let expected = "expected an RFC 3339 time or milliseconds since the Unix epoch";
        format!("`state.history.items[0].timestamp`: {expected}, found {found}")
    };
    assert_refused(&[
        (
            "/state/history/items/2/role",
            r#""wizard""#,
            "`state.history.items[2].role`: expected user, assistant, system or tool, found `wizard`",
        ),
        ("/state/history/items/0/timestamp", r#""noon""#, &no_time("`noon`")),
        ("/state/history/items/0/timestamp", "9223372036854775807", &no_time("9223372036854775807")),
        (
            "/state/history/items/0/content",
            r#"[{"type": "input_text"}]"#,
            "`state.history.items[0].content`: expected a text, found a list",
        ),
        (
            "/state/history/items/1/id",
            r#""result of c1""#,
            "`state.history.items[2].id`: expected an id of its own, not that of state.history.items[1], found `result of c1`",
        ),
        (
            "/state/history/items/1/toolCalls",
            "1",
            "`state.history.items[1].toolCalls`: expected what a message has there, found 1 (invalid type: integer `1`, expected a sequence)",
        ),
        (
            "/state/history/items/2/toolCallId",
            "null",
            "`state.history.items[2].toolCallId`: expected a text that is not empty, found null",
        ),
    ])
    .await;
}

#[tokio::test]
async fn import_refuses_missing_and_unknown_fields() {
    let good = serde_json::to_value(full().await.export()).unwrap();
    for (object, field) in [
        ("", "id"),
        ("", "state"),
        ("", "metadata"),
        ("/state", "history"),
        ("/state", "approvedCommands"),
        ("/state/history", "items"),
        ("/state/history/items/0", "id"),
        ("/state/history/items/0", "role"),
        ("/state/history/items/0", "timestamp"),
        ("/state/history/items/0", "content"),
        ("/state/history/items/2", "toolCallId"),
        ("/metadata", "lastAccessed"),
    ] {
        let mut bad = good.clone();
        bad.pointer_mut(object).unwrap().as_object_mut().unwrap().shift_remove(field);
        let error = import(&bad).unwrap_err();
        assert!(
            error.contains(&format!("{field}`: expected")) && error.ends_with("found nothing"),
            "{error}"
        );
    }
    for (object, told) in [
        ("", "`currentTurn`: expected only id, state, metadata, found a field of another format"),
        (
            "/state",
            "`state.currentTurn`: expected only history, approvedCommands, tokenInfo, latestRateLimits, ",
        ),
        ("/state/history", "`state.history.currentTurn`: expected only items, "),
        ("/metadata", "`metadata.currentTurn`: expected only created, lastAccessed, messageCount, "),
        (
            "/state/history/items/0",
            "`state.history.items[0].currentTurn`: expected no such field: a message has none, ",
        ),
        (
            "/state/history/items/1/toolCalls/0/function",
            "`state.history.items[1].toolCalls[0].function.currentTurn`: ",
        ),
    ] {
        let mut bad = good.clone();
        bad.pointer_mut(object)
            .unwrap()
            .as_object_mut()
            .unwrap()
            .insert("currentTurn".into(), json!({"n": 1}));
        let error = import(&bad).unwrap_err();
        assert!(error.contains(told), "{error}");
    }
}

#[test]
fn import_of_something_else_altogether_is_refused() {
    for (bytes, told) in [
        (&b"{\"id\":"[..], "`.`: expected JSON, found EOF while parsing"),
        (b"", "`.`: expected JSON"),
        (b"\xff\xfe", "`.`: expected JSON"),
        (b"[]", "`.`: expected an object, found a list"),
        (b"null", "`.`: expected an object, found null"),
        (b"{\"\\u001b[31m\":1}", "only id, state, metadata"),
    ] {
        let error = ConversationExport::from_json(bytes).unwrap_err().to_string();
        assert!(error.contains(told), "{error}");
        assert!(!error.chars().any(char::is_control), "{error:?}");
    }
}
