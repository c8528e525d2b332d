//! What sets one model API apart from another: how a request is written and an answer is read.
//!
//! Nothing here touches a socket, so every oddity of an API can be tested with plain bytes.

use std::collections::VecDeque;

use reqwest::Url;
use reqwest::header::HeaderMap;
use robota_core::{ModelEvent, ModelRequest, NativeWebTools, NativeWebToolsReport};
use serde_json::Value;

use crate::api_error::ApiError;
use crate::excerpt::excerpt;
use crate::listed_model::ModelPage;

/// Events of an answer that are decoded and not yet given out.
pub(crate) type Events = VecDeque<ModelEvent>;

/// Most calls of one answer. Agents ask for some tens at once; what comes to more is a server that does not stop.
pub(crate) const MAX_CALLS: usize = 1000;

/// One model API, set up for one [`Endpoint`](crate::endpoint::Endpoint).
pub(crate) trait Wire: Send + Sync {
    /// The body of `request`.
    fn encode(&self, request: &ModelRequest) -> Encoded;

    /// A fresh reader for the answer to `request`.
    fn decoder(&self, request: &ModelRequest) -> Box<dyn Decoder>;

    /// Which of the `wanted` web tools the API runs by itself for `model`.
    fn native_web_tools(&self, model: &str, wanted: NativeWebTools) -> NativeWebToolsReport {
        let _ = (model, wanted);
        NativeWebToolsReport::unsupported()
    }

    /// Asks for the models of the API; `page` is what [`ModelPage::next`] said. `None` where it has no list.
    fn list_models(&self, page: Option<&str>) -> Option<Question<ModelPage>> {
        let _ = page;
        None
    }

    /// Asks how many tokens `request` has. `None` where the API does not count.
    fn count_tokens(&self, request: &ModelRequest) -> Option<Question<u64>> {
        let _ = request;
        None
    }

    /// Learns from a refusal what this server does not understand. True when a request written in
    /// `dialect` should be encoded again and sent once more.
    fn adapt(&self, refusal: &ApiError, dialect: Dialect) -> bool {
        let _ = (refusal, dialect);
        false
    }
}

/// A request body and the dialect it is written in.
#[derive(Default)]
pub(crate) struct Encoded {
    pub(crate) body: Vec<u8>,
    pub(crate) dialect: Dialect,
    /// Where it goes, where that depends on the request; otherwise to the endpoint.
    pub(crate) url: Option<Url>,
    /// Headers of this request alone; they win over those of the endpoint.
    pub(crate) headers: HeaderMap,
}

/// A question besides model calls: answered at once, as one JSON document.
pub(crate) struct Question<T> {
    pub(crate) url: Url,
    /// Posted; without one, the address is fetched.
    pub(crate) body: Option<Vec<u8>>,
    /// Reads the answer; `None` when it is not what the API promises.
    pub(crate) read: fn(&Value) -> Option<T>,
}

/// Which optional fields of an API a request uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Dialect(pub(crate) u64);

/// Reads one streamed answer, frame by frame.
pub(crate) trait Decoder: Send {
    /// Takes the data of one server-sent event and appends what it means to `out`.
    ///
    /// # Errors
    ///
    /// When the data is not what the API promises, or reports a failure of the service.
    fn frame(&mut self, event: Option<&str>, data: &str, out: &mut Events) -> Result<(), Fault>;

    /// How far the answer has come.
    fn progress(&self) -> Progress;

    /// The body ended at [`Progress::Complete`]: appends what was held back, and the finish.
    fn end(&mut self, out: &mut Events);
}

/// How far an answer has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// More must come.
    Open,
    /// Nothing essential is missing, but more may come.
    Complete,
    /// The finish has been appended; nothing more comes.
    Finished,
}

/// Why a frame could not be taken.
#[derive(Debug)]
pub(crate) enum Fault {
    /// It is not what the API promises.
    Malformed(serde_json::Error),
    /// The service reports a failure.
    Refused(Box<ApiError>),
}

impl From<serde_json::Error> for Fault {
    fn from(error: serde_json::Error) -> Self {
        Self::Malformed(error)
    }
}

impl Fault {
    /// The answer has more calls than [`MAX_CALLS`].
    pub(crate) fn too_many_calls() -> Self {
        let message = format!("an answer of more than {MAX_CALLS} tool calls");
        Self::Malformed(serde::de::Error::custom(message))
    }

    /// The failure that the frame `data` reports.
    pub(crate) fn refused(data: &str) -> Self {
        let value: Value = match serde_json::from_str(data) {
            Ok(value) => value,
            Err(error) => return Self::Malformed(error),
        };
        let error = ApiError::from_value(&value).unwrap_or_else(|| ApiError {
            message: format!("an error without a description: {}", excerpt(data)),
            ..ApiError::default()
        });
        Self::Refused(Box::new(error))
    }
}
