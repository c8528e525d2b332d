//! One conversation from its first word to the day after: every item of the contract where it is used.

use std::collections::BTreeMap;

use robota_core::{Message, Timestamp, TurnAbortReason, TurnEnd, Usage, sendable};
use robota_session::{
    Conversation, ConversationExport, ConversationOptions, ExecutionState, InitializeMode, RateLimits,
    ReviewDecision, SessionStore, Speaker,
};
use serde_json::json;

use super::{NOW, Room, call, entry, result, texts};

#[tokio::test]
async fn a_conversation_from_its_first_word_to_the_day_after() {
    let room = Room::new();
    let mut conversation = Conversation::new(room.options()).unwrap();
    assert!(conversation.is_empty());
    conversation.initialize().await.unwrap();

    a_turn_that_asks(&conversation).await;
    a_turn_that_is_interrupted(&conversation).await;
    a_long_turn(&conversation).await;
    a_copy_elsewhere(&conversation).await;

    let metadata = conversation.metadata();
    assert_eq!(metadata.message_count, conversation.conversation_history().len());
    assert!(metadata.conversation_id.starts_with("conv_"));
    conversation.shutdown().await.unwrap();
    conversation.close().await.unwrap();

    the_day_after(&room, &conversation).await;
}

/// The model wants to run a command, the user allows it for the session and adds something meanwhile.
async fn a_turn_that_asks(conversation: &Conversation) {
    assert_eq!(conversation.start_turn().unwrap(), 1);
    assert!(conversation.start_turn().is_err());
    conversation.add_to_history(entry(Speaker::User, "What is here?")).await.unwrap();
    conversation.record_message(call("c1")).unwrap();
    let asked = conversation.insert_pending_approval("c1");
    conversation.inject_input("Hidden files too.").unwrap();
    assert_eq!(conversation.execution_state(), ExecutionState::Waiting);

    assert!(!conversation.is_command_approved("Bash(ls)"));
    assert!(conversation.notify_approval("c1", ReviewDecision::ApprovedForSession));
    if asked.await == ReviewDecision::ApprovedForSession {
        conversation.add_approved_command("Bash(ls)").unwrap();
    }
    assert!(conversation.is_command_approved("Bash(ls)"));
    conversation.track_tool_usage("Bash");
    conversation.record_message(result("c1")).unwrap();

    for text in conversation.take_pending_input() {
        conversation.add_to_history(entry(Speaker::User, &text)).await.unwrap();
    }
    conversation.add_to_history(entry(Speaker::Agent, "A lot.")).await.unwrap();
    let usage = Usage { input_tokens: 90, output_tokens: 10, cache_read_tokens: 0, cache_write_tokens: 0 };
    conversation.record_usage(&usage);
    conversation.set_rate_limits(RateLimits { remaining_requests: Some(49), ..Default::default() });
    assert!(conversation.end_turn().is_empty());

    assert!(!conversation.is_active_turn());
    assert_eq!(texts(&conversation.messages_by_type(Speaker::User)), ["What is here?", "Hidden files too."]);
    assert_eq!(conversation.last_message().unwrap().text(), "A lot.");
    assert_eq!(conversation.history_entry(-2).unwrap().text(), "Hidden files too.");
    assert_eq!(conversation.turn_history()[0].tokens, 100);
}

/// The user stops it, and says why in time for the next turn.
async fn a_turn_that_is_interrupted(conversation: &Conversation) {
    conversation.start_turn().unwrap();
    conversation.add_to_history(entry(Speaker::User, "Delete them.")).await.unwrap();
    let token = conversation.turn_cancel().unwrap();
    conversation.inject_input("No!").unwrap();
    conversation.request_interrupt();
    token.cancelled().await;
    assert!(conversation.is_interrupt_requested());
    conversation.add_error("the turn was interrupted", Some(json!({"turn": 2})));
    conversation.add_token_usage(40);
    assert_eq!(conversation.end_turn(), ["No!"]);
    conversation.clear_interrupt();
    assert!(!conversation.is_interrupt_requested());
    assert_eq!(conversation.abort_reason(), Some(TurnAbortReason::Interrupted));
    let ended: Vec<TurnEnd> = conversation.turn_history().iter().map(|turn| turn.ended).collect();
    assert_eq!(ended, [TurnEnd::Completed, TurnEnd::Interrupted]);
}

/// So many calls that the history has to become shorter.
async fn a_long_turn(conversation: &Conversation) {
    conversation.start_turn().unwrap();
    conversation.add_to_history(entry(Speaker::User, "No! Count them.")).await.unwrap();
    for number in 10..40 {
        conversation.record_message(call(&number.to_string())).unwrap();
        conversation.track_tool_usage("Bash");
        conversation.record_message(result(&number.to_string())).unwrap();
    }
    conversation.add_to_history(entry(Speaker::Agent, "Thirty.")).await.unwrap();
    conversation.end_turn();

    let before = conversation.message_count();
    assert_eq!(conversation.compact().await.unwrap(), before - conversation.message_count());
    assert!(conversation.message_count() < 25);
    let history = conversation.conversation_history();
    assert_eq!(sendable(&history), *history);
    assert_eq!(conversation.tool_usage(), BTreeMap::from([("Bash".into(), 31)]));
    // Compaction is about messages and nothing else.
    assert_eq!(conversation.approved_commands(), ["Bash(ls)"]);
    assert_eq!(conversation.token_info().unwrap().total_tokens, 140);
    assert_eq!(conversation.rate_limits().unwrap().remaining_requests, Some(49));
}

/// Exported, taken along, and gone on with in memory.
async fn a_copy_elsewhere(conversation: &Conversation) {
    let json = serde_json::to_vec(&conversation.export()).unwrap();
    let export = ConversationExport::from_json(&json).unwrap();
    let copy = Conversation::import(export, ConversationOptions::new("model-2", "/elsewhere")).unwrap();
    assert_eq!(copy.conversation_id(), conversation.conversation_id());
    assert_eq!(copy.conversation_history(), conversation.conversation_history());
    assert!(copy.is_command_approved("Bash(ls)") && copy.errors().is_empty());
    copy.clear_history().unwrap();
    assert!(copy.is_empty() && !conversation.is_empty());
    copy.close().await.unwrap();
}

/// Resumed from the log, gone on with, and at last begun anew.
async fn the_day_after(room: &Room, yesterday: &Conversation) {
    let mut conversation = Conversation::new(room.options()).unwrap();
    let id = yesterday.conversation_id();
    conversation.initialize_session(InitializeMode::Resume, id).await.unwrap();
    assert_eq!(conversation.conversation_id(), id);
    assert_eq!(conversation.conversation_history(), yesterday.conversation_history());
    assert_eq!(conversation.metadata().start_time, Timestamp::from_millis(NOW));
    assert_eq!(conversation.start_turn().unwrap(), 4);
    let summary = Message::user("summary", Timestamp::from_millis(NOW), "We counted thirty files.");
    conversation.replace_history(vec![summary.into()]).unwrap();
    conversation.end_turn();

    conversation.reset().await.unwrap();
    assert_ne!(conversation.conversation_id(), id);
    assert!(conversation.is_empty());
    conversation.add_to_history(entry(Speaker::User, "Something else.")).await.unwrap();
    conversation.shutdown().await.unwrap();

    let old = room.store.load(yesterday.session_id()).await.unwrap();
    assert_eq!(texts(old.history.messages()), ["We counted thirty files."]);
    let new = room.store.load(conversation.session_id()).await.unwrap();
    assert_eq!(texts(new.history.messages()), ["Something else."]);
}
