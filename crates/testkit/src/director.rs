//! What server and scripted provider share: record a call, check it, pick its reply.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use crate::gate::Gate;
use crate::invariants::{self, Conversations, Rule, Violation};
use crate::{RecordedRequest, Reply, Script, patience};

/// How strictly calls are checked and what is kept of them.
pub(crate) struct Options {
    /// Calls that break a rule are refused.
    pub(crate) strict: bool,
    /// Rules that are not checked.
    pub(crate) ignored: Vec<Rule>,
    /// Nothing is checked and nothing kept.
    pub(crate) light: bool,
    /// Sees every request with its violations.
    pub(crate) observer: Option<Observer>,
}

pub(crate) type Observer = Box<dyn Fn(&RecordedRequest, &[Violation]) + Send + Sync>;

impl Default for Options {
    fn default() -> Self {
        Self { strict: true, ignored: Vec::new(), light: false, observer: None }
    }
}

/// What to do with a request.
pub(crate) enum Directive {
    /// Play this reply.
    Play(Reply),
    /// Refuse the call because of what is wrong with it.
    Refuse(String),
    /// The script is at its end.
    Exhausted(String),
}

pub(crate) struct Director {
    script: Script,
    state: Mutex<State>,
    progress: watch::Sender<Progress>,
}

#[derive(Default)]
struct State {
    options: Options,
    replies: VecDeque<Reply>,
    calls: usize,
    requests: Vec<Arc<RecordedRequest>>,
    violations: Vec<Violation>,
    conversations: Conversations,
}

/// What waits look at.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Progress {
    /// Requests that have arrived.
    pub(crate) arrived: usize,
    /// Requests that are not answered yet.
    pub(crate) active: usize,
    /// Listed replies that are still to come.
    pub(crate) left: usize,
}

impl Director {
    pub(crate) fn new(mut script: Script, options: Options) -> Arc<Self> {
        let replies = VecDeque::from(std::mem::take(&mut script.replies));
        let progress = watch::Sender::new(Progress { left: replies.len(), ..Progress::default() });
        let state = Mutex::new(State { options, replies, ..State::default() });
        Arc::new(Self { script, state, progress })
    }

    /// Changes how later calls are checked.
    pub(crate) fn set(&self, change: impl FnOnce(&mut Options)) {
        change(&mut self.state().options);
    }

    /// Whether nothing is kept.
    pub(crate) fn is_light(&self) -> bool {
        self.state().options.light
    }

    /// Whether anybody looks into the bodies of requests.
    pub(crate) fn reads_bodies(&self) -> bool {
        !self.is_light() || self.script.responder.is_some()
    }

    /// Records `request` as the next one. The request counts as active until the answer is dropped.
    pub(crate) fn receive(
        self: &Arc<Self>,
        mut request: RecordedRequest,
    ) -> (Arc<RecordedRequest>, Option<Directive>, Active) {
        let mut state = self.state();
        let mut number = 0;
        self.progress.send_modify(|progress| {
            progress.arrived += 1;
            progress.active += 1;
            number = progress.arrived;
        });
        let active = Active(Arc::clone(self));
        request.number = number;
        let request = Arc::new(request);
        if !state.options.light {
            state.requests.push(Arc::clone(&request));
        }
        let directive = request.dialect.is_some().then(|| self.direct(&mut state, &request));
        drop(state);
        let directive = directive.map(|next| match (next, &self.script.responder) {
            (Next::Compute, Some(responder)) => Directive::Play(responder(&request)),
            (Next::Compute, None) => Directive::Exhausted(String::new()),
            (Next::Known(directive), _) => directive,
        });
        (request, directive, active)
    }

