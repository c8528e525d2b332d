//! Compaction: a long history becomes a summary, so that the conversation fits its window again (seed `000`,
//! Compaction Behavior).
//!
//! A [`Compactor`] decides what is summarised and what stays ([`plan`]), has the model summarise it in parts
//! that fit its window ([`summariser`], [`transcript`], [`prompt`]), and replaces the history in one
//! step, or leaves it as it was and says why ([`CompactionError`]).
//!
//! Afterwards the history is: the summary, system messages, the prompts of the request in progress, and
//! the end of the conversation as it was. The system prompt and the tools are part of every request and of
//! no history, so nothing has to be done to keep them.

mod budget;
mod compactor;
mod error;
mod excerpt;
mod plan;
mod prompt;
mod request;
mod scale;
mod summariser;
mod threshold;
mod transcript;

use robota_core::{Ambient, Message, MessageRef};
use serde_json::Value;

pub use compactor::{CompactionOutcome, Compactor};
pub use error::{CompactionError, Shortfall};
pub use request::{CompactionHooks, CompactionRequest};
pub use threshold::{AutoCompactThreshold, InvalidThreshold};

/// The first line of a summary (seed `000`).
const HEADING: &str = "[Context Summary]\n";

/// The last line of a summary with the prompts of a request in progress behind it.
const UNDER_WAY: &str =
    "\n\n[Work on the request below is under way: the summary tells how far it came. Go on from there.]";

/// Marks a summary in its metadata.
const MARK: &str = "compactSummary";

/// The message that stands for what was summarised, written by the model itself.
fn summary_message(summary: &str, under_way: bool, ambient: &Ambient) -> MessageRef {
    let note = if under_way { UNDER_WAY } else { "" };
    let text = format!("{HEADING}{summary}{note}");
    let mut message = Message::assistant(ambient.next_id(), ambient.now(), text);
    message.metadata.insert(MARK.into(), Value::from(true));
    message.into()
}

fn is_summary(message: &Message) -> bool {
    message.metadata.get(MARK) == Some(&Value::from(true))
}

/// What the model has written of a summary.
fn summary_text(message: &Message) -> &str {
    let text = message.text();
    let text = text.strip_prefix(HEADING).unwrap_or(text);
    text.strip_suffix(UNDER_WAY).unwrap_or(text)
}
