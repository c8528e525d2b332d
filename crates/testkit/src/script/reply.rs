//! One reply of the model, and how it is built.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use hyper::header::{HeaderName, HeaderValue};
use robota_core::{Citation, FinishReason, ModelEvent, ProviderErrorKind, Usage};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::plan::ReplyRecord;
use super::{Arguments, Pieces, RawBytes, Step};

/// What the server does with one model call.
///
/// [`Reply::new`] begins a streamed reply that the step methods fill, in order; it ends by itself
/// with the closing events of the API. The other constructors make replies that go wrong from the
/// start: [`Reply::error`], [`Reply::body`] and [`Reply::hang_up`].
///
/// The opening event of the API is sent right before the first step that writes content or a ping;
/// gates, pauses, raw bytes, cuts and errors before that find nothing but the HTTP headers sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "ReplyRecord", into = "ReplyRecord")]
pub struct Reply {
    pub(crate) content: Content,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) hold_at: Option<String>,
    pub(crate) framing: Framing,
    /// Follows the body.
    pub(crate) trailing: RawBytes,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Content {
    Steps(Vec<Step>),
    Error(ErrorReply),
    Body { status: u16, content_type: String, body: RawBytes },
    HangUp,
}

/// A failure in the error shape of the API that is called.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ErrorReply {
    pub(crate) status: u16,
    /// The API's usual type for the status, when not given.
    pub(crate) kind: Option<String>,
    pub(crate) message: String,
    /// What a scripted provider reports instead of what the status implies.
    pub(crate) provider_kind: Option<ProviderErrorKind>,
}

/// How the bytes of a reply are laid out; the client must not notice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Framing {
    pub(crate) chunk_bytes: Option<NonZeroUsize>,
    pub(crate) crlf: bool,
    pub(crate) comments: bool,
    pub(crate) gzip: bool,
}

impl Reply {
    /// A streamed reply without content yet.
    #[must_use]
    pub fn new() -> Self {
        Self::with_content(Content::Steps(Vec::new()))
    }

    /// An HTTP error with `message` in the error shape of the API that is called.
    ///
    /// The error's type follows from the status unless [`Reply::error_type`] names one.
    ///
    /// # Panics
    ///
    /// When `status` is not from 200 to 599.
    #[must_use]
    pub fn error(status: u16, message: impl Into<String>) -> Self {
        assert!((200..600).contains(&status), "{status} is not an HTTP status of an answer");
        let error = ErrorReply { status, kind: None, message: message.into(), provider_kind: None };
        Self::with_content(Content::Error(error))
    }

    /// A whole HTTP response as given, whatever the API: an HTML page, half a JSON document, a
    /// recorded stream.
    ///
    /// # Panics
    ///
    /// When `status` is not from 200 to 599.
    #[must_use]
    pub fn body(status: u16, content_type: impl Into<String>, body: impl Into<RawBytes>) -> Self {
        assert!((200..600).contains(&status), "{status} is not an HTTP status of an answer");
        Self::with_content(Content::Body { status, content_type: content_type.into(), body: body.into() })
    }

    /// The connection is closed without any answer.
    #[must_use]
    pub fn hang_up() -> Self {
        Self::with_content(Content::HangUp)
    }

    fn with_content(content: Content) -> Self {
        Self {
            content,
            headers: BTreeMap::new(),
            hold_at: None,
            framing: Framing::default(),
            trailing: RawBytes::default(),
        }
    }
}

/// The content, step by step.
impl Reply {
    /// Visible text: a string, or an array of pieces.
    #[must_use]
    pub fn text(self, text: impl Into<Pieces>) -> Self {
        self.step(Step::Text(text.into()))
    }

    /// A thinking block with its signature.
    #[must_use]
    pub fn thinking(self, text: impl Into<Pieces>, signature: impl Into<String>) -> Self {
        self.step(Step::Thinking { text: text.into(), signature: Some(signature.into()) })
    }

    /// A tool call. Arguments are a JSON value, raw text that may be malformed, or an array of
    /// pieces of raw text.
    #[must_use]
    pub fn tool_call(
        self,
        id: impl Into<String>,
        name: impl Into<String>,
        arguments: impl Into<Arguments>,
    ) -> Self {
        self.step(Step::ToolCall { id: id.into(), name: name.into(), arguments: arguments.into() })
    }

    /// More of the arguments of the call in hand, for a gate in their middle.
    #[must_use]
    pub fn arguments(self, text: impl Into<Pieces>) -> Self {
        self.step(Step::Arguments(text.into()))
    }

    /// A tool that the service runs by itself, such as `web_search`, with what it found in the words of
    /// Anthropic.
    #[must_use]
    pub fn server_tool(
        self,
        id: impl Into<String>,
        name: impl Into<String>,
        input: impl Into<Value>,
        result: impl Into<Value>,
    ) -> Self {
        let (id, name, input, result) = (id.into(), name.into(), input.into(), result.into());
        self.step(Step::ServerTool { id, name, input, result })
    }

    /// A source of the text before it.
    #[must_use]
    pub fn citation(self, citation: Citation) -> Self {
        self.step(Step::Citation(citation))
    }

    /// Token counts of the reply, instead of 100 input and 10 output tokens. OpenAI Chat has those that are stated
    /// here even when the client did not ask, as many servers do.
    #[must_use]
    pub fn usage(self, usage: Usage) -> Self {
        self.step(Step::Usage(Some(usage)))
    }

    /// No token counts at all, as some compatible servers do.
    #[must_use]
    pub fn without_usage(self) -> Self {
        self.step(Step::Usage(None))
    }

    /// Why the reply ends, instead of `tool_use` with calls and `end_turn` without.
    #[must_use]
    pub fn stop(self, reason: FinishReason) -> Self {
        self.step(Step::Stop(reason))
    }

