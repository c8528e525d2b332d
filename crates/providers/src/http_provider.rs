//! A provider behind HTTP, and the life of one call.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{FutureExt, StreamExt, stream};
use robota_core::{
    FinishReason, ModelEvent, ModelRequest, ModelStream, NativeWebTools, NativeWebToolsReport, Provider,
    ProviderError, ProviderErrorKind, ProviderInfo,
};
use sse_stream::Sse;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::api_error::ApiError;
use crate::capture::Capture;
use crate::endpoint::Endpoint;
use crate::excerpt::excerpt;
use crate::http::{Answer, Exchange, FrameFault, Frames};
use crate::listed_model::{ListedModel, ModelPage};
use crate::tool_names::ToolNames;
use crate::wire::{Decoder, Encoded, Events, Fault, MAX_CALLS, Progress, Wire};

/// How long a server may keep the connection open after the answer is complete. Bounds the wait for
/// token counts that some servers send last, and for servers that never close.
const AFTERMATH: Duration = Duration::from_secs(5);

/// Parts of a list of models that are asked for at most.
const MAX_PAGES: usize = 50;

/// How often one call is sent again because the server does not know an optional field. Each time it is written
/// otherwise than before.
const MAX_CORRECTIONS: u32 = 12;

/// A model API reached over HTTP. Cloning shares client and connections.
///
/// A call makes one request, and more only when the server does not know an optional field; other
/// failures are retried by [`Retrying`](crate::Retrying). Needs a tokio runtime with time and I/O.
#[derive(Clone)]
pub struct HttpProvider(Arc<Service>);

struct Service {
    info: ProviderInfo,
    tool_names: ToolNames,
    wire: Box<dyn Wire>,
    exchange: Exchange,
}

impl HttpProvider {
    pub(crate) fn new(endpoint: Endpoint, wire: Box<dyn Wire>) -> Self {
        Self(Arc::new(Service {
            info: endpoint.info.clone(),
            tool_names: ToolNames::default(),
            wire,
            exchange: Exchange::new(endpoint),
        }))
    }

    /// Where requests are posted, without password and query.
    #[must_use]
    pub fn url(&self) -> &str {
        self.0.exchange.reporter.url()
    }

    /// The models that the service offers, in its order.
    ///
    /// # Errors
    ///
    /// `NotFound`, when the API has no list; otherwise as model calls fail.
    pub async fn models(&self) -> Result<Vec<ListedModel>, ProviderError> {
        let Service { wire, exchange, info, .. } = &*self.0;
        let mut models = Vec::new();
        let mut page = None;
        for _ in 0..MAX_PAGES {
            let Some(question) = wire.list_models(page.as_deref()) else {
                let message = format!("the API of the provider {} does not list its models", info.id);
                return Err(ProviderError::new(ProviderErrorKind::NotFound, message));
            };
            let ModelPage { models: more, next } = exchange.ask(question).await?;
            models.extend(more);
            page = next;
            if page.is_none() {
                break;
            }
        }
        Ok(models)
    }

    /// How many tokens `request` has, as the service counts them; `None` where it does not count.
    ///
    /// # Errors
    ///
    /// As model calls fail.
    pub async fn count_tokens(&self, request: &ModelRequest) -> Result<Option<u64>, ProviderError> {
        let (request, _) = self.0.tool_names.carry(request.clone());
        match self.0.wire.count_tokens(&request) {
            Some(question) => self.0.exchange.ask(question).await.map(Some),
            None => Ok(None),
        }
    }

    /// A fresh reader for the answer to `request`.
    #[cfg(feature = "fuzzing")]
    pub(crate) fn decoder(&self, request: &ModelRequest) -> Box<dyn Decoder> {
        self.0.wire.decoder(request)
    }

    /// Builds the HTTP client now rather than with the first call. For an `https` address that loads
    /// the certificates of the system, some milliseconds that a program can spend on a thread of its
    /// own while it starts. Blocks; needs no runtime.
    pub fn warm_up(&self) {
        // A client that cannot be built is reported by the first call.
        let _ = self.0.exchange.client.get();
    }
}

impl fmt::Debug for HttpProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("HttpProvider");
        out.field("id", &self.info().id).field("url", &self.url()).finish_non_exhaustive()
    }
}

