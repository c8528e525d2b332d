//! Grep and Glob find what ripgrep finds.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use robota_core::{DynTool, ToolContext};
use robota_tools::{ToolOptions, Workspace, builtin_tools};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::search_tree;

/// Files of the tree; `ROBOTA_TEST_TREE=N` makes it larger.
const FILES: usize = 3_000;
/// What our walk does without being asked.
const ALWAYS: [&str; 9] = [
    "--no-config",
    "--hidden",
    "--no-ignore-global",
    "--no-messages",
    "--color=never",
    "--no-heading",
    "--sort=path",
    "--glob",
    "!.git",
];

/// Arguments of Grep, and those of rg that ask for the same.
type Case = (Value, Vec<&'static str>);

fn file_cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |arguments: Value, rg: &[&'static str]| cases.push((arguments, rg.to_vec()));
    add(json!({"pattern": "alpha"}), &["-l", "alpha"]);
    add(json!({"pattern": "^fn \\w+ \\{$"}), &["-l", "^fn \\w+ \\{$"]);
    add(json!({"pattern": "BETA", "-i": true}), &["-l", "-i", "BETA"]);
    add(json!({"pattern": "Beta"}), &["-l", "Beta"]);
    add(json!({"pattern": "delta(x)", "fixedStrings": true}), &["-l", "-F", "delta(x)"]);
    add(json!({"pattern": "gamma", "noIgnore": true}), &["-l", "--no-ignore", "gamma"]);
    add(json!({"pattern": "gamma", "glob": "*.rs"}), &["-l", "gamma", "-g", "*.rs"]);
    add(json!({"pattern": "gamma", "glob": "*.{ts,tsx}"}), &["-l", "gamma", "-g", "*.{ts,tsx}"]);
    add(json!({"pattern": "gamma", "glob": "*.c, *.h"}), &["-l", "gamma", "-g", "*.c", "-g", "*.h"]);
    add(json!({"pattern": "gamma", "glob": "!*.rs"}), &["-l", "gamma", "-g", "!*.rs"]);
    add(
        json!({"pattern": "gamma", "glob": "*.rs !src*/**"}),
        &["-l", "gamma", "-g", "*.rs", "-g", "!src*/**"],
    );
    add(json!({"pattern": "gamma", "glob": "!.*"}), &["-l", "gamma", "-g", "!.*"]);
    add(json!({"pattern": "gamma", "glob": "*.log"}), &["-l", "gamma", "-g", "*.log"]);
    add(json!({"pattern": "gamma", "glob": "/lib*/**"}), &["-l", "gamma", "-g", "/lib*/**"]);
    add(json!({"pattern": "gamma", "glob": "**/docs*/**/*.py"}), &["-l", "gamma", "-g", "**/docs*/**/*.py"]);
    add(json!({"pattern": "gamma", "glob": ["with space*"]}), &["-l", "gamma", "-g", "with space*"]);
    add(json!({"pattern": "gamma", "glob": "\\[id\\]*"}), &["-l", "gamma", "-g", "\\[id\\]*"]);
    add(json!({"pattern": "gamma", "type": "rust"}), &["-l", "gamma", "-t", "rust"]);
    add(json!({"pattern": "gamma", "type": "py,js"}), &["-l", "gamma", "-t", "py", "-t", "js"]);
    add(json!({"pattern": "gamma", "type": "!md"}), &["-l", "gamma", "-T", "md"]);
    add(
        json!({"pattern": "gamma", "type": "c", "glob": "!*9.h"}),
        &["-l", "gamma", "-t", "c", "-g", "!*9.h"],
    );
    add(
        json!({"pattern": "gamma", "type": "ts", "noIgnore": true}),
        &["-l", "gamma", "-t", "ts", "--no-ignore"],
    );
    add(json!({"pattern": "é gamma"}), &["-l", "é gamma"]);
    add(json!({"pattern": "absent_word"}), &["-l", "absent_word"]);
    cases
}

fn count_cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |arguments: Value, rg: &[&'static str]| cases.push((arguments, rg.to_vec()));
    let count = |pattern: &str| json!({"pattern": pattern, "output_mode": "count"});
    add(count("gamma"), &["-c", "gamma"]);
    add(count("alpha|Beta"), &["-c", "alpha|Beta"]);
    add(with(count("again$"), json!({"glob": "*.md"})), &["-c", "again$", "-g", "*.md"]);
    add(with(count("GAMMA"), json!({"-i": true, "type": "py"})), &["-c", "-i", "GAMMA", "-t", "py"]);
    add(with(count("gamma"), json!({"noIgnore": true})), &["-c", "--no-ignore", "gamma"]);
    add(
        with(count("gamma.*?again"), json!({"multiline": true})),
        &["-c", "-U", "--multiline-dotall", "gamma.*?again"],
    );
    cases
}

fn line_cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |arguments: Value, rg: &[&'static str]| cases.push((arguments, rg.to_vec()));
    let lines = |pattern: &str| json!({"pattern": pattern, "output_mode": "content"});
    add(lines("gamma"), &["-n", "gamma"]);
    add(with(lines("gamma"), json!({"-n": false})), &["-N", "gamma"]);
    add(with(lines("delta"), json!({"-C": 2})), &["-n", "-C2", "delta"]);
    add(with(lines("delta"), json!({"-A": 3})), &["-n", "-A3", "delta"]);
    add(with(lines("delta"), json!({"-B": 1})), &["-n", "-B1", "delta"]);
    add(with(lines("delta"), json!({"-A": 0, "-C": 1})), &["-n", "-B1", "-A0", "delta"]);
    add(with(lines("gamma|delta"), json!({"-C": 1})), &["-n", "-C1", "gamma|delta"]);
    add(
        with(lines("DELTA"), json!({"-i": true, "glob": "*.{rs,py}"})),
        &["-n", "-i", "DELTA", "-g", "*.{rs,py}"],
    );
    add(with(lines("^\\}$"), json!({"glob": "*.toml"})), &["-n", "^\\}$", "-g", "*.toml"]);
    add(with(lines("delta(x)"), json!({"fixedStrings": true})), &["-n", "-F", "delta(x)"]);
    add(with(lines("delta"), json!({"noIgnore": true, "-C": 1})), &["-n", "-C1", "--no-ignore", "delta"]);
    add(
        with(lines("delta.*?again"), json!({"multiline": true})),
        &["-n", "-U", "--multiline-dotall", "delta.*?again"],
    );
    add(lines("delta.*\\n.*again"), &["-n", "-U", "delta.*\\n.*again"]);
    add(with(lines("Beta"), json!({"type": "md", "-A": 1})), &["-n", "-A1", "-t", "md", "Beta"]);
    cases
}

/// Patterns of Glob, with those of rg.
const GLOB_CASES: [(&str, &str); 9] = [
    ("**", "**"),
    ("**/*.rs", "**/*.rs"),
    ("*", "/*"),
    ("*.{rs,py,toml}", "/*.{rs,py,toml}"),
    ("lib*/**/*.ts", "/lib*/**/*.ts"),
    ("**/[a-f]*_?[0-4].*", "**/[a-f]*_?[0-4].*"),
    ("**/.*", "**/.*"),
    ("**/a b*/**/{file,keep}_*", "**/a b*/**/{file,keep}_*"),
    ("**/\\[id\\]*", "**/\\[id\\]*"),
];

fn with(mut arguments: Value, more: Value) -> Value {
    let more: Map<String, Value> = serde_json::from_value(more).unwrap();
    arguments.as_object_mut().unwrap().extend(more);
    arguments
}

/// The lines that rg writes, escaped as ours are; `None` when there is no rg.
fn rg(root: &Path, arguments: &[&str]) -> Option<Vec<String>> {
    let mut command = Command::new("rg");
    // In ours `$` stands before CRLF, except where matches may span lines.
    let crlf = if arguments.contains(&"-U") { "--no-crlf" } else { "--crlf" };
    command.args(ALWAYS).arg(crlf).args(arguments).current_dir(root).stdin(Stdio::null());
    let output = match command.output() {
        Ok(output) => output,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
        Err(error) => panic!("{error}"),
    };
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.is_empty(), "rg {arguments:?}: {error}");
    let lines = output.stdout.split_inclusive(|byte| *byte == b'\n');
    Some(lines.map(|line| escaped(line.trim_ascii_end())).collect())
}

