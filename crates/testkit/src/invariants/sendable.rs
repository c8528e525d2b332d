//! The rules of requests before any provider has written them.

use robota_core::{Body, MessageRef};

use super::tools::Pairing;
use super::{Report, Rule};

/// Checks that messages can be sent to any provider as they are, for tests of whatever builds requests.
///
/// They begin with a user message, apart from notes of the host (system messages), which providers send in
/// the user's place. Every tool call is directly followed by exactly one result, in the order of the calls,
/// and no result stands anywhere else. Call ids are unique. No assistant message is without text, parts and
/// calls. Blank user messages and odd names of tools pass: every provider leaves out or replaces them.
///
/// # Errors
///
/// All that is wrong, a line for each, with the place in the list, counted from 1.
pub fn check_sendable(messages: &[MessageRef]) -> Result<(), String> {
    let mut report = Report::new(0);
    let mut pairing = Pairing::default();
    match messages.iter().position(|message| !matches!(message.body, Body::System { .. })) {
        None => report.add(Rule::Roles, "no message is the user's"),
        Some(first) => check_first(first, messages, &mut report),
    }
    for (index, message) in messages.iter().enumerate() {
        check_message(message, &format!("message {}", index + 1), &mut pairing, &mut report);
    }
    pairing.close("the end of the request", &mut report);
    let problems = report.violations.into_iter().map(|violation| violation.message).collect::<Vec<_>>();
    if problems.is_empty() { Ok(()) } else { Err(problems.join("\n")) }
}

fn check_first(first: usize, messages: &[MessageRef], report: &mut Report) {
    let role = messages.get(first).map_or("", |message| message.role());
    if role != "user" {
        let place = first + 1;
        report
            .add(Rule::Roles, format!("message {place} has the role `{role}`; the first must be the user's"));
    }
}

fn check_message<'a>(message: &'a MessageRef, place: &str, pairing: &mut Pairing<'a>, report: &mut Report) {
    let Body::Tool { tool_call_id, .. } = &message.body else {
        pairing.close(place, report);
        return check_answer(message, place, pairing, report);
    };
    if let Some(before) = pairing.open_before(tool_call_id) {
        let message = format!("{place} has the result of `{tool_call_id}` before that of `{before}`");
        report.add(Rule::ResultPlace, message);
    }
    pairing.result(tool_call_id, place, report);
}

fn check_answer<'a>(message: &'a MessageRef, place: &str, pairing: &mut Pairing<'a>, report: &mut Report) {
    let Body::Assistant { parts, tool_calls, .. } = &message.body else { return };
    if tool_calls.is_empty() && parts.is_empty() && message.text().trim().is_empty() {
        report.add(Rule::EmptyText, format!("{place} is an answer without text, parts and calls"));
    }
    for call in tool_calls {
        pairing.call(&call.id, place, report);
    }
}

#[cfg(test)]
mod tests {
    use robota_core::{Message, Timestamp, ToolCall};

    use super::*;

    fn user() -> MessageRef {
        Message::user("u", Timestamp::default(), "hi").into()
    }

    fn note() -> MessageRef {
        Message::system("s", Timestamp::default(), "by the way").into()
    }

    fn says(text: &str) -> MessageRef {
        Message::assistant("a", Timestamp::default(), text).into()
    }

    fn calls(ids: &[&str]) -> MessageRef {
        let call = |id: &&str| ToolCall { id: (*id).into(), name: "Read".into(), arguments: "{}".into() };
        let tool_calls = ids.iter().map(call).collect();
        let body = Body::Assistant { content: None, parts: vec![], tool_calls, reasoning: vec![] };
        Message::with_body("a", Timestamp::default(), body).into()
    }

    fn result(call: &str) -> MessageRef {
        let (content, tool_call_id) = (String::new(), call.into());
        let body = Body::Tool { content, tool_call_id, name: None, is_error: false, parts: vec![] };
        Message::with_body("r", Timestamp::default(), body).into()
    }

    #[test]
    fn what_every_provider_takes_passes() {
        let whole = [
            note(),
            user(),
            user(),
            calls(&["a", "b"]),
            result("a"),
            result("b"),
            note(),
            calls(&["c"]),
            result("c"),
            says("done"),
            user(),
        ];
        assert_eq!(check_sendable(&whole), Ok(()));
    }

    #[test]
    fn whatever_is_wrong_is_said_with_its_place() {
        let cases: [(&[MessageRef], &str); 12] = [
            (&[], "no message is the user's"),
            (&[note()], "no message is the user's"),
            (&[says("x"), user()], "message 1 has the role `assistant`; the first must be the user's"),
            (&[note(), says("x")], "message 2 has the role `assistant`; the first must be the user's"),
            (&[user(), says(" ")], "message 2 is an answer without text, parts and calls"),
            (&[user(), result("a")], "message 2 has a result for `a`, which nobody called"),
            (&[user(), calls(&["a"])], "the call `a` has no result before the end of the request"),
            (
                &[user(), calls(&["a"]), user(), result("a")],
                "the call `a` has no result before message 3\n\
                 the result for the call `a` in message 4 does not stand right after it",
            ),
            (
                &[user(), calls(&["a"]), result("a"), result("a")],
                "message 4 has a second result for the call `a`",
            ),
            (
                &[user(), calls(&["a", "b"]), result("b"), result("a")],
                "message 3 has the result of `b` before that of `a`",
            ),
            (
                &[user(), calls(&["a"]), result("a"), calls(&["a"]), result("a")],
                "the call id `a` in message 4 was used before\nmessage 5 has a second result for the call `a`",
            ),
            (&[user(), calls(&[""])], "a tool call in message 2 has no id"),
        ];
        for (messages, expected) in cases {
            assert_eq!(check_sendable(messages).unwrap_err(), expected);
        }
    }
}
