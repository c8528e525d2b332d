//! Which instruction files are read, in which order, and how much of them.

use std::os::unix::fs::symlink;

use robota_framework::{ContextFiles, ContextOrigin, MAX_CONTEXT_FILE, MAX_CONTEXT_TOTAL};

use crate::workspace::Workspace;

/// Path and text of each file, `text` alone for files of the project.
fn loaded(workspace: &Workspace, cwd: &str, trusted: bool) -> (Vec<(String, String)>, Vec<String>) {
    let context = ContextFiles::load(&workspace.paths_at(cwd), trusted);
    let shown = |path: &std::path::Path| workspace.relative(path).display().to_string();
    let files = context.files.iter().map(|file| (shown(&file.path), file.text.clone())).collect();
    let notices = context.notices.iter().map(|notice| workspace.normalised(notice)).collect();
    (files, notices)
}

fn names(files: &[(String, String)]) -> Vec<&str> {
    files.iter().map(|(name, _)| name.as_str()).collect()
}

#[test]
fn files_are_collected_from_outside_in_after_the_users_own() {
    let workspace = Workspace::new(&[
        ("repo/pkg/CLAUDE.md", "inner notes\n"),
        ("repo/AGENTS.md", "outer\n"),
        ("repo/CLAUDE.md", "notes\n"),
        ("AGENTS.md", "above the project"),
        ("home/.robota/AGENTS.md", "mine"),
        ("home/.claude/CLAUDE.md", "mine too"),
        ("repo/other/AGENTS.md", "not on the way"),
    ]);
    let context = ContextFiles::load(&workspace.paths_at("repo/pkg"), false);
    let (files, notices) = loaded(&workspace, "repo/pkg", false);
    let expected = [
        "home/.robota/AGENTS.md",
        "home/.claude/CLAUDE.md",
        "AGENTS.md",
        "repo/AGENTS.md",
        "repo/CLAUDE.md",
        "repo/pkg/CLAUDE.md",
    ];
    assert_eq!(names(&files), expected);
    assert_eq!(files[5].1, "inner notes");
    assert_eq!(notices, [""; 0]);
    let of_user = context.files.iter().filter(|file| file.origin == ContextOrigin::User).count();
    assert_eq!(of_user, 2);
}

#[test]
fn a_file_that_only_stands_for_another_is_loaded_once() {
    let import = Workspace::new(&[("repo/AGENTS.md", "rules"), ("repo/CLAUDE.md", "@./AGENTS.md\n")]);
    assert_eq!(names(&loaded(&import, "repo", false).0), ["repo/AGENTS.md"]);

    let more =
        Workspace::new(&[("repo/AGENTS.md", "rules"), ("repo/CLAUDE.md", "# Notes\n@AGENTS.md\nmore")]);
    assert_eq!(loaded(&more, "repo", false).0[1].1, "# Notes\nmore");

    let copy = Workspace::new(&[("repo/AGENTS.md", "rules"), ("repo/CLAUDE.md", "rules\n")]);
    assert_eq!(names(&loaded(&copy, "repo", false).0), ["repo/AGENTS.md"]);

    let link = Workspace::new(&[("repo/CLAUDE.md", "rules")]);
    symlink("CLAUDE.md", link.path("repo/AGENTS.md")).unwrap();
    assert_eq!(names(&loaded(&link, "repo", false).0), ["repo/AGENTS.md"]);

    let missing = Workspace::new(&[("repo/CLAUDE.md", "@AGENTS.md")]);
    assert_eq!(loaded(&missing, "repo", false).0[0].1, "@AGENTS.md");
}

#[test]
fn a_repository_cannot_link_a_private_file_into_the_prompt() {
    let workspace = Workspace::new(&[("home/secret", "private"), ("repo/pkg/x", "")]);
    symlink(workspace.path("home/secret"), workspace.path("repo/AGENTS.md")).unwrap();
    let (files, notices) = loaded(&workspace, "repo/pkg", false);
    assert_eq!(names(&files), [""; 0]);
    let expected =
        "/base/repo/AGENTS.md links to /base/home/secret; passed over because this folder is not trusted";
    assert_eq!(notices, [expected]);
    assert_eq!(names(&loaded(&workspace, "repo/pkg", true).0), ["repo/AGENTS.md"]);
}

#[test]
fn what_cannot_be_read_is_named_and_does_not_stop_the_rest() {
    let workspace = Workspace::new(&[("repo/CLAUDE.md", "notes"), ("AGENTS.md/x", "")]);
    workspace.write("repo/AGENTS.md", b"ab\xff");
    let (files, notices) = loaded(&workspace, "repo", false);
    assert_eq!(names(&files), ["repo/CLAUDE.md"]);
    assert_eq!(
        notices,
        [
            "/base/AGENTS.md is not a regular file; passed over",
            "/base/repo/AGENTS.md is not UTF-8 text; passed over"
        ]
    );
}

#[test]
fn long_files_are_cut_at_a_line_and_the_nearest_gets_its_share_first() {
    let line = |letter: char| format!("{}é\n", letter.to_string().repeat(97));
    let long = |letter: char| line(letter).repeat(600);
    let workspace = Workspace::new(&[
        ("AGENTS.md", &long('a')),
        ("repo/AGENTS.md", &long('b')),
        ("repo/one/AGENTS.md", &long('c')),
        ("repo/one/two/AGENTS.md", &long('d')),
    ]);
    let (files, notices) = loaded(&workspace, "repo/one/two", false);
    assert_eq!(names(&files), ["repo/AGENTS.md", "repo/one/AGENTS.md", "repo/one/two/AGENTS.md"]);
    let whole_lines = |limit: usize| limit / 100 * 100 - 1;
    let full = whole_lines(MAX_CONTEXT_FILE);
    let sizes: Vec<usize> = files.iter().map(|(_, text)| text.len()).collect();
    assert_eq!(sizes, [whole_lines(MAX_CONTEXT_TOTAL - 2 * full), full, full]);
    assert_eq!(notices.len(), 4);
    assert_eq!(notices[3], "/base/AGENTS.md is not given to the model: nearer files use up the 102400 bytes");
}
