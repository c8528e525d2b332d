//! What of a history is summarised, and what stays as it is. Pure: no model, no clock, no lock.

use robota_core::{Body, Message, MessageRef, text_bytes};
use serde_json::Value;

use super::budget::{Budget, ENVELOPE};
use super::excerpt::shorten;
use super::is_summary;

/// Stands for the images of a prompt that was cut.
const LEFT_OUT: &str = "\n[The images of this request were left out to save room.]";

/// A cut through a history.
///
/// What comes before the cut is summarised, but for system messages, which stay, and the prompts of the
/// request in progress, which stand again behind the summary. What comes after it stays as it was.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Plan {
    /// The first message of the part that stays as it was.
    pub(super) cut: usize,
    /// System messages before the cut.
    systems: Vec<MessageRef>,
    /// Prompts before the cut that the work behind it still belongs to.
    pinned: Vec<MessageRef>,
    /// How many messages the summary stands for.
    pub(super) summarized: usize,
    /// The work on a request goes on behind the summary.
    pub(super) under_way: bool,
}

impl Plan {
    /// The plan that keeps the last exchange whole where `budget` and `cap` have room for it, and otherwise
    /// as much of its end as fits; `None` when that leaves nothing to summarise.
    ///
    /// `sizes` are those of the messages, in estimated bytes. `cap` limits the part that stays, beyond the budget.
    pub(super) fn new(messages: &[MessageRef], sizes: &[u64], budget: &Budget, cap: u64) -> Option<Self> {
        let exchange = exchange_start(messages);
        let whole: u64 = sizes.iter().skip(exchange).sum();
        let begins = messages.get(exchange).is_some_and(|message| is_prompt(message));
        let fits = begins && whole <= budget.tail(0).min(cap);
        let cut = if fits {
            exchange
        } else {
            let prompts = messages.iter().zip(sizes).skip(exchange).filter(|(message, _)| is_prompt(message));
            let pinned: u64 = prompts.map(|(_, size)| size).sum();
            // Without a prompt in front of it, a part of an exchange would follow an answer with another one.
            let tail = if begins { budget.tail(pinned.min(budget.pinned())).min(cap) } else { 0 };
            earliest_cut(messages, sizes, exchange + 1, tail)
        };
        let (before, _) = messages.split_at_checked(cut)?;
        let systems: Vec<_> = before.iter().filter(|message| is_system(message)).cloned().collect();
        let finished = is_finished(messages);
        let mut pinned: Vec<_> =
            before.iter().skip(exchange).filter(|message| is_prompt(message)).cloned().collect();
        if finished && messages.iter().skip(cut).all(|message| is_system(message)) {
            // A prompt without the answer it got would be answered again.
            pinned.clear();
        }
        let new = |message: &&MessageRef| !is_system(message) && !is_summary(message);
        if before.iter().filter(new).count() <= pinned.len() {
            return None;
        }
        let summarized = cut - systems.len() - pinned.len();
        let under_way = !finished && !pinned.is_empty();
        let pinned = within(pinned, budget.pinned());
        Some(Self { cut, systems, pinned, summarized, under_way })
    }

    /// The history after the compaction of `messages`, with `summary` at its beginning.
    ///
    /// The system prompt is not in it, as it was not before: it is part of every request by itself.
    pub(super) fn apply(&self, messages: &[MessageRef], summary: MessageRef) -> Vec<MessageRef> {
        let tail = messages.get(self.cut..).unwrap_or_default();
        let kept = self.systems.iter().chain(&self.pinned).chain(tail).cloned();
        std::iter::once(summary).chain(kept).collect()
    }
}

/// Where the last exchange begins: at the last prompt that no work was going on before. Prompts within the
/// work of a turn, before the model has finished, belong to the exchange that they steer.
fn exchange_start(messages: &[MessageRef]) -> usize {
    let mut start = None;
    for (at, message) in messages.iter().enumerate().rev() {
        match &message.body {
            Body::User { .. } => start = Some(at),
            Body::Assistant { tool_calls, .. } if tool_calls.is_empty() && start.is_some() => break,
            _ => {}
        }
    }
    start.unwrap_or(0)
}

/// Whether the last prompt has got its answer.
fn is_finished(messages: &[MessageRef]) -> bool {
    let last = messages.iter().rfind(|message| !is_system(message));
    last.is_some_and(|last| last.role() == "assistant" && last.tool_calls().is_empty())
}

/// The first place from `from` on where the history can be cut with at most `room` bytes behind it: never
/// between a call and its results.
fn earliest_cut(messages: &[MessageRef], sizes: &[u64], from: usize, room: u64) -> usize {
    let (mut cut, mut behind) = (messages.len(), 0_u64);
    for (at, (message, size)) in messages.iter().zip(sizes).enumerate().skip(from).rev() {
        behind += size;
        if behind > room {
            break;
        }
        if message.answers().is_none() {
            cut = at;
        }
    }
    cut
}

