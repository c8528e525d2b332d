//! Paths with their verdicts, from the text a model writes to the reason it is given.
//!
//! `paths.jsonl` has a case a line: the tool and its path, the mode (`default` unless given), the rules, the
//! decision, and a part of the reason. `$T` stands for a temporary folder:
//!
//! ```text
//! work/app    the workspace, and the current folder      outside, work/app2, …   beside it
//! work/lib    an additional directory                     home                    the user's home folder
//! state       the user's robota folder
//! ```

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use robota_core::{Decision, DynTool, PermissionMode, PermissionPolicy, Rule, RuleSet};
use robota_tools::{ToolOptions, Workspace, builtin_tools};
use serde::Deserialize;
use serde_json::json;

const CASES: &str = include_str!("paths.jsonl");

#[derive(Debug, Deserialize)]
struct Case {
    tool: String,
    path: String,
    #[serde(default)]
    mode: PermissionMode,
    #[serde(default)]
    deny: Vec<String>,
    #[serde(default)]
    ask: Vec<String>,
    #[serde(default)]
    allow: Vec<String>,
    verdict: String,
    reason: String,
}

struct Stage {
    _keep: tempfile::TempDir,
    base: PathBuf,
    tools: Vec<Arc<dyn DynTool>>,
}

impl Stage {
    fn new() -> Self {
        let keep = tempfile::tempdir().unwrap();
        let base = keep.path().canonicalize().unwrap();
        let app = base.join("work/app");
        for folder in [
            "work/app/src",
            "work/app/docs",
            "work/app/sub/.git",
            "work/app2",
            "work/lib",
            "outside",
            "home",
            "state",
        ] {
            fs::create_dir_all(base.join(folder)).unwrap();
        }
        fs::create_dir(app.join(OsStr::from_bytes(b"n\xFFn"))).unwrap();
        fs::create_dir(base.join(OsStr::from_bytes(b"work/app\xFF"))).unwrap();
        for file in ["work/app/src/a.rs", "work/app/.git", "work/app2/b", "outside/key", "home/.bashrc"] {
            fs::write(base.join(file), "x\n").unwrap();
        }
        for (target, link) in [
            ("../../outside", "work/app/link-out"),
            ("../../outside/key", "work/app/link-file"),
            ("../../outside/none", "work/app/dangling"),
            ("link-out", "work/app/chain"),
            ("src", "work/app/link-in"),
            ("..", "work/app/up"),
            ("loop", "work/app/loop"),
            ("sub/.git", "work/app/gitlink"),
            ("../../home/.bashrc", "work/app/rc"),
            ("../app", "work/lib/to-app"),
            ("dotfiles/shell", "home/.zshrc"),
        ] {
            symlink(target, base.join(link)).unwrap();
        }
        symlink(OsStr::from_bytes(b"n\xFFn"), app.join("bytes")).unwrap();
        symlink(OsStr::from_bytes(b"../app\xFF"), app.join("twin")).unwrap();
        let workspace = Workspace::new(&app, [base.join("work/lib")], Some(base.join("home")));
        Self { _keep: keep, base, tools: builtin_tools(ToolOptions::new(workspace, Vec::new())) }
    }

    fn fill(&self, text: &str) -> String {
        text.replace("$T", self.base.to_str().unwrap())
    }

    fn rules(&self, texts: &[String]) -> Vec<Rule> {
        texts.iter().map(|text| Rule::parse(&self.fill(text), "user settings").unwrap()).collect()
    }

    /// Decision and reason of a case.
    fn judge(&self, case: &Case) -> (Decision, String) {
        let app = self.base.join("work/app");
        let policy = PermissionPolicy {
            mode: case.mode,
            rules: RuleSet {
                deny: self.rules(&case.deny),
                ask: self.rules(&case.ask),
                allow: self.rules(&case.allow),
            },
            roots: vec![app.clone(), self.base.join("work/lib")],
            cwd: app,
            home: Some(self.base.join("home")),
            protected_dirs: vec![self.base.join("state")],
            confinement: None,
        };
        let path = self.fill(&case.path);
        let arguments = match &*case.tool {
            "Read" => json!({"filePath": path}),
            "Write" => json!({"filePath": path, "content": ""}),
            "Edit" => json!({"filePath": path, "oldString": "a", "newString": "b"}),
            _ => json!({"pattern": "*", "path": path}),
        };
        let tool = self.tools.iter().find(|tool| tool.spec().name == case.tool).unwrap();
        let call = tool.prepare(&arguments.to_string()).unwrap();
        let verdict = policy.evaluate(tool.spec(), call.access());
        (verdict.decision, verdict.reason)
    }
}

#[test]
fn every_path_gets_its_verdict_and_reason() {
    let stage = Stage::new();
    let mut wrong = Vec::new();
    for (number, line) in CASES.lines().enumerate() {
        let case: Case = serde_json::from_str(line).unwrap();
        let expected = match &*case.verdict {
            "allow" => Decision::Allow,
            "ask" => Decision::Ask,
            "deny" => Decision::Deny,
            other => panic!("line {}: {other}", number + 1),
        };
        let (decision, reason) = stage.judge(&case);
        if decision != expected || !reason.contains(&stage.fill(&case.reason)) {
            wrong.push(format!("line {}: {case:?}\n  is {decision:?}: {reason}", number + 1));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(CASES.lines().count() >= 80);
    assert!(Path::new("/proc/self/root").exists(), "the cases about the kernel's folders need them");
}
