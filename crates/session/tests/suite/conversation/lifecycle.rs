//! Initialize, reset, close, shutdown.

use std::sync::Arc;

use robota_core::{EventKind, SessionId};
use robota_session::{Conversation, Durability, ErrorKind, InitializeMode, Session, SessionStore, Speaker};

use super::{Room, call, entry, in_memory, result, texts, uuid};
use crate::scene::{Scene, names};

fn id(number: u64) -> SessionId {
    uuid(number).parse().unwrap()
}

#[tokio::test]
async fn initialize_opens_a_log_with_what_was_said_so_far() {
    let room = Room::new();
    let mut conversation = room.conversation();
    conversation.add_to_history(entry(Speaker::User, "early")).await.unwrap();
    assert!(room.store.list().await.unwrap().sessions.is_empty());
    conversation.initialize().await.unwrap();
    conversation.add_to_history(entry(Speaker::User, "late")).await.unwrap();
    assert!(room.is_locked(&uuid(1)));
    let events = room.events(&uuid(1));
    assert_eq!(names(&events), ["session_init", "history_mutation", "history_mutation"]);
    let EventKind::SessionInit { cwd, model, .. } = &events[0].kind else { panic!("{events:?}") };
    assert_eq!((cwd.as_path(), model.as_str()), (room.workspace.root(), "model-1"));
    assert_eq!(texts(room.store.load(&id(1)).await.unwrap().history.messages()), ["early", "late"]);
}

#[tokio::test]
async fn initialize_twice_is_once() {
    let room = Room::new();
    let mut conversation = room.recorded().await;
    conversation.initialize().await.unwrap();
    assert_eq!(names(&room.events(&uuid(1))), ["session_init"]);
    // Without a store there is nothing to open, and no error.
    let mut conversation = in_memory();
    conversation.initialize().await.unwrap();
    conversation.add_to_history(entry(Speaker::User, "one")).await.unwrap();
    conversation.shutdown().await.unwrap();
}

#[tokio::test]
async fn initialize_that_fails_is_an_error_and_never_silence() {
    let room = Room::new();
    room.recorded().await.close().await.unwrap();
    let mut options = room.options();
    options.session_id = Some(id(1));
    let mut second = Conversation::new(options.clone()).unwrap();
    second.add_to_history(entry(Speaker::User, "kept")).await.unwrap();
    assert_eq!(second.initialize().await.unwrap_err().kind(), ErrorKind::Exists);
    assert_eq!(texts(&second.conversation_history()), ["kept"]);

    let blocked = Room::new();
    blocked.workspace.write(".robota", "a file where the folder should be");
    let mut third = blocked.conversation();
    assert_eq!(third.initialize().await.unwrap_err().kind(), ErrorKind::Storage);
}

#[tokio::test]
async fn initialize_session_creates_a_log_of_that_id() {
    let room = Room::new();
    let mut conversation = room.conversation();
    conversation.initialize_session(InitializeMode::Create, &format!("conv_{}", uuid(77))).await.unwrap();
    assert_eq!(conversation.session_id(), &id(77));
    assert_eq!(conversation.conversation_id(), format!("conv_{}", uuid(77)));
    assert_eq!(names(&room.events(&uuid(77))), ["session_init"]);
}

#[tokio::test]
async fn initialize_session_resumes_what_the_log_tells() {
    let room = Room::new();
    let conversation = room.recorded().await;
    conversation.start_turn().unwrap();
    conversation.add_to_history(entry(Speaker::User, "one")).await.unwrap();
    conversation.end_turn();
    conversation.add_approved_command("npm test").unwrap();
    conversation.shutdown().await.unwrap();

    room.clock.advance(60_000);
    let mut resumed = room.conversation();
    let shared = Arc::clone(resumed.approvals());
    resumed.add_approved_command("rm -rf .").unwrap();
    resumed.initialize_session(InitializeMode::Resume, conversation.conversation_id()).await.unwrap();
    assert_eq!(resumed.conversation_id(), conversation.conversation_id());
    assert_eq!(resumed.conversation_history(), conversation.conversation_history());
    assert_eq!(resumed.metadata().start_time, conversation.metadata().start_time);
    assert_eq!(resumed.start_turn().unwrap(), 2);
    // Only the history comes back; approvals have to be given anew.
    assert!(resumed.approved_commands().is_empty() && shared.is_empty());
    assert_eq!(
        names(&room.events(&uuid(1))),
        ["session_init", "history_mutation", "session_shutdown", "session_resume"]
    );
}

