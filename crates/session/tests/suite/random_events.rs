//! Whatever stands in a log: nothing that looks at it panics, and all agree about its state.

use proptest::prelude::*;
use robota_core::Event;
use robota_session::{
    LogFold, LogItem, LogReader, expand, replay, replay_session_log_entries,
    validate_session_replay_log_items,
};
use serde_json::{Value, json};

use crate::cases::cases;
use crate::scene::id;

fn reference() -> impl Strategy<Value = Value> {
    (0usize..6).prop_map(|length| json!({"length": length, "head": "0".repeat(64)}))
}

fn message() -> impl Strategy<Value = Value> {
    (0u8..6, 0u8..5, 0u8..3).prop_map(|(id, kind, call)| {
        let mut message = json!({"id": format!("m{id}"), "timestamp": 0, "content": format!("text {id}")});
        let calls = json!([{"id": format!("c{call}"), "type": "function", "function": {"name": "Look", "arguments": "{"}}]);
        match kind {
            0 => message["role"] = json!("user"),
            1 => message["role"] = json!("assistant"),
            2 => {
                message["role"] = json!("assistant");
                message["toolCalls"] = calls;
                message["metadata"] = json!({"usage": {"inputTokens": u64::MAX, "outputTokens": u64::MAX}});
            }
            3 => message["role"] = json!("system"),
            _ => {
                message["role"] = json!("tool");
                message["toolCallId"] = json!(format!("c{call}"));
            }
        }
        message
    })
}

fn mutation() -> impl Strategy<Value = Value> {
    prop_oneof![
        6 => (0usize..5, message()).prop_map(|(index, message)| json!({"mutation": "append_message", "index": index, "message": message})),
        1 => prop::collection::vec(message(), 0..4).prop_map(|messages| json!({"mutation": "replace", "messages": messages})),
        1 => Just(json!({"mutation": "clear"})),
        1 => (0usize..8).prop_map(|length| json!({"mutation": "truncate", "length": length})),
        1 => Just(json!({"mutation": "append_entry", "entry": {"id": "e", "timestamp": 0, "category": "event", "type": "note", "data": {"kind": "external-payload"}}})),
    ]
}

fn provider_event() -> impl Strategy<Value = Value> {
    let ids = (0u8..6, 0u32..4, any::<bool>());
    (0u8..9, ids, reference()).prop_map(|(kind, (id, round, flag), history)| {
        let tool = json!({"name": "Look", "description": "", "inputSchema": {}});
        let usage = json!({"inputTokens": u64::MAX});
        match kind {
            0 => json!({"event": "session_init", "cwd": "/p", "provider": "p", "model": "m", "permissionMode": "default", "systemPrompt": "s", "systemPromptLength": 1, "toolSchemas": [tool], "rawCapture": "full"}),
            1 => json!({"event": "session_resume", "provider": "p", "model": "m", "history": history}),
            2 | 3 => json!({"event": "pre_run", "provider": "p", "model": "m", "history": history, "maxRounds": round}),
            4 => json!({"event": "provider_request", "round": round, "provider": "p", "model": "m", "history": history, "lastWords": flag, "digest": flag.then(|| "0".repeat(32)), "purpose": if round < 2 { "compaction" } else { "turn" }}),
            5 | 6 => json!({"event": "provider_response_normalized", "round": round, "messageId": format!("m{id}"), "model": "m", "finishReason": if flag { "pause_turn" } else { "end_turn" }, "usage": usage, "toolCallsCount": round, "renamedCalls": {"c0": 7}}),
            7 => json!({"event": "compact_start", "trigger": "auto", "goal": if flag { 0.9 } else { -1.0 }, "instructions": "x", "comingBytes": if round == 0 { u64::MAX } else { 0 }, "contextWindow": ([0, 1, 1_000_000, u64::MAX][round as usize])}),
            _ => json!({"event": "compact_summary", "part": if flag { 1 } else { u32::MAX }, "summary": "text 1", "usage": usage}),
        }
    })
}

