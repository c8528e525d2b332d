//! Turns: one at a time, with open questions and waiting input.

use std::sync::Arc;

use futures_util::FutureExt;
use robota_core::{TurnAbortReason, TurnEnd};
use robota_session::{ErrorKind, ExecutionState, ReturnReason, ReviewDecision, Speaker};

use super::{NOW, Room, entry, in_memory};

#[test]
fn start_turn_makes_a_turn_active_and_refuses_a_second() {
    let conversation = in_memory();
    assert_eq!(conversation.start_turn().unwrap(), 1);
    let turn = conversation.current_turn().unwrap();
    assert_eq!((turn.number, turn.started.as_millis(), turn.tokens, turn.aborted), (1, NOW, 0, None));
    let error = conversation.start_turn().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Busy);
    // The refusal changed nothing.
    assert_eq!(conversation.current_turn(), Some(turn));
}

#[tokio::test]
async fn start_turn_after_the_end_of_the_conversation_is_refused() {
    let conversation = in_memory();
    conversation.close().await.unwrap();
    assert_eq!(conversation.start_turn().unwrap_err().kind(), ErrorKind::Closed);
    assert!(!conversation.is_active_turn());
}

#[tokio::test]
async fn start_turn_by_many_at_once_succeeds_for_one() {
    let conversation = in_memory();
    let started = std::thread::scope(|scope| {
        let tries: Vec<_> = (0..8).map(|_| scope.spawn(|| conversation.start_turn().is_ok())).collect();
        tries.into_iter().filter_map(|thread| thread.join().ok()).filter(|started| *started).count()
    });
    assert_eq!((started, conversation.last_turn()), (1, 1));
}

#[test]
fn end_turn_moves_the_turn_to_the_turn_history() {
    let room = Room::new();
    let conversation = room.conversation();
    conversation.start_turn().unwrap();
    conversation.add_token_usage(12);
    conversation.inject_input("Wait.").unwrap();
    room.clock.advance(250);
    assert_eq!(conversation.end_turn(), ["Wait."]);
    assert!(!conversation.is_active_turn() && !conversation.has_pending_input());
    let history = conversation.turn_history();
    let [turn] = history.as_slice() else { panic!("{history:?}") };
    assert_eq!((turn.number, turn.tokens, turn.ended, turn.aborted), (1, 12, TurnEnd::Completed, None));
    assert_eq!(turn.finished.millis_since(turn.started), 250);
    assert_eq!(conversation.start_turn().unwrap(), 2);
}

#[tokio::test]
async fn end_turn_takes_open_questions_back_and_cancels_what_is_left() {
    let conversation = in_memory();
    conversation.start_turn().unwrap();
    let (asked, token) = (conversation.insert_pending_approval("e1"), conversation.turn_cancel().unwrap());
    conversation.end_turn();
    assert_eq!(asked.await, ReviewDecision::Abort);
    assert!(token.is_cancelled());
    assert!(conversation.turn_cancel().is_none());
}

#[test]
fn end_turn_without_a_turn_is_no_error() {
    let conversation = in_memory();
    assert!(conversation.end_turn().is_empty());
    assert!(conversation.turn_history().is_empty());
    assert_eq!(conversation.start_turn().unwrap(), 1);
}

#[test]
fn the_turn_history_is_bounded() {
    let conversation = in_memory();
    for _ in 0..150 {
        conversation.start_turn().unwrap();
        conversation.end_turn();
    }
    let numbers: Vec<u32> = conversation.turn_history().iter().map(|turn| turn.number).collect();
    assert_eq!(numbers, (51..=150).collect::<Vec<u32>>());
}

#[test]
fn is_active_turn_tells_whether_a_turn_is_active() {
    let conversation = in_memory();
    assert!(!conversation.is_active_turn());
    conversation.start_turn().unwrap();
    assert!(conversation.is_active_turn());
    conversation.end_turn();
    assert!(!conversation.is_active_turn());
}

#[test]
fn is_active_turn_while_an_aborted_turn_comes_to_its_end() {
    let conversation = in_memory();
    conversation.start_turn().unwrap();
    conversation.abort_turn(TurnAbortReason::Timeout);
    assert!(conversation.is_active_turn());
    assert_eq!(conversation.start_turn().unwrap_err().kind(), ErrorKind::Busy);
    conversation.end_turn();
    assert!(!conversation.is_active_turn());
}

#[tokio::test]
async fn idle_waits_for_the_end_of_the_turn() {
    let conversation = Arc::new(in_memory());
    conversation.idle().await;
    conversation.start_turn().unwrap();
    let waiting = Arc::clone(&conversation);
    let (first, second) = (tokio::spawn(async move { waiting.idle().await }), conversation.idle());
    tokio::pin!(second);
    assert!(second.as_mut().now_or_never().is_none());
    conversation.end_turn();
    second.await;
    first.await.unwrap();
}

#[test]
fn while_idle_changes_nothing_during_a_turn() {
    let conversation = in_memory();
    conversation.start_turn().unwrap();
    let error = conversation.while_idle("nothing can be done", || panic!("not during a turn")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Busy);
    assert!(error.to_string().starts_with("nothing can be done: "), "{error}");
    conversation.end_turn();
    conversation.while_idle("x", || conversation.clear_history()).unwrap().unwrap();
}

