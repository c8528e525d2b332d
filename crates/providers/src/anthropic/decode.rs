//! The events of a Messages stream.

mod block;
mod citation;
mod frame;
mod native;

use std::collections::BTreeMap;

use robota_core::{FinishReason, ModelEvent, Usage};
use serde_json::{Map, Value};

use block::Block;
use frame::{Delta, Foreign, Frame, MessageStart, WireUsage};

use crate::wire::{Decoder, Events, Fault, Progress};

/// Reads a Messages stream. Unknown events, blocks and deltas pass; what is known of unknown blocks is kept for the
/// next request.
#[derive(Default)]
pub(super) struct MessagesDecoder {
    /// The blocks of the answer, in order.
    blocks: Vec<Block>,
    /// Which of them have begun and not ended, by their index on the wire.
    open: BTreeMap<u64, usize>,
    calls: usize,
    /// The last of them that is a text.
    last_text: Option<usize>,
    usage: Usage,
    stop_reason: Option<String>,
    finished: bool,
}

impl Decoder for MessagesDecoder {
    fn frame(&mut self, event: Option<&str>, data: &str, out: &mut Events) -> Result<(), Fault> {
        let frame: Frame<'_> = match serde_json::from_str(data) {
            Ok(frame) => frame,
            Err(error) => return self.foreign(data, error),
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
                    self.block_delta(frame.index, delta, data, out);
                }
            }
            "content_block_stop" => self.block_stop(frame.index, out),
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

impl MessagesDecoder {
    /// A frame that cannot be read as one that is known.
    fn foreign(&mut self, data: &str, error: serde_json::Error) -> Result<(), Fault> {
        match Foreign::read(data) {
            Some(Foreign::Event) => Ok(()),
            Some(Foreign::Delta { index, delta }) => {
                if let Some(block) = self.open_block(index) {
                    block.take_foreign(delta);
                }
                Ok(())
            }
            None => Err(error.into()),
        }
    }

    fn message_start(&mut self, message: Option<MessageStart>, out: &mut Events) {
        let Some(MessageStart { id, model, usage }) = message else { return };
        out.push_back(ModelEvent::Started { response_id: id, model });
        self.count(usage);
        if !self.usage.is_empty() {
            out.push_back(ModelEvent::Usage(self.usage));
        }
    }

    fn block_start(&mut self, index: u64, start: Map<String, Value>, out: &mut Events) {
        // One that never ended ends where the next one takes its place.
        self.block_stop(index, out);
        let at = self.blocks.len();
        let text_before = self.last_text.and_then(|last| Some((last, self.blocks.get(last)?)));
        let apart = text_before.is_some_and(|(last, block)| last + 1 < at && block.ends_in_a_word());
        let block = Block::begin(start, apart, &mut self.calls, out);
        if block.is_text() {
            self.last_text = Some(at);
        }
        self.open.insert(index, at);
        self.blocks.push(block);
    }

    fn block_delta(&mut self, index: u64, delta: Delta<'_>, data: &str, out: &mut Events) {
        let known = matches!(
            &*delta.r#type,
            "" | "text_delta" | "thinking_delta" | "signature_delta" | "input_json_delta" | "citations_delta"
        );
        if !known {
            if let (Some(Foreign::Delta { delta, .. }), Some(block)) =
                (Foreign::read(data), self.open_block(index))
            {
                block.take_foreign(delta);
            }
            return;
        }
        if !self.open.contains_key(&index) {
            // Some gateways leave out the start of a block.
            let kind = match (&delta.text, &delta.thinking) {
                (Some(_), _) => "text",
                (_, Some(_)) => "thinking",
                _ => return,
            };
            self.block_start(index, Map::from_iter([("type".to_owned(), kind.into())]), out);
        }
        if let Some(block) = self.open_block(index) {
            block.take(delta, out);
        }
    }

    fn block_stop(&mut self, index: u64, out: &mut Events) {
        if let Some(block) = self.open.remove(&index).and_then(|at| self.blocks.get(at)) {
            block.end(out);
        }
    }

    fn open_block(&mut self, index: u64) -> Option<&mut Block> {
        self.open.get(&index).and_then(|at| self.blocks.get_mut(*at))
    }

    fn count(&mut self, counts: Option<WireUsage>) {
        if let Some(counts) = counts {
            counts.add_to(&mut self.usage);
        }
    }

    fn finish(&mut self, out: &mut Events) {
        if std::mem::replace(&mut self.finished, true) {
            return;
        }
        for (_, at) in std::mem::take(&mut self.open) {
            if let Some(block) = self.blocks.get(at) {
                block.end(out);
            }
        }
        let reason = finish_reason(self.stop_reason.as_deref(), self.calls > 0);
        let paused = reason == FinishReason::PauseTurn;
        out.extend(native::content(std::mem::take(&mut self.blocks), paused));
        if !self.usage.is_empty() {
            out.push_back(ModelEvent::Usage(self.usage));
        }
        out.push_back(ModelEvent::Finish(reason));
    }
}

fn finish_reason(reason: Option<&str>, called: bool) -> FinishReason {
    match reason {
        Some("tool_use") => FinishReason::ToolUse,
        None if called => FinishReason::ToolUse,
        Some("end_turn") | None => FinishReason::EndTurn,
        Some("max_tokens") => FinishReason::MaxTokens,
        Some("stop_sequence") => FinishReason::StopSequence,
        Some("refusal") => FinishReason::Refusal,
        // After a compaction, too, the answer goes on once it has been sent back.
        Some("pause_turn" | "compaction") => FinishReason::PauseTurn,
        Some("model_context_window_exceeded") => FinishReason::ContextWindow,
        Some(other) => FinishReason::Other(other.to_owned()),
    }
}

#[cfg(test)]
mod tests;
