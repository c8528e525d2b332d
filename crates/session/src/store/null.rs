//! The store that keeps nothing.

use futures_util::FutureExt;
use futures_util::future::{self, BoxFuture};
use robota_core::SessionId;

use super::{Listing, SessionHead, SessionStore, Snapshot, StoredSession};
use crate::{Error, LogSource, OpenLog};

/// Keeps nothing: a session in it lives in memory and ends with the program.
#[derive(Clone, Copy, Debug, Default)]
pub struct NullStore;

impl SessionStore for NullStore {
    fn create<'a>(&'a self, _: &'a SessionId) -> BoxFuture<'a, Result<Option<OpenLog>, Error>> {
        future::ready(Ok(None)).boxed()
    }

    fn open<'a>(&'a self, id: &'a SessionId) -> BoxFuture<'a, Result<(StoredSession, OpenLog), Error>> {
        future::ready(Err(Error::not_found(id))).boxed()
    }

    fn load<'a>(&'a self, id: &'a SessionId) -> BoxFuture<'a, Result<StoredSession, Error>> {
        future::ready(Err(Error::not_found(id))).boxed()
    }

    fn read_log<'a>(&'a self, _: &'a SessionId) -> BoxFuture<'a, Result<Option<LogSource>, Error>> {
        future::ready(Ok(None)).boxed()
    }

    fn save(&self, _: Snapshot) -> BoxFuture<'_, Result<(), Error>> {
        future::ready(Ok(())).boxed()
    }

    fn head<'a>(&'a self, _: &'a SessionId) -> BoxFuture<'a, Result<Option<SessionHead>, Error>> {
        future::ready(Ok(None)).boxed()
    }

    fn list(&self) -> BoxFuture<'_, Result<Listing, Error>> {
        future::ready(Ok(Listing::default())).boxed()
    }

    fn delete<'a>(&'a self, _: &'a SessionId) -> BoxFuture<'a, Result<(), Error>> {
        future::ready(Ok(())).boxed()
    }
}
