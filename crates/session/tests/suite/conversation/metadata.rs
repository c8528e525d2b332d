//! Identity and metadata.

use robota_core::SessionId;
use robota_session::{Conversation, ConversationOptions, ExecutionState, Speaker};

use super::{NOW, entry, in_memory, uuid};

#[test]
fn constructor_makes_an_empty_idle_conversation() {
    let conversation = in_memory();
    assert_eq!(conversation.conversation_id(), format!("conv_{}", uuid(1)));
    assert_eq!((conversation.message_count(), conversation.token_info()), (0, None));
    assert_eq!((conversation.execution_state(), conversation.current_turn()), (ExecutionState::Idle, None));
    assert_eq!(conversation.errors(), []);
}

#[test]
fn constructor_with_defaults_makes_fresh_ids() {
    let made = || Conversation::new(ConversationOptions::new("m", "/work")).unwrap();
    let (one, other) = (made(), made());
    assert_ne!(one.conversation_id(), other.conversation_id());
    assert_eq!(one.conversation_id(), format!("conv_{}", one.session_id()));
}

#[tokio::test]
async fn get_metadata_tells_id_count_time_and_model() {
    let conversation = in_memory();
    conversation.add_to_history(entry(Speaker::User, "one")).await.unwrap();
    let metadata = conversation.metadata();
    assert_eq!(metadata.conversation_id, conversation.conversation_id());
    assert_eq!((metadata.message_count, metadata.start_time.as_millis()), (1, NOW));
    assert_eq!(&*metadata.current_model, "model-1");
}

#[tokio::test]
async fn get_metadata_counts_messages_and_not_turns() {
    let conversation = in_memory();
    conversation.start_turn().unwrap();
    conversation.end_turn();
    assert_eq!(conversation.metadata().message_count, 0);
}

#[test]
fn get_session_id_is_conv_and_a_uuid() {
    let id = in_memory().conversation_id().to_owned();
    let parts: Vec<usize> = id.strip_prefix("conv_").unwrap().split('-').map(str::len).collect();
    assert_eq!(parts, [8, 4, 4, 4, 12]);
    assert!(id["conv_".len()..].chars().all(|letter| letter == '-' || letter.is_ascii_hexdigit()));
}

#[test]
fn get_session_id_of_a_session_without_a_uuid_is_made_from_its_name() {
    let named = |name: &str| {
        let mut options = ConversationOptions::new("m", "/work");
        options.session_id = Some(name.parse::<SessionId>().unwrap());
        Conversation::new(options).unwrap().conversation_id().to_owned()
    };
    assert_eq!(named("fix-login"), "conv_490c7514-d943-8b43-b63d-189da375ac37");
    assert_ne!(named("fix-login"), named("fix-logout"));
}

#[tokio::test]
async fn is_empty_tells_whether_anything_was_said() {
    let conversation = in_memory();
    assert!(conversation.is_empty());
    conversation.add_to_history(entry(Speaker::User, "one")).await.unwrap();
    assert!(!conversation.is_empty());
}

#[tokio::test]
async fn is_empty_again_after_clearing() {
    let conversation = in_memory();
    conversation.add_to_history(entry(Speaker::System, "one")).await.unwrap();
    conversation.add_token_usage(5);
    conversation.clear_history().unwrap();
    assert!(conversation.is_empty());
}