#[tokio::test]
async fn notify_approval_reaches_whoever_asked() {
    let conversation = in_memory();
    conversation.start_turn().unwrap();
    let (first, second) =
        (conversation.insert_pending_approval("e1"), conversation.insert_pending_approval("e2"));
    assert_eq!(conversation.pending_approvals(), ["e1", "e2"]);
    assert_eq!(conversation.execution_state(), ExecutionState::Waiting);
    assert!(conversation.notify_approval("e2", ReviewDecision::ApprovedForSession));
    assert!(conversation.notify_approval("e1", ReviewDecision::Denied));
    assert_eq!((first.await, second.await), (ReviewDecision::Denied, ReviewDecision::ApprovedForSession));
    assert!(conversation.pending_approvals().is_empty());
    assert!(!conversation.notify_approval("e1", ReviewDecision::Approved));
    assert_eq!(ReviewDecision::default(), ReviewDecision::Denied);
}

#[tokio::test]
async fn pending_approvals_that_nobody_waits_for_are_no_questions() {
    let conversation = in_memory();
    // Without a turn there is nobody to answer.
    assert_eq!(conversation.insert_pending_approval("e0").await, ReviewDecision::Abort);
    conversation.start_turn().unwrap();
    drop(conversation.insert_pending_approval("e1"));
    assert!(conversation.pending_approvals().is_empty());
    assert!(!conversation.notify_approval("e1", ReviewDecision::Approved));
    assert_eq!(conversation.execution_state(), ExecutionState::Processing);
    // Asked anew, taken back.
    let (old, new) = (conversation.insert_pending_approval("e2"), conversation.insert_pending_approval("e2"));
    assert_eq!(old.await, ReviewDecision::Abort);
    assert!(conversation.remove_pending_approval("e2"));
    assert!(!conversation.remove_pending_approval("e2"));
    assert_eq!(new.await, ReviewDecision::Abort);
}

#[test]
fn inject_input_waits_in_order_for_the_turn_to_take_it() {
    let conversation = in_memory();
    conversation.start_turn().unwrap();
    conversation.inject_input("one").unwrap();
    conversation.inject_input("two").unwrap();
    assert!(conversation.has_pending_input());
    assert_eq!(conversation.take_pending_input(), ["one", "two"]);
    assert!(!conversation.has_pending_input());
    assert!(conversation.take_pending_input().is_empty());
}

#[test]
fn inject_input_that_no_turn_can_take_comes_back() {
    let conversation = in_memory();
    let returned = conversation.inject_input("Stop.").unwrap_err();
    assert_eq!((returned.text.as_str(), returned.reason), ("Stop.", ReturnReason::NoActiveTurn));
    conversation.start_turn().unwrap();
    assert_eq!(conversation.inject_input("  ").unwrap_err().reason, ReturnReason::Empty);
    conversation.abort_turn(TurnAbortReason::Interrupted);
    assert_eq!(conversation.inject_input("Go on.").unwrap_err().text, "Go on.");
}

#[tokio::test]
async fn abort_turn_ends_questions_returns_input_and_cancels() {
    let room = Room::new();
    let conversation = room.recorded().await;
    conversation.start_turn().unwrap();
    let (asked, token) = (conversation.insert_pending_approval("e1"), conversation.turn_cancel().unwrap());
    conversation.inject_input("And then?").unwrap();
    let before = room.log(conversation.session_id().as_str());
    assert_eq!(conversation.abort_turn(TurnAbortReason::Replaced), ["And then?"]);
    assert_eq!(asked.await, ReviewDecision::Abort);
    assert!(token.is_cancelled());
    assert_eq!(conversation.execution_state(), ExecutionState::Interrupted);
    // The first reason stands, and nothing asks any more.
    assert!(conversation.abort_turn(TurnAbortReason::Error).is_empty());
    assert_eq!(conversation.insert_pending_approval("e2").await, ReviewDecision::Abort);
    conversation.end_turn();
    assert_eq!(conversation.abort_reason(), Some(TurnAbortReason::Replaced));
    let last = conversation.turn_history().pop().unwrap();
    assert_eq!((last.ended, last.aborted), (TurnEnd::Interrupted, Some(TurnAbortReason::Replaced)));
    assert_eq!(room.log(conversation.session_id().as_str()), before);
}

#[test]
fn abort_turn_without_a_turn_does_nothing() {
    let conversation = in_memory();
    assert!(conversation.abort_turn(TurnAbortReason::Interrupted).is_empty());
    assert_eq!(conversation.abort_reason(), None);
    conversation.start_turn().unwrap();
    assert_eq!(conversation.abort_reason(), None);
    assert!(!conversation.turn_cancel().unwrap().is_cancelled());
}

#[test]
fn execution_state_follows_the_turn() {
    let conversation = in_memory();
    assert_eq!(conversation.execution_state(), ExecutionState::Idle);
    conversation.set_executing(true);
    assert_eq!(conversation.execution_state(), ExecutionState::Idle);
    conversation.start_turn().unwrap();
    assert_eq!(conversation.execution_state(), ExecutionState::Processing);
    conversation.set_executing(true);
    assert_eq!(conversation.execution_state(), ExecutionState::Executing);
    conversation.set_executing(false);
    conversation.finish_turn(TurnEnd::Failed);
    assert_eq!(conversation.execution_state(), ExecutionState::Error);
    conversation.start_turn().unwrap();
    conversation.end_turn();
    assert_eq!(conversation.execution_state(), ExecutionState::Idle);
}

#[tokio::test]
async fn events_carry_the_number_of_the_turn() {
    let room = Room::new();
    let conversation = room.recorded().await;
    conversation.start_turn().unwrap();
    conversation.add_to_history(entry(Speaker::User, "in")).await.unwrap();
    conversation.end_turn();
    conversation.add_to_history(entry(Speaker::User, "out")).await.unwrap();
    let turns: Vec<u32> =
        room.events(conversation.session_id().as_str()).iter().map(|event| event.turn).collect();
    assert_eq!(turns, [0, 1, 0]);
}
