//! What becomes of results that are longer than the host's budget.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use robota_core::{
    Access, EventKind, OutputSpill, PathAccess, SpillFile, Tool, ToolClass, ToolContext, ToolOutcome,
    ToolResult, ToolSpec, erase,
};
use robota_testkit::{Reply, Script};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::bench::{Bench, echo};

/// Outputs with the calls they belong to.
type Kept = Arc<Mutex<Vec<(String, Vec<u8>)>>>;

/// Keeps outputs in memory.
#[derive(Default)]
struct Shelf {
    kept: Kept,
    capacity: u64,
    full: bool,
}

struct Item {
    call: String,
    path: PathBuf,
    bytes: Vec<u8>,
    capacity: u64,
    kept: Kept,
}

impl OutputSpill for Shelf {
    fn begin(&self, call_id: &str) -> io::Result<Box<dyn SpillFile>> {
        if self.full {
            return Err(io::Error::from(io::ErrorKind::StorageFull));
        }
        let (call, path) = (call_id.to_owned(), Path::new("/kept").join(call_id));
        let kept = Arc::clone(&self.kept);
        Ok(Box::new(Item { call, path, bytes: Vec::new(), capacity: self.capacity, kept }))
    }
}

impl Write for Item {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl SpillFile for Item {
    fn path(&self) -> &Path {
        &self.path
    }

    fn capacity(&self) -> u64 {
        self.capacity
    }

    fn finish(self: Box<Self>) -> io::Result<()> {
        self.kept.lock().unwrap().push((self.call, self.bytes));
        Ok(())
    }
}

/// No arguments.
#[derive(Deserialize, JsonSchema)]
struct Nothing {}

/// A tool that reads, or one that has kept its output itself.
struct Long {
    reads: bool,
}

impl Tool for Long {
    type Input = Nothing;

    fn describe(&self) -> ToolSpec {
        ToolSpec::new("Long", ToolClass::Inspect, "")
    }

    fn access(&self, _: &Nothing) -> Vec<Access> {
        let (requested, resolved) = ("a".to_owned(), PathBuf::from("/a"));
        if self.reads {
            vec![Access::Path { kind: PathAccess::Read, requested, resolved }]
        } else {
            Vec::new()
        }
    }

    async fn run(self: Arc<Self>, _: Nothing, _: ToolContext) -> ToolResult {
        let outcome = ToolOutcome::success("line\n".repeat(100));
        Ok(if self.reads { outcome } else { outcome.with_structured(json!({"outputFile": "/mine"})) })
    }
}

async fn long_result(tool: Arc<dyn robota_core::DynTool>, shelf: Shelf) -> (String, Option<Value>) {
    let name = tool.spec().name.clone();
    let word = (1..=100).map(|line| format!("line {line}\n")).collect::<String>();
    let call = Reply::new().tool_call("c1", &name, json!({"word": word}));
    let mut bench = Bench::new(Script::new().reply(call).reply("done")).tools([tool]);
    bench.config.output_budget = 200;
    bench.config.spill = Some(Arc::new(shelf));
    bench.run("go").await.outcome.unwrap();
    let facts = bench.recorder.kinds().into_iter().find_map(|kind| match kind {
        EventKind::ToolExecutionResult { result, .. } => Some(result),
        _ => None,
    });
    (bench.transcript()[2].clone(), facts.unwrap())
}

fn notice(text: &str) -> &str {
    let from = text.find("[... ").unwrap();
    &text[from..from + text[from..].find(" ...]").unwrap() + 5]
}

#[tokio::test]
async fn a_long_result_is_kept_whole_and_says_where() {
    let shelf = Shelf { capacity: 1 << 20, ..Shelf::default() };
    let kept = Arc::clone(&shelf.kept);
    let (text, facts) = long_result(echo("Echo"), shelf).await;
    let whole: String = (1..=100).map(|line| format!("line {line}\n")).collect();
    assert_eq!(*kept.lock().unwrap(), [("c1".to_owned(), whole.into_bytes())]);
    assert!(
        text.starts_with("tool: line 1\n")
            && text.contains("line 13\n\n[... ")
            && text.ends_with("line 100\n")
    );
    assert_eq!(
        notice(&text),
        "[... 600 characters cut from the middle; all of it is in /kept/c1: Read it with offset 14 ...]"
    );
    assert_eq!(facts.unwrap(), json!({"truncated": true, "outputFile": "/kept/c1"}));
}

#[tokio::test]
async fn what_has_no_room_is_said_and_what_cannot_be_kept_is_not_promised() {
    let (text, _) = long_result(echo("Echo"), Shelf { capacity: 700, ..Shelf::default() }).await;
    assert!(notice(&text).contains("all of it but for the last 92 bytes is in /kept/c1"), "{text}");
    let (text, facts) = long_result(echo("Echo"), Shelf { full: true, ..Shelf::default() }).await;
    assert!(notice(&text).ends_with("; ask for less at once to see them ...]"), "{text}");
    assert_eq!(facts, None);
}

#[tokio::test]
async fn what_is_in_a_file_already_is_not_kept_again() {
    for (reads, advice) in [(true, "with offset and limit"), (false, "the whole output is in /mine")] {
        let shelf = Shelf { capacity: 1 << 20, ..Shelf::default() };
        let kept = Arc::clone(&shelf.kept);
        let (text, _) = long_result(erase(Long { reads }), shelf).await;
        assert!(notice(&text).contains(advice), "{text}");
        assert!(kept.lock().unwrap().is_empty());
    }
}
