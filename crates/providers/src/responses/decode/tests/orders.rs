//! Events in any order.

use proptest::prelude::*;
use robota_core::ModelEvent;
use serde_json::{Value, json};

use super::{body, decoder, function_call, message, reasoning};
use crate::recorded::{End, read};

/// Any event, of any kind, about any of a few items.
fn any_event() -> impl Strategy<Value = Value> {
    let kind = prop::sample::select(vec![
        "response.created",
        "response.output_item.added",
        "response.output_item.done",
        "response.content_part.done",
        "response.output_text.delta",
        "response.output_text.done",
        "response.output_text.annotation.added",
        "response.refusal.delta",
        "response.function_call_arguments.delta",
        "response.function_call_arguments.done",
        "response.custom_tool_call_input.delta",
        "response.custom_tool_call_input.done",
        "response.reasoning_summary_text.delta",
        "response.reasoning_summary_text.done",
        "response.reasoning_text.delta",
        "response.web_search_call.completed",
        "response.completed",
        "response.incomplete",
        "unheard.of",
    ]);
    let item = prop::sample::select(vec![
        Value::Null,
        reasoning(),
        message("a"),
        function_call("a", "{}"),
        function_call("b", ""),
        json!({"type": "custom_tool_call", "call_id": "c", "name": "Read", "input": "x"}),
        json!({"type": "web_search_call", "action": {"query": "q"}}),
        json!({"type": 7, "id": [], "content": {}}),
        json!([1]),
    ]);
    let text = prop::sample::select(vec![json!("t"), json!(""), json!({"text": "o"}), json!(7), Value::Null]);
    let id = prop::sample::select(vec![json!("a"), json!("fc_a"), json!(""), Value::Null]);
    (kind, item, text, id, proptest::option::of(0_u64..3)).prop_map(|(kind, item, text, id, index)| {
        json!({
            "type": kind, "item": item, "part": item, "item_id": id, "output_index": index, "content_index": index,
            "delta": text, "text": text, "arguments": text, "input": text, "name": text,
            "annotation": {"type": "url_citation", "url": text},
            "response": {"output": [item, item], "usage": text, "status": text},
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]
    #[test]
    fn events_in_any_order_make_a_well_formed_answer(stream in proptest::collection::vec(any_event(), 0..40)) {
        let (events, end) = read(decoder(), [format!("{}data: [DONE]\n\n", body(&stream)).as_bytes()]);
        prop_assert!(matches!(end, End::Finished));
        let count = |wanted: fn(&ModelEvent) -> bool| events.iter().filter(|event| wanted(event)).count();
        let begun = matches!(events.first(), Some(ModelEvent::Started { .. }));
        prop_assert!(begun);
        prop_assert!(matches!(events.last(), Some(ModelEvent::Finish(_))));
        prop_assert_eq!(count(|event| matches!(event, ModelEvent::Started { .. })), 1);
        prop_assert_eq!(count(|event| matches!(event, ModelEvent::Finish(_))), 1);
        let natives = count(|event| matches!(event, ModelEvent::NativeContent { .. }));
        prop_assert!(natives <= 1);
        let (mut open, mut calls) = (Vec::new(), 0);
        for event in &events {
            match event {
                ModelEvent::ToolCallStart { index, .. } => {
                    prop_assert_eq!(*index, calls);
                    calls += 1;
                    open.push(*index);
                }
                ModelEvent::ToolCallArguments { index, .. } => prop_assert!(open.contains(index)),
                ModelEvent::ToolCallEnd { index } => {
                    prop_assert!(open.contains(index));
                    open.retain(|other| other != index);
                }
                _ => {}
            }
        }
        prop_assert!(open.is_empty());
    }
}
