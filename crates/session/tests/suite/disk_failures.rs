//! A disk that fails at any one moment of a session: the turn says so, and nothing acknowledged is lost.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::BoxFuture;
use robota_core::{MessageRef, ToolOutcome};
use robota_session::{Durability, Error, ErrorKind, LogWriter, Payload, Session, SessionStore};
use robota_testkit::{Reply, Script};
use serde_json::json;

use crate::scene::{Scene, TestTool, id};
use crate::wrapped_store::wrapped;

/// Counts what is asked of the disk, and fails one of it and all that follows.
struct Disk {
    asked: AtomicUsize,
    /// The first request that fails, from 1.
    fails_at: usize,
    with: io::ErrorKind,
}

impl Disk {
    fn ask(&self) -> io::Result<()> {
        let number = self.asked.fetch_add(1, Ordering::SeqCst) + 1;
        if number >= self.fails_at { Err(self.with.into()) } else { Ok(()) }
    }
}

struct FailingWriter {
    inner: Box<dyn LogWriter>,
    disk: Arc<Disk>,
}

impl LogWriter for FailingWriter {
    fn append<'a>(&'a mut self, lines: &'a [u8]) -> BoxFuture<'a, io::Result<()>> {
        Box::pin(async move {
            if let Err(error) = self.disk.ask() {
                // As a full disk does: some of it fits.
                let some = lines.get(..lines.len() / 2).unwrap_or_default();
                self.inner.append(some).await?;
                return Err(error);
            }
            self.inner.append(lines).await
        })
    }

    fn keeps_payloads(&self) -> bool {
        self.inner.keeps_payloads()
    }

    fn put_payloads(&mut self, payloads: Vec<Payload>) -> BoxFuture<'_, io::Result<()>> {
        Box::pin(async move {
            self.disk.ask()?;
            self.inner.put_payloads(payloads).await
        })
    }

    fn sync(&mut self) -> BoxFuture<'_, io::Result<()>> {
        Box::pin(async move {
            self.disk.ask()?;
            self.inner.sync().await
        })
    }
}

/// What a session came to on a failing disk.
struct Came {
    /// The history of the last turn that was acknowledged.
    acknowledged: Vec<MessageRef>,
    /// What the turns after it said.
    errors: Vec<Error>,
    /// How much was asked of the disk.
    asked: usize,
}

/// Two turns with a tool whose output is a payload, and the end.
async fn lived(scene: &Scene, fails_at: usize, with: io::ErrorKind, durability: Durability) -> Came {
    let disk = Arc::new(Disk { asked: AtomicUsize::new(0), fails_at, with });
    let mut options = scene.options();
    let failing = disk.clone();
    options.store =
        wrapped(options.store, move |inner| Box::new(FailingWriter { inner, disk: failing.clone() }));
    options.durability = durability;
    options.output_budget = 0;
    let mut came = Came { acknowledged: Vec::new(), errors: Vec::new(), asked: 0 };
    match Session::create(options).await {
        Err(error) => came.errors.push(error),
        Ok(session) => {
            for prompt in ["one", "two"] {
                match session.run(prompt).await {
                    Ok(_) => came.acknowledged = session.history(),
                    Err(error) => came.errors.push(error),
                }
            }
            came.errors.extend(session.shutdown("other").await.err());
        }
    }
    came.asked = disk.asked.load(Ordering::SeqCst);
    came
}

fn scene() -> Scene {
    let call = |id: &str| Reply::new().tool_call(id, "Look", json!({}));
    let script = Script::new().reply(call("c1")).reply("Seen.").reply(call("c2")).reply("Again.");
    let (tool, _) = TestTool::parallel("Look", |context| {
        let content = context.call_id.repeat(20_000);
        Box::pin(async { Ok(ToolOutcome::success(content)) })
    });
    Scene::new(script).with_tools([tool])
}

#[tokio::test]
async fn a_disk_that_fails_at_any_moment_loses_nothing_acknowledged() {
    let kinds = [io::ErrorKind::StorageFull, io::ErrorKind::ReadOnlyFilesystem, io::ErrorKind::Other];
    for durability in [Durability::Turn, Durability::Event, Durability::None] {
        let whole = lived(&scene(), usize::MAX, io::ErrorKind::Other, durability).await;
        assert!(whole.errors.is_empty() && whole.asked > 6);
        // How lines are joined to one append depends on time, so there may be more or fewer.
        for fails_at in 1..=whole.asked {
            let scene = scene();
            let with = kinds[fails_at % kinds.len()];
            let came = lived(&scene, fails_at, with, durability).await;
            let place = format!("request {fails_at} of {}, {durability:?}", whole.asked);
            assert!(came.asked < fails_at || !came.errors.is_empty(), "{place}");
            for error in &came.errors {
                assert_eq!((error.kind(), error.code()), (ErrorKind::Storage, "STORAGE_ERROR"), "{place}");
                assert!(error.hint().is_some(), "{place}: {error}");
            }
            went_on(&scene, &came, &place).await;
        }
    }
}

/// With the disk in order again, all that was acknowledged is there.
async fn went_on(scene: &Scene, came: &Came, place: &str) {
    let (provider, options) = scene.options_with("On we go.");
    let session = match Session::resume(options.clone(), &id("s")).await {
        Ok(session) => session,
        Err(error) => {
            assert_eq!((error.kind(), came.acknowledged.len()), (ErrorKind::NotFound, 0), "{place}");
            Session::create(options).await.unwrap()
        }
    };
    assert!(session.history().starts_with(&came.acknowledged), "{place}");
    assert!(session.defects().total() <= 1, "{place}: {}", session.defects());
    session.run("three").await.unwrap();
    provider.assert_clean();
    let history = session.history();
    session.shutdown("other").await.unwrap();
    let stored = scene.store.load(&id("s")).await.unwrap();
    assert_eq!((stored.history.messages(), stored.defects.total()), (&*history, 0), "{place}");
}
