//! A corpus of command lines with rules, verdict and a part of the reason.

use robota_testkit::TempWorkspace;
use serde::Deserialize;

use super::*;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    command: String,
    #[serde(default)]
    allow: Vec<String>,
    #[serde(default)]
    ask: Vec<String>,
    #[serde(default)]
    deny: Vec<String>,
    verdict: String,
    reason: String,
}

fn rows() -> Vec<Row> {
    let corpus = include_str!("../../../tests/corpus/commands.jsonl");
    corpus
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}")))
        .collect()
}

#[test]
fn every_command_of_the_corpus_gets_its_verdict() {
    let workspace = TempWorkspace::new()
        .file("a.txt", "x")
        .file("secret.txt", "x")
        .file("sub/inner", "x")
        .file("sub/deep/x", "x")
        .dir("src")
        .symlink("link", "/etc");
    let rows = rows();
    assert!(rows.len() >= 300, "{}", rows.len());
    let mut wrong = Vec::new();
    for row in &rows {
        let verdict = judge(&workspace, row);
        let decision = format!("{:?}", verdict.decision).to_lowercase();
        if decision != row.verdict || !verdict.reason.contains(&row.reason) {
            wrong.push(format!("{:?}: {decision}: {}", row.command, verdict.reason));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
}

fn judge(workspace: &TempWorkspace, row: &Row) -> Verdict {
    let root = workspace.root().canonicalize().unwrap();
    let of = |rules: &[String]| rules.iter().map(|rule| rule.parse().unwrap()).collect();
    let policy = PermissionPolicy {
        mode: PermissionMode::Default,
        rules: RuleSet { deny: of(&row.deny), ask: of(&row.ask), allow: of(&row.allow) },
        roots: vec![root.clone()],
        cwd: root.clone(),
        home: Some(PathBuf::from("/home/ada")),
        protected_dirs: Vec::new(),
        confinement: None,
    };
    policy.evaluate(&tool("Bash"), &[Access::Command { command: row.command.clone(), cwd: root }])
}
