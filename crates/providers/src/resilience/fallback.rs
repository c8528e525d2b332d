//! Other models, asked when one does not answer at all.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::{StreamExt, stream};
use robota_core::{
    ModelEvent, ModelRequest, ModelStream, NativeWebTools, NativeWebToolsReport, Provider, ProviderError,
    ProviderErrorKind as Kind, ProviderInfo,
};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::visible::is_visible;

/// When other models are asked, and how long they stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "plain data, built with `..Default::default()`")]
pub struct FallbackPolicy {
    /// How long calls go to the other model straight away, before the first one is asked again; 5 minutes.
    pub stay: Duration,
    /// Whether an answer that breaks off after some of it was given out begins anew with another model; true.
    pub restart_cut_streams: bool,
}

impl Default for FallbackPolicy {
    fn default() -> Self {
        Self { stay: Duration::from_secs(5 * 60), restart_cut_streams: true }
    }
}

/// A provider that asks other models when the first one fails.
///
/// Each one is asked in its turn, after a failure that says nothing against the request: no connection, no answer
/// in time, overloaded, limited, failed, or a model that does not exist. Whoever wraps providers that retry
/// ([`Retrying`](super::Retrying)) has these used up before. Wrong keys, invalid or too long requests and a
/// cancelled turn go up as they are. Each switch is told with [`ModelEvent::Fallback`], which comes first in each
/// call that goes to another model: what the events after it bring was written there.
///
/// Info is that of the first provider. A request goes to the others with their own model, and without the web tools
/// that they do not run.
pub struct Fallback {
    line: Arc<Line>,
}

impl Fallback {
    /// Asks `first` with the model of the request, and then `others`, each with its model.
    #[must_use]
    pub fn new(
        first: Arc<dyn Provider>,
        others: impl IntoIterator<Item = (Arc<dyn Provider>, Arc<str>)>,
        policy: FallbackPolicy,
    ) -> Self {
        let others = others.into_iter().map(|(provider, model)| Candidate { provider, model: Some(model) });
        let mut candidates = vec![Candidate { provider: Arc::clone(&first), model: None }];
        candidates.extend(others);
        Self { line: Arc::new(Line { first, candidates, policy, away: Mutex::default() }) }
    }
}

impl Provider for Fallback {
    fn info(&self) -> &ProviderInfo {
        self.line.first.info()
    }

    fn configure_native_web_tools(&self, model: &str, wanted: NativeWebTools) -> NativeWebToolsReport {
        self.line.first.configure_native_web_tools(model, wanted)
    }

    fn stream(&self, request: ModelRequest, cancel: CancellationToken) -> ModelStream {
        let (at, notice) = self.line.start();
        let call = Box::new(Call {
            order: self.line.order(at, &request),
            line: Arc::clone(&self.line),
            request,
            cancel,
            current: None,
            at,
            notice,
            visible: false,
        });
        stream::unfold(call, |mut call| async move { call.next().await.map(|event| (event, call)) }).boxed()
    }
}

struct Candidate {
    provider: Arc<dyn Provider>,
    /// `None` for the model of the request.
    model: Option<Arc<str>>,
}

/// Everyone who can be asked, and who is asked for now.
struct Line {
    first: Arc<dyn Provider>,
    candidates: Vec<Candidate>,
    policy: FallbackPolicy,
    away: Mutex<Option<Away>>,
}

/// Calls go to another one than the first.
#[derive(Clone)]
struct Away {
    at: usize,
    until: Instant,
    /// What was wrong with the first.
    reason: String,
}

impl Line {
    /// Who is asked first now, with the reason when it is another one.
    fn start(&self) -> (usize, Option<String>) {
        let away = self.away.lock().unwrap_or_else(PoisonError::into_inner);
        match &*away {
            Some(away) if Instant::now() < away.until => (away.at, Some(away.reason.clone())),
            _ => (0, None),
        }
    }

    /// Who is asked after `at`, last one first. Nobody is asked twice, not under another name either.
    fn order(&self, at: usize, request: &ModelRequest) -> Vec<usize> {
        let number = self.candidates.len();
        let all: Vec<usize> = (at..number).chain(0..at).collect();
        let same = |one: usize, other: usize| {
            let (Some(one), Some(other)) = (self.candidates.get(one), self.candidates.get(other)) else {
                return true;
            };
            Arc::ptr_eq(&one.provider, &other.provider) && one.model(request) == other.model(request)
        };
        let others = all.iter().enumerate().skip(1);
        let others =
            others.filter(|(place, one)| all.iter().take(*place).all(|before| !same(*before, **one)));
        let mut others: Vec<usize> = others.map(|(_, one)| *one).collect();
        others.reverse();
        others
    }

