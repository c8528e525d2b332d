//! Scripts as JSON files.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use serde::{Deserialize, Serialize};

use super::reply::{Content, ErrorReply, Framing, is_header};
use super::{RawBytes, Reply, Script, Step};

/// A plan that cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// The text is not a plan; the message names line and column.
    #[error("the plan cannot be read: {0}")]
    Invalid(#[source] serde_json::Error),
    /// The script computes replies, or has a step that only works in process.
    #[error("the script cannot be written as JSON: {0}")]
    NotPlain(String),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptRecord {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    models: Vec<String>,
    replies: Vec<Reply>,
}

impl Script {
    /// Reads a plan; see [`Script`] for the format.
    ///
    /// # Errors
    ///
    /// When the text is not JSON or not a plan. Unknown fields and steps are errors, so that a
    /// misspelt one is noticed.
    pub fn from_json(json: &str) -> Result<Self, PlanError> {
        let ScriptRecord { models, replies } = serde_json::from_str(json).map_err(PlanError::Invalid)?;
        Ok(Self { replies, models, ..Self::default() })
    }

    /// Writes the script as a plan.
    ///
    /// # Errors
    ///
    /// When the script computes replies, or has a step that only works in process.
    pub fn to_json(&self) -> Result<String, PlanError> {
        if self.responder.is_some() {
            return Err(PlanError::NotPlain("it computes replies".to_owned()));
        }
        let record = ScriptRecord { models: self.models.clone(), replies: self.replies.clone() };
        serde_json::to_string_pretty(&record).map_err(|error| PlanError::NotPlain(error.to_string()))
    }
}

/// A reply in a plan. Which of the four kinds it is follows from the fields that are there.
#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct ReplyRecord {
    #[serde(skip_serializing_if = "Option::is_none")]
    steps: Option<Vec<Step>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ErrorRecord>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<RawBytes>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    hang_up: bool,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    headers: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hold_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    chunk_bytes: Option<NonZeroUsize>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    crlf: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    comments: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    gzip: bool,
    #[serde(skip_serializing_if = "RawBytes::is_empty")]
    trailing: RawBytes,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ErrorRecord {
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    message: String,
}

/// A reply record that cannot be sent.
#[derive(Debug, thiserror::Error)]
pub(super) enum InvalidReply {
    #[error(
        "a reply is one of: `steps` · `status` and `error` · `body`, with `status` and `content_type` · `hang_up`; {0}"
    )]
    Mixed(&'static str),
    #[error("{0} is not an HTTP status of an answer; use 200 to 599")]
    Status(u16),
    #[error("`{0}: {1}` is not an HTTP header")]
    Header(String, String),
}

impl TryFrom<ReplyRecord> for Reply {
    type Error = InvalidReply;

    fn try_from(record: ReplyRecord) -> Result<Self, InvalidReply> {
        let framing = Framing {
            chunk_bytes: record.chunk_bytes,
            crlf: record.crlf,
            comments: record.comments,
            gzip: record.gzip,
        };
        let ReplyRecord { steps, status, error, content_type, body, hang_up, headers, hold_at, .. } = record;
        let kinds = [steps.is_some(), error.is_some(), body.is_some(), hang_up];
        if kinds.into_iter().filter(|present| *present).count() != 1 {
            return Err(InvalidReply::Mixed("this one is none or several of them"));
        }
        if status.is_some() && (steps.is_some() || hang_up) {
            return Err(InvalidReply::Mixed("`status` goes with `error` and `body` only"));
        }
        if content_type.is_some() && body.is_none() {
            return Err(InvalidReply::Mixed("`content_type` goes with `body` only"));
        }
        let content = if let Some(steps) = steps {
            Content::Steps(steps)
        } else if let Some(ErrorRecord { kind, message }) = error {
            let status = status.ok_or(InvalidReply::Mixed("this `error` has no `status`"))?;
            Content::Error(ErrorReply { status, kind, message, provider_kind: None })
        } else if let Some(body) = body {
            let content_type = content_type.unwrap_or_else(|| "application/json".to_owned());
            Content::Body { status: status.unwrap_or(200), content_type, body }
        } else {
            Content::HangUp
        };
        if let Some(status) = status.filter(|status| !(200..600).contains(status)) {
            return Err(InvalidReply::Status(status));
        }
        if let Some((name, value)) = headers.iter().find(|(name, value)| !is_header(name, value)) {
            return Err(InvalidReply::Header(name.clone(), value.clone()));
        }
        let headers = headers.into_iter().map(|(name, value)| (name.to_ascii_lowercase(), value)).collect();
        Ok(Self { content, headers, hold_at, framing, trailing: record.trailing })
    }
}