/// The prompts in at most `room` bytes. Where they do not fit, each is cut to its share; it keeps its
/// id, so that the timeline still tells what it was.
fn within(prompts: Vec<MessageRef>, room: u64) -> Vec<MessageRef> {
    let all: u64 = prompts.iter().map(|prompt| prompt.estimated_bytes()).sum();
    if all <= room {
        return prompts;
    }
    let share = room / (prompts.len() as u64).max(1);
    let cut = |prompt: MessageRef| {
        let fits = prompt.estimated_bytes() <= share;
        if fits { prompt } else { cut(&prompt, share) }
    };
    prompts.into_iter().map(cut).collect()
}

fn cut(prompt: &Message, room: u64) -> MessageRef {
    let Body::User { content, parts, name } = &prompt.body else { return prompt.clone().into() };
    let mut metadata = prompt.metadata.clone();
    metadata.insert("shortened".into(), Value::from(true));
    // A text may weigh more than it is long, and is cut by its length.
    let limit =
        room.saturating_sub(ENVELOPE).saturating_mul(content.len() as u64) / text_bytes(content).max(1);
    let mut text = shorten(content, usize::try_from(limit).unwrap_or(usize::MAX)).into_owned();
    if !parts.is_empty() {
        text.push_str(LEFT_OUT);
    }
    let body = Body::User { content: text, parts: Vec::new(), name: name.clone() };
    Message { metadata, ..Message::with_body(&*prompt.id, prompt.timestamp, body) }.into()
}

fn is_prompt(message: &Message) -> bool {
    matches!(message.body, Body::User { .. })
}