#[tokio::test]
async fn initialize_session_answers_calls_that_were_cut_off() {
    let room = Room::new();
    let conversation = room.recorded().await;
    conversation.record_message(call("c1")).unwrap();
    conversation.record_message(result("c1")).unwrap();
    conversation.record_message(call("c2")).unwrap();
    conversation.shutdown().await.unwrap();
    let mut resumed = room.conversation();
    resumed.initialize_session(InitializeMode::Resume, &uuid(1)).await.unwrap();
    let answer = resumed.last_message().unwrap();
    assert_eq!(answer.answers(), Some("c2"));
    assert_eq!(answer.text(), "not run: the process stopped before it could run");
    resumed.shutdown().await.unwrap();
    let stored = room.store.load(&id(1)).await.unwrap();
    assert_eq!(stored.history.messages(), &*resumed.conversation_history());
}

#[tokio::test]
async fn initialize_session_that_fails_leaves_the_conversation_as_it_was() {
    let room = Room::new();
    let other = room.recorded().await;
    let mut conversation = room.recorded().await;
    let third = room.recorded().await;
    third.close().await.unwrap();
    conversation.add_to_history(entry(Speaker::User, "kept")).await.unwrap();
    for (mode, name, kind) in [
        (InitializeMode::Resume, uuid(99), ErrorKind::NotFound),
        (InitializeMode::Resume, other.session_id().to_string(), ErrorKind::Locked),
        (InitializeMode::Create, third.session_id().to_string(), ErrorKind::Exists),
        (InitializeMode::Create, "../escape".to_owned(), ErrorKind::InvalidId),
    ] {
        let error = conversation.initialize_session(mode, &name).await.unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
    }
    conversation.start_turn().unwrap();
    let error = conversation.initialize_session(InitializeMode::Create, &uuid(50)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Busy);
    conversation.end_turn();
    assert_eq!(conversation.session_id(), &id(2));
    conversation.add_to_history(entry(Speaker::User, "and goes on")).await.unwrap();
    let stored = room.store.load(&id(2)).await.unwrap();
    assert_eq!(texts(stored.history.messages()), ["kept", "and goes on"]);
}

#[tokio::test]
async fn initialize_session_goes_on_with_the_log_of_a_session() {
    let scene = Scene::new("Hello.");
    let session = Session::create(scene.options()).await.unwrap();
    session.run("Hi.").await.unwrap();
    session.shutdown("other").await.unwrap();
    let mut options = Room::new().options();
    options.store = Arc::new(scene.store.clone());
    let mut conversation = Conversation::new(options).unwrap();
    conversation.initialize_session(InitializeMode::Resume, "s").await.unwrap();
    assert_eq!(texts(&conversation.conversation_history()), ["Hi.", "Hello."]);
    conversation.add_to_history(entry(Speaker::User, "And now?")).await.unwrap();
    conversation.shutdown().await.unwrap();
    let (_, options) = scene.options_with("Well.");
    let session = Session::resume(options, conversation.session_id()).await.unwrap();
    assert_eq!(texts(&session.history()), ["Hi.", "Hello.", "And now?"]);
}

#[tokio::test]
async fn reset_makes_another_conversation_with_its_own_log() {
    let room = Room::new();
    let mut conversation = room.recorded().await;
    let shared = Arc::clone(conversation.approvals());
    conversation.add_to_history(entry(Speaker::User, "old")).await.unwrap();
    conversation.add_approved_command("npm test").unwrap();
    conversation.add_token_usage(7);
    conversation.add_error("it broke", None);
    conversation.start_turn().unwrap();
    let token = conversation.turn_cancel().unwrap();
    let before = conversation.session_id().clone();
    conversation.reset().await.unwrap();
    let log = room.log(before.as_str());

    assert_ne!(conversation.session_id(), &before);
    assert!(conversation.conversation_id().starts_with("conv_"));
    assert!(conversation.is_empty() && shared.is_empty() && token.is_cancelled());
    assert_eq!((conversation.token_info(), conversation.errors().len()), (None, 0));
    assert_eq!(conversation.start_turn().unwrap(), 1);
    conversation.add_to_history(entry(Speaker::User, "new")).await.unwrap();
    let now = conversation.session_id().as_str();
    assert_eq!(names(&room.events(now)), ["session_init", "history_mutation"]);
    // The log before ends where the conversation ended, and is free for others.
    assert_eq!(room.log(before.as_str()), log);
    let last = room.events(before.as_str()).pop().unwrap();
    assert!(matches!(&last.kind, EventKind::SessionShutdown { reason } if reason == "clear"), "{last:?}");
    assert!(!room.is_locked(before.as_str()) && room.is_locked(now));
}

