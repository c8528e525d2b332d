//! History management.

use robota_core::{HistoryMutation, Message, Timestamp, sendable};
use robota_session::{ErrorKind, SessionStore, Speaker};

use super::{NOW, Room, call, entry, in_memory, result, texts};

#[tokio::test]
async fn add_to_history_adds_the_entry_and_puts_it_in_the_log() {
    let room = Room::new();
    let conversation = room.recorded().await;
    conversation.add_to_history(entry(Speaker::User, "Hello.")).await.unwrap();
    conversation.add_to_history(entry(Speaker::Agent, "Hi.")).await.unwrap();
    assert_eq!(conversation.message_count(), 2);
    let message = conversation.last_message().unwrap();
    assert_eq!((message.role(), message.text(), message.timestamp.as_millis()), ("assistant", "Hi.", NOW));
    // It was waited for: whoever reads the log now finds it there.
    let stored = room.store.load(conversation.session_id()).await.unwrap();
    assert_eq!(stored.history.messages(), &*conversation.conversation_history());
    assert_eq!(stored.history.reference().length, 2);
}

#[tokio::test]
async fn add_to_history_refuses_what_is_no_entry() {
    let room = Room::new();
    let conversation = room.recorded().await;
    let before = room.log(conversation.session_id().as_str());
    let mut timeless = entry(Speaker::User, "Hello.");
    timeless.timestamp_ms = i64::MAX;
    for (bad, told) in [
        (entry(Speaker::User, ""), "this one is empty"),
        (entry(Speaker::System, " \n"), "this one is empty"),
        (timeless, "9223372036854775807 is no time"),
    ] {
        let error = conversation.add_to_history(bad).await.unwrap_err();
        assert_eq!((error.kind(), error.code()), (ErrorKind::InvalidInput, "VALIDATION_ERROR"));
        assert!(error.to_string().contains(told), "{error}");
    }
    assert!(conversation.is_empty());
    assert_eq!(room.log(conversation.session_id().as_str()), before);
}

#[tokio::test]
async fn get_conversation_history_is_a_snapshot_in_order() {
    let conversation = in_memory();
    for (speaker, text) in [(Speaker::User, "one"), (Speaker::Agent, "two"), (Speaker::System, "three")] {
        conversation.add_to_history(entry(speaker, text)).await.unwrap();
    }
    let snapshot = conversation.conversation_history();
    conversation.add_to_history(entry(Speaker::User, "four")).await.unwrap();
    assert_eq!(texts(&snapshot), ["one", "two", "three"]);
    assert_eq!(texts(&conversation.conversation_history()), ["one", "two", "three", "four"]);
}

#[tokio::test]
async fn get_conversation_history_is_shared_until_something_changes() {
    let conversation = in_memory();
    assert!(conversation.conversation_history().is_empty());
    conversation.add_to_history(entry(Speaker::User, "one")).await.unwrap();
    let (first, second) = (conversation.conversation_history(), conversation.conversation_history());
    assert!(std::sync::Arc::ptr_eq(&first.items, &second.items));
    conversation.clear_history().unwrap();
    assert!(conversation.conversation_history().is_empty());
    assert_eq!(texts(&first), ["one"]);
}

#[tokio::test]
async fn get_history_entry_counts_from_the_end() {
    let conversation = in_memory();
    for text in ["one", "two", "three"] {
        conversation.add_to_history(entry(Speaker::User, text)).await.unwrap();
    }
    let text = |offset| conversation.history_entry(offset).map(|message| message.text().to_owned());
    assert_eq!(text(-1).as_deref(), Some("three"));
    assert_eq!(text(-3).as_deref(), Some("one"));
}

#[tokio::test]
async fn get_history_entry_out_of_bounds_is_none() {
    let conversation = in_memory();
    assert_eq!(conversation.history_entry(-1), None);
    conversation.add_to_history(entry(Speaker::User, "one")).await.unwrap();
    for offset in [0, 1, -2, i64::MIN, i64::MAX] {
        assert_eq!(conversation.history_entry(offset), None, "{offset}");
    }
}

#[tokio::test]
async fn get_last_message_is_the_latest_one() {
    let conversation = in_memory();
    conversation.add_to_history(entry(Speaker::User, "one")).await.unwrap();
    conversation.add_to_history(entry(Speaker::User, "two")).await.unwrap();
    assert_eq!(conversation.last_message().unwrap().text(), "two");
}

#[tokio::test]
async fn get_last_message_of_nothing_is_none() {
    let conversation = in_memory();
    assert_eq!(conversation.last_message(), None);
    conversation.add_to_history(entry(Speaker::User, "one")).await.unwrap();
    conversation.clear_history().unwrap();
    assert_eq!(conversation.last_message(), None);
}

#[tokio::test]
async fn get_messages_by_type_filters_by_speaker() {
    let conversation = in_memory();
    for (speaker, text) in
        [(Speaker::User, "u1"), (Speaker::Agent, "a1"), (Speaker::System, "s1"), (Speaker::User, "u2")]
    {
        conversation.add_to_history(entry(speaker, text)).await.unwrap();
    }
    assert_eq!(texts(&conversation.messages_by_type(Speaker::User)), ["u1", "u2"]);
    assert_eq!(texts(&conversation.messages_by_type(Speaker::Agent)), ["a1"]);
    assert_eq!(texts(&conversation.messages_by_type(Speaker::System)), ["s1"]);
}