fn escaped(line: &[u8]) -> String {
    let mut text = String::new();
    for chunk in line.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|byte| format!("\\x{byte:02X}")));
    }
    text
}

struct Tools(Vec<Arc<dyn DynTool>>);

impl Tools {
    fn over(root: &Path) -> Self {
        Self(builtin_tools(ToolOptions::new(Workspace::new(root, [], None), Vec::new())))
    }

    /// All lines of a result, page after page, without the remarks.
    async fn lines(&self, name: &str, arguments: &Value) -> Vec<String> {
        let tool = self.0.iter().find(|tool| tool.spec().name == name).unwrap();
        let mut lines = Vec::new();
        loop {
            let arguments = with(arguments.clone(), json!({"offset": lines.len(), "limit": 10_000}));
            let call = tool.prepare(&arguments.to_string()).unwrap();
            let outcome = call.run(ToolContext::new("call", CancellationToken::new())).await.unwrap();
            assert!(!outcome.is_error, "{arguments}: {}", outcome.content);
            let facts = outcome.structured.unwrap();
            let shown = usize::try_from(facts["shown"].as_u64().unwrap()).unwrap();
            lines.extend(outcome.content.lines().take(shown).map(|line| line.trim_end().to_owned()));
            if facts["more"] != json!(true) && facts["truncated"] != json!(true) {
                return lines;
            }
        }
    }
}