    /// The stream waits here until the gate `name` is opened, by
    /// [`FakeModelServer::gate`](crate::FakeModelServer::gate) and [`Gate::open`](crate::Gate::open).
    #[must_use]
    pub fn gate(self, name: impl Into<String>) -> Self {
        self.step(Step::Gate(name.into()))
    }

    /// The stream rests for `millis` milliseconds: for people who watch, never for tests.
    #[must_use]
    pub fn pause_ms(self, millis: u64) -> Self {
        self.step(Step::PauseMs(millis))
    }

    /// A sign of life: a `ping` event, or a comment where the API knows no pings.
    #[must_use]
    pub fn ping(self) -> Self {
        self.step(Step::Ping)
    }

    /// Bytes put into the stream as they are, whatever the API.
    #[must_use]
    pub fn raw(self, bytes: impl Into<RawBytes>) -> Self {
        self.step(Step::Raw(bytes.into()))
    }

    /// The connection breaks here. Later steps are never reached.
    #[must_use]
    pub fn cut(self) -> Self {
        self.step(Step::Cut)
    }

    /// The body ends here in good order, without the closing events of the API.
    #[must_use]
    pub fn end(self) -> Self {
        self.step(Step::End)
    }

    /// An error within the stream, such as `overloaded_error`, after HTTP status 200.
    #[must_use]
    pub fn stream_error(self, kind: impl Into<String>, message: impl Into<String>) -> Self {
        self.step(Step::Error { kind: kind.into(), message: message.into() })
    }

    /// An event that only [`ScriptedProvider`](crate::ScriptedProvider) can play, such as a retry.
    #[must_use]
    pub fn event(self, event: ModelEvent) -> Self {
        self.step(Step::Event(Box::new(event)))
    }

    /// A further step.
    ///
    /// # Panics
    ///
    /// On a reply that has no steps, such as [`Reply::error`].
    #[must_use]
    #[expect(clippy::panic, reason = "a script that contradicts itself must fail the test that wrote it")]
    pub fn step(mut self, step: Step) -> Self {
        match &mut self.content {
            Content::Steps(steps) => steps.push(step),
            _ => panic!("only a reply begun by `Reply::new` has steps; this one cannot take {step:?}"),
        }
        self
    }
}

/// How the reply is sent.
impl Reply {
    /// The same reply with a further response header.
    ///
    /// # Panics
    ///
    /// When HTTP knows no such header.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        let (name, value) = (name.into().to_ascii_lowercase(), value.into());
        assert!(is_header(&name, &value), "`{name}: {value}` is not an HTTP header");
        self.headers.insert(name, value);
        self
    }

    /// The same reply with a `retry-after` header of `seconds`.
    #[must_use]
    pub fn retry_after(self, seconds: u64) -> Self {
        self.header("retry-after", seconds.to_string())
    }

    /// The same reply, of which not even the status line is sent before the gate `name` is opened.
    #[must_use]
    pub fn hold_at(mut self, name: impl Into<String>) -> Self {
        self.hold_at = Some(name.into());
        self
    }

    /// The same reply, its body sent in chunks of `bytes` bytes; 0 is taken as 1.
    #[must_use]
    pub fn chunk_bytes(mut self, bytes: usize) -> Self {
        self.framing.chunk_bytes = Some(NonZeroUsize::new(bytes).unwrap_or(NonZeroUsize::MIN));
        self
    }

    /// The same reply with CR LF as line ends of its events.
    #[must_use]
    pub fn crlf(mut self) -> Self {
        self.framing.crlf = true;
        self
    }

    /// The same reply with a comment before each of its events.
    #[must_use]
    pub fn comments(mut self) -> Self {
        self.framing.comments = true;
        self
    }

    /// The same reply, its body compressed whatever the client accepts. Each event can be read as it comes.
    #[must_use]
    pub fn gzip(mut self) -> Self {
        self.framing.gzip = true;
        self
    }

    /// The same reply with `bytes` after its body, however that ends in good order.
    #[must_use]
    pub fn trailing(mut self, bytes: impl Into<RawBytes>) -> Self {
        self.trailing = bytes.into();
        self
    }

    /// The same error reply with `kind` as the type of the error. No effect on other replies.
    #[must_use]
    pub fn error_type(mut self, kind: impl Into<String>) -> Self {
        if let Content::Error(error) = &mut self.content {
            error.kind = Some(kind.into());
        }
        self
    }

    /// The same error reply, reported by [`ScriptedProvider`](crate::ScriptedProvider) as `kind`
    /// instead of what the status implies. Not part of JSON plans.
    #[must_use]
    pub fn provider_kind(mut self, kind: ProviderErrorKind) -> Self {
        if let Content::Error(error) = &mut self.content {
            error.provider_kind = Some(kind);
        }
        self
    }

    /// Whether the client gets a whole answer out of this reply, so that it has no reason to ask again.
    pub(crate) fn succeeds(&self) -> bool {
        match &self.content {
            Content::Steps(steps) => {
                !steps.iter().any(|step| matches!(step, Step::Cut | Step::End | Step::Error { .. }))
            }
            Content::Body { status, .. } => (200..300).contains(status),
            Content::Error(_) | Content::HangUp => false,
        }
    }
}

impl Default for Reply {
    fn default() -> Self {
        Self::new()
    }
}

impl From<&str> for Reply {
    fn from(text: &str) -> Self {
        Self::new().text(text)
    }
}

impl From<String> for Reply {
    fn from(text: String) -> Self {
        Self::new().text(text)
    }
}

/// Whether HTTP can carry the header.
pub(super) fn is_header(name: &str, value: &str) -> bool {
    HeaderName::try_from(name).is_ok() && HeaderValue::try_from(value).is_ok()
}
