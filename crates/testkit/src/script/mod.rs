//! What the model will say: an ordered list of replies, free of any wire format.

mod answer;
mod pieces;
mod plan;
mod reply;
mod step;

use std::fmt;
use std::sync::Arc;

pub(crate) use answer::{Answer, Block, stated_stop, stated_usage};
pub use pieces::{Arguments, Pieces, RawBytes};
pub use plan::PlanError;
pub use reply::Reply;
pub(crate) use reply::{Content, ErrorReply, Framing};
pub use step::Step;

use crate::RecordedRequest;
use crate::gate::{Gate, Gates};

pub(crate) type Responder = Arc<dyn Fn(&RecordedRequest) -> Reply + Send + Sync>;

/// The plan of a fake model: one [`Reply`] for each model call, in order of arrival.
///
/// A script knows no wire format: the endpoint that is called decides how a reply is spoken, and a
/// [`ScriptedProvider`](crate::ScriptedProvider) plays it without any wire at all.
///
/// As JSON (see [`Script::from_json`]):
///
/// ```json
/// {
///   "models": ["fake-model"],
///   "replies": [
///     { "steps": [
///         { "thinking": { "text": "I look first.", "signature": "sig-1" } },
///         { "text": "Let me look." },
///         { "tool_call": { "id": "call_1", "name": "Grep", "arguments": { "pattern": "fn main" } } },
///         { "usage": { "input_tokens": 900, "output_tokens": 40 } } ] },
///     { "status": 429, "headers": { "retry-after": "1" }, "error": { "message": "slow down" } },
///     { "steps": [ { "text": ["Do", "ne."] }, { "pause_ms": 200 }, "cut" ], "chunk_bytes": 3 },
///     { "status": 502, "content_type": "text/html", "body": "<h1>Bad Gateway</h1>" },
///     { "hang_up": true }
///   ]
/// }
/// ```
///
/// Every step of [`Step`] but `Event` may stand in `steps`; every reply may also have `headers`,
/// `hold_at`, `chunk_bytes`, `crlf`, `comments`, `gzip` and `trailing`, named after the methods of [`Reply`].
#[derive(Clone, Default)]
pub struct Script {
    pub(crate) replies: Vec<Reply>,
    pub(crate) responder: Option<Responder>,
    pub(crate) models: Vec<String>,
    pub(crate) gates: Gates,
}

impl Script {
    /// A script without replies.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The same script with a further reply at its end. A plain string is a reply of that text.
    #[must_use]
    pub fn reply(mut self, reply: impl Into<Reply>) -> Self {
        self.replies.push(reply.into());
        self
    }

    /// The same script with a function that answers every call after the listed replies.
    ///
    /// Meant for long sessions whose replies depend on what the client sends. The function runs on
    /// the server's only thread, so it must not wait.
    #[must_use]
    pub fn respond_with(
        mut self,
        responder: impl Fn(&RecordedRequest) -> Reply + Send + Sync + 'static,
    ) -> Self {
        self.responder = Some(Arc::new(responder));
        self
    }

    /// The same script with the model ids that `GET /v1/models` lists.
    #[must_use]
    pub fn models<I: Into<String>>(mut self, models: impl IntoIterator<Item = I>) -> Self {
        self.models = models.into_iter().map(Into::into).collect();
        self
    }

    /// The gate called `name` in this script's replies; see [`Reply::gate`].
    #[must_use]
    pub fn gate(&self, name: &str) -> Gate {
        self.gates.get(name)
    }

    /// The listed replies.
    #[must_use]
    pub fn replies(&self) -> &[Reply] {
        &self.replies
    }
}

impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Script")
            .field("replies", &self.replies)
            .field("computed", &self.responder.is_some())
            .field("models", &self.models)
            .finish_non_exhaustive()
    }
}

impl<R: Into<Reply>> FromIterator<R> for Script {
    fn from_iter<I: IntoIterator<Item = R>>(replies: I) -> Self {
        Self { replies: replies.into_iter().map(Into::into).collect(), ..Self::default() }
    }
}

impl<R: Into<Reply>> From<R> for Script {
    /// A script of one reply.
    fn from(reply: R) -> Self {
        Self::new().reply(reply)
    }
}
