//! The events of a Responses stream (protocols F2).

mod answer;
mod call;
mod frame;
mod places;

use robota_core::{FinishReason, ModelEvent, Usage};
use serde::Deserialize;
use serde_json::Value;

use answer::Answer;
use frame::{Frame, lenient, text};

use crate::counts::count;
use crate::wire::{Decoder, Events, Fault, Progress};

/// Reads a Responses stream. Events may be missing, repeated or unknown, as with servers that speak the API in part.
pub(super) struct ResponsesDecoder {
    /// Names the words of the API.
    format: &'static str,
    answer: Answer,
    begun: bool,
    finished: bool,
}

/// The response itself, as the first and the last events have it.
#[derive(Default, Deserialize)]
struct Response {
    #[serde(default, deserialize_with = "lenient")]
    id: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    model: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    status: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    output: Option<Vec<Value>>,
    #[serde(default, deserialize_with = "lenient")]
    usage: Option<WireUsage>,
    #[serde(default, deserialize_with = "lenient")]
    incomplete_details: Option<Incomplete>,
}

#[derive(Deserialize)]
struct Incomplete {
    reason: Option<String>,
}

#[derive(Deserialize)]
struct WireUsage {
    #[serde(default, deserialize_with = "count")]
    input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    output_tokens: Option<u64>,
    input_tokens_details: Option<InputDetails>,
}

#[derive(Default, Deserialize)]
struct InputDetails {
    #[serde(default, deserialize_with = "count")]
    cached_tokens: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    cache_write_tokens: Option<u64>,
}

impl Decoder for ResponsesDecoder {
    fn frame(&mut self, event: Option<&str>, data: &str, out: &mut Events) -> Result<(), Fault> {
        if self.finished {
            return Ok(());
        }
        if data.trim() == "[DONE]" {
            // Some servers say no more than this at the end.
            self.end(out);
            return Ok(());
        }
        let frame: Frame<'_> = serde_json::from_str(data)?;
        let kind = match &*frame.kind {
            "" => event.unwrap_or_default(),
            kind => kind,
        };
        match kind.strip_prefix("response.") {
            Some("created" | "in_progress" | "queued") => self.begin(&frame.response(), out),
            Some("completed" | "incomplete" | "cancelled" | "done") => {
                let response = frame.response();
                if response.status.as_deref() == Some("failed") {
                    return Err(Fault::refused(failure(&frame, data)));
                }
                self.complete(kind, response, out);
            }
            Some("failed") => return Err(Fault::refused(failure(&frame, data))),
            Some(kind) => {
                let known = self.take(kind, &frame, out);
                self.begin_unannounced(known, out);
            }
            None if kind == "error" || frame.reports_error() => return Err(Fault::refused(data)),
            None => {}
        }
        Ok(())
    }

    fn progress(&self) -> Progress {
        if self.finished { Progress::Finished } else { Progress::Open }
    }

    fn end(&mut self, out: &mut Events) {
        if !self.finished {
            self.complete("", Response::default(), out);
        }
    }
}

impl ResponsesDecoder {
    /// A reader for one answer, whose own words are of `format`.
    pub(super) fn new(format: &'static str) -> Self {
        Self { format, answer: Answer::default(), begun: false, finished: false }
    }

    fn begin(&mut self, response: &Response, out: &mut Events) {
        if !std::mem::replace(&mut self.begun, true) {
            let Response { id, model, .. } = response;
            out.push_back(ModelEvent::Started { response_id: id.clone(), model: model.clone() });
        }
    }

    /// The first part of an answer has come that the server has not announced.
    fn begin_unannounced(&mut self, known: bool, out: &mut Events) {
        if known && !self.begun {
            self.begun = true;
            out.push_front(ModelEvent::Started { response_id: None, model: None });
        }
    }

