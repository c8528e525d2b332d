//! One compaction, from the look at the history to its replacement.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use robota_core::{
    Agent, Calibration, CompactTrigger, ContextState, EventKind, EventSink, History, HistoryEntry,
    HistoryRef, HookCall, MessageRef, Usage,
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::budget::Budget;
use super::plan::Plan;
use super::prompt::Brief;
use super::request::{CompactionHooks, CompactionRequest};
use super::scale::Scale;
use super::summariser::{Progress, SHORTEST_SUMMARY, Summariser};
use super::{AutoCompactThreshold, CompactionError, Shortfall, summary_message};

/// Compacts a history.
#[derive(Clone, Copy)]
#[expect(clippy::exhaustive_structs, reason = "plain data that hosts build")]
pub struct Compactor<'a> {
    /// Whose model summarises, in whose window the history must fit; also the source of times and ids.
    pub agent: &'a Agent,
    /// The history; locked for a moment at the beginning and at the end.
    pub history: &'a Mutex<History>,
    /// Where events go.
    pub sink: &'a dyn EventSink,
    /// Who may stop a compaction, and is told of it.
    pub hooks: Option<CompactionHooks<'a>>,
    /// Fires when the compaction is aborted.
    pub cancel: &'a CancellationToken,
}

/// What a compaction came to.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CompactionOutcome {
    /// The summary, as the model wrote it.
    pub summary: String,
    /// How full the window was.
    pub before: ContextState,
    /// How full it is: an estimate, until the model is called again.
    pub after: ContextState,
    /// Messages that the summary stands for.
    pub summarized_messages: usize,
    /// Messages that stayed.
    pub kept_messages: usize,
    /// Model calls made.
    pub parts: u32,
    /// Tokens of all of them.
    pub usage: Usage,
    /// What hooks want the model to be told, now that the history is another one.
    pub additional_context: Vec<String>,
}

/// The history as it was at the beginning.
struct Snapshot {
    messages: Vec<MessageRef>,
    sizes: Vec<u64>,
    reference: HistoryRef,
    state: ContextState,
    /// The same with the message that is about to be added.
    expected: ContextState,
    calibration: Calibration,
}

/// A history that a compaction would make.
struct Candidate {
    plan: Plan,
    messages: Vec<MessageRef>,
}

