//! Replies in the words of the model APIs.

mod anthropic;
mod errors;
mod frames;
mod gemini;
mod gzip;
mod openai;
mod responses;
mod sse;

use std::borrow::Cow;

use bytes::Bytes;
use serde_json::Value;

pub(crate) use errors::error_body;
pub(crate) use frames::{Frame, sliced};
pub(crate) use gemini::models as gemini_models;
pub(crate) use gzip::gzipped;

use crate::script::{Answer, Framing, Step};
use crate::{Dialect, RecordedRequest};

/// What a reply needs to know of the call it answers.
pub(crate) struct Call<'a> {
    pub(crate) dialect: Dialect,
    pub(crate) number: usize,
    pub(crate) model: Cow<'a, str>,
    pub(crate) stream: bool,
    /// OpenAI: the client asked for token counts in the stream.
    pub(crate) wants_usage: bool,
    /// Responses: the client asked for reasoning it can send back.
    pub(crate) wants_encrypted: bool,
}

impl<'a> Call<'a> {
    pub(crate) fn of(request: &'a RecordedRequest, dialect: Dialect) -> Self {
        Self {
            dialect,
            number: request.number,
            model: request.model().unwrap_or("unknown").into(),
            stream: request.field("stream") == true || request.path.ends_with(":streamGenerateContent"),
            wants_usage: request.field("stream_options")["include_usage"] == true,
            wants_encrypted: request
                .field("include")
                .as_array()
                .is_some_and(|fields| fields.iter().any(|field| field == "reasoning.encrypted_content")),
        }
    }
}

/// What stands in an event stream, before it is laid out as bytes.
enum Item {
    Event { name: Option<&'static str>, data: String },
    Comment(&'static str),
    Raw(Bytes),
    Gate(String),
    Pause(u64),
    Cut,
}

/// The steps as a stream of server-sent events.
pub(crate) fn stream(call: &Call<'_>, steps: &[Step], framing: Framing) -> Vec<Frame> {
    let items = match call.dialect {
        Dialect::AnthropicMessages => anthropic::stream(call, steps),
        Dialect::OpenAiResponses => responses::stream(call, steps),
        Dialect::Gemini => gemini::stream(call, steps),
        Dialect::OpenAiChat | Dialect::InProcess => openai::stream(call, steps),
    };
    sse::lay_out(items, framing)
}

/// The steps as one JSON document, for clients that do not stream.
pub(crate) fn whole(call: &Call<'_>, answer: &Answer) -> Value {
    match call.dialect {
        Dialect::AnthropicMessages => anthropic::whole(call, answer),
        Dialect::OpenAiResponses => responses::whole(call, answer),
        Dialect::Gemini => gemini::whole(call, answer),
        Dialect::OpenAiChat | Dialect::InProcess => openai::whole(call, answer),
    }
}