    /// Takes what says a part of the answer. False when it is nothing of that kind.
    fn take(&mut self, kind: &str, frame: &Frame<'_>, out: &mut Events) -> bool {
        let place = frame.place();
        let answer = &mut self.answer;
        match kind {
            "output_item.added" => answer.item_added(place, &frame.item(), out),
            "output_item.done" => answer.item_done(place, frame.item(), out),
            "output_text.delta" => answer.text(place, text(frame.delta), false, out),
            "refusal.delta" => answer.text(place, text(frame.delta), true, out),
            "output_text.done" => answer.whole_text(place, text(frame.text), false, out),
            "refusal.done" => answer.whole_text(place, text(frame.refusal), true, out),
            "content_part.done" => answer.part_done(place, &frame.part(), out),
            "output_text.annotation.added" | "output_text_annotation.added" => {
                answer.cite(&frame.annotation(), out);
            }
            "function_call_arguments.delta" => answer.arguments(place, text(frame.delta), out),
            "function_call_arguments.done" => {
                answer.whole_arguments(place, &text(frame.name), text(frame.arguments), out);
            }
            "custom_tool_call_input.delta" => answer.input(place, &text(frame.delta), false),
            "custom_tool_call_input.done" => answer.input(place, &text(frame.input), true),
            "reasoning_summary_text.delta" | "reasoning_summary.delta" => {
                answer.think(place, true, text(frame.delta), out);
            }
            "reasoning_text.delta" | "reasoning.delta" => answer.think(place, false, text(frame.delta), out),
            "reasoning_summary_text.done" => answer.whole_thought(place, true, text(frame.text), out),
            "reasoning_text.done" => answer.whole_thought(place, false, text(frame.text), out),
            _ => return false,
        }
        true
    }

    /// The last event, or the end of a stream that has none.
    fn complete(&mut self, kind: &str, response: Response, out: &mut Events) {
        self.begin(&response, out);
        let Response { status, output, usage, incomplete_details, .. } = response;
        let output = output.unwrap_or_default();
        self.answer.complete(&output, out);
        if let Some(items) = self.answer.native_content(output) {
            out.push_back(ModelEvent::NativeContent { format: self.format.to_owned(), items });
        }
        let usage = usage.map(WireUsage::counts).filter(|usage| !usage.is_empty());
        out.extend(usage.map(ModelEvent::Usage));
        let stopped = kind == "response.incomplete" || status.as_deref() == Some("incomplete");
        let cancelled = kind == "response.cancelled" || status.as_deref() == Some("cancelled");
        let reason = incomplete_details.and_then(|details| details.reason);
        out.push_back(ModelEvent::Finish(match reason.as_deref() {
            Some("max_output_tokens" | "max_tokens" | "length") => FinishReason::MaxTokens,
            Some("content_filter") => FinishReason::ContentFilter,
            Some(other) => FinishReason::Other(other.to_owned()),
            None if stopped => FinishReason::MaxTokens,
            None if cancelled => FinishReason::Other("cancelled".to_owned()),
            None if self.answer.called() => FinishReason::ToolUse,
            None if self.answer.refused() => FinishReason::Refusal,
            None => FinishReason::EndTurn,
        }));
        self.finished = true;
    }
}

/// The part of a failed response that says why, or all of it.
fn failure<'a>(frame: &Frame<'a>, data: &'a str) -> &'a str {
    let response = frame.response.map(serde_json::value::RawValue::get);
    response.filter(|response| response.contains("\"error\"")).unwrap_or(data)
}

impl WireUsage {
    fn counts(self) -> Usage {
        let input = self.input_tokens.unwrap_or(0);
        let details = self.input_tokens_details.unwrap_or_default();
        let read = details.cached_tokens.unwrap_or(0).min(input);
        let written = details.cache_write_tokens.unwrap_or(0).min(input - read);
        Usage {
            input_tokens: input - read - written,
            output_tokens: self.output_tokens.unwrap_or(0),
            cache_read_tokens: read,
            cache_write_tokens: written,
        }
    }
}

#[cfg(test)]
mod tests;
