//! Questions about tool calls that wait for an answer while a turn runs.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::FutureExt;
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;

/// What a person decides about one execution (facts sheet 12.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ReviewDecision {
    /// It may run.
    Approved,
    /// It may run, and so may its like until the session ends.
    ApprovedForSession,
    /// It may run, and so may its like in this project, where somebody keeps that; else until the session ends.
    ApprovedForProject,
    /// It may not run; the turn goes on.
    #[default]
    Denied,
    /// It may not run, and the turn is to end.
    Abort,
}

/// Waits for the decision about one execution.
///
/// A future of the [`ReviewDecision`]. It is [`Abort`](ReviewDecision::Abort) when the question is taken
/// back: the turn was aborted or ended, the execution was asked about anew, or there was no turn.
#[derive(Debug)]
pub struct ApprovalReceiver(oneshot::Receiver<ReviewDecision>);

impl Future for ApprovalReceiver {
    type Output = ReviewDecision;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<ReviewDecision> {
        self.0.poll_unpin(context).map(|decision| decision.unwrap_or(ReviewDecision::Abort))
    }
}

impl ApprovalReceiver {
    /// The receiver of a question that nobody will answer.
    pub(super) fn aborted() -> Self {
        Self(oneshot::channel().1)
    }
}

/// The questions that are open, by execution.
#[derive(Debug, Default)]
pub(super) struct PendingApprovals(BTreeMap<String, oneshot::Sender<ReviewDecision>>);

impl PendingApprovals {
    pub(super) fn insert(&mut self, execution_id: &str) -> ApprovalReceiver {
        self.forget_abandoned();
        let (sender, receiver) = oneshot::channel();
        self.0.insert(execution_id.to_owned(), sender);
        ApprovalReceiver(receiver)
    }

    /// Whether somebody was waiting for the answer.
    pub(super) fn answer(&mut self, execution_id: &str, decision: ReviewDecision) -> bool {
        self.0.remove(execution_id).is_some_and(|sender| sender.send(decision).is_ok())
    }

    pub(super) fn remove(&mut self, execution_id: &str) -> bool {
        self.0.remove(execution_id).is_some_and(|sender| !sender.is_closed())
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// The executions somebody is waiting about, in alphabetical order.
    pub(super) fn executions(&self) -> Vec<String> {
        self.0.iter().filter(|(_, sender)| !sender.is_closed()).map(|(id, _)| id.clone()).collect()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.values().all(oneshot::Sender::is_closed)
    }

    /// Whoever dropped the receiver does not wait any more.
    fn forget_abandoned(&mut self) {
        self.0.retain(|_, sender| !sender.is_closed());
    }
}
