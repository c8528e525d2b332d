//! Tokens, limits, approved commands, tool usage.

use std::collections::BTreeMap;

use robota_core::Usage;
use robota_session::{ErrorKind, RateLimits};

use super::in_memory;

#[test]
fn add_token_usage_counts_for_conversation_and_turn() {
    let conversation = in_memory();
    assert_eq!(conversation.token_info(), None);
    conversation.add_token_usage(100);
    conversation.start_turn().unwrap();
    conversation.add_token_usage(30);
    conversation.add_token_usage(0);
    assert_eq!(conversation.token_info().unwrap().total_tokens, 130);
    assert_eq!(conversation.current_turn().unwrap().tokens, 30);
}

#[test]
fn add_token_usage_stops_at_the_largest_count() {
    let conversation = in_memory();
    conversation.start_turn().unwrap();
    conversation.add_token_usage(u64::MAX);
    conversation.add_token_usage(1);
    let usage = Usage { input_tokens: u64::MAX, output_tokens: u64::MAX, ..Usage::default() };
    conversation.record_usage(&usage);
    let info = conversation.token_info().unwrap();
    assert_eq!((info.total_tokens, info.input_tokens), (u64::MAX, u64::MAX));
    assert_eq!(conversation.current_turn().unwrap().tokens, u64::MAX);
}

#[test]
fn record_usage_keeps_the_breakdown() {
    let conversation = in_memory();
    let usage = Usage { input_tokens: 10, output_tokens: 20, cache_read_tokens: 300, cache_write_tokens: 4 };
    conversation.record_usage(&usage);
    conversation.record_usage(&usage);
    let info = conversation.token_info().unwrap();
    assert_eq!((info.input_tokens, info.output_tokens, info.total_tokens), (20, 40, 668));
    assert_eq!((info.cache_read_input_tokens, info.cache_creation_input_tokens), (600, 8));
}

#[test]
fn set_rate_limits_remembers_the_last_word() {
    let conversation = in_memory();
    assert_eq!(conversation.rate_limits(), None);
    conversation.set_rate_limits(RateLimits { limit_tokens: Some(1_000), ..Default::default() });
    let last =
        RateLimits { remaining_tokens: Some(5), reset_tokens: Some("6m0s".into()), ..Default::default() };
    conversation.set_rate_limits(last.clone());
    assert_eq!(conversation.rate_limits(), Some(last));
}

#[test]
fn add_approved_command_makes_it_approved() {
    let conversation = in_memory();
    conversation.add_approved_command("npm test").unwrap();
    conversation.add_approved_command("Bash(git status)").unwrap();
    conversation.add_approved_command("npm test").unwrap();
    assert_eq!(conversation.approved_commands(), ["Bash(git status)", "npm test"]);
    // Shared with the gate, for which only a rule covers anything.
    let rules: Vec<String> = conversation.approvals().rules().iter().map(ToString::to_string).collect();
    assert_eq!(rules, ["Bash(git status)"]);
    conversation.clear_approved_commands();
    assert!(conversation.approvals().is_empty());
}

#[test]
fn add_approved_command_refuses_an_empty_one() {
    let conversation = in_memory();
    for empty in ["", "  "] {
        let error = conversation.add_approved_command(empty).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
    }
    assert!(conversation.approved_commands().is_empty());
}

#[test]
fn is_command_approved_tells_approved_from_others() {
    let conversation = in_memory();
    assert!(!conversation.is_command_approved("npm test"));
    conversation.add_approved_command("npm test").unwrap();
    assert!(conversation.is_command_approved("npm test"));
}

#[test]
fn is_command_approved_takes_no_part_for_the_whole() {
    let conversation = in_memory();
    conversation.add_approved_command("npm").unwrap();
    for other in ["npm test", "np", "NPM", "", "npm; rm -rf ."] {
        assert!(!conversation.is_command_approved(other), "{other}");
    }
}

#[test]
fn track_tool_usage_counts_each_tool() {
    let conversation = in_memory();
    for tool in ["Read", "Bash", "Read"] {
        conversation.track_tool_usage(tool);
    }
    assert_eq!(conversation.tool_usage(), BTreeMap::from([("Bash".into(), 1), ("Read".into(), 2)]));
}

#[test]
fn track_tool_usage_is_neither_exported_nor_imported() {
    let conversation = in_memory();
    conversation.track_tool_usage("Read");
    let json = serde_json::to_string(&conversation.export()).unwrap();
    assert!(!json.contains("Read"), "{json}");
    assert!(in_memory().tool_usage().is_empty());
}
