//! What Read costs far down in a large file, beside `sed`. Budgets and figures stand in `benches/README.md`.

#![expect(clippy::unwrap_used, reason = "a bench that cannot go on must stop")]
#![expect(clippy::disallowed_methods, reason = "it makes the files it reads, and runs sed beside")]
#![expect(clippy::print_stdout, reason = "ratios and memory are no figures of criterion")]

use std::fs::{self, File};
use std::hint::black_box;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use criterion::{BatchSize, Criterion};
use robota_core::{DynTool, ToolContext};
use robota_tools::{ToolOptions, Workspace, builtin_tools};
use serde_json::json;
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

/// The first line that is read, and how many.
const FIRST: usize = 1_000_000;
const LINES: usize = 2_000;
/// Bytes of a file.
const SIZE: usize = 1_000_000_000;
/// Runs of which the ratio takes the median.
const RUNS: usize = 7;

fn main() {
    let criterion = Criterion::default().sample_size(10).warm_up_time(Duration::from_millis(200));
    let mut criterion = criterion.measurement_time(Duration::from_secs(5)).configure_from_args();
    let folder = tempfile::tempdir().unwrap();
    // Line 1,000,000 lies at a tenth of the one file, and near the end of the other.
    for (name, length) in [("lines of 100 bytes", 100), ("lines of 990 bytes", 990)] {
        write_file(&folder.path().join("file"), length);
        far_lines(&mut criterion, folder.path(), name);
    }
    criterion.final_summary();
}

fn write_file(path: &Path, length: usize) {
    let mut file = BufWriter::with_capacity(1 << 20, File::create(path).unwrap());
    let filler = "x".repeat(length - 11);
    for line in 0..SIZE / length {
        writeln!(file, "{line:09} {filler}").unwrap();
    }
    file.flush().unwrap();
}

fn far_lines(criterion: &mut Criterion, folder: &Path, name: &str) {
    let runtime = Runtime::new().unwrap();
    let mut group = criterion.benchmark_group(format!("2,000 lines at line 1,000,000 of 1 GB, {name}"));
    // A new session each time: one that read the file before knows where to go on.
    group.bench_function("Read", |bencher| {
        bencher.iter_batched(
            || reader(folder),
            |tool| black_box(read(&runtime, &tool, FIRST)),
            BatchSize::PerIteration,
        );
    });
    let used = reader(folder);
    read(&runtime, &used, FIRST);
    group.bench_function("Read of the next lines", |bencher| {
        bencher.iter(|| black_box(read(&runtime, &used, FIRST + 25)));
    });
    group.finish();
    if sed(folder).is_none() {
        println!("sed is not there: nothing to compare with");
        return;
    }
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        let tool = reader(folder);
        let start = Instant::now();
        black_box(read(&runtime, &tool, FIRST));
        ours.push(start.elapsed());
        theirs.extend(sed(folder));
    }
    let (ours, theirs) = (median(ours), median(theirs));
    let ratio = ours.as_secs_f64() / theirs.as_secs_f64();
    println!("{name}: Read {ours:.1?}, sed {theirs:.1?}, ratio {ratio:.3}; peak memory {}", peak_memory());
}

fn reader(folder: &Path) -> Arc<dyn DynTool> {
    let workspace = Workspace::new(folder, [], None);
    let tools = builtin_tools(ToolOptions::new(workspace, Vec::new()));
    tools.into_iter().find(|tool| tool.spec().name == "Read").unwrap()
}

fn read(runtime: &Runtime, tool: &Arc<dyn DynTool>, first: usize) -> String {
    let arguments = json!({"filePath": "file", "offset": first, "limit": LINES}).to_string();
    let call = tool.prepare(&arguments).unwrap();
    let outcome = runtime.block_on(call.run(ToolContext::new("call", CancellationToken::new()))).unwrap();
    assert!(outcome.content.starts_with(&format!("{first}\t")), "{}", outcome.content);
    outcome.content
}

/// How long sed takes for the same lines; `None` where there is no sed.
fn sed(folder: &Path) -> Option<Duration> {
    let last = FIRST + LINES - 1;
    let mut command = Command::new("sed");
    command.args(["-n", &format!("{FIRST},{last}p;{last}q"), "file"]);
    let start = Instant::now();
    let done = command.current_dir(folder).stdout(Stdio::null()).status().ok()?;
    done.success().then(|| start.elapsed())
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// The most memory this process ever had, where the system tells.
fn peak_memory() -> String {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.map_or_else(|| "unknown".to_owned(), |line| line.trim().to_owned())
}
