//! From a history to messages that every provider accepts: the one place where requests are built.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet, VecDeque};

use serde_json::Value;

use crate::{Body, Message, MessageRef, Timestamp, ToolCall};

/// Stands where a user must have spoken first: some APIs refuse a conversation that the model begins, as
/// it does after a compaction. The same in every request, so that prefixes stay byte-identical.
const OPENING: &str = "[The beginning of this conversation is not included.]";

/// What a model is told of a call whose result was never recorded.
const NO_RESULT: &str = "No result was recorded for this call. It may or may not have run.";

/// The messages to send: each call directly followed by exactly one result, and no result without its call.
///
/// A valid history passes unchanged, so that earlier parts of a request stay byte-identical. What a
/// crash or a foreign import left unpaired is repaired: missing results are filled in, stray and
/// repeated ones left out, empty answers dropped, and calls whose id was there before get another one. Before
/// an answer to nobody stands a fixed message in the user's place, for the APIs that let nobody else begin.
/// The history itself is not touched.
#[must_use]
pub fn sendable(history: &[MessageRef]) -> Vec<MessageRef> {
    let mut messages = Vec::with_capacity(history.len() + 2);
    let mut call_ids = CallIds::default();
    let mut rest = history;
    let mut opened = false;
    while let Some((message, after)) = rest.split_first() {
        rest = after;
        if message.answers().is_some() || is_empty_answer(message) {
            continue;
        }
        if !opened && matches!(message.body, Body::User { .. } | Body::Assistant { .. }) {
            opened = true;
            if matches!(message.body, Body::Assistant { .. }) {
                messages.push(Message::user("opening", Timestamp::default(), OPENING).into());
            }
        }
        if message.tool_calls().is_empty() {
            messages.push(message.clone());
        } else {
            let count = rest.iter().take_while(|next| next.answers().is_some()).count();
            let (results, after) = rest.split_at(count);
            rest = after;
            let caller = call_ids.made_unique(message);
            messages.push(caller.clone());
            pair(message.tool_calls(), &caller, results, &mut messages);
        }
    }
    messages
}

/// Adds one result for each call of `caller`, in call order; `given` are its calls as the history has them.
fn pair(given: &[ToolCall], caller: &MessageRef, results: &[MessageRef], messages: &mut Vec<MessageRef>) {
    let mut by_call: HashMap<&str, VecDeque<&MessageRef>> = HashMap::with_capacity(results.len());
    for result in results {
        if let Some(call_id) = result.answers() {
            by_call.entry(call_id).or_default().push_back(result);
        }
    }
    for (given, call) in given.iter().zip(caller.tool_calls()) {
        let result = by_call.get_mut(given.id.as_str()).and_then(VecDeque::pop_front);
        messages.push(match result {
            Some(result) if given.id == call.id => result.clone(),
            Some(result) => answering(result, &call.id),
            None => missing_result(caller, &call.id, &call.name),
        });
    }
}

/// The ids of calls so far. The same history gives the same ids each time, however it goes on.
#[derive(Default)]
struct CallIds<'a>(HashSet<Cow<'a, str>>);

impl<'a> CallIds<'a> {
    /// The same message where its calls have ids of their own, which is nearly always.
    fn made_unique(&mut self, caller: &'a MessageRef) -> MessageRef {
        let mut unique: Option<Message> = None;
        for (at, call) in caller.tool_calls().iter().enumerate() {
            if !call.id.is_empty() && self.0.insert(Cow::Borrowed(&call.id)) {
                continue;
            }
            let id = self.another(if call.id.is_empty() { "call" } else { &call.id });
            let message = unique.get_or_insert_with(|| Message::clone(caller));
            if let Body::Assistant { tool_calls, .. } = &mut message.body
                && let Some(call) = tool_calls.get_mut(at)
            {
                call.id = id;
            }
        }
        unique.map_or_else(|| caller.clone(), MessageRef::from)
    }

    fn another(&mut self, id: &str) -> String {
        let mut number = 2_u64;
        loop {
            let other = format!("{id}-{number}");
            if self.0.insert(Cow::Owned(other.clone())) {
                return other;
            }
            number += 1;
        }
    }
}

fn answering(result: &MessageRef, call_id: &str) -> MessageRef {
    let mut message = Message::clone(result);
    if let Body::Tool { tool_call_id, .. } = &mut message.body {
        call_id.clone_into(tool_call_id);
    }
    message.into()
}

fn missing_result(caller: &MessageRef, call_id: &str, tool: &str) -> MessageRef {
    let body = Body::Tool {
        content: NO_RESULT.to_owned(),
        tool_call_id: call_id.to_owned(),
        name: Some(tool.to_owned()),
        is_error: true,
        parts: Vec::new(),
    };
    let mut message = Message::with_body(format!("{call_id}-missing"), caller.timestamp, body);
    message.metadata.insert("errorCode".into(), Value::from("outcome_unknown"));
    message.into()
}

