//! Whatever stands in a rule, it is one or an error that says why, and a rule keeps its text.

#![no_main]

use libfuzzer_sys::fuzz_target;
use robota_core::{Access, PermissionMode, PermissionPolicy, Rule, RuleSet, ToolClass, ToolSpec};

fuzz_target!(|text: &str| match text.parse::<Rule>() {
    Ok(rule) => {
        assert_eq!(rule.text(), text.trim());
        let rules = RuleSet { deny: vec![rule.clone()], ask: Vec::new(), allow: vec![rule] };
        let policy = PermissionPolicy {
            mode: PermissionMode::Default,
            rules,
            roots: vec!["/work/app".into()],
            cwd: "/work/app".into(),
            home: Some("/home/ada".into()),
            protected_dirs: Vec::new(),
            confinement: None,
        };
        let access = [Access::Command { command: text.to_owned(), cwd: "/work/app".into() }];
        let _verdict = policy.evaluate(&ToolSpec::new("Bash", ToolClass::Execute, ""), &access);
        let _denied = policy.denies_reading(std::path::Path::new("/work/app/a"));
    }
    Err(error) => assert!(!error.reason().is_empty()),
});
