//! A conversation as a value to keep elsewhere.

use std::sync::atomic::Ordering;

use serde::{Deserialize, Deserializer, Serialize, de};
use serde_json::Value;

use super::{Conversation, ConversationHistory, RateLimits, TokenInfo, lock};

/// A conversation as a value: `{id, state, metadata}` of seed `003`.
///
/// As JSON it is read back by [`from_json`](ConversationExport::from_json) and
/// [`from_value`](ConversationExport::from_value), which accept this format and no other.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ConversationExport {
    /// The conversation id, `conv_{uuid}`.
    pub id: String,
    /// What the conversation is made of; nothing of what was going on.
    pub state: StateExport,
    /// What it is at a glance.
    pub metadata: ExportMetadata,
}

/// What a conversation is made of (facts sheet 12.1, `SessionStateExport`).
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct StateExport {
    /// The messages.
    pub history: ConversationHistory,
    /// The approved commands, in alphabetical order.
    pub approved_commands: Vec<String>,
    /// The tokens counted, when any were.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_info: Option<TokenInfo>,
    /// What the provider last said about its limits, when it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latest_rate_limits: Option<RateLimits>,
}

/// What a conversation is at a glance. Times are milliseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ExportMetadata {
    /// When it was made.
    pub created: i64,
    /// When something was last done with it.
    pub last_accessed: i64,
    /// How many messages it has.
    pub message_count: usize,
}

impl<'de> Deserialize<'de> for ConversationExport {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::from_value(&Value::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}

impl Conversation {
    /// The conversation as a value: history, approvals, tokens and rate limits; no turns, errors, counters
    /// or flags. The messages are those of the conversation, not those of the log: the line filter has not
    /// gone over them.
    #[must_use]
    pub fn export(&self) -> ConversationExport {
        let history = self.conversation_history();
        let ledger = lock(&self.ledger).clone();
        ConversationExport {
            id: self.conversation_id.clone(),
            metadata: ExportMetadata {
                created: self.created.as_millis(),
                last_accessed: self.accessed.load(Ordering::Relaxed),
                message_count: history.len(),
            },
            state: StateExport {
                history,
                approved_commands: self.approved_commands(),
                token_info: ledger.tokens,
                latest_rate_limits: ledger.limits,
            },
        }
    }
}
