//! A store that is another one but for its log writers.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use robota_core::SessionId;
use robota_session::{
    Error, Listing, LogSource, LogWriter, OpenLog, SessionHead, SessionStore, Snapshot, StoredSession,
};

/// A store whose log writers are what `wrap` makes of those of `inner`.
pub(crate) fn wrapped<W>(inner: Arc<dyn SessionStore>, wrap: W) -> Arc<dyn SessionStore>
where
    W: Fn(Box<dyn LogWriter>) -> Box<dyn LogWriter> + Send + Sync + 'static,
{
    Arc::new(WrappedStore { inner, wrap })
}

struct WrappedStore<W> {
    inner: Arc<dyn SessionStore>,
    wrap: W,
}

impl<W> WrappedStore<W>
where
    W: Fn(Box<dyn LogWriter>) -> Box<dyn LogWriter> + Send + Sync + 'static,
{
    fn wrapped(&self, mut log: OpenLog) -> OpenLog {
        log.writer = (self.wrap)(log.writer);
        log
    }
}

impl<W> SessionStore for WrappedStore<W>
where
    W: Fn(Box<dyn LogWriter>) -> Box<dyn LogWriter> + Send + Sync + 'static,
{
    fn create<'a>(&'a self, id: &'a SessionId) -> BoxFuture<'a, Result<Option<OpenLog>, Error>> {
        Box::pin(async move { Ok(self.inner.create(id).await?.map(|log| self.wrapped(log))) })
    }

    fn open<'a>(&'a self, id: &'a SessionId) -> BoxFuture<'a, Result<(StoredSession, OpenLog), Error>> {
        Box::pin(async move {
            let (stored, log) = self.inner.open(id).await?;
            Ok((stored, self.wrapped(log)))
        })
    }

    fn load<'a>(&'a self, id: &'a SessionId) -> BoxFuture<'a, Result<StoredSession, Error>> {
        self.inner.load(id)
    }

    fn read_log<'a>(&'a self, id: &'a SessionId) -> BoxFuture<'a, Result<Option<LogSource>, Error>> {
        self.inner.read_log(id)
    }

    fn save(&self, snapshot: Snapshot) -> BoxFuture<'_, Result<(), Error>> {
        self.inner.save(snapshot)
    }

    fn head<'a>(&'a self, id: &'a SessionId) -> BoxFuture<'a, Result<Option<SessionHead>, Error>> {
        self.inner.head(id)
    }

    fn list(&self) -> BoxFuture<'_, Result<Listing, Error>> {
        self.inner.list()
    }

    fn delete<'a>(&'a self, id: &'a SessionId) -> BoxFuture<'a, Result<(), Error>> {
        self.inner.delete(id)
    }
}