impl Compactor<'_> {
    /// Replaces what was said by a summary, and leaves the end of the conversation as it was.
    ///
    /// The history changes in one step, recorded as one mutation, or not at all. The timeline keeps what
    /// was, with an event that tells of the compaction. Each model call is in the log before it is made.
    ///
    /// # Errors
    ///
    /// See [`CompactionError`]. The history is then as it was.
    pub async fn compact(&self, request: CompactionRequest) -> Result<CompactionOutcome, CompactionError> {
        if self.cancel.is_cancelled() {
            return Err(CompactionError::Cancelled);
        }
        let snapshot = self.snapshot(request.coming_bytes);
        let scale = Scale::new(self.agent, &request, snapshot.sizes.iter().sum(), snapshot.calibration);
        let (budget, plans) = scale.plans(&snapshot.messages, &snapshot.sizes, &snapshot.expected)?;
        let focus = self.ask_hooks(&request).await?;
        let mut summariser = self.summariser(&budget, &request, focus, snapshot.reference);
        let mut taken = 0;
        let mut shortfall = Shortfall::default();
        for plan in plans {
            summariser.take(snapshot.messages.get(taken..plan.cut).unwrap_or_default()).await?;
            taken = plan.cut;
            let progress = &summariser.progress;
            if progress.parts == 0 {
                return Err(CompactionError::Nothing);
            }
            let ambient = &self.agent.config().ambient;
            let summary = summary_message(&progress.summary, plan.under_way, ambient);
            let messages = plan.apply(&snapshot.messages, summary);
            match scale.judge(&messages) {
                None => {
                    let candidate = Candidate { plan, messages };
                    return self.settle(&request, &snapshot, candidate, summariser.progress).await;
                }
                Some(short) => shortfall = short,
            }
        }
        Err(CompactionError::NotEnough(shortfall))
    }

    fn snapshot(&self, coming_bytes: u64) -> Snapshot {
        let history = self.lock();
        let (messages, reference) = (history.messages().to_vec(), history.reference());
        let state = self.agent.context_state(&history);
        let expected = self.agent.context_state_with(&history, coming_bytes);
        let calibration = history.calibration();
        drop(history);
        let sizes = messages.iter().map(|message| message.estimated_bytes()).collect();
        Snapshot { messages, sizes, reference, state, expected, calibration }
    }

    /// Lets hooks stop the compaction; returns what the summary should pay attention to.
    async fn ask_hooks(&self, request: &CompactionRequest) -> Result<String, CompactionError> {
        let mut focus = request.clone();
        if let Some(hooks) = &self.hooks {
            let custom_instructions = request.instructions.clone();
            let call = HookCall::PreCompact { trigger: request.trigger, custom_instructions };
            let outcome = hooks.run(call, self.sink, self.cancel).await;
            if self.cancel.is_cancelled() {
                return Err(CompactionError::Cancelled);
            }
            if let Some(reason) = outcome.block.or(outcome.stop) {
                return Err(CompactionError::Blocked(reason));
            }
            for text in outcome.additional_context {
                focus = focus.with_instructions(&text);
            }
        }
        Ok(focus.instructions)
    }

    fn summariser(
        &self,
        budget: &Budget,
        request: &CompactionRequest,
        focus: String,
        history: HistoryRef,
    ) -> Summariser<'_> {
        let opening = EventKind::CompactStart {
            trigger: request.trigger,
            goal: request.goal.map(AutoCompactThreshold::share),
            instructions: focus.clone(),
            coming_bytes: request.coming_bytes,
            context_window: self.agent.config().context_window,
        };
        Summariser {
            opening: Some(opening),
            brief: Brief { agent: self.agent, focus, summary_tokens: budget.summary_tokens },
            sink: self.sink,
            cancel: self.cancel,
            history,
            request_bytes: usize::try_from(budget.request).unwrap_or(usize::MAX),
            summary_bytes: usize::try_from(budget.summary).unwrap_or(usize::MAX).max(SHORTEST_SUMMARY),
            progress: Progress::default(),
        }
    }

    /// Puts the new history in place and tells everybody.
    async fn settle(
        &self,
        request: &CompactionRequest,
        snapshot: &Snapshot,
        candidate: Candidate,
        progress: Progress,
    ) -> Result<CompactionOutcome, CompactionError> {
        if self.cancel.is_cancelled() {
            return Err(CompactionError::Cancelled);
        }
        let kept_messages = candidate.messages.len() - 1;
        let summarized_messages = candidate.plan.summarized;
        let Progress { summary, parts, usage, .. } = progress;
        let before = snapshot.state;
        let after = self.replace(request.trigger, snapshot, candidate.messages)?;
        self.sink.emit(EventKind::ContextCompact {
            trigger: request.trigger,
            before,
            after,
            summarized_messages,
            kept_messages,
            parts,
            usage,
        });
        let additional_context = self.tell_hooks(request.trigger, &summary).await;
        Ok(CompactionOutcome {
            summary,
            before,
            after,
            summarized_messages,
            kept_messages,
            parts,
            usage,
            additional_context,
        })
    }

    /// Replaces the history, unless it is not the one that was summarised any more.
    fn replace(
        &self,
        trigger: CompactTrigger,
        snapshot: &Snapshot,
        mut messages: Vec<MessageRef>,
    ) -> Result<ContextState, CompactionError> {
        let ambient = &self.agent.config().ambient;
        let mut history = self.lock();
        let now = history.messages();
        let was = snapshot.messages.len();
        let same = history.reference() == snapshot.reference || now.get(..was) == Some(&*snapshot.messages);
        if !same {
            return Err(CompactionError::Changed);
        }
        // What was added meanwhile was not summarised, so it stays.
        messages.extend(now.iter().skip(was).cloned());
        // Emitted under the lock, so that the log has the mutations in the order of the history.
        let replaced = history.replace(messages);
        self.sink.emit(EventKind::HistoryMutation(replaced));
        let after = self.agent.context_state(&history);
        let data = json!({"trigger": trigger, "before": snapshot.state, "after": after});
        let entry = HistoryEntry::event(ambient.next_id(), ambient.now(), "context-compact", data);
        let noted = history.append_entry(entry);
        self.sink.emit(EventKind::HistoryMutation(noted));
        Ok(after)
    }

    async fn tell_hooks(&self, trigger: CompactTrigger, summary: &str) -> Vec<String> {
        let Some(hooks) = &self.hooks else { return Vec::new() };
        let call = HookCall::PostCompact { trigger, compact_summary: summary.to_owned() };
        hooks.run(call, self.sink, self.cancel).await.additional_context
    }

    /// The history, for a moment. A panic elsewhere cannot leave it half changed.
    fn lock(&self) -> MutexGuard<'_, History> {
        self.history.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Compactor<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Compactor").field("agent", self.agent).finish_non_exhaustive()
    }
}
