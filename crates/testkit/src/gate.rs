//! Explicit signals in the place of delays.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;

use crate::patience;

/// A named point where a reply stops until the test lets it go on.
///
/// The test waits for [`Gate::reached`], does what it wants to happen in the middle of the reply,
/// and calls [`Gate::open`]. A gate opens once and stays open.
#[derive(Clone)]
pub struct Gate(Arc<Inner>);

struct Inner {
    name: String,
    state: watch::Sender<State>,
}

#[derive(Clone, Copy, Debug, Default)]
struct State {
    open: bool,
    reached: bool,
}

impl Gate {
    /// A closed gate that belongs to no script, for [`ScriptedGate::hold_at`](crate::ScriptedGate::hold_at)
    /// and tools of one's own.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self(Arc::new(Inner { name: name.into(), state: watch::Sender::default() }))
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Lets everybody through who waits here now or comes later.
    pub fn open(&self) {
        self.0.state.send_modify(|state| state.open = true);
    }

    /// Waits until somebody has come to the gate.
    ///
    /// # Panics
    ///
    /// When nobody comes within a minute.
    pub async fn reached(&self) {
        patience::wait_for(self.arrival(), || format!("nobody came to the gate `{}`", self.0.name)).await;
    }

    /// [`Gate::reached`] without a limit.
    pub(crate) async fn arrival(&self) {
        // The sender lives as long as this gate, so the wait only ends when somebody has come.
        let _ = self.0.state.subscribe().wait_for(|state| state.reached).await;
    }

    /// [`Gate::reached`] for tests without a runtime.
    ///
    /// # Panics
    ///
    /// When nobody comes within a minute.
    pub fn reached_blocking(&self) {
        patience::block_on(self.reached());
    }

    /// Comes to the gate and waits until it is open.
    pub async fn pass(&self) {
        self.0.state.send_modify(|state| state.reached = true);
        let _ = self.0.state.subscribe().wait_for(|state| state.open).await;
    }
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Gate").field(&self.0.name).field(&*self.0.state.borrow()).finish()
    }
}

/// The gates of one script by name; made when first asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gates(Arc<Mutex<BTreeMap<String, Gate>>>);

impl Gates {
    pub(crate) fn get(&self, name: &str) -> Gate {
        let mut gates = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        gates.entry(name.to_owned()).or_insert_with(|| Gate::new(name)).clone()
    }
}
