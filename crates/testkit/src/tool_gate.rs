//! Permission gates whose answers are known beforehand.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use futures_util::future::{BoxFuture, FutureExt, ready};
use robota_core::{After, Authorization, Before, EndedCall, GateRequest, ToolCall, ToolGate};

use crate::Gate;

/// Lets every call through.
#[derive(Clone, Copy, Debug, Default)]
pub struct AllowAll;

impl ToolGate for AllowAll {
    fn authorize<'a>(&'a self, _request: GateRequest<'a>) -> BoxFuture<'a, Authorization> {
        ready(Authorization::Allowed).boxed()
    }
}

/// Lets no call through; the reason is `denied by the test`.
#[derive(Clone, Copy, Debug, Default)]
pub struct DenyAll;

impl ToolGate for DenyAll {
    fn authorize<'a>(&'a self, _request: GateRequest<'a>) -> BoxFuture<'a, Authorization> {
        ready(denied("denied by the test")).boxed()
    }
}

/// Decides by a function or by a list, and remembers which calls it was asked about, and how they ended.
pub struct ScriptedGate {
    before: Box<dyn Fn(&GateRequest<'_>) -> Before + Send + Sync>,
    decide: Box<dyn Fn(&GateRequest<'_>) -> Authorization + Send + Sync>,
    after: Box<dyn Fn(&EndedCall<'_>) -> After + Send + Sync>,
    asked: Mutex<Vec<ToolCall>>,
    ended: Mutex<Vec<(ToolCall, String)>>,
    hold_at: Option<Gate>,
}

impl ScriptedGate {
    /// A gate that asks `decide` about each call.
    #[must_use]
    pub fn new(decide: impl Fn(&GateRequest<'_>) -> Authorization + Send + Sync + 'static) -> Self {
        Self {
            before: Box::new(|_| Before::default()),
            decide: Box::new(decide),
            after: Box::new(|_| After::default()),
            asked: Mutex::default(),
            ended: Mutex::default(),
            hold_at: None,
        }
    }

    /// The same gate, which says before a call is decided what `before` says.
    #[must_use]
    pub fn before(mut self, before: impl Fn(&GateRequest<'_>) -> Before + Send + Sync + 'static) -> Self {
        self.before = Box::new(before);
        self
    }

    /// The same gate, which says of a call that has run what `after` says.
    #[must_use]
    pub fn after(mut self, after: impl Fn(&EndedCall<'_>) -> After + Send + Sync + 'static) -> Self {
        self.after = Box::new(after);
        self
    }

    /// A gate that gives these answers in the order it is asked, and denies every call after them.
    #[must_use]
    pub fn in_order(answers: impl IntoIterator<Item = Authorization>) -> Self {
        let answers = Mutex::new(answers.into_iter().collect::<VecDeque<_>>());
        Self::new(move |_| {
            let next = answers.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
            next.unwrap_or_else(|| denied("the scripted gate has no answer left"))
        })
    }

    /// The same gate, answering only after `gate` was opened, as a person takes time to decide. When
    /// the turn is aborted meanwhile, the call is denied.
    #[must_use]
    pub fn hold_at(mut self, gate: Gate) -> Self {
        self.hold_at = Some(gate);
        self
    }

    /// The calls that have run, and what the model is shown of their results, in the order they ended.
    #[must_use]
    pub fn ended(&self) -> Vec<(ToolCall, String)> {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The calls it was asked about, in the order it was asked.
    #[must_use]
    pub fn asked(&self) -> Vec<ToolCall> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl ToolGate for ScriptedGate {
    fn before<'a>(&'a self, request: GateRequest<'a>) -> BoxFuture<'a, Before> {
        ready((self.before)(&request)).boxed()
    }

    fn authorize<'a>(&'a self, request: GateRequest<'a>) -> BoxFuture<'a, Authorization> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).push(request.call.clone());
        let answer = (self.decide)(&request);
        let Some(gate) = &self.hold_at else { return ready(answer).boxed() };
        let held = request.cancel.run_until_cancelled(gate.pass());
        async move { if held.await.is_some() { answer } else { denied("the turn was aborted") } }.boxed()
    }

    fn after<'a>(&'a self, ended: EndedCall<'a>) -> BoxFuture<'a, After> {
        let told = (ended.call.clone(), ended.outcome.content.clone());
        self.ended.lock().unwrap_or_else(PoisonError::into_inner).push(told);
        ready((self.after)(&ended)).boxed()
    }
}

impl fmt::Debug for ScriptedGate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptedGate").field("asked", &self.asked()).finish_non_exhaustive()
    }
}

fn denied(reason: &str) -> Authorization {
    Authorization::Denied { reason: reason.to_owned(), allow_rules: Vec::new() }
}

#[cfg(test)]
mod tests {
    use robota_core::{ToolClass, ToolSpec};
    use tokio_util::sync::CancellationToken;

    use super::*;

    async fn ask(gate: &dyn ToolGate, name: &str, cancel: &CancellationToken) -> Authorization {
        let call = ToolCall { id: "c".to_owned(), name: name.to_owned(), arguments: "{}".to_owned() };
        let spec = ToolSpec::new(name, ToolClass::Other, "");
        gate.authorize(GateRequest::new(&call, &spec, &[], cancel)).await
    }

    #[tokio::test]
    async fn answers_come_from_the_script_and_questions_are_kept() {
        let cancel = CancellationToken::new();
        assert_eq!(ask(&AllowAll, "A", &cancel).await, Authorization::Allowed);
        assert_eq!(ask(&DenyAll, "A", &cancel).await, denied("denied by the test"));
        let gate = ScriptedGate::in_order([Authorization::Allowed]);
        assert_eq!(ask(&gate, "A", &cancel).await, Authorization::Allowed);
        assert_eq!(ask(&gate, "B", &cancel).await, denied("the scripted gate has no answer left"));
        assert_eq!(gate.asked().into_iter().map(|call| call.name).collect::<Vec<_>>(), ["A", "B"]);
    }

    #[tokio::test]
    async fn a_held_question_is_answered_when_opened_and_denied_when_aborted() {
        let (door, cancel) = (Gate::new("door"), CancellationToken::new());
        let gate = ScriptedGate::new(|_| Authorization::Allowed).hold_at(door.clone());
        let abort = async {
            door.reached().await;
            cancel.cancel();
        };
        assert_eq!(tokio::join!(ask(&gate, "A", &cancel), abort).0, denied("the turn was aborted"));
        door.open();
        assert_eq!(ask(&gate, "A", &CancellationToken::new()).await, Authorization::Allowed);
    }
}
