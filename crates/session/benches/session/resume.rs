//! From files to the first request of a session of 2,000 messages and 10 MB. Writing the request's
//! body is measured with the providers.

use std::path::Path;
use std::time::{Duration, Instant};

use criterion::{Criterion, SamplingMode};
use robota_core::SessionId;
use robota_session::Session;
use tokio::runtime::Runtime;

use crate::scene::{MESSAGES, Scene, fill};
use crate::stopwatch::Stopwatch;

pub(crate) fn bench(criterion: &mut Criterion, runtime: &Runtime) {
    let mut group = criterion.benchmark_group("resume of 2,000 messages, 10 MB, to the first request");
    group.sample_size(20).sampling_mode(SamplingMode::Flat);
    let kept = runtime.block_on(long_session());
    for (name, snapshot) in [("from snapshot and log", true), ("from the log alone", false)] {
        group.bench_function(name, |bencher| {
            bencher.iter_custom(|count| (0..count).map(|_| runtime.block_on(resume(&kept, snapshot))).sum());
        });
    }
    group.finish();
}

/// A workspace in which the session `long` was ended in good order.
async fn long_session() -> Scene {
    let scene = Scene::new();
    let mut options = scene.options(Stopwatch::new(0));
    options.session_id = Some(id());
    let session = Session::create(options).await.unwrap();
    fill(&session, MESSAGES, 4_900);
    session.shutdown("other").await.unwrap();
    scene
}

/// Resumes a copy of the session.
async fn resume(kept: &Scene, snapshot: bool) -> Duration {
    let scene = Scene::new();
    scene.workspace.write(".robota/.gitignore", "*\n");
    let copy = |from: &Path| {
        let path = scene.workspace.root().join(from.strip_prefix(kept.workspace.root()).unwrap());
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::copy(from, path).unwrap();
    };
    copy(&kept.store.log_path(&id()));
    if snapshot {
        copy(&kept.store.record_path(&id()));
    }
    let model = Stopwatch::new(0);
    let options = scene.options(model.clone());
    let begun = Instant::now();
    let session = Session::resume(options, &id()).await.unwrap();
    session.run("Go on.").await.unwrap();
    let taken = model.first_request().duration_since(begun);
    assert_eq!((session.history().len(), session.defects().total()), (MESSAGES + 2, 0));
    session.shutdown("other").await.unwrap();
    taken
}

fn id() -> SessionId {
    "long".parse().unwrap()
}
