//! The context estimate beside real tokenizers, before and after it has learned from what they count.

use std::fmt::Write as _;
use std::path::Path;

use bpe_openai::Tokenizer;
use robota_core::{Body, Calibration, History, Message, Timestamp};
use serde_json::json;

/// How far the calibrated estimate may be off, in percent.
const GOAL: f64 = 10.0;

/// What a provider adds to each message.
const FRAME: u64 = 4;

/// Parts that a text is sent in; the estimate is judged on the second half of them.
const PARTS: usize = 12;

fn file(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    std::fs::read_to_string(path).unwrap()
}

fn logs() -> String {
    (0..240_u32).fold(String::new(), |mut log, at| {
        let (second, port) = (at % 60, 40_000 + at * 37);
        let level = ["INFO", "WARN", "DEBUG", "ERROR"][at as usize % 4];
        let _ = writeln!(
            log,
            "2026-03-{:02}T11:{:02}:{second:02}.{:03}Z {level:5} http::server{{peer=10.0.{}.{}:{port}}}: GET /v1/items/{} answered 200 in {}ms",
            1 + at % 28, at / 60, at * 7 % 1000, at % 9, at % 250, at * 7919, at % 90
        );
        log
    })
}

fn records() -> String {
    let rows = (0..120_u32).map(|at| {
        json!({"id": format!("item-{at:04}"), "price": f64::from(at * 137) / 100.0, "inStock": at % 3 > 0,
            "tags": ["tools", "garden"], "supplier": {"name": "North Harbour Ltd", "rating": at % 5}})
    });
    serde_json::to_string_pretty(&rows.collect::<Vec<_>>()).unwrap()
}

/// What an agent sees in a turn: a listing, a source, a search, the run of a test.
fn mixed() -> String {
    let (source, log, data) = (file("src/agent/batch.rs"), logs(), file("../../Cargo.lock"));
    let prose = file("../../docs/permissions.md");
    let pieces = (0..PARTS * 4).map(|at| {
        let text = [&source, &log, &prose, &data][at % 4];
        let lines: Vec<&str> = text.lines().skip(at / 4 * 8).take(8).collect();
        lines.join("\n") + "\n"
    });
    pieces.collect()
}

fn texts() -> Vec<(&'static str, String)> {
    vec![
        ("English prose", file("../../docs/sessions.md") + &file("../../docs/hooks.md")),
        ("Rust", file("src/agent/turn.rs") + &file("src/history.rs")),
        ("Python", file("tests/corpus/sample.py")),
        ("TypeScript", file("tests/corpus/sample.ts")),
        ("JSON", records()),
        ("lock file", file("../../Cargo.lock").chars().take(60_000).collect()),
        ("shell commands", file("tests/corpus/commands.jsonl").chars().take(60_000).collect()),
        ("logs", logs()),
        ("Chinese", file("tests/corpus/chinese.md")),
        ("Japanese", file("tests/corpus/japanese.md")),
        ("mixed results", mixed()),
    ]
}

/// `text` in about equal parts of whole lines.
fn parts(text: &str) -> Vec<String> {
    let size = text.len() / PARTS;
    let mut parts = vec![String::new()];
    for line in text.split_inclusive('\n') {
        if parts.last().is_some_and(|part| part.len() >= size) && parts.len() < PARTS {
            parts.push(String::new());
        }
        parts.last_mut().unwrap().push_str(line);
    }
    parts
}

/// A tokenizer, and how many tokens a provider bills for one of it, in percent: there are denser ones that
/// nobody can ask.
struct Reference<'a> {
    tokenizer: &'a Tokenizer,
    percent: u64,
}

impl Reference<'_> {
    fn count(&self, text: &str) -> u64 {
        self.tokenizer.count(text) as u64 * self.percent / 100 + FRAME
    }
}

/// How far the estimate of new text is off, in percent.
#[derive(Debug, Default)]
struct Errors {
    by_length: f64,
    prior: f64,
    calibrated: f64,
}

/// Sends `text` part by part as results of tools; each answer brings the count of what was sent.
fn converse(text: &str, reference: &Reference<'_>) -> Errors {
    let mut history = History::default();
    // The system prompt and the tools, which no message tells of.
    let mut input = 4_000;
    let (mut actual, mut by_length, mut prior, mut calibrated) = (0_u64, 0_u64, 0_u64, 0_u64);
    for (at, part) in parts(text).into_iter().enumerate() {
        let counted = reference.count(&part);
        let body = Body::Tool {
            content: part.clone(),
            tool_call_id: format!("c{at}"),
            name: None,
            is_error: false,
            parts: Vec::new(),
        };
        let message = Message::with_body(format!("t{at}"), Timestamp::default(), body);
        if at >= PARTS / 2 {
            let bytes = message.estimated_bytes();
            actual += counted;
            by_length += (serde_json::to_vec(&message).unwrap().len() as u64 * 10).div_ceil(36);
            prior += Calibration::default().tokens(bytes);
            calibrated += history.calibration().tokens(bytes);
        }
        history.append(message);
        input += counted;
        let answer = "I will read the next part of it.";
        let output = reference.count(answer);
        let mut answer = Message::assistant(format!("a{at}"), Timestamp::default(), answer);
        // Most of it comes from the cache, and thinking is part of the output alone.
        let usage =
            json!({"inputTokens": counted, "cacheReadTokens": input - counted, "outputTokens": output + 500});
        answer.metadata.insert("usage".into(), usage);
        history.append(answer);
        input += output;
    }
    #[expect(clippy::cast_precision_loss, reason = "small counts")]
    let error = |estimate: u64| (estimate as f64 / actual as f64 - 1.0) * 100.0;
    Errors { by_length: error(by_length), prior: error(prior), calibrated: error(calibrated) }
}

#[test]
fn the_calibrated_estimate_is_within_a_tenth_of_real_tokenizers_on_text_and_code() {
    let references = [
        ("o200k", Reference { tokenizer: bpe_openai::o200k_base(), percent: 100 }),
        ("cl100k", Reference { tokenizer: bpe_openai::cl100k_base(), percent: 100 }),
        ("o200k x 1.35", Reference { tokenizer: bpe_openai::o200k_base(), percent: 135 }),
    ];
    let mut table = format!(
        "{:15} {:13} {:>9} {:>9} {:>11}\n",
        "text", "tokenizer", "length %", "prior %", "calibrated %"
    );
    let mut wrong = Vec::new();
    for (kind, text) in texts() {
        for (name, reference) in &references {
            let errors = converse(&text, reference);
            let Errors { by_length, prior, calibrated } = errors;
            let _ =
                writeln!(table, "{kind:15} {name:13} {by_length:>+9.1} {prior:>+9.1} {calibrated:>+11.1}");
            if calibrated.abs() > GOAL {
                wrong.push(format!("{kind}, {name}: {calibrated:+.1} %"));
            }
        }
    }
    println!("{table}");
    assert!(wrong.is_empty(), "{wrong:?}\n{table}");
}
