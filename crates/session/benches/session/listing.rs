//! Listing 10,000 sessions.

use std::time::Duration;

use criterion::{Criterion, SamplingMode};
use robota_core::SessionId;
use robota_session::{Session, SessionStore};
use tokio::runtime::Runtime;

use crate::scene::{Scene, fill};
use crate::stopwatch::Stopwatch;

const SESSIONS: usize = 10_000;

pub(crate) fn bench(criterion: &mut Criterion, runtime: &Runtime) {
    let mut group = criterion.benchmark_group("listing 10,000 sessions");
    group.sample_size(10).sampling_mode(SamplingMode::Flat).measurement_time(Duration::from_secs(5));
    // Made when it is first needed: filters of the command line may leave this bench out.
    let mut made = None;
    group.bench_function("of 20 messages each", |bencher| {
        let scene = made.get_or_insert_with(|| runtime.block_on(many_sessions()));
        bencher.iter(|| {
            let listing = runtime.block_on(scene.store.list()).unwrap();
            assert_eq!((listing.sessions.len(), listing.skipped.len()), (SESSIONS, 0));
            listing
        });
    });
    group.finish();
}

/// One session ended in good order, under many ids of the same length.
async fn many_sessions() -> Scene {
    let scene = Scene::new();
    let mut options = scene.options(Stopwatch::new(0));
    options.session_id = Some(id(0));
    let session = Session::create(options).await.unwrap();
    fill(&session, 20, 500);
    session.shutdown("other").await.unwrap();
    let name = |at| id(at).to_string();
    let record = scene.workspace.read(&format!(".robota/sessions/{}.json", name(0)));
    let log = scene.workspace.read(&format!(".robota/logs/{}.jsonl", name(0)));
    for at in 1..SESSIONS {
        let (first, other) = (name(0), name(at));
        let files = [("sessions", "json", &record), ("logs", "jsonl", &log)];
        for (folder, extension, text) in files {
            let path = format!(".robota/{folder}/{other}.{extension}");
            scene.workspace.write(&path, text.replace(&first, &other));
        }
    }
    scene
}

fn id(at: usize) -> SessionId {
    format!("session-{at:05}").parse().unwrap()
}
