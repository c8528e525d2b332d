//! What a provider's tokenizer makes of the estimate, learned from what it counted in this conversation.

use serde::{Deserialize, Serialize};

use crate::{Body, Message, Part, Usage};

/// Tokens that stand for "as estimated" before anything was counted: small requests say little.
const TRUST: u64 = 50;

/// Bytes after which what was counted before weighs half: some 32,000 tokens. Texts change in a conversation.
const MEMORY: u64 = 115_200;

/// A count that is so many times off the estimate, either way, tells of something else than a tokenizer.
const IMPLAUSIBLE: u64 = 4;

/// Tokens that an answer may take beyond twice its estimate before the rest is taken for hidden thinking.
const SLACK: u64 = 256;

/// The estimate as it stands, and its bounds, in thousandths.
const ONE: u64 = 1_000;
const LEAST: u64 = 500;
const MOST: u64 = 2_000;

/// How a provider counts what a history holds, beside the estimate ([`Message::estimated_bytes`]).
///
/// It compares how much the input grew from one request to the next with what the messages between them were
/// estimated at; system prompt and tools, which each provider writes in a form of its own, are in both and so in
/// neither. Input from the cache is input. It is kept up to date with the messages, at no further cost, is the
/// same wherever the same mutations were applied, and outlives compactions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Calibration {
    /// Tokens that were counted, older ones weighing less.
    counted: u64,
    /// What they were estimated at, in bytes.
    estimated: u64,
    /// Where the last count stands.
    #[serde(skip_serializing_if = "Option::is_none")]
    anchor: Option<Anchor>,
}

/// The last count that the next one can be compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Anchor {
    tokens: u64,
    /// Bytes of what came after it.
    since: u64,
    /// There are images or documents among it, whose estimate is flat.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    media: bool,
}

impl Calibration {
    /// Counted tokens per estimated one, in thousandths: 500 to 2,000, and 1,000 until something was learned.
    #[must_use]
    pub fn per_mille(&self) -> u64 {
        let counted = self.counted.saturating_add(TRUST).saturating_mul(36 * ONE);
        let estimated = self.estimated.saturating_mul(10).saturating_add(TRUST * 36);
        (counted / estimated).clamp(LEAST, MOST)
    }

    /// The tokens of `bytes` that were estimated ([`Message::estimated_bytes`]).
    #[must_use]
    pub fn tokens(&self, bytes: u64) -> u64 {
        let tokens = (u128::from(bytes) * u128::from(self.per_mille())).div_ceil(u128::from(ONE) * 36 / 10);
        u64::try_from(tokens).unwrap_or(u64::MAX)
    }

    /// The estimated bytes that come to `tokens`.
    #[must_use]
    pub fn bytes(&self, tokens: u64) -> u64 {
        let bytes = u128::from(tokens) * 3_600 / u128::from(self.per_mille());
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }

    /// Takes note of a message of `bytes` at the end of the history, and learns from what was counted for it when
    /// it came just now.
    pub(crate) fn note(&mut self, message: &Message, bytes: u64, usage: Option<Usage>, just_now: bool) {
        let Some(usage) = usage.filter(|usage| usage.total_input() > 0) else {
            if let Some(anchor) = &mut self.anchor {
                anchor.since = anchor.since.saturating_add(bytes);
                anchor.media |= has_media(message);
            }
            return;
        };
        let input = usage.total_input();
        if let Some(anchor) = self.anchor.filter(|anchor| just_now && !anchor.media) {
            self.learn(input.saturating_sub(anchor.tokens), anchor.since);
        }
        // What an answer was thinking has no length to compare, where it is sent again.
        let (tokens, since) =
            if is_echoed(message) { (kept_tokens(message, bytes, usage), 0) } else { (input, bytes) };
        self.anchor = Some(Anchor { tokens, since, media: false });
    }

    /// Forgets where the last count stands, as it is of messages that are not there any more.
    pub(crate) const fn forget_anchor(&mut self) {
        self.anchor = None;
    }

    fn learn(&mut self, tokens: u64, bytes: u64) {
        let (counted, estimated) = (tokens.saturating_mul(36), bytes.saturating_mul(10));
        if counted.saturating_mul(IMPLAUSIBLE) < estimated || counted > estimated.saturating_mul(IMPLAUSIBLE)
        {
            return;
        }
        self.counted = self.counted.saturating_add(tokens);
        self.estimated = self.estimated.saturating_add(bytes);
        while self.estimated > MEMORY {
            self.counted /= 2;
            self.estimated /= 2;
        }
    }
}

/// What a conversation takes up to the answer `message`, which is estimated at `bytes`: all input, and as much
/// of the output as is sent again. Thinking that the answer does not hold is not.
pub(crate) fn kept_tokens(message: &Message, bytes: u64, usage: Usage) -> u64 {
    let most = if is_echoed(message) { u64::MAX } else { bytes.saturating_mul(20) / 36 + SLACK };
    usage.total_input().saturating_add(usage.output_tokens.min(most))
}

