//! The events of a Messages stream.

use std::borrow::Cow;
use std::collections::BTreeMap;

use robota_core::{FinishReason, ModelEvent, Usage};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::wire::{Decoder, Events, Fault, Progress};

/// Reads a Messages stream. Unknown events, blocks and deltas pass without effect.
#[derive(Default)]
pub(super) struct MessagesDecoder {
    /// Blocks that have begun and not ended, by their index.
    blocks: BTreeMap<u64, Block>,
    calls: usize,
    usage: Usage,
    stop_reason: Option<String>,
    finished: bool,
}

/// A content block in the making.
enum Block {
    Thinking { signature: Option<String> },
    Call { number: usize, input: Option<Box<RawValue>> },
    ServerTool { name: String, input: String },
    Plain,
}

#[derive(Deserialize)]
struct Frame<'a> {
    #[serde(borrow, default)]
    r#type: Cow<'a, str>,
    #[serde(default)]
    index: u64,
    message: Option<MessageStart>,
    content_block: Option<BlockStart>,
    delta: Option<Delta>,
    usage: Option<WireUsage>,
}

#[derive(Deserialize)]
struct MessageStart {
    id: Option<String>,
    model: Option<String>,
    usage: Option<WireUsage>,
}

#[derive(Deserialize)]
struct BlockStart {
    #[serde(default)]
    r#type: String,
    id: Option<String>,
    name: Option<String>,
    input: Option<Box<RawValue>>,
    text: Option<String>,
    thinking: Option<String>,
    signature: Option<String>,
    data: Option<String>,
}

#[derive(Deserialize)]
struct Delta {
    text: Option<String>,
    thinking: Option<String>,
    signature: Option<String>,
    partial_json: Option<String>,
    stop_reason: Option<String>,
}

#[derive(Clone, Copy, Deserialize)]
struct WireUsage {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
}

impl Decoder for MessagesDecoder {
    fn frame(&mut self, event: Option<&str>, data: &str, out: &mut Events) -> Result<(), Fault> {
        let frame: Frame<'_> = match serde_json::from_str(data) {
            Ok(frame) => frame,
            Err(_) if is_unknown(data) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        let kind = if frame.r#type.is_empty() { event.unwrap_or_default() } else { &*frame.r#type };
        match kind {
            "message_start" => self.message_start(frame.message, out),
            "content_block_start" => {
                if let Some(start) = frame.content_block {
                    self.block_start(frame.index, start, out);
                }
            }
            "content_block_delta" => {
                if let Some(delta) = frame.delta {
                    self.block_delta(frame.index, delta, out);
                }
            }
            "content_block_stop" => {
                if let Some(block) = self.blocks.remove(&frame.index) {
                    end_block(block, out);
                }
            }
            "message_delta" => {
                self.count(frame.usage);
                self.stop_reason =
                    frame.delta.and_then(|delta| delta.stop_reason).or(self.stop_reason.take());
            }
            "message_stop" => self.finish(out),
            "error" => return Err(Fault::refused(data)),
            _ => {}
        }
        Ok(())
    }

    fn progress(&self) -> Progress {
        if self.finished { Progress::Finished } else { Progress::Open }
    }

    fn end(&mut self, out: &mut Events) {
        self.finish(out);
    }
}

/// Whether the frame is of a type that this version does not know, and so may have any shape.
fn is_unknown(data: &str) -> bool {
    const KNOWN: [&str; 6] = [
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ];
    let value: Value = serde_json::from_str(data).unwrap_or_default();
    value.get("type").and_then(Value::as_str).is_some_and(|kind| !KNOWN.contains(&kind))
}

impl MessagesDecoder {
    fn message_start(&mut self, message: Option<MessageStart>, out: &mut Events) {
        let Some(MessageStart { id, model, usage }) = message else { return };
        out.push_back(ModelEvent::Started { response_id: id, model });
        self.count(usage);
        if !self.usage.is_empty() {
            out.push_back(ModelEvent::Usage(self.usage));
        }
    }

