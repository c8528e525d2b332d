//! Both stores keep what every store promises.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use robota_core::SessionId;
use robota_session::{
    Error, FileStore, Listing, LogSource, MemoryStore, OpenLog, SessionHead, SessionStore, Snapshot,
    StoredSession, conformance,
};
use robota_testkit::TempWorkspace;

#[tokio::test]
async fn files_keep_what_a_store_promises() {
    let workspace = TempWorkspace::new();
    let made = AtomicUsize::new(0);
    conformance::check(async || {
        let number = made.fetch_add(1, Ordering::Relaxed);
        let folder: PathBuf = workspace.path(&format!("state-{number}"));
        let store = || -> Arc<dyn SessionStore> { Arc::new(FileStore::new(&folder)) };
        [store(), store()]
    })
    .await;
}

#[tokio::test]
async fn memory_keeps_what_a_store_promises() {
    conformance::check(async || {
        let store = MemoryStore::new();
        [Arc::new(store.clone()) as Arc<dyn SessionStore>, Arc::new(store)]
    })
    .await;
}

/// A store that says it has deleted, and has not.
struct Hoarder(MemoryStore);

impl SessionStore for Hoarder {
    fn create<'a>(&'a self, id: &'a SessionId) -> BoxFuture<'a, Result<Option<OpenLog>, Error>> {
        self.0.create(id)
    }

    fn open<'a>(&'a self, id: &'a SessionId) -> BoxFuture<'a, Result<(StoredSession, OpenLog), Error>> {
        self.0.open(id)
    }

    fn load<'a>(&'a self, id: &'a SessionId) -> BoxFuture<'a, Result<StoredSession, Error>> {
        self.0.load(id)
    }

    fn read_log<'a>(&'a self, id: &'a SessionId) -> BoxFuture<'a, Result<Option<LogSource>, Error>> {
        self.0.read_log(id)
    }

    fn save(&self, snapshot: Snapshot) -> BoxFuture<'_, Result<(), Error>> {
        self.0.save(snapshot)
    }

    fn head<'a>(&'a self, id: &'a SessionId) -> BoxFuture<'a, Result<Option<SessionHead>, Error>> {
        self.0.head(id)
    }

    fn list(&self) -> BoxFuture<'_, Result<Listing, Error>> {
        self.0.list()
    }

    fn delete<'a>(&'a self, id: &'a SessionId) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async {
            match self.0.open(id).await {
                Err(error) if error.lock_owner().is_some() => Err(error),
                _ => Ok(()),
            }
        })
    }
}

#[tokio::test]
async fn a_promise_that_is_not_kept_is_named() {
    let checked = conformance::check(async || {
        let store: Arc<dyn SessionStore> = Arc::new(Hoarder(MemoryStore::new()));
        [store.clone(), store]
    });
    let panic = std::panic::AssertUnwindSafe(checked).catch_unwind().await.unwrap_err();
    assert_eq!(
        panic.downcast_ref::<String>().unwrap(),
        "store conformance, a deleted session is gone: opening a deleted session must be refused as [NotFound], and was not"
    );
}
