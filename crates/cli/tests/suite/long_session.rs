//! Fifty rounds of real work, and the same work killed at random points and continued.

use std::hash::{BuildHasher, RandomState};

use robota_testkit::{RecordedRequest, Reply, Script};
use serde_json::{Value, json};

use crate::context::{Context, Run};

/// Items to fix; four rounds each, one more to see that all is well, and one for the last word.
const ITEMS: usize = 13;

/// Fails at the first item that is broken.
const TEST: &str = "for file in src/*.txt; do\n  grep -q fixed \"$file\" || { echo \"FAIL $file\"; exit 1; }\ndone\necho all fixed\n";

/// A model that runs the test, looks for the file it names, reads it, edits it, and starts over. It
/// decides by what it was told last, so that it can be interrupted anywhere.
fn fixer(request: &RecordedRequest) -> Reply {
    let number = request.number;
    let call =
        |tool: &str, arguments: Value| Reply::new().tool_call(format!("{tool}-{number}"), tool, arguments);
    let run_test = || call("Bash", json!({"command": "sh test.sh"}));
    let Some(last) = request.new_tool_results().pop() else { return run_test() };
    let file = last
        .content
        .split_whitespace()
        .find_map(|word| word.split(':').next().filter(|word| word.starts_with("src/")));
    match (last.call_id.split('-').next(), file) {
        (Some("Bash"), _) if last.content.contains("all fixed") => Reply::new().text("Every item is fixed."),
        (Some("Bash"), Some(file)) => {
            let pattern = file.trim_start_matches("src/").trim_end_matches(".txt");
            call("Grep", json!({"pattern": format!("{pattern} is broken"), "path": "src"}))
        }
        (Some("Grep"), Some(file)) => call("Read", json!({"filePath": file})),
        (Some("Read"), _) if last.content.contains("is broken") => {
            let name = last.content.split_whitespace().find(|word| word.starts_with("item")).unwrap();
            let edit = json!({
                "filePath": format!("src/{name}.txt"), "oldString": "is broken", "newString": "is fixed",
            });
            call("Edit", edit)
        }
        _ => run_test(),
    }
}

fn project() -> Context {
    let context = Context::new(Script::new().respond_with(fixer));
    context.space.write("project/test.sh", TEST);
    for item in 0..ITEMS {
        let name = format!("item{item:02}");
        context.space.write(&format!("project/src/{name}.txt"), format!("first line\n{name} is broken\n"));
    }
    context
}

const ARGUMENTS: [&str; 6] =
    ["-p", "Fix every item.", "--permission-mode", "acceptEdits", "--allowed-tools", "Bash(sh test.sh)"];

fn assert_fixed(context: &Context) {
    for item in 0..ITEMS {
        let text = context.space.read(&format!("project/src/item{item:02}.txt"));
        assert_eq!(text, format!("first line\nitem{item:02} is fixed\n"));
    }
    context.server.assert_clean();
}

#[test]
fn fifty_rounds_of_work_fix_a_project() {
    let context = project();
    let run = context.run(&ARGUMENTS);
    assert_eq!(run.assert_success().stdout, "Every item is fixed.\n");
    assert_eq!(context.server.requests().len(), ITEMS * 4 + 2);
    assert_fixed(&context);
}

#[test]
fn killed_at_any_point_the_work_goes_on() {
    for round in 0..kills() {
        let context = project();
        let point = usize::try_from(RandomState::new().hash_one(round) % 45).unwrap() + 2;
        let mut child = context.start(&ARGUMENTS);
        let _ = context.server.request_blocking(point);
        child.kill().unwrap();
        child.wait().unwrap();

        let mut arguments = ARGUMENTS.to_vec();
        arguments[1] = "Go on.";
        arguments.push("-c");
        let run = context.run(&arguments);
        assert_eq!(run.code, Some(0), "killed at request {point}: {}", run.stderr);
        assert!(run.stdout.ends_with("Every item is fixed.\n"), "killed at request {point}: {}", run.stdout);
        assert_fixed(&context);
        let replayed = Run::of(context.bare(&["session", "replay", &session_id(&context)]).output().unwrap());
        assert_eq!(
            replayed.code,
            Some(0),
            "killed at request {point}: {}{}",
            replayed.stdout,
            replayed.stderr
        );
    }
}

/// How often to kill: a few times by default, `ROBOTA_TEST_KILLS` times for a long run.
#[expect(clippy::disallowed_methods, reason = "the switch for a heavy run of this test")]
fn kills() -> u64 {
    std::env::var("ROBOTA_TEST_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(3)
}

fn session_id(context: &Context) -> String {
    context.log()[0]["sessionId"].as_str().unwrap().to_owned()
}