#[test]
fn get_messages_by_type_gives_results_of_tools_to_nobody() {
    let conversation = in_memory();
    assert!(conversation.messages_by_type(Speaker::User).is_empty());
    conversation.record_message(call("c1")).unwrap();
    conversation.record_message(result("c1")).unwrap();
    assert_eq!(conversation.messages_by_type(Speaker::Agent).len(), 1);
    assert!(conversation.messages_by_type(Speaker::User).is_empty());
    assert!(conversation.messages_by_type(Speaker::System).is_empty());
}

#[tokio::test]
async fn clear_history_removes_all_messages() {
    let room = Room::new();
    let conversation = room.recorded().await;
    conversation.add_to_history(entry(Speaker::User, "one")).await.unwrap();
    conversation.clear_history().unwrap();
    assert_eq!((conversation.message_count(), conversation.is_empty()), (0, true));
    conversation.shutdown().await.unwrap();
    let stored = room.store.load(conversation.session_id()).await.unwrap();
    assert!(stored.history.messages().is_empty());
    // The log keeps what was.
    assert!(room.log(conversation.session_id().as_str()).contains("one"));
}

#[tokio::test]
async fn clear_history_leaves_everything_else() {
    let conversation = in_memory();
    conversation.clear_history().unwrap();
    conversation.add_approved_command("git status").unwrap();
    conversation.add_token_usage(7);
    conversation.start_turn().unwrap();
    conversation.add_to_history(entry(Speaker::User, "one")).await.unwrap();
    conversation.clear_history().unwrap();
    conversation.add_to_history(entry(Speaker::User, "two")).await.unwrap();
    assert_eq!(texts(&conversation.conversation_history()), ["two"]);
    assert!(conversation.is_command_approved("git status") && conversation.is_active_turn());
    assert_eq!(conversation.token_info().unwrap().total_tokens, 7);
}

#[tokio::test]
async fn compact_keeps_the_last_20_messages() {
    let room = Room::new();
    let conversation = room.recorded().await;
    for number in 0..30 {
        conversation.add_to_history(entry(Speaker::User, &number.to_string())).await.unwrap();
    }
    assert_eq!(conversation.compact().await.unwrap(), 10);
    let kept: Vec<String> = (10..30).map(|number| number.to_string()).collect();
    assert_eq!(texts(&conversation.conversation_history()), kept);
    assert_eq!(conversation.message_count(), 20);
    let stored = room.store.load(conversation.session_id()).await.unwrap();
    assert_eq!(texts(stored.history.messages()), kept);
}

#[tokio::test]
async fn compact_keeps_calls_with_results_and_everything_that_is_no_message() {
    let conversation = in_memory();
    conversation.add_approved_command("git status").unwrap();
    conversation.add_token_usage(7);
    let limits = robota_session::RateLimits { remaining_requests: Some(3), ..Default::default() };
    conversation.set_rate_limits(limits.clone());
    conversation.add_to_history(entry(Speaker::User, "Go.")).await.unwrap();
    // With the cut at 20 messages from the end, a result would come first.
    for id in ["c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8", "c9", "c10", "c11"] {
        conversation.record_message(call(id)).unwrap();
        conversation.record_message(result(id)).unwrap();
    }
    conversation.add_to_history(entry(Speaker::Agent, "Done.")).await.unwrap();
    assert_eq!(conversation.compact().await.unwrap(), 2);
    let kept = conversation.conversation_history();
    let note = "[3 earlier messages of this conversation were left out to make room.]";
    assert_eq!((kept[0].text(), kept[1].id.as_str()), (note, "call of c2"));
    assert_eq!(sendable(&kept), *kept);
    assert_eq!(conversation.compact().await.unwrap(), 0);
    assert_eq!(conversation.rate_limits(), Some(limits));
    assert!(conversation.is_command_approved("git status"));
    assert_eq!(conversation.token_info().unwrap().total_tokens, 7);
}

#[tokio::test]
async fn replace_history_takes_the_place_of_all_messages() {
    let room = Room::new();
    let conversation = room.recorded().await;
    conversation.add_to_history(entry(Speaker::User, "long story")).await.unwrap();
    let summary = Message::user("s", Timestamp::from_millis(NOW), "summary");
    conversation.replace_history(vec![summary.into()]).unwrap();
    assert_eq!(texts(&conversation.conversation_history()), ["summary"]);
    conversation.shutdown().await.unwrap();
    let stored = room.store.load(conversation.session_id()).await.unwrap();
    assert_eq!(texts(stored.history.messages()), ["summary"]);
    // The timeline keeps what was.
    assert_eq!(stored.history.entries().len(), 1);
}

#[tokio::test]
async fn the_log_has_the_changes_in_the_order_of_the_history() {
    let room = Room::new();
    let conversation = room.recorded().await;
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let conversation = &conversation;
            scope.spawn(move || {
                for number in 0..50 {
                    let id = format!("{writer}-{number}");
                    let message = Message::user(id, Timestamp::from_millis(NOW), "x");
                    conversation.record_message(message).unwrap();
                }
            });
        }
    });
    conversation.shutdown().await.unwrap();
    let stored = room.store.load(conversation.session_id()).await.unwrap();
    assert!(stored.defects.listed().is_empty());
    assert_eq!(stored.history.messages(), &*conversation.conversation_history());
    let appended = room.events(conversation.session_id().as_str()).into_iter().filter(|event| {
        matches!(event.kind, robota_core::EventKind::HistoryMutation(HistoryMutation::AppendMessage { .. }))
    });
    assert_eq!(appended.count(), 200);
}
