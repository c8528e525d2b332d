//! The hooks that the documents show do what stands beside them.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use robota_framework::{ProjectPaths, Settings};
use robota_testkit::{Reply, Script, TempWorkspace};
use serde_json::json;

use super::{blocks, read};
use crate::context::{Context, Run};

/// A run in which the model wants to run `command`, with a script of the page as guard.
fn guarded(script: &str, command: &str) -> Run {
    let call = Reply::new().tool_call("c1", "Bash", json!({"command": command}));
    let context = Context::new(Script::new().reply(call).reply("Done."));
    let settings = &blocks(&read("docs/hooks.md"), "json")[0];
    context.space.write("home/.robota/settings.json", settings);
    context.space.write("home/bin/guard.sh", script);
    fs::set_permissions(context.space.path("home/bin/guard.sh"), Permissions::from_mode(0o700)).unwrap();
    context.run(&["-p", "go"])
}

#[test]
fn the_guard_that_comes_first_refuses_what_it_says() {
    let scripts = blocks(&read("docs/hooks.md"), "sh");
    let run = guarded(&scripts[0], "git push --force");
    let told = "not allowed: Bash git push --force: Blocked by hook: Force pushes are not allowed here.\n";
    assert_eq!((run.code, &*run.stdout, &*run.stderr), (Some(0), "Done.\n", told));
    assert!(read("docs/permissions.md").contains(told));
    let run = guarded(&scripts[0], "git push");
    assert!(run.stderr.contains("allow it with: --allowed-tools 'Bash(git push)'"), "{}", run.stderr);
}

#[test]
fn the_hook_that_changes_a_call_has_it_asked_for() {
    let run = guarded(&blocks(&read("docs/hooks.md"), "sh")[1], "npm test");
    let told = "not allowed: Bash pnpm test: A PreToolUse hook wants a person to agree: pnpm here";
    assert!(run.code == Some(0) && run.stderr.contains(told), "{}", run.stderr);
}

#[test]
fn settings_with_hooks_that_are_shown_are_understood() {
    let space = TempWorkspace::new().dir("project/.git");
    let paths = ProjectPaths::detect(&space.path("project"), Some(&space.path("home")), None).unwrap();
    let examples: Vec<String> =
        ["docs/hooks.md", "README.md"].iter().flat_map(|page| blocks(&read(page), "json")).collect();
    assert_eq!(examples.len(), 2);
    for example in examples {
        space.write("home/.robota/settings.json", &example);
        let settings = Settings::load(&paths, false).unwrap();
        assert!(settings.warnings.is_empty(), "{:?} in {example}", settings.warnings);
        assert_eq!(settings.hooks.groups.len(), 1);
    }
}

#[test]
fn trusting_a_project_is_told_as_shown() {
    let page = read("docs/settings.md");
    let shown = blocks(&page, "text").into_iter().find(|block| block.starts_with("$ robota trust")).unwrap();
    let context = Context::new(Script::new());
    let settings = json!({
        "permissions": {"allow": ["Bash(cargo test *)"]},
        "hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "./check.sh"}]}]},
    });
    context.space.write("project/.claude/settings.json", settings.to_string());
    let run = context.run(&["trust"]);
    let project = context.space.path("project").canonicalize().unwrap().display().to_string();
    let told = run.assert_success().stdout.replace(&project, "/home/ada/app");
    assert_eq!(format!("$ robota trust\n{told}"), shown);

    let help = Run::of(context.bare(&["trust", "--help"]).output().unwrap()).stdout;
    let described = page.split_once("| `robota trust [DIR]`").unwrap().1.split_once("\n\n- ").unwrap().0;
    let mut known = super::flags(&help);
    known.remove("--help");
    let described = format!("`{described}`");
    for flag in &known {
        assert!(described.contains(flag.as_str()), "{flag} is not described");
    }
}
