//! The chunks of a Chat Completions stream.

use std::sync::Arc;

use robota_core::{FinishReason, ModelEvent, ToolSpec};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::calls::{CallDelta, Calls};
use super::gemma::Gemma;
use super::markup::{Markup, Piece};
use super::reasoning::Details;
use super::usage::WireUsage;
use crate::api_error::ApiError;
use crate::wire::{Decoder, Events, Fault, Progress};

/// Reads a Chat Completions stream.
pub(super) struct ChatDecoder {
    reading: Reading,
    calls: Calls,
    /// What has to go back to this provider exactly as it came.
    details: Option<(&'static str, Details)>,
    begun: bool,
    thinking: bool,
    refused: bool,
    usage: Option<WireUsage>,
    finish_reason: Option<String>,
    finished: bool,
}

/// How the text of an answer is read.
pub(super) enum Reading {
    /// As what it is.
    Plain,
    /// For thinking and calls as most models write them.
    Markup(Markup),
    /// For thinking and calls as Gemma writes them.
    Gemma(Box<Gemma>),
}

impl Reading {
    pub(super) fn markup(tools: &[Arc<ToolSpec>]) -> Self {
        Self::Markup(Markup::new(tools.iter().map(|tool| tool.name.clone()).collect()))
    }

    pub(super) fn gemma(tools: &Arc<[Arc<ToolSpec>]>) -> Self {
        Self::Gemma(Box::new(Gemma::new(Arc::clone(tools))))
    }
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
    /// Groq counts here.
    x_groq: Option<Groq>,
    /// MiniMax reports here.
    base_resp: Option<MiniMaxReport>,
}

#[derive(Deserialize)]
struct Groq {
    usage: Option<WireUsage>,
}

#[derive(Deserialize)]
struct MiniMaxReport {
    #[serde(default)]
    status_code: i64,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(default)]
    index: u64,
    #[serde(borrow)]
    delta: Option<Delta<'a>>,
    finish_reason: Option<String>,
    /// Moonshot counts here.
    usage: Option<WireUsage>,
}

/// `role` and the legacy `function_call` are not read: some servers send them wrong, or twice.
#[derive(Deserialize)]
struct Delta<'a> {
    /// A string by the book, a list of parts with Mistral's thinking models.
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    refusal: Option<String>,
    reasoning_content: Option<String>,
    reasoning: Option<String>,
    #[serde(borrow)]
    reasoning_details: Option<&'a RawValue>,
    #[serde(borrow)]
    tool_calls: Option<Vec<CallDelta<'a>>>,
}

/// A part of content.
#[derive(Deserialize)]
struct ContentPart {
    text: Option<String>,
    thinking: Option<Thought>,
}

/// Thinking in a part of content.
#[derive(Deserialize)]
#[serde(untagged)]
enum Thought {
    Parts(Vec<ThoughtPart>),
    Text(String),
}

#[derive(Deserialize)]
struct ThoughtPart {
    text: Option<String>,
}

impl Thought {
    fn text(self) -> String {
        match self {
            Self::Parts(parts) => parts.into_iter().filter_map(|part| part.text).collect(),
            Self::Text(text) => text,
        }
    }
}

impl Decoder for ChatDecoder {
    fn frame(&mut self, event: Option<&str>, data: &str, out: &mut Events) -> Result<(), Fault> {
        if data.trim() == "[DONE]" {
            self.end(out);
            return Ok(());
        }
        let chunk: Chunk<'_> = serde_json::from_str(data)?;
        let refused = chunk.error.is_some() || chunk.base_resp.is_some_and(|report| report.status_code != 0);
        if refused || chunk.object.as_deref() == Some("error") || event == Some("error") {
            return Err(Fault::refused(data));
        }
        if !std::mem::replace(&mut self.begun, true) {
            out.push_back(ModelEvent::Started { response_id: chunk.id, model: chunk.model });
        }
        // Some servers count in every chunk, some once at the end; the last count is the whole.
        let counted = chunk.usage.or(chunk.x_groq.and_then(|groq| groq.usage));
        self.usage = counted.or(self.usage);
        for choice in chunk.choices.into_iter().flatten().filter(|choice| choice.index == 0) {
            if let Some(delta) = choice.delta {
                self.delta(delta, out)?;
            }
            self.usage = choice.usage.or(self.usage);
            let reason = choice.finish_reason.filter(|reason| !reason.is_empty());
            if let Some(failure) = reason.as_deref().and_then(failure) {
                return Err(Fault::Refused(Box::new(failure)));
            }
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
        let mut pieces = Vec::new();
        match &mut self.reading {
            Reading::Plain => {}
            Reading::Markup(markup) => markup.finish(&mut pieces),
            Reading::Gemma(gemma) => gemma.finish(&mut pieces),
        }
        self.pieces(pieces, out);
        self.end_thinking(out);
        self.calls.finish(out);
        if let Some((provider, details)) = &mut self.details {
            out.extend(details.native(provider, self.calls.ids()));
        }
        let counts = self.usage.map(WireUsage::counts).filter(|usage| !usage.is_empty());
        out.extend(counts.map(ModelEvent::Usage));
        out.push_back(ModelEvent::Finish(self.reason()));
        self.finished = true;
    }
}

impl ChatDecoder {
    /// A reader for one answer. The `reasoning_details` of a provider named here are kept for it.
    pub(super) fn new(reading: Reading, details_of: Option<&'static str>) -> Self {
        Self {
            reading,
            calls: Calls::default(),
            details: details_of.map(|provider| (provider, Details::default())),
            begun: false,
            thinking: false,
            refused: false,
            usage: None,
            finish_reason: None,
            finished: false,
        }
    }

