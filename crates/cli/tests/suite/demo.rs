//! The README's first command.

use crate::context::{Context, Run};

#[test]
fn the_demo_fixes_the_scratch_project_and_says_how_to_go_on() {
    let context = Context::new("unused");
    let folder = context.space.path("scratch");
    let mut command = context.bare(&["demo", "--dir"]);
    // A key and settings of the user must not reach the scripted run.
    command.arg(&folder).env("ANTHROPIC_API_KEY", "a-real-key-of-the-user");
    context.space.write("home/.robota/settings.json", r#"{"permissions": {"deny": ["Edit"]}}"#);
    let run = Run::of(command.output().unwrap());
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let first = run.stdout.lines().next().unwrap();
    assert_eq!(
        first,
        "The model in this demo is scripted; the tools, the permissions, the log and HTTP are real."
    );
    assert!(run.stdout.contains("All three titles pass now."));
    assert!(run.stdout.contains("+    sed 's/--*/-/g; s/^-//; s/-$//'"), "{}", run.stdout);
    let activity: Vec<&str> = run.stderr.lines().collect();
    let expected = [
        "● Grep slug",
        "● Bash sh test.sh",
        "  ✗ exit code 1",
        "● Read src/slugify.sh",
        "● Edit src/slugify.sh",
        "● Bash sh test.sh",
    ];
    assert_eq!(activity, expected);

    // The commands it shows work as they stand.
    let shown: Vec<&str> =
        run.stdout.lines().filter(|line| line.starts_with("  ") && line.contains(" session ")).collect();
    assert_eq!(shown.len(), 2, "{}", run.stdout);
    for line in shown {
        let words: Vec<&str> = line.split_whitespace().skip(1).take(3).collect();
        let mut command = context.bare(&words);
        Run::of(command.current_dir(&folder).output().unwrap()).assert_success();
    }
}

#[test]
fn a_folder_that_is_not_empty_is_left_alone() {
    let context = Context::new("unused");
    context.space.write("scratch/mine.txt", "mine");
    let run = Run::of(context.bare(&["demo", "--dir", "../scratch"]).output().unwrap());
    run.assert_failure(2, &["is not empty", "robota demo --dir DIR"]);
    assert_eq!(context.space.snapshot()["scratch/mine.txt"], "mine");
}
