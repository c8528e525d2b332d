//! One session, killed with SIGKILL again and again at random points of its log, and continued each time.

use std::collections::BTreeMap;
use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use robota_testkit::{RecordedRequest, Reply, Script};
use serde_json::{Value, json};

use crate::context::{Context, Run};

/// Kills of one session; then the next session begins.
const PER_SESSION: u64 = 20;
/// Most bytes by which the log grows before the kill: a run writes some 12 kB.
const REACH: u64 = 10_000;

/// A log of this size has its first lines.
const FIRST: u64 = 4_000;

/// A model that does three rounds of work for each prompt, some calls side by side. Each call leaves a
/// line of its own in the file `ran`, so that one that ran twice shows.
fn worker(request: &RecordedRequest) -> Reply {
    let number = request.number;
    let run = |part: u32| json!({"command": format!("echo step-{number}-{part} >> ran")});
    let rounds_of_turn = answers_since_prompt(request.messages());
    let reply = Reply::new().text(format!("Round {rounds_of_turn}. "));
    match rounds_of_turn {
        0 => reply.tool_call(format!("one-{number}"), "Bash", run(1)),
        1 => reply.tool_call(format!("read-{number}"), "Read", json!({"filePath": "notes.txt"})).tool_call(
            format!("two-{number}"),
            "Bash",
            run(2),
        ),
        2 => reply.tool_call(format!("three-{number}"), "Bash", run(3)),
        _ => Reply::new().text("All done."),
    }
}

/// How often the model has answered since the last prompt, which is text and no result.
fn answers_since_prompt(messages: &[Value]) -> usize {
    let is_prompt = |message: &Value| {
        message["role"] == "user" && !message["content"].to_string().contains("tool_result")
    };
    messages
        .iter()
        .rev()
        .take_while(|message| !is_prompt(message))
        .filter(|message| message["role"] == "assistant")
        .count()
}

#[test]
fn nothing_acknowledged_is_lost_and_nothing_runs_twice() {
    let mut left = kills();
    while left > 0 {
        let kills = left.min(PER_SESSION);
        survive(kills, left);
        left -= kills;
    }
}

/// One session with so many kills.
fn survive(kills: u64, seed: u64) {
    let context = Context::new(Script::new().respond_with(worker));
    context.space.write("project/notes.txt", "some notes\n");
    let mut acknowledged = Vec::new();
    for kill in 0..kills {
        let prompt = format!("Prompt {kill}");
        // The first one leaves a session behind.
        let least = if kill == 0 { FIRST } else { 0 };
        let reach = (RandomState::new().hash_one((seed, kill)) % REACH).max(least);
        let output = context.space.path(&format!("out{kill}.jsonl"));
        let mut child = start(&context, &prompt, kill > 0, &output);
        wait_for_growth(&context, &mut child, reach);
        child.kill().unwrap();
        child.wait().unwrap();
        if completed(&output) {
            acknowledged.push(prompt);
        }
    }
    let last = context.run(&["-p", "The last prompt", "-c", "--allowed-tools", "Bash"]);
    assert_eq!(last.code, Some(0), "{}", last.stderr);
    assert!(last.stdout.ends_with("All done.\n"), "{}", last.stdout);
    assert_no_call_ran_twice(&context);
    assert_all_there(&context, &acknowledged);
    context.server.assert_clean();
    for check in ["replay", "validate"] {
        let run = Run::of(context.bare(&["session", check, &session_id(&context)]).output().unwrap());
        assert_eq!(run.code, Some(0), "{check}: {}{}", run.stdout, run.stderr);
    }
}

/// Waits until the log has grown by `bytes`, or the program has ended by itself.
fn wait_for_growth(context: &Context, child: &mut Child, bytes: u64) {
    let length = || log_path(context).and_then(|log| Some(fs::metadata(log).ok()?.len())).unwrap_or(0);
    let begun = length();
    while length() < begun + bytes && child.try_wait().unwrap().is_none() {
        std::thread::yield_now();
    }
}

/// Whether the run told that its turn is complete: from then on it must be on disk.
fn completed(output: &Path) -> bool {
    let text = fs::read_to_string(output).unwrap();
    let frames = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    frames.into_iter().any(|frame| frame["type"] == "result" && frame["is_error"] == false)
}

fn assert_no_call_ran_twice(context: &Context) {
    let mut times: BTreeMap<&str, u32> = BTreeMap::new();
    let ran = context.space.read("project/ran");
    for line in ran.lines() {
        *times.entry(line).or_default() += 1;
    }
    let twice: Vec<_> = times.iter().filter(|(_, times)| **times > 1).collect();
    assert!(twice.is_empty(), "{twice:?}");
}

/// Each acknowledged prompt stands in the log with its final answer.
fn assert_all_there(context: &Context, acknowledged: &[String]) {
    let messages: Vec<Value> = context
        .log()
        .into_iter()
        .filter(|event| event["event"] == "history_mutation")
        .map(|mut event| event["message"].take())
        .collect();
    for prompt in acknowledged {
        let at = messages.iter().position(|message| message["content"] == prompt.as_str());
        let at = at.unwrap_or_else(|| panic!("{prompt} was acknowledged and is lost"));
        let answer = messages[at + 1..].iter().take_while(|message| message["role"] != "user").last();
        assert_eq!(answer.map(|message| &message["content"]), Some(&json!("All done.")), "{prompt}");
    }
}

fn log_path(context: &Context) -> Option<PathBuf> {
    let mut logs = fs::read_dir(context.space.path("project/.robota/logs")).ok()?;
    logs.find_map(|entry| {
        entry.ok().map(|entry| entry.path()).filter(|path| path.extension() == Some("jsonl".as_ref()))
    })
}

fn session_id(context: &Context) -> String {
    context.log()[0]["sessionId"].as_str().unwrap().to_owned()
}

#[expect(clippy::disallowed_methods, reason = "a file made for the test takes the output")]
fn start(context: &Context, prompt: &str, go_on: bool, output: &Path) -> Child {
    let mut command =
        context.process(&["-p", prompt, "--output-format", "stream-json", "--allowed-tools", "Bash"]);
    command.args(go_on.then_some("-c"));
    command.stdout(fs::File::create(output).unwrap()).stderr(Stdio::null()).spawn().unwrap()
}

/// How often to kill: 200 times by default, `ROBOTA_TEST_KILLS` times for a long run.
#[expect(clippy::disallowed_methods, reason = "the switch for a heavy run of this test")]
fn kills() -> u64 {
    std::env::var("ROBOTA_TEST_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(200)
}
