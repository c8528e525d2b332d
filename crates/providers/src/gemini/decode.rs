//! The chunks of a stream.

use robota_core::{FinishReason, ModelEvent};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use self::calls::{Calls, FunctionCall};
use self::grounding::{Grounding, UrlContext};
use self::items::Items;
use self::usage::UsageMetadata;
use crate::api_error::ApiError;
use crate::wire::{Decoder, Events, Fault, Progress};

mod calls;
mod grounding;
mod items;
mod partial_args;
mod usage;

/// Reads a stream of `GenerateContentResponse`s. Unknown fields pass without effect, unknown parts stay in the
/// native content.
#[derive(Default)]
pub(super) struct GeminiDecoder {
    begun: bool,
    thinking: bool,
    calls: Calls,
    items: Items,
    grounding: Grounding,
    usage: UsageMetadata,
    finish: Option<String>,
    finished: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Frame<'a> {
    #[serde(borrow)]
    candidates: Option<Vec<Candidate<'a>>>,
    prompt_feedback: Option<PromptFeedback>,
    usage_metadata: Option<UsageMetadata>,
    model_version: Option<String>,
    response_id: Option<String>,
    error: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Candidate<'a> {
    index: Option<u32>,
    #[serde(borrow)]
    content: Option<Content<'a>>,
    finish_reason: Option<String>,
    finish_message: Option<String>,
    grounding_metadata: Option<grounding::Metadata>,
    url_context_metadata: Option<UrlContext>,
}

#[derive(Deserialize)]
struct Content<'a> {
    #[serde(borrow)]
    parts: Option<Vec<Part<'a>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PromptFeedback {
    block_reason: Option<String>,
    block_reason_message: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Part<'a> {
    text: Option<String>,
    thought: Option<bool>,
    thought_signature: Option<String>,
    #[serde(borrow)]
    function_call: Option<FunctionCall<'a>>,
    tool_call: Option<grounding::ToolCall>,
}

impl GeminiDecoder {
    /// Takes a part. `raw` finds it as it stands in the chunk.
    fn part(
        &mut self,
        part: Part<'_>,
        raw: impl FnOnce() -> Option<Value>,
        out: &mut Events,
    ) -> Result<(), Fault> {
        let Part { text, thought, thought_signature, function_call, tool_call } = part;
        if let Some(call) = function_call {
            self.end_thinking(out);
            self.calls.take(call, thought_signature, &mut self.items, out)?;
            return Ok(());
        }
        self.calls.close(&mut self.items, out);
        let Some(text) = text else {
            if let Some(call) = tool_call {
                self.grounding.called(&call, out);
            }
            match raw().filter(has_content) {
                Some(part) => {
                    self.end_thinking(out);
                    self.items.other(part);
                }
                // Proof on its own goes back with an empty text: a part must have content.
                None => self.items.text("", false, thought_signature),
            }
            return Ok(());
        };
        let thought = thought == Some(true);
        self.items.text(&text, thought, thought_signature);
        if thought {
            self.thinking |= !text.is_empty();
        } else if !text.is_empty() {
            self.end_thinking(out);
        }
        if !text.is_empty() {
            let event = if thought { ModelEvent::ThinkingDelta } else { ModelEvent::TextDelta };
            out.push_back(event(text));
        }
        Ok(())
    }

    fn end_thinking(&mut self, out: &mut Events) {
        if std::mem::take(&mut self.thinking) {
            out.push_back(ModelEvent::ThinkingEnd { signature: None });
        }
    }

    /// Takes the answer in a chunk, which it is number `at` of.
    fn candidate(
        &mut self,
        candidate: Candidate<'_>,
        at: usize,
        data: &str,
        out: &mut Events,
    ) -> Result<(), Fault> {
        let parts = candidate.content.and_then(|content| content.parts).unwrap_or_default();
        let mut raw = None;
        for (number, part) in parts.into_iter().enumerate() {
            let raw = || raw.get_or_insert_with(|| raw_parts(data, at)).get_mut(number).map(Value::take);
            self.part(part, raw, out)?;
        }
        if let Some(metadata) = candidate.grounding_metadata {
            self.grounding.take(metadata, out);
        }
        if let Some(context) = candidate.url_context_metadata {
            self.grounding.fetched(context, out);
        }
        let Some(reason) = candidate.finish_reason.filter(|reason| reason != "FINISH_REASON_UNSPECIFIED")
        else {
            return Ok(());
        };
        self.calls.close(&mut self.items, out);
        if is_unreadable(&reason) && !self.calls.any() {
            return Err(unreadable(reason, candidate.finish_message.as_deref()));
        }
        self.finish = Some(reason);
        Ok(())
    }
}

