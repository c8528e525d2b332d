//! What every store promises, as checks that any store can be held against.
//!
//! For whoever writes a [`SessionStore`]: call [`check`] in a test, with a factory of empty stores. It panics on the
//! first broken promise and says which one.
//!
//! ```no_run
//! # async fn example() {
//! use std::sync::Arc;
//!
//! use robota_session::{MemoryStore, SessionStore, conformance};
//!
//! conformance::check(async || {
//!     let store: Arc<dyn SessionStore> = Arc::new(MemoryStore::new());
//!     [store.clone(), store]
//! })
//! .await;
//! # }
//! ```

#![expect(clippy::panic, reason = "a check fails by panicking, like the test that calls it")]

mod catalogue;
mod lifecycle;
mod log;
mod payloads;
mod scribe;
mod snapshot;

use std::fmt;
use std::sync::Arc;

use robota_core::SessionId;

use self::scribe::Scribe;
use super::SessionStore;
use crate::{Error, ErrorKind, OpenLog, StoredSession};

/// Holds the stores that `factory` makes against the promises of [`SessionStore`].
///
/// Each call of `factory` makes a place without any session, and gives two ways to reach it: two connections, or two
/// clones of a handle. What is done by one must be seen by the other.
///
/// # Panics
///
/// On the first promise that is not kept.
pub async fn check<F>(factory: F)
where
    F: AsyncFn() -> [Arc<dyn SessionStore>; 2],
{
    let made = async |name: &'static str| Subject { name, stores: factory().await };
    lifecycle::check(&made).await;
    log::check(&made).await;
    payloads::check(&made).await;
    snapshot::check(&made).await;
    catalogue::check(&made).await;
}

/// A fresh store under one check.
struct Subject {
    /// What is checked.
    name: &'static str,
    stores: [Arc<dyn SessionStore>; 2],
}

impl Subject {
    fn one(&self) -> &dyn SessionStore {
        let [one, _] = &self.stores;
        &**one
    }

    fn other(&self) -> &dyn SessionStore {
        let [_, other] = &self.stores;
        &**other
    }

    /// Panics unless `kept`; `promise` says what a store has to do.
    fn promise(&self, kept: bool, promise: impl fmt::Display) {
        if !kept {
            panic!("store conformance, {}: {promise}", self.name);
        }
    }

    fn ok<T>(&self, outcome: Result<T, Error>, what: impl fmt::Display) -> T {
        outcome.unwrap_or_else(|error| panic!("store conformance, {}: {what}: {error}", self.name))
    }

    /// That `outcome` is an error of one of these kinds.
    fn refused<T>(&self, outcome: Result<T, Error>, kinds: &[ErrorKind], what: impl fmt::Display) -> Error {
        match outcome {
            Ok(_) => {
                panic!("store conformance, {}: {what} must be refused as {kinds:?}, and was not", self.name)
            }
            Err(error) if kinds.contains(&error.kind()) => error,
            Err(error) => {
                panic!(
                    "store conformance, {}: {what} must be refused as {kinds:?}, and was {error:?}",
                    self.name
                )
            }
        }
    }

    /// A new session, and who writes its log.
    async fn create(&self, name: &str) -> Scribe {
        let log = self.ok(self.one().create(&id(name)).await, format_args!("create `{name}`"));
        let Some(log) = log else {
            panic!("store conformance, {}: a store that keeps nothing has nothing to check", self.name)
        };
        self.promise(log.offset == 0, "the log of a new session is empty, so its offset is 0");
        Scribe::new(id(name), log)
    }

    async fn open(&self, name: &str) -> (StoredSession, OpenLog) {
        self.ok(self.one().open(&id(name)).await, format_args!("open `{name}`"))
    }

    async fn load(&self, name: &str) -> StoredSession {
        self.ok(self.other().load(&id(name)).await, format_args!("load `{name}`"))
    }

    /// That `stored` is the session as `scribe` has written it.
    fn same(&self, stored: &StoredSession, scribe: &Scribe, what: &str) {
        let (told, written) = (&stored.history, &scribe.history);
        self.promise(
            told.messages() == written.messages(),
            format_args!("{what}: the messages are those written"),
        );
        self.promise(
            told.entries() == written.entries(),
            format_args!("{what}: the timeline is the one written"),
        );
        self.promise(
            told.reference() == written.reference(),
            format_args!("{what}: length and head of the history are those written"),
        );
        self.promise(
            (told.message_bytes(), told.counted_tokens())
                == (written.message_bytes(), written.counted_tokens()),
            format_args!("{what}: sizes and token counts of the history are those written"),
        );
        let mark = scribe.mark();
        self.promise(
            stored.mark == mark,
            format_args!("{what}: the end of the log is {mark:?}, not {:?}", stored.mark),
        );
    }
}

fn id(name: &str) -> SessionId {
    name.parse().unwrap_or_else(|error| panic!("store conformance: {error}"))
}
