//! `docs/tools.md` and `docs/sandbox.md` against the tools, the settings and the program.

use std::collections::BTreeSet;

use robota_framework::{ProjectPaths, Settings};
use robota_testkit::{Script, TempWorkspace};
use robota_tools::{ToolOptions, Workspace, builtin_tools};

use super::{blocks, flags, read, rows, spans};
use crate::context::{Context, Run};

fn help(arguments: &[&str]) -> String {
    let context = Context::new(Script::new());
    let run = context.bare(&[arguments, &["--help"]].concat()).output().unwrap();
    Run::of(run).assert_success().stdout.clone()
}

#[test]
fn every_tool_has_its_row_and_searches_their_parameters() {
    let page = read("docs/tools.md");
    let tools = builtin_tools(ToolOptions::new(Workspace::new("/", [], None), Vec::new()));
    let names = tools.iter().map(|tool| tool.spec().name.clone());
    let documented = rows(&page, "tool");
    let documented = documented
        .iter()
        .map(|row| row[0].trim_start_matches('[').split(']').next().unwrap_or_default().to_owned());
    assert!(names.eq(documented));
    for name in ["Glob", "Grep"] {
        let spec = tools.iter().find(|tool| tool.spec().name == name).unwrap().spec();
        let known: BTreeSet<&str> =
            spec.input_schema["properties"].as_object().unwrap().keys().map(String::as_str).collect();
        let rows = rows(&page, name);
        let documented: BTreeSet<&str> = rows
            .iter()
            .flat_map(|row| {
                spans(&row[0])
                    .into_iter()
                    .chain(spans(&row[1]).into_iter().filter(|span| known.contains(span)))
            })
            .collect();
        assert_eq!(documented, known, "{name}");
    }
}

#[test]
fn every_key_of_the_sandbox_has_its_row_and_its_example_is_understood() {
    let page = read("docs/sandbox.md");
    let documented: BTreeSet<String> = rows(&page, "key of `sandbox`")
        .iter()
        .map(|row| spans(&row[0])[0].rsplit('.').next().unwrap_or_default().to_owned())
        .collect();
    let source = read("crates/framework/src/settings/sandbox.rs");
    let lists = source.split("_KEYS: [&str;").skip(1).chain(source.split("const KEYS: [&str;").skip(1));
    let quoted = |list: &str| {
        let list = list.split("];").next().unwrap_or_default();
        list.split('"').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>()
    };
    let mut known: BTreeSet<String> = lists.flat_map(quoted).collect();
    // They hold the others.
    assert!(known.remove("filesystem") && known.remove("network"));
    assert_eq!(documented, known);

    let space = TempWorkspace::new().dir("project/.git");
    let paths = ProjectPaths::detect(&space.path("project"), Some(&space.path("home")), None).unwrap();
    for (page, least) in [("docs/sandbox.md", 1), ("docs/tools.md", 1)] {
        let examples = blocks(&read(page), "json");
        assert!(examples.len() >= least, "{page}");
        for example in examples {
            space.write("home/.robota/settings.json", &example);
            let settings = Settings::load(&paths, false).unwrap();
            assert!(settings.warnings.is_empty(), "{:?} in {example}", settings.warnings);
        }
    }
}

#[test]
fn commands_about_tools_and_the_sandbox_take_what_the_pages_say() {
    let (tools, sandbox) = (read("docs/tools.md"), read("docs/sandbox.md"));
    let by_hand = tools.split_once("## By hand").unwrap().1;
    let known = flags(&help(&["tool", "run"]));
    let shown = flags(&by_hand.replace("--no-session-persistence", ""));
    assert!(shown.is_subset(&known), "{shown:?}");
    let codes: Vec<String> = rows(by_hand, "exit code").iter().map(|row| row[0].clone()).collect();
    let told = help(&["tool", "run"]);
    let told = told.split_once("Exit codes:").unwrap().1;
    let told = told.lines().filter_map(|line| line.split_whitespace().next());
    assert!(codes.iter().map(String::as_str).eq(told.filter(|code| code.parse::<u8>().is_ok())), "{codes:?}");
    let commands = rows(&sandbox, "command");
    for (row, name) in commands.iter().zip(["status", "run"]) {
        assert!(row[0].starts_with(&format!("`robota sandbox {name}")), "{row:?}");
        let known = flags(&help(&["sandbox", name]));
        assert!(flags(&row[1]).is_subset(&known), "{row:?}");
    }
}
