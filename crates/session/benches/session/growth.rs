//! Bytes on disk for a turn late in a session and for one of the same shape early in it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::future::BoxFuture;
use robota_core::SessionId;
use robota_session::{
    Durability, Error, FileStore, Listing, LogSource, OpenLog, Session, SessionHead, SessionStore, Snapshot,
    StoredSession,
};
use tokio::runtime::Runtime;

use crate::scene::Scene;
use crate::stopwatch::Stopwatch;
use crate::{show, wanted};

const TURNS: usize = 1_000;

/// Runs 1,000 turns of one tool call each, and prints what they wrote.
pub(crate) fn report(runtime: &Runtime) {
    if !wanted("bytes on disk") {
        return;
    }
    let (logs, snapshots) = runtime.block_on(turns());
    let turn = |number: usize| logs[number] - logs[number - 1];
    let ratio = |a: u64, b: u64| a as f64 / b as f64;
    for number in [10, 100] {
        show(&format!("bytes on disk: log of turn {number}"), &format!("{} B", turn(number)));
    }
    show("bytes on disk: log of turn 1,000", &format!("{} B", turn(TURNS)));
    show("bytes on disk: log of turn 1,000 to turn 10", &format!("{:.3} x", ratio(turn(TURNS), turn(10))));
    for number in [10, 100, 300, TURNS] {
        let figure = format!("{:.2} x the log", ratio(snapshots[number], logs[number]));
        show(&format!("bytes on disk: all snapshots up to turn {number}"), &figure);
    }
}

/// Bytes of the log, and of all snapshots together, after each turn; the first is before any.
async fn turns() -> (Vec<u64>, Vec<u64>) {
    let scene = Scene::new();
    let store = Arc::new(Counting { store: scene.store.clone(), snapshots: AtomicU64::new(0) });
    let mut options = scene.options(Stopwatch::new(1));
    let id: SessionId = "growing".parse().unwrap();
    options.session_id = Some(id.clone());
    options.store = store.clone();
    options.durability = Durability::None;
    let session = Session::create(options).await.unwrap();
    let log = scene.store.log_path(&id);
    let (mut logs, mut snapshots) = (Vec::new(), Vec::new());
    for turn in 0..=TURNS {
        if turn > 0 {
            session.run("Note a small word, and say when it is done.").await.unwrap();
        }
        logs.push(std::fs::metadata(&log).unwrap().len());
        snapshots.push(store.snapshots.load(Ordering::Relaxed));
    }
    session.shutdown("other").await.unwrap();
    (logs, snapshots)
}

/// Counts the bytes of snapshots on their way to the files.
struct Counting {
    store: FileStore,
    snapshots: AtomicU64,
}

impl SessionStore for Counting {
    fn create<'a>(&'a self, id: &'a SessionId) -> BoxFuture<'a, Result<Option<OpenLog>, Error>> {
        self.store.create(id)
    }

    fn open<'a>(&'a self, id: &'a SessionId) -> BoxFuture<'a, Result<(StoredSession, OpenLog), Error>> {
        self.store.open(id)
    }

    fn load<'a>(&'a self, id: &'a SessionId) -> BoxFuture<'a, Result<StoredSession, Error>> {
        self.store.load(id)
    }

    fn read_log<'a>(&'a self, id: &'a SessionId) -> BoxFuture<'a, Result<Option<LogSource>, Error>> {
        SessionStore::read_log(&self.store, id)
    }

    fn save(&self, snapshot: Snapshot) -> BoxFuture<'_, Result<(), Error>> {
        self.snapshots.fetch_add(snapshot.json.len() as u64, Ordering::Relaxed);
        self.store.save(snapshot)
    }

    fn head<'a>(&'a self, id: &'a SessionId) -> BoxFuture<'a, Result<Option<SessionHead>, Error>> {
        self.store.head(id)
    }

    fn list(&self) -> BoxFuture<'_, Result<Listing, Error>> {
        self.store.list()
    }

    fn delete<'a>(&'a self, id: &'a SessionId) -> BoxFuture<'a, Result<(), Error>> {
        self.store.delete(id)
    }
}