impl Decoder for GeminiDecoder {
    fn frame(&mut self, _event: Option<&str>, data: &str, out: &mut Events) -> Result<(), Fault> {
        // Gateways end streams with it, as other APIs do.
        if data.trim() == "[DONE]" {
            return Ok(());
        }
        if data.trim_start().starts_with('[') {
            // A failure as Google's gateways report it: in a list.
            return Err(Fault::refused(data));
        }
        let frame: Frame<'_> = serde_json::from_str(data)?;
        if frame.error.is_some() {
            return Err(Fault::refused(data));
        }
        if !std::mem::replace(&mut self.begun, true) {
            out.push_back(ModelEvent::Started { response_id: frame.response_id, model: frame.model_version });
        }
        if let Some(usage) = frame.usage_metadata {
            self.usage.take(usage);
        }
        for (at, candidate) in frame.candidates.into_iter().flatten().enumerate() {
            if candidate.index.unwrap_or(0) == 0 {
                self.candidate(candidate, at, data, out)?;
            }
        }
        match frame.prompt_feedback {
            Some(PromptFeedback { block_reason: Some(reason), block_reason_message }) => {
                Err(blocked(&reason, block_reason_message.as_deref()))
            }
            _ => Ok(()),
        }
    }

    fn progress(&self) -> Progress {
        match &self.finish {
            _ if self.finished => Progress::Finished,
            Some(_) => Progress::Complete,
            None => Progress::Open,
        }
    }

    fn end(&mut self, out: &mut Events) {
        self.end_thinking(out);
        // One that began after the reason of the end.
        self.calls.close(&mut self.items, out);
        self.grounding.cite(out);
        if let Some(items) = std::mem::take(&mut self.items).needed() {
            out.push_back(ModelEvent::NativeContent { format: super::native_parts::FORMAT.into(), items });
        }
        let usage = self.usage.neutral();
        if !usage.is_empty() {
            out.push_back(ModelEvent::Usage(usage));
        }
        let reason = self.finish.take().unwrap_or_default();
        out.push_back(ModelEvent::Finish(finish_reason(reason, self.calls.any())));
        self.finished = true;
    }
}

/// The parts of a chunk as they stand there. Few chunks have to be read once more for them.
fn raw_parts(data: &str, candidate: usize) -> Vec<Value> {
    let mut chunk: Value = serde_json::from_str(data).unwrap_or_default();
    match chunk.pointer_mut(&format!("/candidates/{candidate}/content/parts")).map(Value::take) {
        Some(Value::Array(parts)) => parts,
        _ => Vec::new(),
    }
}

/// Whether a part has more than marks.
fn has_content(part: &Value) -> bool {
    const MARKS: [&str; 3] = ["thought", "thoughtSignature", "partMetadata"];
    part.as_object().is_some_and(|fields| fields.keys().any(|name| !MARKS.contains(&name.as_str())))
}

/// Whether the answer ended with a call that the service itself could not read.
fn is_unreadable(reason: &str) -> bool {
    matches!(
        reason,
        "MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL" | "MALFORMED_RESPONSE" | "TOO_MANY_TOOL_CALLS"
    )
}

/// A failure that another attempt may not meet.
fn unreadable(reason: String, said: Option<&str>) -> Fault {
    let what = match reason.as_str() {
        "UNEXPECTED_TOOL_CALL" => "the model called a tool that it was not offered",
        "TOO_MANY_TOOL_CALLS" => "the model called too many tools in a row",
        "MALFORMED_RESPONSE" => "the model wrote an answer that cannot be read",
        _ => "the model wrote a tool call that cannot be read",
    };
    let said = said.map(|said| format!(": {}", crate::excerpt::excerpt(said))).unwrap_or_default();
    let message = format!("{what} ({reason}){said}");
    Fault::Refused(Box::new(ApiError { r#type: Some(reason), message, ..ApiError::default() }))
}

fn blocked(reason: &str, said: Option<&str>) -> Fault {
    let said = said.map(|said| format!(": {said}")).unwrap_or_default();
    let message = format!("the prompt was blocked ({reason}){said}");
    Fault::Refused(Box::new(ApiError { code: Some("content_filter".into()), message, ..ApiError::default() }))
}

fn finish_reason(reason: String, called: bool) -> FinishReason {
    match reason.as_str() {
        "MAX_TOKENS" | "CONTINUATION" => FinishReason::MaxTokens,
        "SAFETY"
        | "RECITATION"
        | "BLOCKLIST"
        | "PROHIBITED_CONTENT"
        | "SPII"
        | "LANGUAGE"
        | "IMAGE_SAFETY"
        | "IMAGE_PROHIBITED_CONTENT"
        | "IMAGE_RECITATION"
        | "ESCALATION"
        | "PUP_LIMITED_DISABLED"
        | "MODEL_ARMOR" => FinishReason::ContentFilter,
        _ if called => FinishReason::ToolUse,
        "STOP" | "" => FinishReason::EndTurn,
        _ => FinishReason::Other(reason),
    }
}

#[cfg(test)]
mod tests;
