//! Our own time in a round: from the end of a model's answer, over one small tool call with its
//! records in the log, to the next request. Writing the request's body is measured with the providers.

use std::time::Duration;

use criterion::{Criterion, SamplingMode};
use robota_session::Session;
use tokio::runtime::Runtime;

use crate::scene::{MESSAGES, Scene, fill};
use crate::stopwatch::Stopwatch;

/// Rounds taken of one session, so that its history stays about as long as it is said to be.
const ROUNDS: usize = 100;

pub(crate) fn bench(criterion: &mut Criterion, runtime: &Runtime) {
    let mut group = criterion.benchmark_group("own time of a round with one small tool call");
    group.sample_size(20).sampling_mode(SamplingMode::Flat);
    let cases = [
        ("20 messages", 20, 500),
        ("2,000 messages, 1 MB", MESSAGES, 400),
        ("2,000 messages, 10 MB", MESSAGES, 4_900),
    ];
    for (name, messages, bytes) in cases {
        group.bench_function(name, |bencher| {
            bencher.iter_custom(|count| {
                let count = usize::try_from(count).unwrap();
                let mut taken: Vec<Duration> = Vec::with_capacity(count + ROUNDS);
                while taken.len() < count {
                    taken.extend(runtime.block_on(rounds(messages, bytes)));
                }
                taken.iter().take(count).sum()
            });
        });
    }
    group.finish();
}

async fn rounds(messages: usize, bytes: usize) -> Vec<Duration> {
    let scene = Scene::new();
    let model = Stopwatch::new(ROUNDS);
    let session = Session::create(scene.options(model.clone())).await.unwrap();
    fill(&session, messages, bytes);
    session.run("Go on.").await.unwrap();
    let gaps = model.gaps();
    assert_eq!(gaps.len(), ROUNDS);
    session.shutdown("other").await.unwrap();
    gaps
}
