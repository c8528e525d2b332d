//! What one event costs, from emitting it to the bytes in the log.

use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::{Criterion, Throughput};
use robota_core::{EventKind, EventSink, History, Message, SessionId, Timestamp};
use robota_session::{Journal, JournalOptions, SessionStore};
use tokio::runtime::Runtime;

use crate::scene::Scene;

/// Events between two waits for the writer.
const BATCH: u64 = 1_000;

/// Appends messages of 500 bytes to a log, with and without the promise that they survive the machine.
pub(crate) fn bench(criterion: &mut Criterion, runtime: &Runtime) {
    let mut group = criterion.benchmark_group("append of 1,000 events of 500 bytes");
    group.throughput(Throughput::Elements(BATCH));
    for (name, durable) in [("handed to the kernel", false), ("fsynced", true)] {
        group.bench_function(name, |bencher| {
            bencher.iter_custom(|rounds| runtime.block_on(append(rounds, durable)));
        });
    }
    group.finish();
}

async fn append(rounds: u64, durable: bool) -> Duration {
    let scene = Scene::new();
    let id: SessionId = "appended".parse().unwrap();
    let log = scene.store.create(&id).await.unwrap();
    let journal = Journal::start(JournalOptions::new(id), log);
    let mut history = History::default();
    let mut took = Duration::ZERO;
    for round in 0..rounds {
        let events: Vec<EventKind> = (0..BATCH)
            .map(|at| Message::user(format!("{round}-{at}"), Timestamp::default(), "x".repeat(350)))
            .map(|message| EventKind::HistoryMutation(history.append(message)))
            .collect();
        let begun = Instant::now();
        for event in events {
            journal.emit(black_box(event));
        }
        let promised = if durable { journal.flush().await } else { journal.written().await };
        promised.unwrap();
        took += begun.elapsed();
    }
    journal.close().await;
    took
}
