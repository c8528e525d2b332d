//! Errors and interrupts.

use robota_core::TurnAbortReason;
use serde_json::json;

use super::{NOW, in_memory};

#[test]
fn add_error_remembers_it_with_its_context() {
    let conversation = in_memory();
    conversation.add_error("it broke", Some(json!({"step": 3})));
    conversation.add_error("again", None);
    let errors = conversation.errors();
    assert_eq!((errors[0].message.as_str(), errors[0].at.as_millis()), ("it broke", NOW));
    assert_eq!((&errors[0].context, &errors[1].context), (&Some(json!({"step": 3})), &None));
    let export = serde_json::to_string(&conversation.export()).unwrap();
    assert!(!export.contains("it broke"), "{export}");
}

#[test]
fn add_error_forgets_the_oldest() {
    let conversation = in_memory();
    (0..250).for_each(|number| conversation.add_error(number.to_string(), None));
    let errors = conversation.errors();
    assert_eq!((errors.len(), errors[0].message.as_str()), (100, "150"));
}

#[test]
fn request_interrupt_sets_the_flag_and_stops_the_turn() {
    let conversation = in_memory();
    conversation.start_turn().unwrap();
    let token = conversation.turn_cancel().unwrap();
    conversation.inject_input("not lost").unwrap();
    conversation.request_interrupt();
    assert!(conversation.is_interrupt_requested() && token.is_cancelled());
    assert_eq!(conversation.abort_reason(), Some(TurnAbortReason::Interrupted));
    assert_eq!(conversation.end_turn(), ["not lost"]);
}

#[test]
fn request_interrupt_without_a_turn_does_not_stop_the_next() {
    let conversation = in_memory();
    conversation.request_interrupt();
    assert!(conversation.is_interrupt_requested());
    conversation.start_turn().unwrap();
    assert!(!conversation.is_interrupt_requested());
    assert!(!conversation.turn_cancel().unwrap().is_cancelled());
}

#[test]
fn is_interrupt_requested_only_after_a_request() {
    let conversation = in_memory();
    assert!(!conversation.is_interrupt_requested());
    conversation.request_interrupt();
    assert!(conversation.is_interrupt_requested());
    conversation.clear_interrupt();
    assert!(!conversation.is_interrupt_requested());
}

#[test]
fn is_interrupt_requested_is_still_told_after_the_turn() {
    let conversation = in_memory();
    conversation.start_turn().unwrap();
    // An abort for another reason is no request.
    conversation.abort_turn(TurnAbortReason::Timeout);
    assert!(!conversation.is_interrupt_requested());
    conversation.end_turn();
    conversation.start_turn().unwrap();
    conversation.request_interrupt();
    conversation.end_turn();
    assert!(conversation.is_interrupt_requested());
}

#[test]
fn clear_interrupt_takes_the_flag_back() {
    let conversation = in_memory();
    conversation.request_interrupt();
    conversation.clear_interrupt();
    assert!(!conversation.is_interrupt_requested());
}

#[test]
fn clear_interrupt_does_not_revive_an_aborted_turn() {
    let conversation = in_memory();
    conversation.clear_interrupt();
    conversation.start_turn().unwrap();
    conversation.request_interrupt();
    conversation.clear_interrupt();
    assert!(conversation.turn_cancel().unwrap().is_cancelled());
}
