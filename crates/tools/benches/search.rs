//! Grep and Glob beside ripgrep on a tree of 50,000 files, turn by turn, so that a noisy machine disturbs both alike.
//!
//! Prints two ratios, of the least times and of the processor time of all rounds (which a busy machine disturbs
//! less), then least and median times; the budget is 1.2. The time of rg is that of its whole process. Glob sorts by
//! modification, and so does rg beside it where `--sortr` stands; elsewhere its order is that of the walk. Needs `rg` in the PATH; `ROBOTA_BENCH_FILES` and
//! `ROBOTA_BENCH_ROUNDS` change the size. A word behind `--` chooses the cases that hold it.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a bench prints, and stops when it cannot go on"
)]
#![expect(clippy::disallowed_methods, reason = "the bench makes its files and starts what it compares with")]

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use robota_core::{DynTool, ToolContext};
use robota_tools::{ToolOptions, Workspace, builtin_tools};
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

#[path = "../tests/suite/search_tree.rs"]
mod search_tree;

const ALWAYS: [&str; 6] =
    ["--no-config", "--hidden", "--no-ignore-global", "--color=never", "--no-heading", "--glob=!.git"];

/// Tool, arguments, and what asks rg for the same.
fn cases() -> Vec<(&'static str, Value, Vec<&'static str>)> {
    let all = |pattern: &str, more: Value| {
        let mut arguments = json!({"pattern": pattern, "headLimit": 10_000});
        let more = more.as_object().cloned().unwrap_or_default();
        arguments.as_object_mut().unwrap().extend(more);
        arguments
    };
    vec![
        ("Glob", json!({"pattern": "**"}), vec!["--files", "--sortr=modified"]),
        ("Glob", json!({"pattern": "**"}), vec!["--files"]),
        ("Glob", json!({"pattern": "**/*.rs"}), vec!["--files", "-g", "**/*.rs", "--sortr=modified"]),
        ("Glob", json!({"pattern": "**/*.rs"}), vec!["--files", "-g", "**/*.rs"]),
        ("Glob", json!({"pattern": "**/*.{ts,tsx}"}), vec!["--files", "-g", "**/*.{ts,tsx}"]),
        ("Glob", json!({"pattern": "**", "noIgnore": true}), vec!["--files", "--no-ignore"]),
        ("Grep", all("alpha", json!({})), vec!["-l", "alpha"]),
        ("Grep", all("absent_word", json!({})), vec!["-l", "absent_word"]),
        ("Grep", all("absent_word", json!({"noIgnore": true})), vec!["-l", "--no-ignore", "absent_word"]),
        ("Grep", all("DELTA", json!({"-i": true})), vec!["-l", "-i", "DELTA"]),
        ("Grep", all("delta", json!({"type": "rust,py"})), vec!["-l", "delta", "-t", "rust", "-t", "py"]),
        ("Grep", all("delta", json!({"glob": "*.{rs,py}"})), vec!["-l", "delta", "-g", "*.{rs,py}"]),
        ("Grep", all("alpha|Beta", json!({"outputMode": "count"})), vec!["-c", "alpha|Beta"]),
        ("Grep", all("value_1\\d+ =", json!({"outputMode": "count"})), vec!["-c", "value_1\\d+ ="]),
        ("Grep", all("delta", json!({"outputMode": "content", "-C": 2})), vec!["-n", "-C2", "delta"]),
        ("Grep", all("gamma", json!({"outputMode": "content"})), vec!["-n", "gamma"]),
        (
            "Grep",
            all("delta.*?again", json!({"outputMode": "content", "multiline": true})),
            vec!["-n", "-U", "--multiline-dotall", "delta.*?again"],
        ),
    ]
}

fn main() {
    if Command::new("rg").arg("--version").stdout(Stdio::null()).status().is_err() {
        println!("skipped: rg is not installed");
        return;
    }
    let (files, rounds) = (number("ROBOTA_BENCH_FILES", 50_000), number("ROBOTA_BENCH_ROUNDS", 15));
    let temp = tempfile::tempdir().unwrap();
    let root = search_tree::build(&temp.path().canonicalize().unwrap(), files);
    let tools = builtin_tools(ToolOptions::new(Workspace::new(&root, [], None), Vec::new()));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
    println!("{files} files, {rounds} rounds; least and median time");
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    for (name, arguments, rg_arguments) in cases() {
        let shown = format!("{name} {arguments}");
        if !words.iter().all(|word| shown.contains(word)) {
            continue;
        }
        let tool = tools.iter().find(|tool| tool.spec().name == name).unwrap();
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        let (own_before, rg_before) = processor_ticks();
        for _ in 0..=rounds {
            ours.push(tool_time(&runtime, tool, &arguments));
            theirs.push(rg_time(&root, &rg_arguments));
        }
        let (own, of_rg) = processor_ticks();
        let processor = (own - own_before) / (of_rg - rg_before);
        let ((least, median), (rg_least, rg_median)) = (summary(ours), summary(theirs));
        println!(
            "{:.2} {processor:.2}  {least:>6.1} {median:>6.1} ms  rg {rg_least:>6.1} {rg_median:>6.1} ms  {shown} / {}",
            least / rg_least,
            rg_arguments.join(" ")
        );
    }
}

fn tool_time(runtime: &Runtime, tool: &Arc<dyn DynTool>, arguments: &Value) -> Duration {
    let started = Instant::now();
    let call = tool.prepare(&arguments.to_string()).unwrap();
    let outcome = runtime.block_on(call.run(ToolContext::new("call", CancellationToken::new()))).unwrap();
    assert!(!outcome.is_error, "{}", outcome.content);
    started.elapsed()
}

fn rg_time(root: &Path, arguments: &[&str]) -> Duration {
    let started = Instant::now();
    let mut command = Command::new("rg");
    command.args(ALWAYS).args(arguments).current_dir(root).stdin(Stdio::null()).output().unwrap();
    started.elapsed()
}

/// Processor time of this process and of those it waited for, in ticks of the kernel.
fn processor_ticks() -> (f64, f64) {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace().skip(11).take(4);
    let ticks: Vec<f64> = fields.map(|field| field.parse().unwrap()).collect();
    let sum = |range: std::ops::Range<usize>| ticks.get(range).unwrap_or_default().iter().sum();
    (sum(0..2), sum(2..4))
}

/// Least and median in milliseconds, without the first round.
fn summary(mut times: Vec<Duration>) -> (f64, f64) {
    times.remove(0);
    times.sort_unstable();
    let in_ms = |at: usize| times.get(at).map_or(0.0, |time| time.as_secs_f64() * 1e3);
    (in_ms(0), in_ms(times.len() / 2))
}

fn number(variable: &str, default: usize) -> usize {
    std::env::var(variable).ok().and_then(|given| given.parse().ok()).unwrap_or(default)
}
