//! The rules of the house: which crate may use which, and how files are named and sized.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use serde_json::Value;

/// What each crate may use, besides `robota-testkit` in its tests (ARCHITECTURE.md has the same table).
const MAY_USE: [(&str, &[&str]); 7] = [
    ("robota-core", &[]),
    ("robota-providers", &["robota-core"]),
    ("robota-tools", &["robota-core"]),
    ("robota-session", &["robota-core"]),
    ("robota-testkit", &["robota-core"]),
    ("robota-framework", &["robota-core", "robota-session", "robota-tools"]),
    (
        "robota-cli",
        &[
            "robota-core",
            "robota-framework",
            "robota-providers",
            "robota-session",
            "robota-testkit",
            "robota-tools",
        ],
    ),
];

/// No source file is longer; past 500 lines a file should be asked whether it is still one idea.
const MAX_LINES: usize = 800;

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

#[test]
fn no_crate_uses_one_beside_or_above_it() {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--format-version", "1", "--offline"])
        .current_dir(workspace())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let mut uses: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for package in metadata["packages"].as_array().unwrap() {
        let name = package["name"].as_str().unwrap();
        let all = package["dependencies"].as_array().unwrap().iter();
        let own = all.filter(|dependency| dependency["kind"] != "dev");
        let own = own.map(|dependency| dependency["name"].as_str().unwrap());
        uses.insert(name, own.filter(|dependency| dependency.starts_with("robota-")).collect());
    }
    let allowed: BTreeMap<&str, BTreeSet<&str>> =
        MAY_USE.into_iter().map(|(name, uses)| (name, uses.iter().copied().collect())).collect();
    let names = |table: &BTreeMap<&str, BTreeSet<&str>>| table.keys().copied().map(str::to_owned).collect();
    let (there, known): (Vec<String>, Vec<String>) = (names(&uses), names(&allowed));
    assert_eq!(there, known, "a new crate needs its line in the table");
    for (name, used) in uses {
        let forbidden: Vec<_> = used.difference(&allowed[name]).collect();
        assert!(forbidden.is_empty(), "{name} must not use {forbidden:?}");
    }
}

#[test]
fn files_are_named_after_ideas_and_stay_readable() {
    let mut faults = Vec::new();
    for file in rust_files(&workspace().join("crates")) {
        let stem = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if ["utils", "util", "helpers", "helper", "misc", "common"].contains(&stem.as_str()) {
            faults.push(format!("{} is named after no idea", file.display()));
        }
        let lines = fs::read_to_string(&file).unwrap().lines().count();
        if lines > MAX_LINES {
            faults.push(format!("{} has {lines} lines; the limit is {MAX_LINES}", file.display()));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn no_source_speaks_of_a_machine() {
    let workspace = workspace();
    let own_folder = workspace.to_string_lossy().into_owned();
    for file in rust_files(&workspace.join("crates")) {
        let text = fs::read_to_string(&file).unwrap();
        assert!(!text.contains(&own_folder), "{} names {own_folder}", file.display());
    }
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(path);
            }
        }
    }
    assert!(!files.is_empty());
    files
}