impl Provider for HttpProvider {
    fn info(&self) -> &ProviderInfo {
        &self.0.info
    }

    fn configure_native_web_tools(&self, model: &str, wanted: NativeWebTools) -> NativeWebToolsReport {
        self.0.wire.native_web_tools(model, wanted)
    }

    fn stream(&self, request: ModelRequest, cancel: CancellationToken) -> ModelStream {
        let (request, names) = self.0.tool_names.carry(request);
        let decoder = names.read_by(self.0.wire.decoder(&request));
        let call = Box::new(Call {
            service: Arc::clone(&self.0),
            capture: Capture::new(request.raw_capture),
            request,
            cancel,
            decoder,
            state: State::Unwritten,
            corrections: 0,
            request_id: None,
            events: 0,
            calls: 0,
            said: false,
            ready: Events::new(),
            failure: None,
        });
        stream::unfold(call, |mut call| async move { call.next().await.map(|event| (event, call)) }).boxed()
    }
}

/// One call, from the request to the last event.
struct Call {
    service: Arc<Service>,
    capture: Capture,
    request: ModelRequest,
    cancel: CancellationToken,
    decoder: Box<dyn Decoder>,
    state: State,
    /// How often the request was written again.
    corrections: u32,
    request_id: Option<String>,
    /// Server-sent events so far.
    events: u64,
    /// Tool calls so far.
    calls: usize,
    /// Something has been given out that a history keeps.
    said: bool,
    /// Decoded and not yet given out.
    ready: Events,
    /// What ends the call once that is given out.
    failure: Option<ProviderError>,
}

enum State {
    /// The request is to be written.
    Unwritten,
    /// The request is to be sent.
    Unsent(Encoded),
    /// The answer arrives.
    Streaming(Frames),
    Over,
}

