//! The engine: runs the hooks that fit, and joins what they say.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::{FutureExt, StreamExt, stream};
use tokio_util::sync::CancellationToken;

use super::join::join;
use super::reply::read_reply;
use super::wording::{name_of, one_line};
use super::{
    HookAction, HookCall, HookDecision, HookEvent, HookExecutor, HookFailure, HookGroup, HookInput,
    HookOutcome, HookReply, HookRunner, HookScope, HookSpec, HookTask, HooksConfig,
};

/// Hooks of one event that run at the same time.
const AT_ONCE: usize = 16;
/// How long cancelled hooks get to end what they have started.
const GRACE: Duration = Duration::from_secs(3);

/// What runs the hooks of each type. Hooks whose type has nothing that runs them count as failed.
#[derive(Clone, Default)]
#[expect(clippy::exhaustive_structs, reason = "plain data that hosts fill in")]
pub struct HookExecutors {
    /// Runs commands.
    pub command: Option<Arc<dyn HookExecutor>>,
    /// Posts to servers.
    pub http: Option<Arc<dyn HookExecutor>>,
    /// Puts prompts before a model.
    pub prompt: Option<Arc<dyn HookExecutor>>,
    /// Runs agents.
    pub agent: Option<Arc<dyn HookExecutor>>,
}

/// What a failed hook means for the call that it was to judge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum HookFailurePolicy {
    /// Nothing: it is reported.
    Open,
    /// The call does not run.
    Closed,
}

/// How the engine works.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "plain data that hosts fill in")]
pub struct HookEngineOptions {
    /// What a failed `PreToolUse` hook means; without a word, [`Closed`](HookFailurePolicy::Closed) for
    /// hooks of the [user](HookScope::User) and [`Open`](HookFailurePolicy::Open) for those of a project.
    pub failure: Option<HookFailurePolicy>,
}

/// Runs the hooks of a [`HooksConfig`] (facts sheet 2.7; seed `001`, Hooks System).
///
/// All hooks of an event that fit run at the same time, sixteen at most, each with its own deadline; identical
/// ones run once. What they say is joined in the order of the configuration. An event without hooks costs
/// nothing.
pub struct HookEngine {
    groups: BTreeMap<HookEvent, Vec<HookGroup>>,
    executors: HookExecutors,
    options: HookEngineOptions,
}

/// A hook that is to run.
#[derive(Clone, Copy)]
struct Due<'a> {
    group: &'a HookGroup,
    spec: &'a HookSpec,
}

/// How a run of a hook ended without a reply.
enum Lapse {
    Cancelled,
    Failed(String),
}

impl HookEngine {
    /// An engine for `config`.
    #[must_use]
    pub fn new(config: HooksConfig, executors: HookExecutors, options: HookEngineOptions) -> Self {
        let mut groups = BTreeMap::<_, Vec<_>>::new();
        for group in config.groups.into_iter().filter(|group| !group.hooks.is_empty()) {
            groups.entry(group.event).or_default().push(group);
        }
        Self { groups, executors, options }
    }

    /// True when there is no hook at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// True when some hook listens to `event`.
    #[must_use]
    pub fn listens_to(&self, event: HookEvent) -> bool {
        self.groups.contains_key(&event)
    }

