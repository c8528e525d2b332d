//! The system prompt and the note beside it, byte for byte.

use std::path::PathBuf;

use robota_core::{PermissionMode, Timestamp};
use robota_framework::{ContextFiles, ContextNote, PromptParts, PromptSection};

use crate::workspace::Workspace;

const TOOLS: &[&str] = &["Bash", "Read", "Write", "Edit", "Glob", "Grep", "WebFetch", "WebSearch"];

fn parts() -> PromptParts<'static> {
    PromptParts { tools: TOOLS, ..PromptParts::default() }
}

#[test]
fn the_prompt_of_a_small_project() {
    let prompt = parts().render();
    insta::assert_snapshot!(format!("{} bytes\n\n{prompt}", prompt.len()));
}

#[test]
fn sections_of_the_session_stand_in_the_order_of_their_priority() {
    let workspace = Workspace::new(&[
        ("home/.claude/CLAUDE.md", "Be kind."),
        ("repo/AGENTS.md", "Use tabs."),
        ("repo/CLAUDE.md", "Tests live in t/."),
    ]);
    let context = ContextFiles::load(&workspace.paths(), false);
    let section = |priority, title: &str, body: &str| PromptSection {
        priority,
        title: title.to_owned(),
        body: body.to_owned(),
    };
    let prompt = PromptParts {
        tools: &[],
        language: Some("Korean"),
        context: Some(&context),
        sections: vec![
            section(80, "Skills", "- audit"),
            section(25, "Memory", "m"),
            section(26, "Empty", ""),
        ],
        appendix: Some("The last word."),
        ..parts()
    }
    .render();
    let from_context = prompt.find("## Agent instructions").unwrap();
    insta::assert_snapshot!(workspace.normalised(&prompt[from_context..]));
    assert!(!prompt.contains("Bash") && !prompt.contains("## Tools"), "{prompt}");
}

#[test]
fn trusted_instructions_carry_no_reservation() {
    let workspace = Workspace::new(&[("repo/AGENTS.md", "Use tabs.")]);
    let context = ContextFiles::load(&workspace.paths(), true);
    let prompt = PromptParts { context: Some(&context), trusted: true, ..parts() }.render();
    assert!(
        workspace.normalised(&prompt).contains("<file path=\"/base/repo/AGENTS.md\">\nUse tabs.\n</file>")
    );
}

#[test]
fn a_replacement_stands_alone() {
    let replaced = PromptParts { replacement: Some("Be a pirate."), appendix: Some("Arr."), ..parts() };
    assert_eq!(replaced.render(), "Be a pirate.\n\nArr.");
    assert_eq!(PromptParts { replacement: Some(""), ..parts() }.render(), "");
}

fn note() -> ContextNote<'static> {
    ContextNote {
        cwd: PathBuf::from("/work/app"),
        root: PathBuf::from("/work/app"),
        platform: "linux",
        now: Timestamp::from_millis(1_795_301_280_007),
        ..ContextNote::default()
    }
}

#[test]
fn the_note_tells_of_folder_day_and_plan_mode() {
    insta::assert_snapshot!(note().render(), @"
    Working directory: /work/app
    Platform: linux
    Date: 2026-11-21
    Plan mode: off
    ");
    let elsewhere = ContextNote {
        cwd: PathBuf::from("/work/app/s\nrc"),
        additional_directories: &[PathBuf::from("/work/lib")],
        mode: PermissionMode::Plan,
        ..note()
    };
    insta::assert_snapshot!(elsewhere.render(), @"
    Working directory: /work/app/s�rc
    Project root: /work/app
    Additional directory: /work/lib
    Platform: linux
    Date: 2026-11-21
    Plan mode: on. Only look. Change nothing and run nothing; end with a plan that the user can approve.
    ");
}

#[test]
fn the_note_is_the_same_all_day_and_in_all_modes_but_plan() {
    for mode in [PermissionMode::AcceptEdits, PermissionMode::BypassPermissions] {
        assert_eq!(ContextNote { mode, ..note() }.render(), note().render());
    }
    let later = Timestamp::from_millis(1_795_301_280_007 + 60_000);
    assert_eq!(ContextNote { now: later, ..note() }.render(), note().render());
}