impl From<Reply> for ReplyRecord {
    fn from(reply: Reply) -> Self {
        let Reply { content, headers, hold_at, framing, trailing } = reply;
        let Framing { chunk_bytes, crlf, comments, gzip } = framing;
        let record =
            Self { headers, hold_at, chunk_bytes, crlf, comments, gzip, trailing, ..Self::default() };
        match content {
            Content::Steps(steps) => Self { steps: Some(steps), ..record },
            Content::Error(ErrorReply { status, kind, message, .. }) => {
                Self { status: Some(status), error: Some(ErrorRecord { kind, message }), ..record }
            }
            Content::Body { status, content_type, body } => {
                Self { status: Some(status), content_type: Some(content_type), body: Some(body), ..record }
            }
            Content::HangUp => Self { hang_up: true, ..record },
        }
    }
}

#[cfg(test)]
mod tests {
    use robota_core::{Citation, FinishReason, ModelEvent, Usage};
    use serde_json::json;

    use super::*;

    fn full_script() -> Script {
        let usage = Usage { input_tokens: 1, output_tokens: 2, cache_read_tokens: 3, cache_write_tokens: 4 };
        let every_step = Reply::new()
            .thinking("t", "sig")
            .step(Step::RedactedThinking("r".to_owned()))
            .text(["a", "b"])
            .tool_call("c1", "Read", json!({"filePath": "x"}))
            .tool_call("c2", "Odd", ["{ha", "lf"])
            .arguments("more")
            .server_tool("s1", "web_search", json!({"query": "q"}), json!([]))
            .citation(Citation { url: Some("https://a.example".to_owned()), ..Citation::default() })
            .usage(usage)
            .without_usage()
            .stop(FinishReason::Other("odd".to_owned()))
            .gate("g")
            .pause_ms(5)
            .ping()
            .raw("data: x")
            .raw(vec![0xff, 0x00])
            .stream_error("overloaded_error", "full")
            .cut()
            .end();
        Script::new()
            .models(["m1"])
            .reply(
                every_step
                    .header("X-A", "1")
                    .hold_at("h")
                    .chunk_bytes(3)
                    .crlf()
                    .comments()
                    .gzip()
                    .trailing("x"),
            )
            .reply(Reply::error(429, "slow").error_type("own").retry_after(1))
            .reply(Reply::error(500, "down"))
            .reply(Reply::body(502, "text/html", "<p>"))
            .reply(Reply::hang_up())
    }

    #[test]
    fn a_plan_reads_back_as_the_same_script() {
        let script = full_script();
        let json = script.to_json().unwrap();
        let read = Script::from_json(&json).unwrap();
        assert_eq!(read.replies(), script.replies());
        assert_eq!(read.models, ["m1"]);
    }

    #[test]
    fn the_documented_forms_are_read() {
        let json = r#"{"replies": [
            {"steps": [{"tool_call": {"id": "c", "name": "Grep", "arguments": {"b": 1, "a": 2}}},
                       {"usage": {"input_tokens": 9}}, {"stop": "max_tokens"}, "ping", "cut"]},
            {"status": 429, "headers": {"Retry-After": "1"}, "error": {"message": "slow down"}},
            {"body": "{"}
        ]}"#;
        let usage = Usage { input_tokens: 9, ..Usage::default() };
        let first = Reply::new().tool_call("c", "Grep", "{\"b\":1,\"a\":2}").usage(usage);
        let expected = [
            first.stop(FinishReason::MaxTokens).ping().cut(),
            Reply::error(429, "slow down").retry_after(1),
            Reply::body(200, "application/json", "{"),
        ];
        assert_eq!(Script::from_json(json).unwrap().replies(), expected);
    }

    #[test]
    fn mistakes_in_a_plan_are_named_with_their_place() {
        for (plan, expected) in [
            (r#"{"replies": [{"steps": [{"txt": "a"}]}]}"#, "unknown variant `txt`"),
            (r#"{"replies": [{"step": []}]}"#, "unknown field `step`"),
            (r#"{"replies": [{}]}"#, "this one is none or several of them"),
            (r#"{"replies": [{"hang_up": true, "steps": []}]}"#, "this one is none or several of them"),
            (r#"{"replies": [{"status": 500, "steps": []}]}"#, "`status` goes with `error` and `body` only"),
            (r#"{"replies": [{"error": {"message": "x"}}]}"#, "this `error` has no `status`"),
            (r#"{"replies": [{"status": 99, "error": {"message": "x"}}]}"#, "99 is not an HTTP status"),
            (r#"{"replies": [{"steps": [], "headers": {"a b": "x"}}]}"#, "`a b: x` is not an HTTP header"),
            (
                r#"{"replies": [{"steps": [{"tool_call": {"id": "c", "name": "n", "arguments": 3}}]}]}"#,
                "expected an object, raw text",
            ),
        ] {
            let error = Script::from_json(plan).unwrap_err().to_string();
            assert!(error.contains(expected) && error.contains("line 1 column"), "{plan}: {error}");
        }
    }

    #[test]
    fn what_json_cannot_say_is_an_error() {
        let computed = Script::new().respond_with(|_| "x".into()).to_json().unwrap_err().to_string();
        assert_eq!(computed, "the script cannot be written as JSON: it computes replies");
        let event = Reply::new().event(ModelEvent::TextDelta("x".to_owned()));
        assert!(matches!(Script::from(event).to_json(), Err(PlanError::NotPlain(_))));
    }
}
