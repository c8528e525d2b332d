//! What every request carries of the tools.

use robota_core::{Access, PathAccess, ToolClass};
use serde_json::json;

use crate::session::Session;

const NAMES: [&str; 10] = [
    "Bash",
    "Read",
    "Write",
    "Edit",
    "Glob",
    "Grep",
    "WebFetch",
    "WebSearch",
    "AskUserQuestion",
    "TodoWrite",
];

#[test]
fn the_specs_are_lean() {
    let session = Session::new();
    let specs = NAMES.map(|name| session.tool(name).spec().clone());
    let size: usize = specs.iter().map(|spec| serde_json::to_string(&**spec).unwrap().len()).sum();
    assert!(size <= 6_200, "the specs take {size} bytes of every request");
    insta::assert_snapshot!(
        "specs",
        serde_json::to_string_pretty(&specs.each_ref().map(|spec| &**spec)).unwrap()
    );
}

#[test]
fn classes_and_safety_are_stated() {
    let session = Session::new();
    let stated = NAMES.map(|name| {
        let spec = session.tool(name).spec();
        (spec.class, spec.parallel_safe, spec.idempotent)
    });
    let expected = [
        (ToolClass::Execute, false, false),
        (ToolClass::Inspect, true, true),
        (ToolClass::Modify, false, false),
        (ToolClass::Modify, false, false),
        (ToolClass::Inspect, true, true),
        (ToolClass::Inspect, true, true),
        (ToolClass::Network, true, true),
        (ToolClass::Inspect, true, true),
        (ToolClass::Inspect, false, false),
        (ToolClass::Inspect, false, true),
    ];
    assert_eq!(stated, expected);
}

#[test]
fn names_that_other_models_use_are_taken() {
    let session = Session::new();
    let calls = [
        ("Bash", json!({"command": "ls", "timeout": "1000", "cwd": "."})),
        ("Read", json!({"file_path": "a", "offset": 3.0, "limit": "10", "unknown": 1})),
        ("Read", json!({"path": "a", "limit": null})),
        ("Write", json!({"path": "a", "content": ""})),
        ("Edit", json!({"file_path": "a", "old_string": "x", "new_string": "y", "replace_all": "true"})),
        ("Grep", json!({"pattern": "x", "output_mode": "content", "-i": true, "-C": 2, "head_limit": 5})),
    ];
    for (name, arguments) in calls {
        assert!(session.tool(name).prepare(&arguments.to_string()).is_ok(), "{name} {arguments}");
    }
    let missing = session.tool("Edit").prepare(r#"{"filePath":"a","oldString":"x"}"#).unwrap_err();
    assert!(missing.to_string().contains("missing field `newString`"), "{missing}");
}

#[test]
fn access_is_stated_with_resolved_paths() {
    let session = Session::new();
    std::fs::create_dir(session.path("src")).unwrap();
    std::os::unix::fs::symlink("/etc", session.path("link")).unwrap();
    let root = session.path("").canonicalize().unwrap();
    let path = |kind, requested: &str, resolved: std::path::PathBuf| Access::Path {
        kind,
        requested: requested.to_owned(),
        resolved,
    };
    let cases = [
        (
            "Read",
            json!({"filePath": "link/passwd"}),
            path(PathAccess::Read, "link/passwd", "/etc/passwd".into()),
        ),
        (
            "Write",
            json!({"filePath": "a/../b", "content": ""}),
            path(PathAccess::Write, "a/../b", root.join("b")),
        ),
        (
            "Edit",
            json!({"filePath": "/tmp/../x", "oldString": "a", "newString": "b"}),
            path(PathAccess::Write, "/tmp/../x", "/x".into()),
        ),
        ("Glob", json!({"pattern": "**/*.rs"}), path(PathAccess::Search, ".", root.clone())),
        ("Glob", json!({"pattern": "src/*.rs"}), path(PathAccess::Search, "src", root.join("src"))),
        (
            "Glob",
            json!({"pattern": "/etc/p*", "path": "src"}),
            path(PathAccess::Search, "/etc", "/etc".into()),
        ),
        (
            "Glob",
            json!({"pattern": "link/*", "path": "src/.."}),
            path(PathAccess::Search, "src/../link", "/etc".into()),
        ),
        ("Grep", json!({"pattern": "x", "path": "link"}), path(PathAccess::Search, "link", "/etc".into())),
        (
            "Bash",
            json!({"command": "ls | wc", "workingDirectory": "src"}),
            Access::Command { command: "ls | wc".to_owned(), cwd: root.join("src") },
        ),
        (
            "WebFetch",
            json!({"url": "https://Docs.RS/x"}),
            Access::Url { url: "https://Docs.RS/x".to_owned(), host: "docs.rs".to_owned() },
        ),
    ];
    for (name, arguments, expected) in cases {
        assert_eq!(session.access(name, &arguments), [expected], "{name} {arguments}");
    }
    assert_eq!(session.access("WebSearch", &json!({"query": "x"})), []);
}