    /// Checks a model call and takes its reply from the list.
    fn direct(&self, state: &mut State, request: &Arc<RecordedRequest>) -> Next {
        let mut found = Vec::new();
        let mut branch = None;
        if !state.options.light {
            found = invariants::check(request);
            let (place, changed) = state.conversations.place(request);
            found.extend(changed);
            found.retain(|violation| !state.options.ignored.contains(&violation.rule));
            branch = Some(place);
        }
        let refused = state.options.strict && !found.is_empty();
        let text = invariants::describe(&found);
        let next = if refused {
            Next::Known(Directive::Refuse(text))
        } else {
            self.next(state, request, &mut found)
        };
        if let (Some(branch), Next::Known(Directive::Play(_)) | Next::Compute) = (branch, &next) {
            let answered = !matches!(&next, Next::Known(Directive::Play(reply)) if !reply.succeeds());
            state.conversations.follow(branch, Arc::clone(request), answered);
        }
        if let Some(observer) = &state.options.observer {
            observer(request, &found);
        }
        state.violations.append(&mut found);
        next
    }

    fn next(&self, state: &mut State, request: &RecordedRequest, found: &mut Vec<Violation>) -> Next {
        state.calls += 1;
        if let Some(reply) = state.replies.pop_front() {
            self.progress.send_modify(|progress| progress.left = state.replies.len());
            return Next::Known(Directive::Play(reply));
        }
        if self.script.responder.is_some() {
            return Next::Compute;
        }
        let message = format!("the script has no reply for model call {}", state.calls);
        found.push(Violation::new(request.number, Rule::ScriptExhausted, message.clone()));
        Next::Known(Directive::Exhausted(message))
    }

    pub(crate) fn enqueue(&self, reply: Reply) {
        let mut state = self.state();
        state.replies.push_back(reply);
        self.progress.send_modify(|progress| progress.left = state.replies.len());
    }

    pub(crate) fn gate(&self, name: &str) -> Gate {
        self.script.gate(name)
    }

    pub(crate) fn models(&self) -> &[String] {
        &self.script.models
    }

    pub(crate) fn requests(&self) -> Vec<Arc<RecordedRequest>> {
        self.state().requests.clone()
    }

    pub(crate) fn violations(&self) -> Vec<Violation> {
        self.state().violations.clone()
    }

    #[expect(clippy::panic, reason = "an assertion of the test kit")]
    #[track_caller]
    pub(crate) fn assert_clean(&self) {
        let violations = self.violations();
        if !violations.is_empty() {
            panic!("the model got requests that break its rules:\n{}", invariants::describe(&violations));
        }
    }

    /// Waits until the request `number`, from 1, has arrived.
    pub(crate) async fn request(&self, number: usize) -> Arc<RecordedRequest> {
        let missing = || format!("request {number} did not arrive, only {}", self.progress.borrow().arrived);
        self.wait_for(|progress| progress.arrived >= number, missing).await;
        let request = self.state().requests.get(number.wrapping_sub(1)).cloned();
        #[expect(clippy::panic, reason = "a misuse that must fail the test")]
        request.unwrap_or_else(|| panic!("requests are numbered from 1 and light servers keep none"))
    }

    pub(crate) async fn wait_for(
        &self,
        reached: impl Fn(&Progress) -> bool,
        missing: impl FnOnce() -> String,
    ) {
        let mut progress = self.progress.subscribe();
        let signal = async { progress.wait_for(|progress| reached(progress)).await.is_ok() };
        patience::wait_for(signal, missing).await;
    }

    /// Waits, for as long as it takes, until every listed reply has been given.
    pub(crate) async fn played_out(&self) {
        if self.script.responder.is_some() {
            return std::future::pending().await;
        }
        let mut progress = self.progress.subscribe();
        let _ = progress.wait_for(|progress| progress.left == 0 && progress.active == 0).await;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A directive, or the need to ask the responder, which happens without the lock.
enum Next {
    Known(Directive),
    Compute,
}

/// A request that is being answered.
pub(crate) struct Active(Arc<Director>);

impl Drop for Active {
    fn drop(&mut self) {
        self.0.progress.send_modify(|progress| progress.active -= 1);
    }
}

impl fmt::Debug for Director {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Director").field("progress", &*self.progress.borrow()).finish_non_exhaustive()
    }
}