    /// The hooks that fit `call`, in order, identical ones once. Where a project repeats a hook of the user,
    /// it stays the user's.
    fn due(&self, call: &HookCall) -> Vec<Due<'_>> {
        let groups = self.groups.get(&call.event()).map(Vec::as_slice).unwrap_or_default();
        let mut due = Vec::<Due<'_>>::new();
        for group in groups.iter().filter(|group| group.matcher.fits_call(call)) {
            for spec in &group.hooks {
                let next = Due { group, spec };
                match due.iter_mut().find(|known| known.is_same(next)) {
                    Some(known) if known.scope() == HookScope::Project => *known = next,
                    Some(_) => {}
                    None => due.push(next),
                }
            }
        }
        due
    }

    async fn run_all(&self, due: Vec<Due<'_>>, input: &HookInput, cancel: &CancellationToken) -> HookOutcome {
        let event = input.call.event();
        let json = match serde_json::to_string(input) {
            Ok(json) => json,
            Err(error) => {
                let failed = format!("the input cannot be written as JSON: {error}");
                return join(due.iter().map(|hook| self.failed(event, *hook, &failed)));
            }
        };
        let json = json.as_str();
        let mut runs = Vec::with_capacity(due.len());
        for (at, hook) in due.iter().enumerate() {
            runs.push(async move { (at, self.run_one(*hook, input, json, cancel).await) });
        }
        let mut ended: Vec<_> = stream::iter(runs).buffer_unordered(AT_ONCE).collect().await;
        ended.sort_by_key(|(at, _)| *at);
        if ended.iter().any(|(_, ended)| matches!(ended, Err(Lapse::Cancelled))) {
            return cancelled(event);
        }
        let said = ended.into_iter().zip(&due).map(|((_, ended), hook)| {
            let read = ended.and_then(|reply| read_reply(event, reply).map_err(Lapse::Failed));
            match read {
                Ok(outcome) => named(event, *hook, outcome),
                Err(Lapse::Failed(what)) => self.failed(event, *hook, &what),
                Err(Lapse::Cancelled) => HookOutcome::default(),
            }
        });
        join(said)
    }

    async fn run_one(
        &self,
        due: Due<'_>,
        input: &HookInput,
        json: &str,
        cancel: &CancellationToken,
    ) -> Result<HookReply, Lapse> {
        if cancel.is_cancelled() {
            return Err(Lapse::Cancelled);
        }
        let Some(executor) = self.executor(&due.spec.action) else {
            return Err(Lapse::Failed("cannot run: nothing here runs hooks of its type".to_owned()));
        };
        let task = HookTask::new(&due.spec.action, input, json, &due.group.env);
        let timeout = due.spec.timeout;
        tokio::select! {
            biased;
            reply = executor.execute(task, cancel) => match reply {
                // An executor that was told to end may say so in its own words.
                Err(_) if cancel.is_cancelled() => Err(Lapse::Cancelled),
                reply => reply.map_err(|failure| Lapse::Failed(in_full(&failure))),
            },
            () = long_after(cancel) => Err(Lapse::Cancelled),
            () = tokio::time::sleep(timeout) => {
                Err(Lapse::Failed(format!("took longer than its timeout of {} s", timeout.as_secs_f64())))
            }
        }
    }

    fn executor(&self, action: &HookAction) -> Option<&Arc<dyn HookExecutor>> {
        let executors = &self.executors;
        match action {
            HookAction::Command { .. } => executors.command.as_ref(),
            HookAction::Http { .. } => executors.http.as_ref(),
            HookAction::Prompt { .. } => executors.prompt.as_ref(),
            HookAction::Agent { .. } => executors.agent.as_ref(),
        }
    }

    /// A hook did not do its work: it is reported, and where it guards, the call may not run without it.
    fn failed(&self, event: HookEvent, due: Due<'_>, what: &str) -> HookOutcome {
        let failure = report(event, due, what);
        let policy = self.options.failure.unwrap_or(match due.scope() {
            HookScope::User => HookFailurePolicy::Closed,
            HookScope::Project => HookFailurePolicy::Open,
        });
        let mut outcome = match (event, policy) {
            (HookEvent::PreToolUse, HookFailurePolicy::Closed) => HookOutcome::decided(
                HookDecision::Deny,
                format!(
                    "A hook could not judge the call, so it does not run. {failure} Mend the hook, or let \
                     calls run when hooks fail with the setting \"hookFailure\": \"open\"."
                ),
            ),
            _ => HookOutcome::default(),
        };
        outcome.failures.push(failure);
        outcome
    }
}

impl HookRunner for HookEngine {
    fn run<'a>(&'a self, input: &'a HookInput, cancel: &'a CancellationToken) -> BoxFuture<'a, HookOutcome> {
        let due = self.due(&input.call);
        if due.is_empty() {
            return std::future::ready(HookOutcome::default()).boxed();
        }
        self.run_all(due, input, cancel).boxed()
    }
}

impl Due<'_> {
    fn scope(self) -> HookScope {
        self.group.origin.scope
    }

    fn is_same(self, other: Due<'_>) -> bool {
        self.spec.action == other.spec.action && self.group.env == other.group.env
    }
}

/// What a hook said, with its name where it reports.
fn named(event: HookEvent, due: Due<'_>, mut outcome: HookOutcome) -> HookOutcome {
    for failure in &mut outcome.failures {
        *failure = report(event, due, failure);
    }
    outcome
}

fn report(event: HookEvent, due: Due<'_>, what: &str) -> String {
    let name = name_of(&due.spec.action, &due.group.origin);
    let what = what.trim_end_matches('.');
    // Executors of others may speak in sentences.
    let verb = if what.starts_with(char::is_uppercase) { "failed: " } else { "" };
    format!("The {event} hook {name} {verb}{what}.")
}

/// Nobody waits for the hooks any more. What they were to judge must not run.
fn cancelled(event: HookEvent) -> HookOutcome {
    match event {
        HookEvent::PreToolUse | HookEvent::PermissionRequest => HookOutcome::decided(
            HookDecision::Deny,
            "The hooks were cancelled before they had judged the call.",
        ),
        _ => HookOutcome::default(),
    }
}

/// A failure with what lies behind it, on one line.
fn in_full(failure: &HookFailure) -> String {
    let mut text = failure.to_string();
    let mut source = std::error::Error::source(failure);
    while let Some(error) = source {
        let cause = error.to_string();
        if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
        source = error.source();
    }
    one_line(&text)
}

async fn long_after(cancel: &CancellationToken) {
    cancel.cancelled().await;
    tokio::time::sleep(GRACE).await;
}

impl fmt::Debug for HookEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { groups, options, .. } = self;
        f.debug_struct("HookEngine").field("groups", groups).field("options", options).finish_non_exhaustive()
    }
}