    fn delta(&mut self, delta: Delta<'_>, out: &mut Events) -> Result<(), serde_json::Error> {
        let detailed = delta.reasoning_details.map(RawValue::get).filter(|details| details.starts_with('['));
        // What is no list of objects says nothing.
        let detailed = detailed.and_then(|details| serde_json::from_str(details).ok());
        let detailed = match (&mut self.details, detailed) {
            (Some((_, details)), Some(more)) => Some(details.take(more)),
            (None, Some(more)) => Some(Details::default().take(more)),
            (_, None) => None,
        };
        // Where several fields are there, they say the same.
        let thoughts = [delta.reasoning_content, delta.reasoning, detailed];
        if let Some(thought) = thoughts.into_iter().flatten().find(|thought| !thought.is_empty()) {
            self.think(thought, out);
        }
        if let Some(refusal) = delta.refusal.filter(|refusal| !refusal.is_empty()) {
            self.refused = true;
            self.say(refusal, out);
        }
        if let Some(content) = delta.content {
            self.content(content.get(), out)?;
        }
        for call in delta.tool_calls.into_iter().flatten() {
            self.end_thinking(out);
            self.calls.take(call, out)?;
        }
        Ok(())
    }

    fn content(&mut self, content: &str, out: &mut Events) -> Result<(), serde_json::Error> {
        if !content.starts_with('[') {
            let text: Option<String> = serde_json::from_str(content)?;
            self.text(text.unwrap_or_default(), out);
            return Ok(());
        }
        let parts: Vec<ContentPart> = serde_json::from_str(content)?;
        for part in parts {
            let thought = part.thinking.map(Thought::text).unwrap_or_default();
            if !thought.is_empty() {
                self.think(thought, out);
            }
            self.text(part.text.unwrap_or_default(), out);
        }
        Ok(())
    }

    fn text(&mut self, text: String, out: &mut Events) {
        if text.is_empty() {
            return;
        }
        let mut pieces = Vec::new();
        match &mut self.reading {
            Reading::Plain => return self.say(text, out),
            Reading::Markup(markup) => markup.push(&text, &mut pieces),
            Reading::Gemma(gemma) => gemma.push(&text, &mut pieces),
        }
        self.pieces(pieces, out);
    }

    fn pieces(&mut self, pieces: Vec<Piece>, out: &mut Events) {
        for piece in pieces {
            match piece {
                Piece::Text(text) => self.say(text, out),
                Piece::Thinking(text) => self.think(text, out),
                Piece::Call { id, name, arguments } => {
                    self.end_thinking(out);
                    self.calls.whole(id, name, arguments, out);
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

    fn reason(&mut self) -> FinishReason {
        let called = self.calls.any();
        match self.finish_reason.take().as_deref() {
            Some("length") => FinishReason::MaxTokens,
            Some("content_filter" | "sensitive") => FinishReason::ContentFilter,
            Some("model_length" | "model_context_window_exceeded") => FinishReason::ContextWindow,
            _ if called => FinishReason::ToolUse,
            _ if self.refused => FinishReason::Refusal,
            Some("stop" | "eos" | "tool_calls" | "function_call") | None => FinishReason::EndTurn,
            Some(other) => FinishReason::Other(other.to_owned()),
        }
    }
}

/// Reasons for the end of an answer that are failures of the service, and not the end of an answer.
fn failure(reason: &str) -> Option<ApiError> {
    let (status, message) = match reason {
        "insufficient_system_resource" => {
            (503, "the service ran out of capacity in the middle of the answer")
        }
        "network_error" => (502, "the service lost its connection in the middle of the answer"),
        "error" => (500, "the service ended the answer with an error it does not describe"),
        _ => return None,
    };
    let message = message.to_owned();
    Some(ApiError { status: Some(status), message, structured: true, ..ApiError::default() })
}

#[cfg(test)]
mod tests;
