//! What is said in a conversation, as seed `003` hands it in.

use robota_core::{Message, Timestamp};

use crate::{Error, ErrorKind};

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Speaker {
    /// The user.
    User,
    /// The model.
    Agent,
    /// The host.
    System,
}

impl Speaker {
    /// The role of the messages that the speaker makes.
    #[must_use]
    pub const fn role(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Agent => "assistant",
            Self::System => "system",
        }
    }
}

/// Something that was said: what
/// [`Conversation::add_to_history`](crate::Conversation::add_to_history) takes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "the contract knows exactly these three")]
pub struct ConversationEntry {
    /// When, in milliseconds since the Unix epoch.
    pub timestamp_ms: i64,
    /// What; not empty.
    pub text: String,
    /// By whom.
    pub speaker: Speaker,
}

impl ConversationEntry {
    /// The entry as a message with the id `id`.
    pub(super) fn into_message(self, id: impl FnOnce() -> String) -> Result<Message, Error> {
        let Self { timestamp_ms, text, speaker } = self;
        if text.trim().is_empty() {
            return Err(invalid("an entry of a conversation needs a text, and this one is empty"));
        }
        let timestamp = Timestamp::try_from_millis(timestamp_ms).ok_or_else(|| {
            invalid(&format!("{timestamp_ms} is no time: give milliseconds since the Unix epoch"))
        })?;
        let id = id();
        Ok(match speaker {
            Speaker::User => Message::user(id, timestamp, text),
            Speaker::Agent => Message::assistant(id, timestamp, text),
            Speaker::System => Message::system(id, timestamp, text),
        })
    }
}

/// What was given cannot be kept.
pub(super) fn invalid(message: &str) -> Error {
    Error::new(ErrorKind::InvalidInput, message)
}
