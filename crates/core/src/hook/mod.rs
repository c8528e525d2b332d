//! Hooks: what a session tells whoever listens to its lifecycle, and what it lets itself be told.
//!
//! A session knows the port only, [`HookRunner`]. [`HookEngine`] is what stands behind it: it finds the hooks
//! of a [`HooksConfig`] that fit, has them run by [`HookExecutor`]s, and joins what they say.

mod config;
mod engine;
mod event;
mod executor;
mod input;
mod join;
mod matcher;
mod outcome;
mod parse;
mod reply;
mod wording;

use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

pub use config::{HookAction, HookGroup, HookOrigin, HookScope, HookSpec, HooksConfig};
pub use engine::{HookEngine, HookEngineOptions, HookExecutors, HookFailurePolicy};
pub use event::{HookEvent, UnknownHookEvent};
pub use executor::{HookExecutor, HookFailure, HookReply, HookTask};
pub use input::{HookCall, HookInput, SessionSource};
pub use matcher::HookMatcher;
pub use outcome::{HookDecision, HookOutcome, HookPermission};
pub use parse::{HookWarning, InvalidHooks};

/// Runs the hooks of a lifecycle event (seed `000`, Hook Lifecycle; facts sheet 2.7).
///
/// An implementation runs all hooks that fit, each with a deadline of its own, and joins what they say.
/// A hook that fails does not fail the session: what to make of it is for the implementation to decide,
/// which may block, or say nothing.
pub trait HookRunner: Send + Sync {
    /// Runs the hooks for `input` and waits for them. When `cancel` fires, it ends early, with nothing left
    /// running.
    fn run<'a>(&'a self, input: &'a HookInput, cancel: &'a CancellationToken) -> BoxFuture<'a, HookOutcome>;
}
