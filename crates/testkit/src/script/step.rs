//! The steps a streamed reply is made of.

use robota_core::{Citation, FinishReason, ModelEvent, Usage};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Arguments, Pieces, RawBytes};

/// One step of a streamed reply.
///
/// A block of text or of arguments stays open until a step of another kind writes, so that a gate or
/// a pause may stand in its middle.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum Step {
    /// Visible text. Text right after text goes on in the same block.
    Text(Pieces),
    /// A thinking block.
    Thinking {
        /// The readable thinking.
        text: Pieces,
        /// The proof that must be echoed; OpenAI Chat knows none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
    },
    /// A thinking block that only the provider can read; OpenAI Chat knows none and skips it.
    RedactedThinking(String),
    /// A tool call.
    ToolCall {
        /// Id of the call; empty as some compatible servers send it.
        id: String,
        /// Name of the tool.
        name: String,
        /// The arguments, or their beginning.
        arguments: Arguments,
    },
    /// More of the arguments of the call in hand.
    Arguments(Pieces),
    /// A tool that the service runs by itself, with its result: a web search or a fetched page. Chat Completions
    /// knows none; Responses know `web_search`.
    ServerTool {
        /// Id of the call.
        id: String,
        /// Name of the tool, such as `web_search`.
        name: String,
        /// What it was asked, such as `{"query": ".."}`.
        input: Value,
        /// What it found, in the words of Anthropic; `null` when the answer ends before that.
        #[serde(default, skip_serializing_if = "Value::is_null")]
        result: Value,
    },
    /// A source of the text before it; Chat Completions knows none.
    Citation(Citation),
    /// Token counts of the whole reply; `null` for a server that reports none.
    Usage(#[serde(with = "usage_record")] Option<Usage>),
    /// Why the reply ends, instead of `tool_use` with calls and `end_turn` without.
    Stop(FinishReason),
    /// The stream waits here until the gate of that name is opened.
    Gate(String),
    /// The stream rests for so many milliseconds: for people who watch, never for tests.
    PauseMs(u64),
    /// A sign of life without content.
    Ping,
    /// Bytes that are put into the stream as they are.
    Raw(RawBytes),
    /// The connection breaks here, in the middle of the body.
    Cut,
    /// The body ends here in good order, but without the closing events of the API.
    End,
    /// The server reports a failure within a stream that began well, and ends it.
    Error {
        /// The type of the error, such as `overloaded_error`.
        #[serde(rename = "type")]
        kind: String,
        /// What the server says.
        message: String,
    },
    /// An event that only [`ScriptedProvider`](crate::ScriptedProvider) can play, such as a retry;
    /// a server answers 500.
    #[serde(skip)]
    Event(Box<ModelEvent>),
}

/// Token counts in the spelling of plans.
mod usage_record {
    use robota_core::Usage;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Record {
        #[serde(default)]
        input_tokens: u64,
        #[serde(default)]
        output_tokens: u64,
        #[serde(default)]
        cache_read_tokens: u64,
        #[serde(default)]
        cache_write_tokens: u64,
    }

    pub(super) fn serialize<S: Serializer>(usage: &Option<Usage>, serializer: S) -> Result<S::Ok, S::Error> {
        let record = usage.map(|usage| Record {
            input_tokens: usage.input_tokens,
            output_tokens: usage.output_tokens,
            cache_read_tokens: usage.cache_read_tokens,
            cache_write_tokens: usage.cache_write_tokens,
        });
        record.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Usage>, D::Error> {
        let record = Option::<Record>::deserialize(deserializer)?;
        Ok(record.map(|record| Usage {
            input_tokens: record.input_tokens,
            output_tokens: record.output_tokens,
            cache_read_tokens: record.cache_read_tokens,
            cache_write_tokens: record.cache_write_tokens,
        }))
    }
}
