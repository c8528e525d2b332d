//! A model provider in process, driven by the same scripts as the server.

mod playback;
mod record;

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use robota_core::{
    Capabilities, ModelRequest, ModelStream, Provider, ProviderError, ProviderErrorKind, ProviderInfo,
    RawCapture,
};
use tokio_util::sync::CancellationToken;

use crate::director::{Directive, Director, Options};
use crate::{Gate, RecordedRequest, Reply, Rule, Script, Violation};

/// A [`Provider`] that says what its [`Script`] tells it to, without HTTP.
///
/// Requests are checked against the rules of pairing, roles, tools and the stable prefix, as by
/// [`FakeModelServer`](crate::FakeModelServer); one that breaks a rule ends with
/// [`ProviderErrorKind::InvalidRequest`]. Error replies become errors of the kind that their
/// status implies, a cut becomes [`ProviderErrorKind::Network`].
///
/// A gate or a pause that lasts longer than the request's
/// [`idle_timeout`](ModelRequest::idle_timeout) ends the stream with [`ProviderErrorKind::Timeout`]; a test with
/// a paused clock sees it at once. [Raw bytes](Reply::raw) become native payloads where
/// [`raw_capture`](ModelRequest::raw_capture) asks for them.
pub struct ScriptedProvider {
    info: ProviderInfo,
    director: Arc<Director>,
    requests: Mutex<Vec<ModelRequest>>,
}

impl ScriptedProvider {
    /// A provider with the id `scripted` that can do everything.
    #[must_use]
    pub fn new(script: impl Into<Script>) -> Self {
        let info = ProviderInfo::new(
            "scripted",
            Capabilities { tools: true, images: true, thinking: true, ..Capabilities::default() },
        );
        let director = Director::new(script.into(), Options::default());
        Self { info, director, requests: Mutex::default() }
    }

    /// The same provider, recording broken rules but answering all the same.
    #[must_use]
    pub fn lenient(self) -> Self {
        self.director.set(|options| options.strict = false);
        self
    }

    /// The same provider, not checking `rule`, for a test that breaks it on purpose.
    #[must_use]
    pub fn ignore(self, rule: Rule) -> Self {
        self.director.set(|options| options.ignored.push(rule));
        self
    }

    /// The same provider, neither keeping nor checking requests, for benchmarks with long histories.
    #[must_use]
    pub fn light(self) -> Self {
        self.director.set(|options| options.light = true);
        self
    }

    /// The same provider with another id or other capabilities.
    #[must_use]
    pub fn with_info(mut self, info: ProviderInfo) -> Self {
        self.info = info;
        self
    }

    /// Adds a reply to the end of the script.
    pub fn enqueue(&self, reply: impl Into<Reply>) {
        self.director.enqueue(reply.into());
    }

    /// The gate called `name` in the script; see [`Reply::gate`].
    #[must_use]
    pub fn gate(&self, name: &str) -> Gate {
        self.director.gate(name)
    }

    /// All requests so far, in order.
    #[must_use]
    pub fn requests(&self) -> Vec<ModelRequest> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// All requests so far in the form in which they were checked; see
    /// [`Dialect::InProcess`](crate::Dialect::InProcess).
    #[must_use]
    pub fn recorded(&self) -> Vec<Arc<RecordedRequest>> {
        self.director.requests()
    }

    /// Waits until the request `number`, counted from 1, has been made.
    ///
    /// # Panics
    ///
    /// When it is not made within a minute.
    pub async fn request(&self, number: usize) -> Arc<RecordedRequest> {
        self.director.request(number).await
    }

    /// The rules broken so far.
    #[must_use]
    pub fn violations(&self) -> Vec<Violation> {
        self.director.violations()
    }

    /// Asserts that no request broke a rule.
    ///
    /// # Panics
    ///
    /// When one did, with all violations in the message.
    #[track_caller]
    pub fn assert_clean(&self) {
        self.director.assert_clean();
    }
}

impl Provider for ScriptedProvider {
    fn info(&self) -> &ProviderInfo {
        &self.info
    }

    fn stream(&self, request: ModelRequest, cancel: CancellationToken) -> ModelStream {
        let record = record::of(&request, self.director.reads_bodies());
        let model = request.model.clone();
        let idle = request.idle_timeout;
        let captures = request.raw_capture != RawCapture::Off;
        if !self.director.is_light() {
            self.requests.lock().unwrap_or_else(PoisonError::into_inner).push(request);
        }
        let (record, directive, active) = self.director.receive(record);
        let actions = match directive {
            Some(Directive::Play(reply)) => playback::actions(&reply, &model, record.number, captures),
            Some(Directive::Refuse(message)) => failure(ProviderErrorKind::InvalidRequest, &message, 400),
            Some(Directive::Exhausted(message)) => failure(ProviderErrorKind::Server, &message, 500),
            None => VecDeque::new(),
        };
        playback::play(actions, Arc::clone(&self.director), cancel, idle, active)
    }
}

fn failure(kind: ProviderErrorKind, message: &str, status: u16) -> VecDeque<playback::Action> {
    let error = ProviderError::new(kind, message).with_status(status);
    VecDeque::from([playback::Action::Emit(Err(error))])
}

impl fmt::Debug for ScriptedProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptedProvider")
            .field("info", &self.info)
            .field("director", &self.director)
            .finish_non_exhaustive()
    }
}
