//! Whatever stands in a command line, judging it ends, its explanation shares the verdict, and the rules that are
//! offered suffice.

#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use robota_core::{Access, Decision, PermissionMode, PermissionPolicy, Rule, RuleSet, ToolClass, ToolSpec};

fuzz_target!(|text: &str| {
    let parse = |rules: &[&str]| rules.iter().map(|rule| rule.parse::<Rule>().expect("a rule")).collect();
    let mut policy = PermissionPolicy {
        mode: PermissionMode::Default,
        rules: RuleSet {
            deny: parse(&["Bash(rm *)", "Read(.env)"]),
            ask: parse(&["Bash(git push *)"]),
            allow: parse(&["Bash(git *)", "Bash(ls *)", "Bash(cd *)", "Bash(echo x)"]),
        },
        roots: vec!["/work/app".into()],
        cwd: "/work/app".into(),
        home: None,
        protected_dirs: Vec::new(),
        confinement: None,
    };
    let bash = ToolSpec::new("Bash", ToolClass::Execute, "");
    let access = [Access::Command { command: text.to_owned(), cwd: "/work/app".into() }];
    let verdict = policy.evaluate(&bash, &access);
    let report = policy.explain_command(&bash, text, Path::new("/work/app"));
    assert_eq!(report.verdict, verdict);
    if !verdict.allow_rules.is_empty() {
        let rules = verdict.allow_rules.iter().map(|rule| rule.parse::<Rule>().expect("a rule"));
        policy.rules.allow.extend(rules);
        assert_eq!(policy.evaluate(&bash, &access).decision, Decision::Allow);
    }
});
