//! What a model's answer is made of while it streams.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{PayloadKind, Usage};

/// One step of a model's answer.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ModelEvent {
    /// The server has begun to answer.
    Started {
        /// The server's id of this answer.
        response_id: Option<String>,
        /// The model that answers, as the server names it.
        model: Option<String>,
    },
    /// More visible text.
    TextDelta(String),
    /// More thinking.
    ThinkingDelta(String),
    /// The thinking block in hand is complete, with the provider's proof of it.
    ThinkingEnd {
        /// To be sent back unchanged.
        signature: Option<String>,
    },
    /// A thinking block only the provider can read.
    RedactedThinking(String),
    /// A tool call begins. Calls may interleave; `index` tells them apart.
    ToolCallStart {
        /// Number of the call within this answer.
        index: usize,
        /// The provider's id of the call; empty when it gives none.
        id: String,
        /// Name of the tool.
        name: String,
    },
    /// More of a call's arguments: pieces of JSON text, as the model wrote them.
    ToolCallArguments {
        /// Which call.
        index: usize,
        /// The next piece.
        delta: String,
    },
    /// The call's arguments are complete; without any pieces they are `{}`.
    ToolCallEnd {
        /// Which call.
        index: usize,
    },
    /// A source that the text rests on.
    Citation(Citation),
    /// All of the answer as the API wrote it; see [`Part::Native`](crate::Part::Native). Comes once, after all else
    /// of the answer, and only where it says more than the other events.
    NativeContent {
        /// The API.
        format: String,
        /// Its blocks, items or parts.
        items: Vec<Value>,
    },
    /// A tool that the provider runs by itself, such as its web search.
    ServerTool {
        /// Name of the tool.
        tool: String,
        /// What it was asked.
        query: String,
    },
    /// Token counts; cumulative within the answer, the last one counts.
    Usage(Usage),
    /// The call failed and is tried again after a pause. Whatever was streamed before is void.
    Retry {
        /// Number of the coming attempt, 2 for the first retry.
        attempt: u32,
        /// Attempts there will be at most.
        max_attempts: u32,
        /// The pause before it, in milliseconds.
        delay_ms: u64,
        /// What went wrong, for a person.
        reason: String,
        /// HTTP status of the failure.
        status: Option<u16>,
        /// Text, thinking or a call of the attempt was given out before it failed.
        abandoned: bool,
    },
    /// The call goes to another model, because the one that was asked for did not answer. Whatever was streamed before
    /// is void.
    Fallback {
        /// The provider that is asked now.
        provider: String,
        /// The model that is asked now.
        model: String,
        /// What went wrong before, for a person.
        reason: String,
        /// Text, thinking or a call of the model before was given out.
        abandoned: bool,
    },
    /// A native payload of the provider, without credentials, for the log. Only where
    /// [`ModelRequest::raw_capture`](super::ModelRequest::raw_capture) asks for it.
    Raw {
        /// What it is.
        kind: PayloadKind,
        /// The payload.
        payload: Value,
    },
    /// The answer is complete. The last event.
    Finish(FinishReason),
}

/// A source of an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[expect(clippy::exhaustive_structs, reason = "plain data, built with `..Default::default()`")]
pub struct Citation {
    /// Where it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// What it is called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The words in it that were cited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// Why an answer ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FinishReason {
    /// The model had nothing more to say.
    EndTurn,
    /// The model waits for the results of its calls.
    ToolUse,
    /// The output limit was reached; the answer is cut.
    MaxTokens,
    /// A stop sequence was written.
    StopSequence,
    /// The model declined.
    Refusal,
    /// The provider's filter ended the answer.
    ContentFilter,
    /// The context window was full.
    ContextWindow,
    /// The provider paused a long answer; sending it back continues it.
    PauseTurn,
    /// A reason this version does not know, as the provider wrote it.
    #[serde(untagged)]
    Other(String),
}
