//! 20,000 streamed deltas: CPU time of all threads, with the log and one subscriber; from a script, and from each API
//! over loopback, where the server's part of sending ready bytes is in it.

use std::sync::Arc;
use std::time::Duration;

use criterion::{Criterion, SamplingMode, Throughput};
use futures_util::StreamExt;
use robota_core::{Message, ModelEvent, ModelRequest, Provider, Timestamp};
use robota_providers::{ApiSurface, ProviderKind, ProviderSpec};
use robota_session::Session;
use robota_testkit::{FakeModelServer, Reply, ScriptedProvider};
use rustix::time::{ClockId, clock_gettime};
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

use crate::scene::Scene;
use crate::streams;

const DELTAS: usize = 20_000;

/// An API: its name here, how it is spoken, and its answers of so many deltas.
type Api = (&'static str, ProviderKind, Option<ApiSurface>, fn(usize) -> String);

const APIS: [Api; 4] = [
    ("anthropic", ProviderKind::Anthropic, None, streams::anthropic),
    ("responses", ProviderKind::OpenAi, Some(ApiSurface::Responses), streams::responses),
    ("chat", ProviderKind::OpenAi, Some(ApiSurface::Chat), streams::chat),
    ("gemini", ProviderKind::Gemini, None, streams::gemini),
];

pub(crate) fn bench(criterion: &mut Criterion, runtime: &Runtime) {
    let mut group = criterion.benchmark_group("answer of 20,000 deltas, CPU time");
    group.sample_size(20).sampling_mode(SamplingMode::Flat).throughput(Throughput::Elements(DELTAS as u64));
    group.bench_function("through a session", |bencher| {
        bencher.iter_custom(|count| (0..count).map(|_| runtime.block_on(session(scripted()))).sum());
    });
    for (name, kind, surface, stream) in APIS {
        let answer = stream(DELTAS);
        let once = || {
            let reply = Reply::body(200, "text/event-stream", answer.clone());
            let server = FakeModelServer::builder(reply).light().start().unwrap();
            runtime.block_on(session(connect(kind, surface, &server.base_url())))
        };
        group.bench_function(format!("through a session, from {name}"), |bencher| {
            bencher.iter_custom(|count| (0..count).map(|_| once()).sum());
        });
    }
    // What of it is the script's, and no cost of ours.
    group.bench_function("the scripted model alone", |bencher| {
        bencher.iter_custom(|count| (0..count).map(|_| runtime.block_on(model())).sum());
    });
    group.finish();
}

/// A session with `provider`, which gives one long answer.
async fn session(provider: Arc<dyn Provider>) -> Duration {
    let scene = Scene::new();
    let session = Session::create(scene.options(provider)).await.unwrap();
    let mut events = session.subscribe();
    let begun = cpu_time();
    let reading = tokio::spawn(async move {
        let mut deltas = 0;
        while let Some(event) = events.recv().await {
            deltas += usize::from(event.kind.is_ephemeral());
        }
        deltas
    });
    session.run("Say a lot.").await.unwrap();
    let spent = cpu_time() - begun;
    session.shutdown("other").await.unwrap();
    assert_eq!(reading.await.unwrap(), DELTAS);
    spent
}

async fn model() -> Duration {
    let provider = scripted();
    let begun = cpu_time();
    let prompt = Message::user("prompt", Timestamp::from_millis(0), "Say a lot.");
    let request = ModelRequest::new("model-1", vec![prompt.into()]);
    let events = provider.stream(request, CancellationToken::new());
    let deltas = events.filter(|event| std::future::ready(matches!(event, Ok(ModelEvent::TextDelta(_)))));
    assert_eq!(deltas.count().await, DELTAS);
    cpu_time() - begun
}

fn connect(kind: ProviderKind, surface: Option<ApiSurface>, base_url: &str) -> Arc<dyn Provider> {
    let mut spec = ProviderSpec::new(kind);
    spec.api_key = Some("bench-key".into());
    spec.connection.base_url = Some(base_url.into());
    spec.options.api_surface = surface;
    let provider = spec.connect().unwrap();
    provider.warm_up();
    Arc::new(provider)
}

fn scripted() -> Arc<ScriptedProvider> {
    let words: Vec<String> = (0..DELTAS).map(|at| format!(" word{at}")).collect();
    Arc::new(ScriptedProvider::new(Reply::new().text(words)).light())
}

fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap())
}