fn is_empty_answer(message: &Message) -> bool {
    match &message.body {
        Body::Assistant { content, parts, tool_calls, .. } => {
            content.as_deref().is_none_or(|text| text.trim().is_empty())
                && parts.is_empty()
                && tool_calls.is_empty()
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn user(id: &str) -> MessageRef {
        Message::user(id, Timestamp::default(), "hello").into()
    }

    fn caller(id: &str, calls: &[&str]) -> MessageRef {
        let call = |id: &&str| ToolCall { id: (*id).into(), name: "Read".into(), arguments: "{}".into() };
        let body = Body::Assistant {
            content: None,
            parts: Vec::new(),
            tool_calls: calls.iter().map(call).collect(),
            reasoning: Vec::new(),
        };
        Message::with_body(id, Timestamp::default(), body).into()
    }

    fn result(id: &str, call: &str) -> MessageRef {
        let body = Body::Tool {
            content: "ok".into(),
            tool_call_id: call.into(),
            name: None,
            is_error: false,
            parts: Vec::new(),
        };
        Message::with_body(id, Timestamp::default(), body).into()
    }

    fn ids(messages: &[MessageRef]) -> Vec<&str> {
        messages.iter().map(|message| message.id.as_str()).collect()
    }

    #[test]
    fn a_valid_history_passes_unchanged() {
        let history =
            [user("u"), caller("a", &["c1", "c2"]), result("r1", "c1"), result("r2", "c2"), user("v")];
        assert_eq!(sendable(&history), history);
    }

    #[test]
    fn what_a_crash_left_open_is_answered_and_strays_are_dropped() {
        let history = [
            result("stray", "c0"),
            user("u"),
            caller("a", &["c1", "c2"]),
            result("r2", "c2"),
            result("again", "c2"),
            result("foreign", "c9"),
            caller("empty", &[]),
            user("v"),
            caller("b", &["c3"]),
        ];
        let sent = sendable(&history);
        assert_eq!(ids(&sent), ["u", "a", "c1-missing", "r2", "v", "b", "c3-missing"]);
        assert_eq!(sent[2].text(), NO_RESULT);
    }

    #[test]
    fn calls_that_share_an_id_or_have_none_get_one_of_their_own() {
        let history = [
            user("u"),
            caller("a", &["c", "c", ""]),
            result("r1", "c"),
            result("r2", "c"),
            caller("b", &["c-2", "c", ""]),
            result("r3", "c"),
            result("r4", ""),
        ];
        let sent = sendable(&history);
        let calls: Vec<&str> =
            sent.iter().flat_map(|message| message.tool_calls()).map(|call| call.id.as_str()).collect();
        assert_eq!(calls, ["c", "c-2", "call-2", "c-2-2", "c-3", "call-3"]);
        let results: Vec<(&str, &str)> =
            sent.iter().filter_map(|message| Some((message.id.as_str(), message.answers()?))).collect();
        let expected = [
            ("r1", "c"),
            ("r2", "c-2"),
            ("call-2-missing", "call-2"),
            ("c-2-2-missing", "c-2-2"),
            ("r3", "c-3"),
            ("r4", "call-3"),
        ];
        assert_eq!(results, expected);
        assert_eq!(sendable(&sent), sent);
        assert_eq!(sendable(&history[..4]), sent[..5]);
    }

    fn system(id: &str) -> MessageRef {
        Message::system(id, Timestamp::default(), "note").into()
    }

    fn summary(id: &str) -> MessageRef {
        Message::assistant(id, Timestamp::default(), "[Context Summary]\nWe met.").into()
    }

    #[test]
    fn where_the_model_begins_a_fixed_message_of_the_user_stands_before_it() {
        let history = [system("s"), summary("a"), user("u")];
        let sent = sendable(&history);
        assert_eq!(ids(&sent), ["s", "opening", "a", "u"]);
        assert_eq!((sent[1].role(), sent[1].text()), ("user", OPENING));
        assert_eq!(sendable(&history[..2]), sent[..3]);
        let spoken = [system("s"), user("u"), summary("a")];
        assert_eq!(sendable(&spoken), spoken);
    }

    proptest! {
        #[test]
        fn a_longer_history_repeats_what_was_sent_and_the_user_speaks_first(
            shape in prop::collection::vec(0u8..5, 0..12)
        ) {
            let pieces = shape.iter().enumerate().map(|(at, kind)| match kind {
                0 => vec![user(&format!("u{at}"))],
                1 => vec![summary(&format!("a{at}"))],
                2 => vec![system(&format!("s{at}"))],
                3 => vec![caller(&format!("e{at}"), &[])],
                _ => {
                    let call = format!("c{at}");
                    vec![caller(&format!("t{at}"), &[&call]), result(&format!("r{at}"), &call)]
                }
            });
            let mut history = Vec::new();
            let mut before: Vec<MessageRef> = Vec::new();
            for piece in pieces {
                history.extend(piece);
                let sent = sendable(&history);
                let spoken = sent.iter().find(|message| message.role() != "system");
                prop_assert!(spoken.is_none_or(|message| message.role() == "user"));
                prop_assert_eq!(sent.get(..before.len()), Some(&before[..]));
                prop_assert_eq!(&sendable(&sent), &sent);
                before = sent;
            }
        }

        #[test]
        fn whatever_the_history_every_call_is_paired(shape in prop::collection::vec((0u8..4, 0u8..4), 0..30)) {
            let history: Vec<MessageRef> = shape
                .iter()
                .enumerate()
                .map(|(at, (kind, number))| match kind {
                    0 => user(&format!("u{at}")),
                    1 => caller(&format!("a{at}"), &[&format!("c{number}"), &format!("d{number}"), "", "c1"]),
                    _ => result(&format!("r{at}"), &format!("c{number}")),
                })
                .collect();
            let sent = sendable(&history);
            let mut open: Vec<String> = Vec::new();
            let mut seen = HashSet::new();
            for message in &sent {
                prop_assert!(message.tool_calls().iter().all(|call| seen.insert(call.id.as_str())));
                match message.answers() {
                    Some(call) => prop_assert_eq!(open.remove(0), call),
                    None => {
                        prop_assert!(open.is_empty());
                        open = message.tool_calls().iter().map(|call| call.id.clone()).collect();
                    }
                }
            }
            prop_assert!(open.is_empty());
            prop_assert_eq!(sendable(&sent), sent);
        }
    }
}
