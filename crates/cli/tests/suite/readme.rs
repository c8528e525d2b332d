//! Every command in the README is true.

use std::fs;
use std::path::Path;

use crate::context::{Context, Run};

fn readme() -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md")).unwrap()
}

/// The lines of the README's shell blocks.
fn commands() -> Vec<String> {
    let text = readme();
    let blocks = text.split("```").skip(1).step_by(2).filter_map(|block| block.strip_prefix("sh\n"));
    let commands = blocks.flat_map(str::lines).map(|line| line.split(" #").next().unwrap_or(line).trim());
    commands.filter(|line| !line.is_empty() && !line.starts_with('#')).map(str::to_owned).collect()
}

#[test]
fn the_test_command_is_the_one_that_ci_runs() {
    let ci = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.ci/run")).unwrap();
    assert_eq!(commands()[..2], ["cargo run --release -- demo", "cargo test --workspace"]);
    assert!(ci.contains("cargo test --workspace"));
}

#[test]
fn every_other_command_runs() {
    // The fake model answers whatever is asked; what counts is that flags and sub-commands exist.
    let context = Context::new(robota_testkit::Script::new().respond_with(|_| "ok".into()));
    for (name, content) in
        [("build.log", "error: it broke\n"), ("build.sh", "true\n"), ("README.md", "# App\n")]
    {
        context.space.write(&format!("project/{name}"), content);
    }
    context.run(&["-p", "first", "-n", "login"]).assert_success();
    let mut ran = 0;
    for line in commands().iter().filter(|line| !line.starts_with("cargo ")) {
        let run = Run::of(context.shell(line).output().unwrap());
        assert_eq!(run.code, Some(0), "`{line}`: {}", run.stderr);
        ran += 1;
    }
    assert!(ran >= 11, "the tour has shrunk to {ran} commands");
}
