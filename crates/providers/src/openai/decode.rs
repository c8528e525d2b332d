//! The chunks of a Chat Completions stream.

use robota_core::{FinishReason, ModelEvent, Usage};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::calls::{CallDelta, Calls};
use super::markup::{Markup, Piece};
use crate::wire::{Decoder, Events, Fault, Progress};

/// Reads a Chat Completions stream.
pub(super) struct ChatDecoder {
    markup: Option<Markup>,
    calls: Calls,
    begun: bool,
    thinking: bool,
    refused: bool,
    usage: Option<WireUsage>,
    finish_reason: Option<String>,
    finished: bool,
}

#[derive(Deserialize)]
struct Chunk<'a> {
    id: Option<String>,
    model: Option<String>,
    object: Option<String>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
    #[serde(borrow)]
    choices: Option<Vec<Choice<'a>>>,
    usage: Option<WireUsage>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(default)]
    index: u64,
    #[serde(borrow)]
    delta: Option<Delta<'a>>,
    finish_reason: Option<String>,
}

/// `role` and the legacy `function_call` are not read: some servers send them wrong, or twice.
#[derive(Deserialize)]
struct Delta<'a> {
    content: Option<String>,
    refusal: Option<String>,
    reasoning_content: Option<String>,
    reasoning: Option<String>,
    #[serde(borrow)]
    tool_calls: Option<Vec<CallDelta<'a>>>,
}

#[derive(Clone, Copy, Deserialize)]
struct WireUsage {
    #[serde(default)]
    prompt_tokens: Option<u64>,
    #[serde(default)]
    completion_tokens: Option<u64>,
    prompt_tokens_details: Option<PromptDetails>,
}

#[derive(Clone, Copy, Deserialize)]
struct PromptDetails {
    cached_tokens: Option<u64>,
}

impl Decoder for ChatDecoder {
    fn frame(&mut self, event: Option<&str>, data: &str, out: &mut Events) -> Result<(), Fault> {
        if data.trim() == "[DONE]" {
            self.end(out);
            return Ok(());
        }
        let chunk: Chunk<'_> = serde_json::from_str(data)?;
        if chunk.error.is_some() || chunk.object.as_deref() == Some("error") || event == Some("error") {
            return Err(Fault::refused(data));
        }
        if !std::mem::replace(&mut self.begun, true) {
            out.push_back(ModelEvent::Started { response_id: chunk.id, model: chunk.model });
        }
        // Some servers count in every chunk, some once at the end; the last count is the whole.
        self.usage = chunk.usage.or(self.usage);
        for choice in chunk.choices.into_iter().flatten().filter(|choice| choice.index == 0) {
            if let Some(delta) = choice.delta {
                self.delta(delta, out)?;
            }
            let reason = choice.finish_reason.filter(|reason| !reason.is_empty());
            self.finish_reason = reason.or(self.finish_reason.take());
        }
        Ok(())
    }

    fn progress(&self) -> Progress {
        match (self.finished, &self.finish_reason) {
            (true, _) => Progress::Finished,
            (false, Some(_)) => Progress::Complete,
            (false, None) => Progress::Open,
        }
    }

    fn end(&mut self, out: &mut Events) {
        if let Some(mut markup) = self.markup.take() {
            let mut pieces = Vec::new();
            markup.finish(&mut pieces);
            self.pieces(pieces, out);
        }
        self.end_thinking(out);
        self.calls.finish(out);
        out.extend(self.usage.map(|usage| ModelEvent::Usage(usage.counts())).filter(|_| self.counted()));
        out.push_back(ModelEvent::Finish(self.reason()));
        self.finished = true;
    }
}

impl ChatDecoder {
    /// A reader for one answer. With `tools`, thinking and calls written as text are read as such.
    pub(super) fn new(tools: Option<Vec<String>>) -> Self {
        Self {
            markup: tools.map(Markup::new),
            calls: Calls::default(),
            begun: false,
            thinking: false,
            refused: false,
            usage: None,
            finish_reason: None,
            finished: false,
        }
    }

    fn delta(&mut self, delta: Delta<'_>, out: &mut Events) -> Result<(), serde_json::Error> {
        // Where both fields are there, they say the same.
        let thoughts = [delta.reasoning_content, delta.reasoning];
        if let Some(thought) = thoughts.into_iter().flatten().find(|thought| !thought.is_empty()) {
            self.think(thought, out);
        }
        if let Some(refusal) = delta.refusal.filter(|refusal| !refusal.is_empty()) {
            self.refused = true;
            self.say(refusal, out);
        }
        if let Some(content) = delta.content.filter(|content| !content.is_empty()) {
            self.content(content, out);
        }
        for call in delta.tool_calls.into_iter().flatten() {
            self.end_thinking(out);
            self.calls.take(call, out)?;
        }
        Ok(())
    }

    fn content(&mut self, content: String, out: &mut Events) {
        match &mut self.markup {
            None => self.say(content, out),
            Some(markup) => {
                let mut pieces = Vec::new();
                markup.push(&content, &mut pieces);
                self.pieces(pieces, out);
            }
        }
    }

    fn pieces(&mut self, pieces: Vec<Piece>, out: &mut Events) {
        for piece in pieces {
            match piece {
                Piece::Text(text) => self.say(text, out),
                Piece::Thinking(text) => self.think(text, out),
                Piece::Call { name, arguments } => {
                    self.end_thinking(out);
                    self.calls.whole(name, arguments, out);
                }
            }
        }
    }

    fn say(&mut self, text: String, out: &mut Events) {
        self.end_thinking(out);
        out.push_back(ModelEvent::TextDelta(text));
    }

    fn think(&mut self, text: String, out: &mut Events) {
        self.thinking = true;
        out.push_back(ModelEvent::ThinkingDelta(text));
    }

    fn end_thinking(&mut self, out: &mut Events) {
        if std::mem::take(&mut self.thinking) {
            out.push_back(ModelEvent::ThinkingEnd { signature: None });
        }
    }

    fn counted(&self) -> bool {
        self.usage.is_some_and(|usage| !usage.counts().is_empty())
    }

    fn reason(&mut self) -> FinishReason {
        let called = self.calls.any();
        match self.finish_reason.take().as_deref() {
            Some("length") => FinishReason::MaxTokens,
            Some("content_filter") => FinishReason::ContentFilter,
            _ if called => FinishReason::ToolUse,
            _ if self.refused => FinishReason::Refusal,
            Some("stop" | "eos" | "tool_calls" | "function_call") | None => FinishReason::EndTurn,
            Some(other) => FinishReason::Other(other.to_owned()),
        }
    }
}

impl WireUsage {
    fn counts(self) -> Usage {
        let prompt = self.prompt_tokens.unwrap_or(0);
        let cached = self.prompt_tokens_details.and_then(|details| details.cached_tokens).unwrap_or(0);
        Usage {
            input_tokens: prompt.saturating_sub(cached),
            output_tokens: self.completion_tokens.unwrap_or(0),
            cache_read_tokens: cached.min(prompt),
            cache_write_tokens: 0,
        }
    }
}

#[cfg(test)]
mod tests;
