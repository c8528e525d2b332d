//! Random command lines, judged and then run by a real Bash: under a verdict of allow nothing runs that
//! the allow rules do not cover word for word.
//!
//! The programs on PATH are stubs that note their arguments. `ROBOTA_TEST_CASES` sets the number of
//! cases; without Bash the test is skipped and says so.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use robota_core::{Access, Decision, PermissionMode, PermissionPolicy, Rule, RuleSet, ToolClass, ToolSpec};
use robota_testkit::TempWorkspace;

use crate::random_commands::Generator;

const CASES: u64 = 1_500;
const STUBS: [&str; 8] = ["git", "ls", "cat", "grep", "wc", "sort", "rm", "id"];
const RULES: [&str; 13] = [
    "git *",
    "git status",
    "ls *",
    "cat *",
    "grep -n *",
    "wc *",
    "sort *",
    "echo *",
    "true",
    "cd *",
    "read *",
    "test *",
    "f *",
];

/// Notes its name and arguments in one write, so that calls at the same time do not mix.
const STUB: &str = "#!/bin/sh\nprintf '%s\\037' \"${0##*/}\" \"$@\" \"$(printf '\\036')\" >> \"$RECORD\"\n";

#[test]
fn nothing_uncovered_runs_under_a_verdict_of_allow() {
    let bash = PathBuf::from("/bin/bash");
    if !bash.exists() {
        println!("skipped: there is no {}", bash.display());
        return;
    }
    let workspace =
        STUBS.iter().fold(files(), |workspace, stub| workspace.script(&format!("bin/{stub}"), STUB));
    let root = workspace.root().canonicalize().unwrap();
    let mut ran = 0;
    for seed in 0..cases() {
        let mut generator = Generator::new(seed);
        let line = generator.line();
        let rules: Vec<&str> = RULES.into_iter().filter(|_| generator.chance(85)).collect();
        let policy = policy(&root, &rules);
        if !allows(&policy, &root, &line) {
            continue;
        }
        ran += 1;
        for call in run(&bash, &root, &line) {
            assert!(allows(&policy, &root, &call), "seed {seed}: {line:?}\nruns {call:?} under {rules:?}");
        }
    }
    assert!(ran * 20 > cases(), "only {ran} lines were allowed");
}

fn files() -> TempWorkspace {
    TempWorkspace::new()
        .file("work/a.txt", "x\n")
        .file("work/b c.txt", "y\n")
        .file("work/-rf", "")
        .file("work/--output=z", "")
        .file("work/sub/a.txt", "")
}

#[expect(clippy::disallowed_methods, reason = "the number of cases comes from whoever runs the test")]
fn cases() -> u64 {
    std::env::var("ROBOTA_TEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(CASES)
}

fn policy(root: &Path, rules: &[&str]) -> PermissionPolicy {
    let allow = rules.iter().map(|rule| format!("Bash({rule})").parse::<Rule>().unwrap()).collect();
    PermissionPolicy {
        mode: PermissionMode::Default,
        rules: RuleSet { allow, ..RuleSet::default() },
        roots: vec![root.to_owned()],
        cwd: root.join("work"),
        home: None,
        protected_dirs: Vec::new(),
        confinement: None,
    }
}

fn allows(policy: &PermissionPolicy, root: &Path, command: &str) -> bool {
    let access = [Access::Command { command: command.to_owned(), cwd: root.join("work") }];
    policy.evaluate(&ToolSpec::new("Bash", ToolClass::Execute, ""), &access).decision == Decision::Allow
}

/// Runs `line` and returns the calls of stubs, written as commands.
#[expect(clippy::disallowed_methods, reason = "a real Bash is what the engine is compared with")]
fn run(bash: &Path, root: &Path, line: &str) -> Vec<String> {
    let record = root.join("record");
    std::fs::write(&record, "").unwrap();
    let mut command = std::process::Command::new(bash);
    command.args(["--norc", "--noprofile", "-c", line]).current_dir(root.join("work")).env_clear();
    command
        .env("PATH", root.join("bin"))
        .env("RECORD", &record)
        .env("x", "-x y")
        .env("HOME", root.join("home"));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // What runs in the background holds the pipes, so that the end of output is the end of all.
    command.output().unwrap();
    let record = std::fs::read_to_string(&record).unwrap();
    record.split("\u{1e}\u{1f}").filter(|call| !call.is_empty()).map(as_command).collect()
}

fn as_command(call: &str) -> String {
    let words = call.trim_end_matches('\u{1f}').split('\u{1f}');
    words.map(|word| format!("'{}'", word.replace('\'', "'\\''"))).collect::<Vec<_>>().join(" ")
}