/// Whether the thinking behind an answer, or its native form, goes back to the provider.
fn is_echoed(message: &Message) -> bool {
    match &message.body {
        Body::Assistant { parts, reasoning, .. } => {
            !reasoning.is_empty() || parts.iter().any(|part| matches!(part, Part::Native { .. }))
        }
        _ => false,
    }
}

fn has_media(message: &Message) -> bool {
    message.parts().iter().any(|part| !matches!(part, Part::Text { .. } | Part::Native { .. }))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{History, Timestamp};

    fn said(id: &str, words: usize) -> Message {
        Message::user(id, Timestamp::default(), "some words of text ".repeat(words))
    }

    fn answer(id: &str, input: u64, output: u64) -> Message {
        let mut answer = Message::assistant(id, Timestamp::default(), "yes");
        let usage = json!({"inputTokens": 10, "cacheReadTokens": input - 10, "outputTokens": output});
        answer.metadata.insert("usage".into(), usage);
        answer
    }

    /// Two requests between which `counted` tokens were added that are estimated at 1,000 and some.
    fn history(counted: u64) -> History {
        let mut history = History::default();
        history.append(said("u1", 1));
        history.append(answer("a1", 5_000, 5));
        history.append(said("u2", 250));
        history.append(answer("a2", 5_000 + counted, 5));
        history
    }

    #[test]
    fn it_learns_what_the_input_grew_by_and_stays_within_bounds() {
        let learned = |counted| history(counted).calibration().per_mille();
        assert_eq!(History::default().calibration().per_mille(), 1_000);
        assert!((1_250..1_300).contains(&learned(1_300)), "{}", learned(1_300));
        assert!((700..760).contains(&learned(700)), "{}", learned(700));
        assert_eq!((learned(3_500), learned(300)), (2_000, 500));
        // Nothing of the sort is a matter of the tokenizer.
        assert_eq!((learned(90_000), learned(0)), (1_000, 1_000));
        let calibration = history(1_300).calibration();
        let bytes = calibration.bytes(10_000);
        assert!(calibration.tokens(bytes).abs_diff(10_000) <= 1);
    }

    #[test]
    fn it_is_the_same_after_a_replay_a_resume_and_a_compaction() {
        let live = history(1_300);
        let mut replayed = History::default();
        for message in live.messages() {
            replayed.append(message.clone());
        }
        assert_eq!(replayed.calibration(), live.calibration());
        let stored = serde_json::to_string(&live.calibration()).unwrap();
        let (tokens, since) = live.counted_tokens().unwrap();
        let resumed = History::restored(
            live.messages().to_vec(),
            Vec::new(),
            live.reference().head,
            live.message_bytes(),
        );
        let resumed = resumed.with_counted_tokens(tokens, since).with_counts_from(live.counts_from());
        let mut histories = [live, resumed.with_calibration(serde_json::from_str(&stored).unwrap())];
        let learned = histories[0].calibration().per_mille();
        for history in &mut histories {
            history.append(said("u3", 250));
            history.append(answer("a3", 7_600, 5));
            history.truncate(5);
            history.replace(vec![said("summary", 40).into()]);
            assert!(history.calibration().per_mille() > learned);
            // What was counted before the compaction is no measure of what comes after it.
            history.append(answer("a4", 4_500, 5));
        }
        assert_eq!(histories[0].calibration(), histories[1].calibration());
        assert_eq!(serde_json::from_str::<Calibration>("{}").unwrap(), Calibration::default());
    }

    #[test]
    fn images_tell_nothing_of_text() {
        let mut history = history(1_300);
        let before = history.calibration().per_mille();
        let image = Part::ImageInline { mime_type: "image/png".into(), data: "AAAA".into() };
        let body = Body::User { content: "look".into(), parts: vec![image], name: None };
        history.append(Message::with_body("u3", Timestamp::default(), body));
        history.append(answer("a3", 9_000, 5));
        assert_eq!(history.calibration().per_mille(), before);
    }

    #[test]
    fn hidden_thinking_takes_no_room_and_thinking_that_goes_back_does() {
        let mut history = history(1_300);
        history.append(answer("a3", 7_000, 20_000));
        assert!(history.counted_tokens().unwrap().0 < 7_300);
        let mut echoed = answer("a4", 7_000, 20_000);
        if let Body::Assistant { reasoning, .. } = &mut echoed.body {
            let signature = Some("proof".to_owned());
            let text = "hm".to_owned();
            reasoning.push(crate::Reasoning { provider: "p".into(), text, signature, redacted: None });
        }
        history.append(echoed);
        assert_eq!(history.counted_tokens(), Some((27_000, 0)));
    }
}
