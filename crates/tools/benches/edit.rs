//! What a change of a file may cost: Edit of 50 MB within half a second, and of a usual source file.

#![expect(clippy::unwrap_used, clippy::disallowed_methods, reason = "a bench that cannot go on must stop")]

use std::hint::black_box;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput};
use robota_core::{DynTool, ToolContext, ToolOutcome};
use robota_tools::{ToolOptions, Workspace, builtin_tools};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

const LARGE: usize = 50_000_000;
const USUAL: usize = 30_000;

fn main() {
    let mut criterion =
        Criterion::default().sample_size(10).measurement_time(Duration::from_secs(5)).configure_from_args();
    for (name, size) in [("50 MB", LARGE), ("30 kB", USUAL)] {
        let bench = Bench::new(size);
        bench.calls(&mut criterion, name);
        bench.steps(&mut criterion, name);
    }
    criterion.final_summary();
}

/// A file of numbered lines that the model has read a part of.
struct Bench {
    folder: TempDir,
    tools: Vec<Arc<dyn DynTool>>,
    runtime: Runtime,
    text: String,
    lines: usize,
}

impl Bench {
    fn new(size: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let row = |line: usize| format!("let value_{line:07} = compute(&input, {line:07});\n");
        let lines = size / row(1).len();
        let text: String = (1..=lines).map(row).collect();
        std::fs::write(folder.path().join("f"), &text).unwrap();
        let options = ToolOptions::new(Workspace::new(folder.path(), [], None), Vec::new());
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let bench = Self { folder, tools: builtin_tools(options), runtime, text, lines };
        assert!(!bench.call("Read", &json!({"filePath": "f", "limit": 10})).is_error);
        bench
    }

    fn call(&self, name: &str, arguments: &Value) -> ToolOutcome {
        let tool = self.tools.iter().find(|tool| tool.spec().name == name).unwrap();
        let call = tool.prepare(&arguments.to_string()).unwrap();
        self.runtime.block_on(call.run(ToolContext::new("call", CancellationToken::new()))).unwrap()
    }

    /// Two edits that undo each other, at the given line.
    fn there_and_back(&self, line: usize) -> [Value; 2] {
        let (old, new) = (format!("value_{line:07} ="), format!("changed\n{line:07} ="));
        [(&old, &new), (&new, &old)]
            .map(|(old, new)| json!({"filePath": "f", "oldString": old, "newString": new}))
    }

    fn edit_all(&self, turns: &[Value]) {
        for turn in turns {
            let outcome = self.call("Edit", turn);
            assert!(!outcome.is_error, "{}", outcome.content);
        }
    }

    fn calls(&self, criterion: &mut Criterion, name: &str) {
        let mut group = criterion.benchmark_group(format!("edit of {name}, there and back"));
        for (place, line) in [("first line", 1), ("last line", self.lines)] {
            let turns = self.there_and_back(line);
            group.bench_function(BenchmarkId::new("one place", place), |bencher| {
                bencher.iter(|| self.edit_all(&turns));
            });
        }
        let (first, last) = (self.there_and_back(1), self.there_and_back(self.lines));
        let turns = [0, 1].map(|turn| json!({"filePath": "f", "edits": [first[turn], last[turn]]}));
        group.bench_function("two edits, at both ends", |bencher| bencher.iter(|| self.edit_all(&turns)));
        let turns = [("compute(", "work_out("), ("work_out(", "compute(")].map(
            |(old, new)| json!({"filePath": "f", "oldString": old, "newString": new, "replaceAll": true}),
        );
        group.bench_function("every line", |bencher| bencher.iter(|| self.edit_all(&turns)));
        group.finish();

        let mut group = criterion.benchmark_group(format!("edit of {name}"));
        for (miss, old) in
            [("form", format!("  value_{:07}  =", self.lines)), ("words", "nothing like it".to_owned())]
        {
            let arguments = json!({"filePath": "f", "oldString": old, "newString": ""});
            group.bench_function(BenchmarkId::new("no place", miss), |bencher| {
                bencher.iter(|| assert!(self.call("Edit", &arguments).is_error));
            });
        }
        group.finish();
    }

    /// What no edit can do without, for comparison.
    fn steps(&self, criterion: &mut Criterion, name: &str) {
        let mut group = criterion.benchmark_group(format!("steps with {name}"));
        group.throughput(Throughput::Bytes(u64::try_from(self.text.len()).unwrap()));
        let path: PathBuf = self.folder.path().join("f");
        group.bench_function("read", |bencher| bencher.iter(|| std::fs::read(&path).unwrap()));
        group.bench_function("digest", |bencher| bencher.iter(|| Sha256::digest(self.text.as_bytes())));
        group.bench_function("search", |bencher| {
            bencher.iter(|| black_box(&self.text).find(black_box("value_9999999 =")));
        });
        let other = self.folder.path().join("other");
        group.bench_function("write and fsync", |bencher| {
            bencher.iter(|| {
                std::fs::write(&other, &self.text).unwrap();
                std::fs::File::open(&other).unwrap().sync_all().unwrap();
            });
        });
        group.finish();
    }
}