#[tokio::test]
async fn reset_without_a_log_opens_none() {
    let room = Room::new();
    let mut conversation = room.conversation();
    conversation.add_to_history(entry(Speaker::User, "old")).await.unwrap();
    conversation.reset().await.unwrap();
    assert!(conversation.is_empty());
    assert!(room.store.list().await.unwrap().sessions.is_empty());
    conversation.close().await.unwrap();
    assert_eq!(conversation.reset().await.unwrap_err().kind(), ErrorKind::Closed);
}

#[tokio::test]
async fn close_ends_the_log_and_gives_the_session_free() {
    let room = Room::new();
    let conversation = room.recorded().await;
    conversation.add_to_history(entry(Speaker::User, "one")).await.unwrap();
    conversation.start_turn().unwrap();
    let token = conversation.turn_cancel().unwrap();
    conversation.close().await.unwrap();
    assert!(token.is_cancelled());
    assert_eq!(names(&room.events(&uuid(1))), ["session_init", "history_mutation", "session_shutdown"]);
    assert!(!room.is_locked(&uuid(1)));
    // What there is can still be read.
    assert_eq!(conversation.export().metadata.message_count, 1);
}

#[tokio::test]
async fn close_refuses_all_later_changes() {
    let room = Room::new();
    let mut conversation = room.recorded().await;
    conversation.close().await.unwrap();
    conversation.close().await.unwrap();
    let log = room.log(&uuid(1));
    let closed = |outcome: Result<(), robota_session::Error>| {
        assert_eq!(outcome.unwrap_err().kind(), ErrorKind::Closed);
    };
    closed(conversation.add_to_history(entry(Speaker::User, "late")).await);
    closed(conversation.record_message(call("c1")));
    closed(conversation.clear_history());
    closed(conversation.replace_history(Vec::new()));
    closed(conversation.compact().await.map(|_| ()));
    closed(conversation.initialize().await);
    closed(conversation.initialize_session(InitializeMode::Create, "x").await);
    assert!(conversation.is_empty());
    assert_eq!(room.log(&uuid(1)), log);
}

#[tokio::test]
async fn shutdown_leaves_everything_on_disk() {
    let room = Room::new();
    let mut options = room.options();
    // Nothing is flushed by itself.
    options.durability = Durability::None;
    let mut conversation = Conversation::new(options).unwrap();
    conversation.initialize().await.unwrap();
    for number in 0..50 {
        conversation.record_message(call(&number.to_string())).unwrap();
        conversation.record_message(result(&number.to_string())).unwrap();
    }
    conversation.shutdown().await.unwrap();
    let stored = room.store.load(&id(1)).await.unwrap();
    assert_eq!(stored.history.messages(), &*conversation.conversation_history());
    assert_eq!(stored.history.messages().len(), 100);
}

#[tokio::test]
async fn shutdown_happens_once_whoever_asks() {
    let room = Room::new();
    let conversation = room.recorded().await;
    let (one, two, three) =
        tokio::join!(conversation.shutdown(), conversation.close(), conversation.shutdown());
    assert!(one.is_ok() && two.is_ok() && three.is_ok());
    assert_eq!(names(&room.events(&uuid(1))), ["session_init", "session_shutdown"]);
    in_memory().shutdown().await.unwrap();
}

#[tokio::test]
async fn secrets_are_taken_out_of_the_log_unless_something_else_is_asked_for() {
    let room = Room::new();
    let conversation = room.recorded().await;
    let mut message = robota_core::Message::user("m", robota_core::Timestamp::default(), "hi");
    message.metadata.insert("settings".into(), serde_json::json!({"apiKey": "hunter22hunter22"}));
    conversation.record_message(message).unwrap();
    conversation.shutdown().await.unwrap();
    let log = room.log(conversation.session_id().as_str());
    assert!(log.contains("[REDACTED]") && !log.contains("hunter22"), "{log}");
}
