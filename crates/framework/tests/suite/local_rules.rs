//! Rules that are allowed for good.

use std::os::unix::fs::{PermissionsExt, symlink};

use robota_framework::{LocalRules, Settings};

use crate::workspace::Workspace;

const FILE: &str = "repo/.robota/settings.local.json";

fn rules(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

fn allowed(workspace: &Workspace, trusted: bool) -> Vec<String> {
    let settings = Settings::load(&workspace.paths(), trusted).unwrap();
    settings.permissions.allow.iter().map(|sourced| sourced.rule.text().to_owned()).collect()
}

#[test]
fn a_new_file_is_private_and_hidden_and_counts_next_time() {
    let workspace = Workspace::new(&[]);
    LocalRules::new(&workspace.paths(), true).add(&rules(&["Bash(cargo test)", "Read(/a b/**)"])).unwrap();
    assert_eq!(allowed(&workspace, true), ["Bash(cargo test)", "Read(/a b/**)"]);
    let mode = workspace.path(FILE).metadata().unwrap().permissions().mode();
    assert_eq!((mode & 0o777, workspace.read("repo/.robota/.gitignore").as_str()), (0o600, "*\n"));
}

#[test]
fn without_trust_they_are_kept_for_this_project_in_the_users_folder() {
    let workspace = Workspace::new(&[("repo-2/.git/x", "")]);
    let keeper = LocalRules::new(&workspace.paths(), false);
    keeper.add(&rules(&["Bash(make)"])).unwrap();
    assert!(keeper.file().unwrap().starts_with(workspace.path("home/.robota/projects")));
    assert!(!workspace.path("repo/.robota").exists());
    assert_eq!(
        (allowed(&workspace, false), allowed(&workspace, true)),
        (rules(&["Bash(make)"]), rules(&["Bash(make)"]))
    );
    let other = Settings::load(&workspace.paths_at("repo-2"), false).unwrap();
    assert_eq!(other.permissions.allow, []);
}

#[test]
fn what_people_wrote_stays_and_nothing_is_added_twice() {
    let text = "{\n  // mine\n  \"permissions\": {\n    \"allow\": [\n      \"Read\", // all\n    ],\n    \"deny\": [\"Bash(rm *)\"]\n  }\n}\n";
    let workspace = Workspace::new(&[(FILE, text)]);
    let keeper = LocalRules::new(&workspace.paths(), true);
    keeper.add(&rules(&["Read"])).unwrap();
    assert_eq!(workspace.read(FILE), text);
    keeper.add(&rules(&["Read", "Bash(ls)"])).unwrap();
    let changed = workspace.read(FILE);
    assert!(
        changed.contains("// mine")
            && changed.contains("// all")
            && changed.contains("\"deny\": [\"Bash(rm *)\"]"),
        "{changed}"
    );
    assert_eq!(allowed(&workspace, true), ["Read", "Bash(ls)"]);
}

#[test]
fn what_cannot_be_understood_or_is_a_link_is_left_alone() {
    let workspace =
        Workspace::new(&[(FILE, "{\"permissions\": {\"allow\": [\"Bash(\"]}}"), ("elsewhere.json", "{}")]);
    let keeper = LocalRules::new(&workspace.paths(), true);
    let before = workspace.read(FILE);
    let error = keeper.add(&rules(&["Read"])).unwrap_err();
    assert!(error.to_string().contains("settings.local.json:1:"), "{error}");
    assert_eq!(workspace.read(FILE), before);
    assert!(keeper.add(&rules(&["Bash("])).is_err());

    std::fs::remove_file(workspace.path(FILE)).unwrap();
    symlink(workspace.path("elsewhere.json"), workspace.path(FILE)).unwrap();
    let error = keeper.add(&rules(&["Read"])).unwrap_err();
    assert!(error.to_string().contains("symbolic link"), "{error}");
    std::fs::remove_dir_all(workspace.path("repo/.robota")).unwrap();
    symlink(workspace.path("home"), workspace.path("repo/.robota")).unwrap();
    assert!(keeper.add(&rules(&["Read"])).is_err());
    assert_eq!(workspace.read("elsewhere.json"), "{}");
}

#[test]
fn rules_added_at_the_same_time_are_all_kept() {
    let workspace = Workspace::new(&[]);
    let keeper = LocalRules::new(&workspace.paths(), true);
    let wanted: Vec<String> = (0..16).map(|number| format!("Bash(run {number})")).collect();
    std::thread::scope(|scope| {
        for rule in &wanted {
            let keeper = keeper.clone();
            scope.spawn(move || keeper.add(std::slice::from_ref(rule)).unwrap());
        }
    });
    let mut kept = allowed(&workspace, true);
    kept.sort();
    let mut wanted = wanted;
    wanted.sort();
    assert_eq!(kept, wanted);
    let left = std::fs::read_dir(workspace.path("repo/.robota")).unwrap().count();
    assert_eq!(left, 2, "the file and .gitignore");
}