    fn block_start(&mut self, index: u64, start: BlockStart, out: &mut Events) {
        let block = match start.r#type.as_str() {
            "thinking" => {
                push_text(start.thinking, ModelEvent::ThinkingDelta, out);
                Block::Thinking { signature: start.signature.filter(|signature| !signature.is_empty()) }
            }
            "redacted_thinking" => {
                out.push_back(ModelEvent::RedactedThinking(start.data.unwrap_or_default()));
                Block::Plain
            }
            "tool_use" => {
                let number = self.calls;
                self.calls += 1;
                out.push_back(ModelEvent::ToolCallStart {
                    index: number,
                    id: start.id.unwrap_or_default(),
                    name: start.name.unwrap_or_default(),
                });
                Block::Call { number, input: start.input }
            }
            "server_tool_use" => {
                Block::ServerTool { name: start.name.unwrap_or_default(), input: String::new() }
            }
            _ => {
                push_text(start.text, ModelEvent::TextDelta, out);
                Block::Plain
            }
        };
        if let Some(unfinished) = self.blocks.insert(index, block) {
            end_block(unfinished, out);
        }
    }

    fn block_delta(&mut self, index: u64, delta: Delta, out: &mut Events) {
        push_text(delta.text, ModelEvent::TextDelta, out);
        push_text(delta.thinking, ModelEvent::ThinkingDelta, out);
        match self.blocks.get_mut(&index) {
            Some(Block::Thinking { signature }) => {
                if let Some(more) = delta.signature {
                    signature.get_or_insert_default().push_str(&more);
                }
            }
            Some(Block::Call { number, input }) => {
                if let Some(delta) = delta.partial_json.filter(|json| !json.is_empty()) {
                    *input = None;
                    out.push_back(ModelEvent::ToolCallArguments { index: *number, delta });
                }
            }
            Some(Block::ServerTool { input, .. }) => input.push_str(&delta.partial_json.unwrap_or_default()),
            Some(Block::Plain) | None => {}
        }
    }

    /// Counts are cumulative, but some gateways leave out or zero what they said before.
    fn count(&mut self, counts: Option<WireUsage>) {
        let Some(counts) = counts else { return };
        let keep = |total: &mut u64, count: Option<u64>| *total = (*total).max(count.unwrap_or(0));
        keep(&mut self.usage.input_tokens, counts.input_tokens);
        keep(&mut self.usage.output_tokens, counts.output_tokens);
        keep(&mut self.usage.cache_read_tokens, counts.cache_read_input_tokens);
        keep(&mut self.usage.cache_write_tokens, counts.cache_creation_input_tokens);
    }

    fn finish(&mut self, out: &mut Events) {
        for (_, block) in std::mem::take(&mut self.blocks) {
            end_block(block, out);
        }
        if !self.usage.is_empty() {
            out.push_back(ModelEvent::Usage(self.usage));
        }
        let reason = finish_reason(self.stop_reason.as_deref(), self.calls > 0);
        out.push_back(ModelEvent::Finish(reason));
        self.finished = true;
    }
}

fn push_text(text: Option<String>, event: fn(String) -> ModelEvent, out: &mut Events) {
    out.extend(text.filter(|text| !text.is_empty()).map(event));
}

fn end_block(block: Block, out: &mut Events) {
    match block {
        Block::Thinking { signature } => out.push_back(ModelEvent::ThinkingEnd { signature }),
        Block::Call { number, input } => {
            // Some gateways put the whole input into the start of the block.
            if let Some(input) = input.filter(|input| !matches!(input.get(), "{}" | "null")) {
                let delta = input.get().to_owned();
                out.push_back(ModelEvent::ToolCallArguments { index: number, delta });
            }
            out.push_back(ModelEvent::ToolCallEnd { index: number });
        }
        Block::ServerTool { name, input } => {
            out.push_back(ModelEvent::ServerTool { tool: name, query: server_query(input) });
        }
        Block::Plain => {}
    }
}

/// What a server tool was asked, in words where its input has them.
fn server_query(input: String) -> String {
    let value: Value = serde_json::from_str(&input).unwrap_or_default();
    let words = ["query", "url"].into_iter().find_map(|field| value.get(field)?.as_str().map(str::to_owned));
    words.unwrap_or(input)
}

fn finish_reason(reason: Option<&str>, called: bool) -> FinishReason {
    match reason {
        Some("tool_use") => FinishReason::ToolUse,
        None if called => FinishReason::ToolUse,
        Some("end_turn") | None => FinishReason::EndTurn,
        Some("max_tokens") => FinishReason::MaxTokens,
        Some("stop_sequence") => FinishReason::StopSequence,
        Some("refusal") => FinishReason::Refusal,
        Some("pause_turn") => FinishReason::PauseTurn,
        Some("model_context_window_exceeded") => FinishReason::ContextWindow,
        Some(other) => FinishReason::Other(other.to_owned()),
    }
}

#[cfg(test)]
mod tests;