    fn goes_to(&self, at: usize, reason: &str) {
        let until = Instant::now() + self.policy.stay;
        let away = (at > 0).then(|| Away { at, until, reason: reason.to_owned() });
        *self.away.lock().unwrap_or_else(PoisonError::into_inner) = away;
    }

    /// The first one has answered.
    fn is_back(&self) {
        *self.away.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

impl Candidate {
    fn model<'a>(&'a self, request: &'a ModelRequest) -> &'a Arc<str> {
        self.model.as_ref().unwrap_or(&request.model)
    }

    fn stream(&self, request: &ModelRequest, cancel: &CancellationToken) -> ModelStream {
        let mut request = request.clone();
        if let Some(model) = &self.model {
            request.model = Arc::clone(model);
            let wanted = request.native_web_tools;
            if !wanted.is_empty() {
                request.native_web_tools = self.provider.configure_native_web_tools(model, wanted).enabled();
            }
        }
        self.provider.stream(request, cancel.clone())
    }
}

/// One call, whoever answers it.
struct Call {
    line: Arc<Line>,
    request: ModelRequest,
    cancel: CancellationToken,
    current: Option<ModelStream>,
    /// Who is asked.
    at: usize,
    /// Who can be asked after that, last one first.
    order: Vec<usize>,
    /// Why it is not the first one, to be told before anything else.
    notice: Option<String>,
    /// Something of the answer arrived that a user may have seen.
    visible: bool,
}

impl Call {
    async fn next(&mut self) -> Option<Result<ModelEvent, ProviderError>> {
        if let Some(reason) = self.notice.take() {
            let event = self.switch(&reason);
            return Some(Ok(event));
        }
        if self.current.is_none() {
            let candidate = self.line.candidates.get(self.at)?;
            self.current = Some(candidate.stream(&self.request, &self.cancel));
        }
        let step = self.current.as_mut()?.next().await;
        match &step {
            Some(Ok(ModelEvent::Retry { .. })) => self.visible = false,
            Some(Ok(ModelEvent::Finish(_))) if self.at == 0 => self.line.is_back(),
            Some(Ok(event)) => self.visible |= is_visible(event),
            _ => {}
        }
        match step {
            Some(Err(error)) => Some(self.after(error)),
            None => {
                // Nobody is asked any more.
                self.at = self.line.candidates.len();
                self.current = None;
                None
            }
            step => step,
        }
    }

    /// Another model when there is one, or else the failure.
    fn after(&mut self, error: ProviderError) -> Result<ModelEvent, ProviderError> {
        self.current = None;
        let kept = self.visible && !self.line.policy.restart_cut_streams;
        let next = if kept || self.cancel.is_cancelled() || !may_answer_elsewhere(error.kind()) {
            None
        } else {
            self.order.pop()
        };
        let failed = std::mem::replace(&mut self.at, next.unwrap_or(self.line.candidates.len()));
        if next.is_none() {
            return Err(error);
        }
        let failed = self.line.candidates.get(failed).map(|one| Arc::clone(one.model(&self.request)));
        let reason = format!("{}: {error}", failed.unwrap_or_default());
        self.line.goes_to(self.at, &reason);
        tracing::debug!(%error, "another model is asked");
        Ok(self.switch(&reason))
    }

    fn switch(&mut self, reason: &str) -> ModelEvent {
        let candidate = self.line.candidates.get(self.at);
        ModelEvent::Fallback {
            provider: candidate.map(|one| one.provider.info().id.clone()).unwrap_or_default(),
            model: candidate.map(|one| one.model(&self.request).to_string()).unwrap_or_default(),
            reason: reason.to_owned(),
            abandoned: std::mem::take(&mut self.visible),
        }
    }
}

/// Whether another model may answer where this one failed.
const fn may_answer_elsewhere(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Overloaded | Kind::RateLimit | Kind::Server | Kind::NotFound | Kind::Timeout | Kind::Network
    )
}
