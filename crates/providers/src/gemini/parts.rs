//! One message as Gemini parts.

use robota_core::{Body, Message, MessageState, Part, ToolCall};
use serde::Serialize;
use serde_json::value::RawValue;

use super::generation::Generation;
use super::native_parts;
use super::spoken::Spoken;
use crate::{carried, json, phrasing};

/// Stands between the results of tools and what can only stand after all of them. JSON as it is written here
/// has no line breaks.
pub(super) const AFTER_RESULTS: u8 = b'\n';

/// Documented to stand for the proof of thinking with calls that no Gemini has made.
pub(super) const NO_SIGNATURE: &str = "context_engineering_is_the_way_to_go";

/// Types of media that the result of a function may hold.
const MEDIA_IN_RESULTS: [&str; 5] =
    ["image/png", "image/jpeg", "image/webp", "application/pdf", "text/plain"];

/// How messages are written: models of the third generation want more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Form {
    /// Name of the encoded form kept with each message.
    pub(super) format: &'static str,
    pub(super) demands_signatures: bool,
    /// The proof that the history has is not accepted.
    pub(super) drops_signatures: bool,
    media_in_results: bool,
}

impl Form {
    pub(super) fn of(generation: Generation, spoken: Spoken) -> Self {
        let (demanded, other) = (generation.demands_signatures(), spoken.has(Spoken::OTHER_PROOF));
        Self {
            format: match (demanded, other) {
                (false, false) => "gemini",
                (false, true) => "gemini-proven",
                (true, false) => "gemini-3",
                (true, true) => "gemini-3-unproven",
            },
            demands_signatures: demanded || other,
            drops_signatures: demanded && other,
            media_in_results: generation.reads_media_in_results(),
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
enum PartOut<'a> {
    Text(&'a str),
    InlineData(Blob<'a>),
    FileData { file_uri: &'a str, mime_type: &'a str },
    FunctionResponse(FunctionResponse<'a>),
}

#[derive(Clone, Copy, Serialize)]
#[serde(rename_all = "camelCase")]
struct Blob<'a> {
    mime_type: &'a str,
    data: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CallPart<'a> {
    function_call: FunctionCall<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thought_signature: Option<&'static str>,
}

#[derive(Serialize)]
struct FunctionCall<'a> {
    id: &'a str,
    name: &'a str,
    args: &'a RawValue,
}

#[derive(Serialize)]
struct FunctionResponse<'a> {
    id: &'a str,
    name: &'a str,
    response: Response<'a>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    parts: Vec<PartOut<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Response<'a> {
    Output(&'a str),
    Error(&'a str),
}

/// The parts of the message as JSON objects with commas between them; empty when there is nothing to send.
/// `called` is the name of the tool whose result it is, where the message does not say.
pub(super) fn encode(message: &Message, form: Form, called: Option<&str>) -> Vec<u8> {
    let mut parts = Parts(Vec::with_capacity(json::room_for(message)));
    match &message.body {
        Body::User { content, parts: further, name } => {
            parts.parts(further.iter());
            parts.text(&phrasing::spoken(name.as_deref(), content));
        }
        Body::System { content } if phrasing::is_blank(content) => {}
        Body::System { content } => parts.text(&phrasing::reminder(content)),
        Body::Assistant { content, parts: further, tool_calls, .. } => {
            if let Some(native) = native_parts::encode(message, form) {
                return native;
            }
            parts.text(&phrasing::answered(content.as_deref(), message.state));
            parts.parts(further.iter());
            if message.state == MessageState::Complete {
                parts.calls(tool_calls, form);
            }
        }
        Body::Tool { content, tool_call_id, name, is_error, parts: further } => {
            let name = name.as_deref().or(called).unwrap_or_default();
            parts.result(tool_call_id, &carried::name(name), content, *is_error, further, form);
        }
    }
    parts.0
}

struct Parts(Vec<u8>);

impl Parts {
    fn push(&mut self, part: &impl Serialize) {
        if self.0.last().is_some_and(|last| *last != AFTER_RESULTS) {
            self.0.push(b',');
        }
        json::push(&mut self.0, part);
    }

    fn text(&mut self, text: &str) {
        if !phrasing::is_blank(text) {
            self.push(&PartOut::Text(text));
        }
    }

    fn parts<'a>(&mut self, parts: impl Iterator<Item = &'a Part>) {
        for part in parts {
            match part {
                Part::Text { text } => self.text(text),
                Part::ImageInline { mime_type, data } => {
                    self.push(&PartOut::InlineData(Blob { mime_type, data }));
                }
                Part::DocumentInline { mime_type, data, name } => {
                    if let Some(name) = name {
                        self.text(&format!("{name}:"));
                    }
                    self.push(&PartOut::InlineData(Blob { mime_type, data }));
                }
                Part::ImageUri { uri, mime_type } => self.image_uri(uri, mime_type.as_deref()),
                Part::Native { .. } => {}
                _ => self.text(phrasing::UNKNOWN_PART),
            }
        }
    }

    fn image_uri(&mut self, uri: &str, mime_type: Option<&str>) {
        let inline = uri.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"));
        if let Some((mime_type, data)) = inline {
            self.push(&PartOut::InlineData(Blob { mime_type, data }));
        } else if uri.starts_with("https://") || uri.starts_with("gs://") {
            let mime_type = mime_type.unwrap_or_else(|| image_type(uri));
            self.push(&PartOut::FileData { file_uri: uri, mime_type });
        } else {
            self.text(&phrasing::unreachable_image(uri));
        }
    }

    /// The first call of an answer has to bring the proof of the thinking before it.
    fn calls(&mut self, calls: &[ToolCall], form: Form) {
        for (at, call) in calls.iter().enumerate() {
            let name = &carried::name(&call.name);
            let args = carried::raw_arguments(&call.arguments);
            let signed = form.demands_signatures && at == 0;
            self.push(&CallPart {
                function_call: FunctionCall { id: &call.id, name, args: &args },
                thought_signature: signed.then_some(NO_SIGNATURE),
            });
        }
    }

    /// Media goes into the result where the model reads it there, or else after all results.
    fn result(&mut self, id: &str, name: &str, content: &str, is_error: bool, further: &[Part], form: Form) {
        let mut content = content.to_owned();
        let mut within = Vec::new();
        let mut after = Vec::new();
        for part in further {
            match part {
                Part::Text { text } => {
                    content.push_str(if content.is_empty() { "" } else { "\n" });
                    content.push_str(text);
                }
                Part::ImageInline { mime_type, data } | Part::DocumentInline { mime_type, data, .. }
                    if form.media_in_results && MEDIA_IN_RESULTS.contains(&mime_type.as_str()) =>
                {
                    within.push(PartOut::InlineData(Blob { mime_type, data }));
                }
                other => after.push(other),
            }
        }
        let response = if is_error { Response::Error(&content) } else { Response::Output(&content) };
        self.push(&PartOut::FunctionResponse(FunctionResponse { id, name, response, parts: within }));
        if !after.is_empty() {
            self.0.push(AFTER_RESULTS);
            self.text(&format!("Part of the result of {name} ({id}):"));
            self.parts(after.into_iter());
        }
    }
}

/// The type of an image, by the end of its address.
fn image_type(uri: &str) -> &'static str {
    let path = uri.split(['?', '#']).next().unwrap_or_default().to_ascii_lowercase();
    match path.rsplit('.').next() {
        Some("jpg" | "jpeg") => "image/jpeg",
        Some("webp") => "image/webp",
        Some("gif") => "image/gif",
        Some("heic") => "image/heic",
        Some("pdf") => "application/pdf",
        _ => "image/png",
    }
}