fn other_event() -> impl Strategy<Value = Value> {
    (0u8..10, 0u8..6, reference()).prop_map(|(kind, id, history)| match kind {
        0 => json!({"event": "tool_execution_request", "index": 0, "toolName": "Look", "toolCallId": format!("c{id}"), "parameters": {}}),
        1 => json!({"event": "tool_execution_result", "index": 0, "toolName": "Look", "toolCallId": format!("c{id}"), "success": true, "durationMs": 1}),
        2 => json!({"event": "tool_message_committed", "toolCallId": "c0", "messageId": format!("m{id}")}),
        3 => json!({"event": "text_delta", "delta": "x"}),
        4 => json!({"event": "complete", "ended": "completed", "rounds": 1, "usage": {}, "history": history, "durationMs": 0, "apiDurationMs": 0}),
        5 => json!({"event": "complete", "ended": "failed", "rounds": 1, "usage": {}, "history": history, "durationMs": 0, "apiDurationMs": 0}),
        6 => json!({"event": "tool_batch_started", "round": u32::MAX, "maxConcurrency": 5, "tools": ["Look"]}),
        7 => json!({"event": "context_compact", "trigger": "auto", "before": {"usedTokens": 1, "maxTokens": 2, "usedPercentage": 3.0}, "after": {"usedTokens": 1, "maxTokens": 2, "usedPercentage": 3.0}, "summarizedMessages": 1, "keptMessages": 0, "parts": 1, "usage": {}}),
        8 => json!({"event": "history_mutation", "mutation": "unheard of"}),
        _ => json!({"event": "memory_event", "data": {"deep": [[{"kind": "external-payload"}]]}}),
    })
}

/// Lines of a log: mostly of one session and in order, sometimes neither.
fn log() -> impl Strategy<Value = Vec<String>> {
    let kind = prop_oneof![
        4 => mutation().prop_map(|mut fields| {
            fields["event"] = json!("history_mutation");
            fields
        }),
        4 => provider_event(),
        2 => other_event(),
    ];
    let line = (kind, 0u32..4, 0u8..12, any::<bool>());
    prop::collection::vec(line, 0..40).prop_map(|lines| {
        let stamp = |(at, (mut line, turn, odd, redacted)): (usize, (Value, u32, u8, bool))| {
            line["seq"] = json!(if odd == 1 { at as u64 / 2 } else { at as u64 + 1 });
            line["timestamp"] = json!(at);
            line["sessionId"] = json!(if odd == 2 && at > 0 { "t" } else { "s" });
            line["turn"] = json!(turn);
            line["redacted"] = json!(redacted && odd > 8);
            line.to_string()
        };
        lines.into_iter().enumerate().map(stamp).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(256), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_log_can_be_looked_at_and_all_agree_about_it(log in log()) {
        let text: String = log.iter().map(|line| format!("{line}\n")).collect();
        let items: Vec<LogItem> = LogReader::new(text.as_bytes()).map(Result::unwrap).collect();
        let events: Vec<&Event> = items
            .iter()
            .filter_map(|item| if let LogItem::Event(event) = item { Some(&**event) } else { None })
            .collect();
        let validation = validate_session_replay_log_items(&items);
        prop_assert_eq!(validation.ok, validation.total == 0);
        prop_assert!(expand(events.iter().copied()).count() < 4 * log.len() + 4);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let report = runtime.block_on(replay(events.iter().copied()));
        for turn in &report.turns {
            prop_assert!(turn.verified + turn.unverifiable <= turn.requests);
            let whole = turn.verified + turn.unverifiable == turn.requests;
            prop_assert!(whole || turn.divergence.is_some(), "{:?}", turn);
        }
        let record = replay_session_log_entries(events.iter().copied());
        let mut fold = LogFold::new(id("s"));
        fold.read(text.as_bytes()).unwrap();
        prop_assert_eq!(record.events, fold.events());
        let stored = fold.finish();
        prop_assert_eq!(record.messages, stored.history.messages());
        prop_assert_eq!(record.history, stored.history.entries());
        prop_assert_eq!((record.cwd, record.name), (stored.cwd, stored.name));
        prop_assert_eq!((record.created_at, record.updated_at), (stored.created_at, stored.updated_at));
        prop_assert_eq!(record.turns.iter().map(|turn| turn.turn).max().unwrap_or(0), stored.turn);
        if let Some(session) = record.session_id {
            prop_assert_eq!(session, stored.id);
        }
    }
}