impl Call {
    async fn next(&mut self) -> Option<Result<ModelEvent, ProviderError>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                self.said |= says_something(&event);
                return Some(Ok(event));
            }
            let step = match self.state {
                State::Unwritten => {
                    self.write();
                    continue;
                }
                State::Unsent(_) => self.send().await,
                State::Streaming(_) => self.read().await,
                State::Over => return self.failure.take().map(Err),
            };
            if let Err(error) = step {
                // Dropping the body closes the connection.
                self.state = State::Over;
                self.failure = Some(error);
            }
        }
    }

    fn write(&mut self) {
        let encoded = self.service.wire.encode(&self.request);
        self.capture.request(&encoded.body, &mut self.ready);
        self.state = State::Unsent(encoded);
    }

    async fn send(&mut self) -> Result<(), ProviderError> {
        let State::Unsent(encoded) = std::mem::replace(&mut self.state, State::Over) else { return Ok(()) };
        let Service { wire, exchange, .. } = &*self.service;
        let dialect = encoded.dialect;
        let answer = tokio::select! {
            biased;
            () = self.cancel.cancelled() => return Err(exchange.reporter.cancelled()),
            answer = exchange.post(encoded, self.request.idle_timeout) => answer?,
        };
        match answer {
            Answer::Stream { frames, request_id } => {
                self.request_id = request_id;
                self.state = State::Streaming(frames);
            }
            Answer::Refused(refusal) => {
                self.capture.response(&refusal.body, &mut self.ready);
                if self.corrections == MAX_CORRECTIONS || !wire.adapt(&refusal.error, dialect) {
                    return Err(exchange.reporter.refused(&refusal.error, &self.request.model, refusal.wait));
                }
                self.corrections += 1;
                self.state = State::Unwritten;
            }
            Answer::Foreign { error, body } => {
                self.capture.response(&body, &mut self.ready);
                return Err(error);
            }
        }
        Ok(())
    }

    async fn read(&mut self) -> Result<(), ProviderError> {
        let State::Streaming(frames) = &mut self.state else { return Ok(()) };
        let complete = self.decoder.progress() == Progress::Complete;
        let frame = tokio::select! {
            biased;
            () = self.cancel.cancelled() => return Err(self.service.exchange.reporter.cancelled()),
            frame = next_frame(frames, complete) => frame,
        };
        let at_end = frames.ended();
        match frame {
            Some(Ok(frame)) => match self.take(&frame) {
                Err(Fault::Malformed(_)) if complete => self.decoder.end(&mut self.ready),
                taken => taken.map_err(|fault| self.explain(fault, at_end))?,
            },
            // What was essential has arrived; how the connection ended does not matter.
            _ if complete => self.decoder.end(&mut self.ready),
            Some(Err(fault)) => return Err(self.explain_frame(fault, at_end)),
            None => return Err(self.named(self.service.exchange.reporter.cut(self.events))),
        }
        if self.decoder.progress() == Progress::Finished {
            self.finish();
            return self.check_said();
        }
        Ok(())
    }

    /// An answer that says nothing and ends for no reason that anybody knows is a failure: taken as an answer, it would
    /// end a turn in silence.
    fn check_said(&mut self) -> Result<(), ProviderError> {
        let Some(ModelEvent::Finish(FinishReason::Other(reason))) = self.ready.back() else { return Ok(()) };
        if self.said || self.ready.iter().any(says_something) {
            return Ok(());
        }
        let message = format!("the answer ended without a word ({})", excerpt(reason));
        self.ready.pop_back();
        let failure = ApiError { status: Some(502), message, structured: true, ..ApiError::default() };
        Err(self.explain(Fault::Refused(Box::new(failure)), false))
    }

    fn take(&mut self, frame: &Sse) -> Result<(), Fault> {
        self.events += 1;
        match frame.data.as_deref().filter(|data| !data.trim().is_empty()) {
            Some(data) => {
                self.capture.stream_event(data, &mut self.ready);
                let before = self.ready.len();
                self.decoder.frame(frame.event.as_deref(), data, &mut self.ready)?;
                let new = self.ready.iter().skip(before);
                self.calls += new.filter(|event| matches!(event, ModelEvent::ToolCallStart { .. })).count();
                if self.calls > MAX_CALLS { Err(Fault::too_many_calls()) } else { Ok(()) }
            }
            None => Ok(()),
        }
    }

    /// Lets go of the connection such that it can be used again.
    fn finish(&mut self) {
        let State::Streaming(mut frames) = std::mem::replace(&mut self.state, State::Over) else { return };
        // HTTP/1.1 can use a connection again only when the body was read to its end, which is
        // mostly there already, or about to come.
        let at_end = frames.next().now_or_never().is_some_and(|frame| frame.is_none());
        if let (false, Ok(runtime)) = (at_end, tokio::runtime::Handle::try_current()) {
            runtime.spawn(timeout(Duration::from_secs(1), async move {
                while let Some(Ok(_)) = frames.next().await {}
            }));
        }
    }

    fn explain(&self, fault: Fault, at_end: bool) -> ProviderError {
        let reporter = &self.service.exchange.reporter;
        self.named(match fault {
            Fault::Refused(refusal) => reporter.refused(&refusal, &self.request.model, None),
            Fault::Malformed(_) if at_end => reporter.cut(self.events),
            Fault::Malformed(error) => {
                reporter.malformed("an event that is not what this API promises", error)
            }
        })
    }

    fn explain_frame(&self, fault: FrameFault, at_end: bool) -> ProviderError {
        let reporter = &self.service.exchange.reporter;
        self.named(match fault {
            FrameFault::Connection(error) => error,
            FrameFault::NotText(_) if at_end => reporter.cut(self.events),
            fault => reporter.malformed(&fault.to_string(), fault),
        })
    }

    /// The error with the id of the request, which the headers gave.
    fn named(&self, error: ProviderError) -> ProviderError {
        match &self.request_id {
            Some(id) if error.request_id().is_none() => error.with_request_id(id.clone()),
            _ => error,
        }
    }
}

/// Whether a history keeps something of the event.
fn says_something(event: &ModelEvent) -> bool {
    matches!(
        event,
        ModelEvent::TextDelta(_) | ModelEvent::ToolCallStart { .. } | ModelEvent::NativeContent { .. }
    )
}

/// The next event; when the answer is complete without it, only a short while is waited for.
async fn next_frame(frames: &mut Frames, complete: bool) -> Option<Result<Sse, FrameFault>> {
    if complete { timeout(AFTERMATH, frames.next()).await.ok().flatten() } else { frames.next().await }
}