fn tree() -> (tempfile::TempDir, PathBuf) {
    let files = std::env::var("ROBOTA_TEST_TREE").ok().and_then(|files| files.parse().ok()).unwrap_or(FILES);
    let temp = tempfile::tempdir().unwrap();
    let root = search_tree::build(&temp.path().canonicalize().unwrap(), files);
    (temp, root)
}

#[tokio::test]
async fn what_is_found_is_what_ripgrep_finds() {
    let (_temp, root) = tree();
    if rg(&root, &["--version"]).is_none() {
        println!("skipped: rg is not installed, and it is what the results are compared with");
        return;
    }
    let tools = Tools::over(&root);
    let cases = [file_cases(), count_cases(), line_cases()].concat();
    assert!(cases.len() + GLOB_CASES.len() >= 50, "{}", cases.len());
    let mut empty = Vec::new();
    for (arguments, rg_arguments) in cases {
        let expected = rg(&root, &rg_arguments).unwrap();
        if expected.is_empty() {
            empty.push(arguments.to_string());
        }
        let found = tools.lines("Grep", &arguments).await;
        same(&found, &expected, &arguments.to_string());
    }
    assert_eq!(empty, [r#"{"pattern":"absent_word"}"#], "what finds nothing shows nothing");
    let open: BTreeSet<String> = rg(&root, &["--files"]).unwrap().into_iter().collect();
    for (pattern, of_rg) in GLOB_CASES {
        let fitting = rg(&root, &["--files", "--no-ignore", "-g", of_rg, "-g", "!.git"]).unwrap();
        for no_ignore in [false, true] {
            let fits = |path: &&String| no_ignore || open.contains(*path);
            let expected: BTreeSet<String> = fitting.iter().filter(fits).cloned().collect();
            assert!(!expected.is_empty(), "{pattern} finds nothing");
            let arguments = json!({"pattern": pattern, "noIgnore": no_ignore});
            let found = tools.lines("Glob", &arguments).await;
            let sorted: Vec<String> = found.into_iter().collect::<BTreeSet<_>>().into_iter().collect();
            same(&sorted, &expected.into_iter().collect::<Vec<_>>(), &arguments.to_string());
        }
    }
}

fn same(found: &[String], expected: &[String], what: &str) {
    let differs = found.iter().zip(expected).position(|(found, expected)| found != expected);
    let at = differs.unwrap_or(found.len().min(expected.len()));
    assert!(
        found == expected,
        "{what}: {} lines instead of {}; at {at} {:?} instead of {:?}",
        found.len(),
        expected.len(),
        found.get(at),
        expected.get(at)
    );
}
