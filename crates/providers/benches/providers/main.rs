//! What a provider adds to the model's own time: writing a request, reading an answer. Budgets and
//! figures stand in `benches/README.md`.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a bench that cannot go on must stop")]

mod streams;

use std::future::ready;
use std::hint::black_box;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use criterion::{BatchSize, BenchmarkId, Criterion, SamplingMode, Throughput};
use futures_util::{FutureExt, StreamExt};
use robota_core::{
    Body, Message, MessageRef, ModelEvent, ModelRequest, ModelStream, Provider, Timestamp, ToolCall,
};
use robota_providers::{ApiSurface, HttpProvider, ProviderKind, ProviderSpec};
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

/// Messages of a long session.
const MESSAGES: usize = 2_000;
/// Pieces of a long answer.
const DELTAS: usize = 20_000;

/// An API: its name here, the name of the encoded form it keeps with messages, its provider, and an answer of so many
/// deltas.
struct Api {
    name: &'static str,
    format: &'static str,
    connect: fn(&str) -> HttpProvider,
    stream: fn(usize) -> String,
}

const APIS: [Api; 4] = [
    Api {
        name: "anthropic",
        format: "anthropic-messages",
        connect: |url| connect(ProviderKind::Anthropic, None, url),
        stream: streams::anthropic,
    },
    Api {
        name: "responses",
        format: "openai-responses",
        connect: |url| connect(ProviderKind::OpenAi, Some(ApiSurface::Responses), url),
        stream: streams::responses,
    },
    Api {
        name: "chat",
        format: "openai-chat/unknown",
        connect: |url| connect(ProviderKind::OpenAi, Some(ApiSurface::Chat), url),
        stream: streams::chat,
    },
    Api {
        name: "gemini",
        format: "gemini",
        connect: |url| connect(ProviderKind::Gemini, None, url),
        stream: streams::gemini,
    },
];

fn main() {
    let criterion = Criterion::default().warm_up_time(Duration::from_secs(1));
    let mut criterion = criterion.measurement_time(Duration::from_secs(4)).configure_from_args();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    for api in &APIS {
        requests(&mut criterion, &runtime, api);
    }
    for api in &APIS {
        answers(&mut criterion, &runtime, api);
    }
    criterion.final_summary();
}

/// Writing the body of a request: of messages no request has held yet, and of messages that the
/// request before held, with one more. The measure of both is copying a body of that size.
///
/// A call is polled once: it encodes the request and hands it to the HTTP client, which begins to
/// connect and gets no further.
fn requests(criterion: &mut Criterion, runtime: &Runtime, api: &Api) {
    let _in_runtime = runtime.enter();
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap();
    let provider = (api.connect)(&address(&nobody));
    provider.warm_up();
    let mut group = criterion.benchmark_group(format!("{}, request of 2,000 messages", api.name));
    group.sample_size(20).sampling_mode(SamplingMode::Flat);
    for (size, bytes) in [("1 MB", 400), ("10 MB", 4_900)] {
        let plain = messages(bytes);
        let fresh = || plain.iter().cloned().map(MessageRef::new).collect::<Vec<_>>();
        let begin = |messages| begin(&provider, messages);

        group.bench_function(BenchmarkId::new("all new", size), |bencher| {
            bencher.iter_batched(fresh, begin, BatchSize::PerIteration);
        });
        let sent = fresh();
        drop(begin(sent.clone()));
        let length: usize = sent.iter().map(|message| encoded_length(message, api.format)).sum();
        let one_more = || {
            let last = Message::user("last", Timestamp::from_millis(0), "And now?");
            [sent.as_slice(), &[last.into()]].concat()
        };
        group.bench_function(BenchmarkId::new("one new message", size), |bencher| {
            bencher.iter_batched(one_more, begin, BatchSize::PerIteration);
        });
        let body = vec![b'x'; length];
        group.bench_function(BenchmarkId::new("copying such a body", size), |bencher| {
            bencher.iter_batched(|| (), |()| black_box(&body).clone(), BatchSize::PerIteration);
        });
    }
    group.finish();
}