fn is_system(message: &Message) -> bool {
    matches!(message.body, Body::System { .. })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use robota_core::{Part, Timestamp, ToolCall, json_size, sendable};

    use super::*;
    use crate::compaction::summary_message;

    fn user(id: &str, size: usize) -> MessageRef {
        Message::user(id, Timestamp::default(), "u".repeat(size)).into()
    }

    fn assistant(id: &str, size: usize) -> MessageRef {
        Message::assistant(id, Timestamp::default(), "a".repeat(size)).into()
    }

    fn system(id: &str) -> MessageRef {
        Message::system(id, Timestamp::default(), "rule").into()
    }

    fn caller(id: &str, calls: &[&str]) -> MessageRef {
        let call = |id: &&str| ToolCall { id: (*id).into(), name: "Read".into(), arguments: "{}".into() };
        let tool_calls = calls.iter().map(call).collect();
        let body = Body::Assistant { content: None, parts: Vec::new(), tool_calls, reasoning: Vec::new() };
        Message::with_body(id, Timestamp::default(), body).into()
    }

    fn result(id: &str, call: &str, size: usize) -> MessageRef {
        let (content, tool_call_id) = ("r".repeat(size), call.into());
        let body = Body::Tool { content, tool_call_id, name: None, is_error: false, parts: Vec::new() };
        Message::with_body(id, Timestamp::default(), body).into()
    }

    /// In a window of 10,000 tokens, 9,000 bytes may stay as they were.
    fn plan(messages: &[MessageRef], cap: u64) -> Option<Plan> {
        let sizes: Vec<u64> = messages.iter().map(json_size).collect();
        Plan::new(messages, &sizes, &Budget::new(10_000, None, 0, None).unwrap(), cap)
    }

    /// The ids after the compaction, the summary as `*`.
    fn after(messages: &[MessageRef], cap: u64) -> Option<Vec<String>> {
        let plan = plan(messages, cap)?;
        let summary = Message::assistant("*", Timestamp::default(), "summary");
        Some(plan.apply(messages, summary.into()).iter().map(|message| message.id.clone()).collect())
    }

    #[test]
    fn the_last_exchange_stays_whole_where_it_fits() {
        let messages = [
            system("s0"),
            user("u1", 10),
            assistant("a1", 10),
            system("s1"),
            user("u2", 10),
            caller("a2", &["c1"]),
            result("r1", "c1", 5_000),
            user("steer", 10),
            assistant("a3", 10),
        ];
        let kept = ["*", "s0", "s1", "u2", "a2", "r1", "steer", "a3"].map(String::from);
        assert_eq!(after(&messages, u64::MAX).unwrap(), kept);
        assert_eq!(plan(&messages, u64::MAX).unwrap().summarized, 2);
    }

    #[test]
    fn of_a_long_exchange_its_end_stays_behind_its_prompts() {
        let messages = [
            user("u0", 10),
            assistant("a0", 10),
            user("u1", 10),
            caller("a1", &["c1"]),
            result("r1", "c1", 9_000),
            user("steer", 10),
            system("s"),
            caller("a2", &["c2", "c3"]),
            result("r2", "c2", 4_000),
            result("r3", "c3", 4_000),
        ];
        let kept = ["*", "u1", "steer", "s", "a2", "r2", "r3"].map(String::from);
        assert_eq!(after(&messages, u64::MAX).unwrap(), kept);
        let kept = ["*", "s", "u1", "steer"].map(String::from);
        assert_eq!(after(&messages, 8_000).unwrap(), kept, "calls and results are never parted");
        assert_eq!(plan(&messages, 8_000).unwrap().summarized, 7);
    }

    #[test]
    fn a_prompt_that_was_answered_never_stands_there_without_its_answer() {
        let messages =
            [user("u1", 10), caller("a1", &["c1"]), result("r1", "c1", 9_000), assistant("a2", 10)];
        assert_eq!(after(&messages, u64::MAX).unwrap(), ["*", "u1", "a2"]);
        assert_eq!(after(&messages, 0).unwrap(), ["*"]);
        assert!(!plan(&messages, u64::MAX).unwrap().under_way);
        assert!(plan(&messages[..3], 0).unwrap().under_way);
    }

    #[test]
    fn the_prompts_themselves_are_cut_only_when_they_do_not_fit() {
        let messages = [user("u1", 40_000), caller("a1", &["c1"]), result("r1", "c1", 20_000)];
        let plan = plan(&messages, u64::MAX).unwrap();
        let [prompt] = &plan.pinned[..] else { panic!("{:?}", plan.pinned) };
        assert_eq!((prompt.id.as_str(), &prompt.metadata["shortened"]), ("u1", &Value::from(true)));
        assert!(prompt.text().contains("characters left out"), "{}", prompt.text());
        let room = Budget::new(10_000, None, 0, None).unwrap().pinned();
        let size = json_size(prompt);
        assert!(size <= room && size > room * 9 / 10, "{size} of {room}");

        let image = Part::ImageInline { mime_type: "image/png".into(), data: "A".repeat(40_000) };
        let with_images = |count| -> MessageRef {
            let parts = vec![image.clone(); count];
            let body = Body::User { content: "See this.".into(), parts, name: None };
            Message::with_body("u1", Timestamp::default(), body).into()
        };
        assert_eq!(within(vec![with_images(1)], room), [with_images(1)], "its data takes no room");
        let cut = within(vec![with_images(3)], room);
        assert_eq!(cut[0].text(), format!("See this.{LEFT_OUT}"));
    }

    #[test]
    fn nothing_is_to_summarise_but_prompts_system_messages_and_summaries() {
        let ambient = robota_core::Ambient::default();
        let summary = summary_message("before", false, &ambient);
        assert_eq!(plan(&[], 0), None);
        assert_eq!(plan(&[system("s"), user("u", 50_000)], 0), None);
        assert_eq!(plan(&[summary.clone(), user("u", 10), assistant("a", 10)], u64::MAX), None);
        assert_eq!(plan(&[user("u", 10), assistant("a", 10)], u64::MAX), None);
        assert!(plan(&[summary, user("u", 10), assistant("a", 10)], 0).is_some());
        let answers = [assistant("a", 10), assistant("b", 10)];
        assert_eq!(after(&answers, u64::MAX).unwrap(), ["*"], "an answer to nobody cannot follow a summary");
    }

    fn piece(at: usize, kind: u8, size: usize) -> Vec<MessageRef> {
        let call = format!("c{at}");
        match kind {
            0 => vec![user(&format!("u{at}"), size)],
            1 => vec![assistant(&format!("a{at}"), size)],
            2 => vec![system(&format!("s{at}"))],
            3 => vec![summary_message("before", true, &robota_core::Ambient::default())],
            4 => vec![result(&format!("stray{at}"), "gone", size)],
            5 => vec![caller(&format!("open{at}"), &[&call])],
            _ => vec![caller(&format!("t{at}"), &[&call]), result(&format!("r{at}"), &call, size)],
        }
    }

    proptest! {
        #[test]
        fn what_comes_out_is_sendable_and_loses_no_prompt_in_progress(
            shape in prop::collection::vec((0u8..9, 1usize..6_000), 0..25), cap in 0u64..40_000
        ) {
            let messages: Vec<_> =
                shape.iter().enumerate().flat_map(|(at, (kind, size))| piece(at, *kind, *size)).collect();
            let Some(plan) = plan(&messages, cap) else { return Ok(()) };
            let summary: MessageRef = Message::assistant("*", Timestamp::default(), "summary").into();
            let after = plan.apply(&messages, summary);
            let kept = after.len() - 1;
            prop_assert_eq!(plan.summarized + kept, messages.len());
            prop_assert!(plan.summarized > 0);
            let tail = &messages[plan.cut..];
            prop_assert!(tail.iter().map(json_size).sum::<u64>() <= cap.min(9_000));
            prop_assert!(tail.first().is_none_or(|message| message.answers().is_none()));
            let spoken = after.iter().skip(1).find(|message| message.role() != "system");
            prop_assert!(spoken.is_none_or(|message| message.role() == "user"), "after a summary, {spoken:?}");
            let prompt = messages.iter().rfind(|message| is_prompt(message));
            let kept = |prompt: &MessageRef| after.iter().any(|message| message.id == prompt.id);
            prop_assert!(is_finished(&messages) || prompt.is_none_or(kept));
            for system in messages.iter().filter(|message| is_system(message)) {
                prop_assert!(after.contains(system));
            }
            // The calls that stay have the results that they had.
            let all = sendable(&messages);
            for message in sendable(&after).iter().filter(|message| message.answers().is_some()) {
                prop_assert!(all.contains(message), "{message:?}");
            }
        }
    }
}
