//! Compaction without a model: the last messages stay, cut where they can still be sent.

use robota_core::{Ambient, Message, MessageRef};

/// How many messages stay (facts sheet 12.1).
const KEPT: usize = 20;

/// The end of `messages` that stays, or `None` when nothing would be won.
pub(super) fn trimmed(messages: &[MessageRef], ambient: &Ambient) -> Option<Vec<MessageRef>> {
    let cut = before_results(messages, messages.len().checked_sub(KEPT)?);
    let kept = messages.get(cut..)?;
    let begins_with_user = kept.first().is_some_and(|message| message.role() == "user");
    let mut shorter = Vec::with_capacity(kept.len() + 1);
    if !begins_with_user {
        // The APIs want the first message to be the user's.
        shorter.push(note(cut, ambient));
    }
    shorter.extend_from_slice(kept);
    (shorter.len() < messages.len()).then_some(shorter)
}

/// `cut`, or the place of the call whose results would be the first messages after it.
fn before_results(messages: &[MessageRef], cut: usize) -> usize {
    let results = |at: &usize| messages.get(*at).is_some_and(|message| message.answers().is_some());
    if results(&cut) { (0..cut).rev().find(|at| !results(at)).unwrap_or(0) } else { cut }
}

fn note(left_out: usize, ambient: &Ambient) -> MessageRef {
    let text = format!("[{left_out} earlier messages of this conversation were left out to make room.]");
    Message::user(ambient.next_id(), ambient.now(), text).into()
}

#[cfg(test)]
mod tests {
    use robota_core::{Body, Timestamp, ToolCall, sendable};

    use super::*;

    fn user(id: usize) -> MessageRef {
        Message::user(format!("u{id}"), Timestamp::default(), "text").into()
    }

    /// A call of `results` tools, and their results.
    fn batch(id: usize, results: usize) -> Vec<MessageRef> {
        let call = |at| ToolCall { id: format!("c{id}-{at}"), name: "Read".into(), arguments: "{}".into() };
        let calls: Vec<ToolCall> = (0..results).map(call).collect();
        let result = |call: &ToolCall| {
            let body = Body::Tool {
                content: "ok".into(),
                tool_call_id: call.id.clone(),
                name: None,
                is_error: false,
                parts: Vec::new(),
            };
            MessageRef::new(Message::with_body(format!("r{}", call.id), Timestamp::default(), body))
        };
        let results: Vec<MessageRef> = calls.iter().map(result).collect();
        let body = Body::Assistant { content: None, parts: vec![], tool_calls: calls, reasoning: vec![] };
        let mut messages = vec![Message::with_body(format!("a{id}"), Timestamp::default(), body).into()];
        messages.extend(results);
        messages
    }

    #[test]
    fn up_to_20_messages_stay_as_they_are() {
        let messages: Vec<MessageRef> = (0..20).map(user).collect();
        assert!(trimmed(&messages, &Ambient::default()).is_none());
        assert!(trimmed(&[], &Ambient::default()).is_none());
        let more: Vec<MessageRef> = (0..21).map(user).collect();
        assert_eq!(trimmed(&more, &Ambient::default()).unwrap(), more[1..]);
    }

    #[test]
    fn whatever_the_length_of_the_batches_calls_and_results_stay_paired() {
        for results in 1..50 {
            let mut messages = vec![user(0)];
            (1..8).for_each(|id| messages.extend(batch(id, results)));
            let Some(kept) = trimmed(&messages, &Ambient::default()) else {
                // What stays reaches back to the first call, and the note takes the place of the prompt.
                assert!(messages.len() <= KEPT + results + 1, "{results}");
                continue;
            };
            assert!(kept.len() >= 20 && kept.len() < messages.len(), "{results}");
            assert_eq!(kept[0].role(), "user");
            assert_eq!(sendable(&kept), kept, "{results}");
            // And what is left is left alone.
            assert!(trimmed(&kept, &Ambient::default()).is_none(), "{results}");
        }
    }
}