fn begin(provider: &HttpProvider, messages: Vec<MessageRef>) -> ModelStream {
    let mut stream = provider.stream(ModelRequest::new("model-1", messages), CancellationToken::new());
    if let Some(event) = stream.next().now_or_never() {
        panic!("there is no server, and yet it answers: {event:?}");
    }
    stream
}

/// Length of a message as it stands in a body. It was kept, or the call has not encoded it.
fn encoded_length(message: &MessageRef, format: &'static str) -> usize {
    message.encoded(format, |_| panic!("the request was not encoded"), <[u8]>::len)
}

/// Reading a long answer over loopback: HTTP, server-sent events, JSON, model events.
fn answers(criterion: &mut Criterion, runtime: &Runtime, api: &Api) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let provider = (api.connect)(&address(&listener));
    let answer: Arc<str> = (api.stream)(DELTAS).into();
    // A provider may open another connection while the last one is still being read to its end.
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            let (connection, answer) = (connection.unwrap(), Arc::clone(&answer));
            std::thread::spawn(move || serve(connection, &answer));
        }
    });
    let mut group = criterion.benchmark_group(format!("{}, answer of 20,000 deltas", api.name));
    group.sample_size(20).sampling_mode(SamplingMode::Flat).throughput(Throughput::Elements(DELTAS as u64));
    group.bench_function("over loopback", |bencher| {
        bencher.iter(|| assert_eq!(runtime.block_on(deltas(&provider)), DELTAS));
    });
    group.finish();
}

async fn deltas(provider: &HttpProvider) -> usize {
    let prompt = Message::user("prompt", Timestamp::from_millis(0), "Say a lot.");
    let request = ModelRequest::new("model-1", vec![prompt.into()]);
    let stream = provider.stream(request, CancellationToken::new());
    stream.filter(|event| ready(matches!(event.as_ref().unwrap(), ModelEvent::TextDelta(_)))).count().await
}

/// Answers every request on `connection` with the event stream `answer`.
fn serve(connection: TcpStream, answer: &str) {
    let mut reader = BufReader::new(connection);
    loop {
        let mut length = 0;
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).unwrap_or(0) == 0 {
                return;
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
            if line == "\r\n" {
                break;
            }
        }
        reader.read_exact(&mut vec![0; length]).unwrap();
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\n\r\n",
            answer.len()
        );
        reader.get_mut().write_all((head + answer).as_bytes()).unwrap();
    }
}

fn address(listener: &TcpListener) -> String {
    format!("http://{}", listener.local_addr().unwrap())
}

fn connect(kind: ProviderKind, surface: Option<ApiSurface>, base_url: &str) -> HttpProvider {
    let mut spec = ProviderSpec::new(kind);
    spec.options.api_surface = surface;
    spec.api_key = Some("bench-key".into());
    spec.connection.base_url = Some(base_url.into());
    spec.connect().unwrap()
}

/// A prompt, then calls and their results in turn; `bytes` is the size of a message's text.
fn messages(bytes: usize) -> Vec<Message> {
    let text = "words of a file, \"as\" a tool read them\n".repeat(bytes / 39 + 1);
    let text = |_| text.get(..bytes).unwrap().to_owned();
    let body = |at: usize| match at {
        0 => Body::User { content: "Read everything.".into(), parts: Vec::new(), name: None },
        _ if at % 2 == 1 => Body::Assistant {
            content: Some(text(at)),
            parts: Vec::new(),
            tool_calls: vec![ToolCall {
                id: format!("call_{at}"),
                name: "Read".into(),
                arguments: "{}".into(),
            }],
            reasoning: Vec::new(),
        },
        _ => Body::Tool {
            content: text(at),
            tool_call_id: format!("call_{}", at - 1),
            name: Some("Read".into()),
            is_error: false,
            parts: Vec::new(),
        },
    };
    let message = |at| Message::with_body(format!("message-{at}"), Timestamp::from_millis(0), body(at));
    (0..MESSAGES).map(message).collect()
}
