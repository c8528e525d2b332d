//! What tells the processes of one call from all others, wherever they have gone.

use std::hash::{BuildHasher, Hasher, RandomState};

use super::proc_table;

/// The variable that carries the name of the call.
pub(super) const VARIABLE: &str = "ROBOTA_CALL";

/// The limit that carries it too: of POSIX message queues, which next to nothing uses, and of which it takes at
/// most half. Unlike a variable it outlives an environment that is cleared.
#[cfg(target_os = "linux")]
const LIMIT: (rustix::process::Resource, &str) = (rustix::process::Resource::Msgqueue, "Max msgqueue size");
/// How many different limits there are.
const LIMITS: u64 = 400_000;

/// A mark that processes inherit from each other.
#[derive(Clone, Debug)]
pub(super) struct Mark {
    name: String,
    limit: Option<u64>,
    /// What the limit is without it.
    usual: Option<u64>,
}

/// What is known of a process by its mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Marked {
    /// It has this mark.
    Ours,
    /// It has another one.
    Other,
    /// It has none that could be read.
    Nothing,
}

impl Mark {
    pub(super) fn new() -> Self {
        // Each state is a random one.
        let random = RandomState::new().build_hasher().finish();
        Self { name: format!("{random:016x}"), limit: None, usual: None }
    }

    /// The value of the variable [`VARIABLE`].
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Runs `start` with the limit set on this process, so that what it starts has it from its first moment on. To be
    /// called by one at a time.
    #[cfg(target_os = "linux")]
    pub(super) fn on_what_starts<T>(&mut self, start: impl FnOnce() -> T) -> T {
        use rustix::process::{Rlimit, getrlimit, setrlimit};

        let random = u64::from_str_radix(&self.name, 16).unwrap_or_default();
        let usual = getrlimit(LIMIT.0);
        self.usual = usual.current;
        let most =
            usual.current.or(usual.maximum).unwrap_or(2 * LIMITS).min(usual.maximum.unwrap_or(u64::MAX));
        // A limit that is already low stays what it is.
        if most < 2 * LIMITS {
            return start();
        }
        let limit = most - 1 - random % LIMITS;
        let marked = Rlimit { current: Some(limit), maximum: usual.maximum };
        self.limit = setrlimit(LIMIT.0, marked).is_ok().then_some(limit);
        let started = start();
        if self.limit.is_some()
            && let Err(error) = setrlimit(LIMIT.0, usual)
        {
            tracing::warn!(%error, "the limit of message queues of this process stays lowered");
        }
        started
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn on_what_starts<T>(&mut self, start: impl FnOnce() -> T) -> T {
        start()
    }

    /// What the process `id` is marked with.
    pub(super) fn found_on(&self, id: i32) -> Marked {
        match proc_table::variable(id, VARIABLE) {
            Some(name) if name == self.name.as_bytes() => Marked::Ours,
            Some(_) => Marked::Other,
            None if self.limit.is_none() => Marked::Nothing,
            None => match limit_of(id) {
                limit if limit == self.limit => Marked::Ours,
                limit if limit.is_none() || limit == self.usual => Marked::Nothing,
                Some(_) | None => Marked::Other,
            },
        }
    }
}

#[cfg(target_os = "linux")]
fn limit_of(id: i32) -> Option<u64> {
    proc_table::soft_limit(id, LIMIT.1)
}

#[cfg(not(target_os = "linux"))]
fn limit_of(_: i32) -> Option<u64> {
    None
}
