//! Sessions put together from settings, and run with a scripted model.

use std::sync::{Arc, Mutex};

use robota_core::{PermissionMode, RawCapture, Rule, RuleSet, Timestamp};
use robota_framework::{AssemblyError, Environment, SessionBlueprint, Settings, create_query};
use robota_session::{AutoCompactThreshold, Durability, PermissionAnswer, PermissionRequest};
use robota_testkit::{FixedClock, Reply, Script, ScriptedProvider, fixed_ambient};
use serde_json::json;

use crate::definitions::resolved;
use crate::workspace::Workspace;

const ENVIRONMENT: &[(&str, &str)] = &[
    ("PATH", "/usr/bin:/bin"),
    ("ANTHROPIC_API_KEY", "sk-ant-0123456789"),
    ("KEY_AT_WORK", "hidden-at-work"),
];

const USER_SETTINGS: &str = r#"{"permissions": {"allow": ["Read"], "deny": ["Bash(rm *)"], "defaultMode": "acceptEdits"},
    "providers": {"work": {"type": "openai", "apiKey": "$ENV:KEY_AT_WORK"}}}"#;

fn blueprint(workspace: &Workspace, cwd: &str, script: Script) -> (SessionBlueprint, Arc<ScriptedProvider>) {
    let paths = workspace.paths_at(cwd);
    let settings = Settings::load(&paths, false).unwrap();
    let environment: Environment = ENVIRONMENT.iter().copied().collect();
    let model = resolved(&settings, &environment);
    let provider = Arc::new(ScriptedProvider::new(script));
    let mut blueprint = SessionBlueprint::new(paths, settings, environment, model, provider.clone());
    blueprint.ambient = fixed_ambient();
    (blueprint, provider)
}

fn texts(rules: &[Rule]) -> Vec<&str> {
    rules.iter().map(Rule::text).collect()
}

fn tool_names(blueprint: &SessionBlueprint) -> Vec<String> {
    let assembly = blueprint.assemble().unwrap();
    assembly.options.tools.iter().map(|tool| tool.spec().name.clone()).collect()
}

#[tokio::test]
async fn a_session_runs_in_the_project_and_goes_on_by_name() {
    let workspace = Workspace::new(&[("repo/AGENTS.md", "Use tabs."), ("repo/src/a.txt", "hello from a\n")]);
    let script = Script::new()
        .reply(Reply::new().tool_call("c1", "Read", json!({"filePath": "a.txt"})))
        .reply("It says hello.")
        .reply("Again.");
    let (mut blueprint, provider) = blueprint(&workspace, "repo/src", script);
    blueprint.name = Some("greeting".to_owned());
    let assembly = blueprint.assemble().unwrap();

    let session = assembly.create().await.unwrap();
    assert_eq!(session.run("What is in a.txt?").await.unwrap().text, "It says hello.");
    session.shutdown("other").await.unwrap();
    assert_eq!(assembly.latest().await.unwrap().as_ref(), Some(session.session_id()));
    let resumed = assembly.resume("greeting").await.unwrap();
    assert_eq!(resumed.run("And again?").await.unwrap().text, "Again.");
    let forked = assembly.fork(session.session_id().as_str()).await.unwrap();
    assert_eq!(forked.history().len(), resumed.history().len());

    provider.assert_clean();
    let requests = provider.requests();
    assert_eq!(&*requests[0].model, "claude-sonnet-4-5");
    assert!(requests[0].system.contains("Use tabs."));
    assert!(requests[1].messages[2].text().contains("hello from a"), "{:?}", requests[1].messages);
    assert_eq!(requests[0].system, requests[2].system);
    let log = workspace.read(&format!("repo/.robota/logs/{}.jsonl", session.session_id()));
    assert!(log.contains("Use tabs."));
}

#[test]
fn a_tool_that_is_denied_as_a_whole_is_not_offered() {
    let workspace = Workspace::new(&[(
        "repo/.robota/settings.json",
        r#"{"permissions": {"deny": ["WebFetch", "Read(secrets/**)"], "allow": ["Bash"]}}"#,
    )]);
    let (mut blueprint, _) = blueprint(&workspace, "repo", Script::new());
    blueprint.permissions.denied = vec!["Bash".to_owned()];
    assert_eq!(
        tool_names(&blueprint),
        ["Read", "Write", "Edit", "Glob", "Grep", "WebSearch", "AskUserQuestion", "TodoWrite"]
    );
    blueprint.permissions.denied.push("Edit(*)".to_owned());
    assert_eq!(tool_names(&blueprint), ["Read", "Glob", "Grep", "WebSearch", "AskUserQuestion", "TodoWrite"]);
    let assembly = blueprint.assemble().unwrap();
    assert!(!assembly.options.system_prompt.contains("Bash"));
    let rules = &assembly.options.permissions.rules;
    assert_eq!(texts(&rules.deny), ["WebFetch", "Read(secrets/**)", "Bash", "Edit(*)"]);
    assert_eq!(rules.allow, RuleSet::seed_defaults().allow);
}

#[test]
fn flags_join_the_rules_of_settings_and_choose_the_mode() {
    let workspace = Workspace::new(&[("home/.robota/settings.json", USER_SETTINGS), ("lib/x", "")]);
    let (mut blueprint, _) = blueprint(&workspace, "repo", Script::new());
    blueprint.permissions.allowed = vec!["Bash(git status)".to_owned(), "Bsh(ls)".to_owned()];
    blueprint.permissions.additional_directories = vec!["../lib".into()];
    let assembly = blueprint.assemble().unwrap();
    let permissions = &assembly.options.permissions;
    assert_eq!(texts(&permissions.rules.deny), ["Bash(rm *)"]);
    let allowed = texts(&permissions.rules.allow);
    assert_eq!(allowed[RuleSet::seed_defaults().allow.len()..], ["Read", "Bash(git status)", "Bsh(ls)"]);
    assert_eq!(permissions.roots, [workspace.path("repo"), workspace.path("lib")]);
    assert_eq!(permissions.mode, PermissionMode::AcceptEdits);
    assert_eq!(assembly.notices, ["the rule `Bsh(ls)` has no effect: there is no tool `Bsh`"]);

    blueprint.environment = Environment::from_iter([("ROBOTA_PERMISSION_MODE", "plan")]);
    assert_eq!(blueprint.assemble().unwrap().options.permissions.mode, PermissionMode::Plan);
    blueprint.permissions.mode = Some(PermissionMode::Default);
    assert_eq!(blueprint.assemble().unwrap().options.permissions.mode, PermissionMode::Default);
}

#[test]
fn what_a_flag_or_variable_gets_wrong_is_an_error() {
    let workspace = Workspace::new(&[("repo/file", "")]);
    let (blueprint, _) = blueprint(&workspace, "repo", Script::new());
    let error = |change: fn(&mut SessionBlueprint)| -> AssemblyError {
        let mut blueprint = blueprint.clone();
        change(&mut blueprint);
        blueprint.assemble().map(drop).unwrap_err()
    };
    let folder = error(|blueprint| blueprint.permissions.additional_directories = vec!["file".into()]);
    assert_eq!(folder.to_string(), "the additional folder file cannot be used: not a directory");
    let mode =
        error(|blueprint| blueprint.environment = Environment::from_iter([("ROBOTA_PERMISSION_MODE", "x")]));
    assert!(mode.to_string().starts_with("ROBOTA_PERMISSION_MODE: `x` is not a permission mode"), "{mode}");
    assert!(mode.is_configuration() && !folder.is_configuration());
    let rule = error(|blueprint| blueprint.permissions.denied = vec!["Bash(rm".to_owned()]);
    assert!(rule.to_string().contains("Bash(rm"), "{rule}");
}

#[tokio::test]
async fn credentials_reach_neither_commands_nor_the_log() {
    let workspace = Workspace::new(&[("home/.robota/settings.json", USER_SETTINGS)]);
    let script = Script::new()
        .reply(Reply::new().tool_call("c1", "Bash", json!({"command": "env; echo seen"})))
        .reply("Done.");
    let (blueprint, provider) = blueprint(&workspace, "repo", script);
    let mut assembly = blueprint.assemble().unwrap();
    let allow = |_: PermissionRequest| -> futures_util::future::BoxFuture<'static, PermissionAnswer> {
        Box::pin(std::future::ready(PermissionAnswer::Allow))
    };
    assembly.options.permission_handler = Some(Arc::new(allow));

    let session = assembly.create().await.unwrap();
    session.run("My key is sk-ant-0123456789.").await.unwrap();
    session.shutdown("other").await.unwrap();

    let requests = provider.requests();
    let output = requests[1].messages[2].text();
    assert!(output.contains("seen") && output.contains("PATH="), "{output}");
    assert!(!output.contains("hidden-at-work") && !output.contains("sk-ant"), "{output}");
    let id = session.session_id();
    for file in [format!("repo/.robota/logs/{id}.jsonl"), format!("repo/.robota/sessions/{id}.json")] {
        let text = workspace.read(&file);
        assert!(text.contains("My key is [REDACTED]."), "{file}");
        assert!(!text.contains("sk-ant-0123456789"), "{file}");
    }
    let resumed = assembly.resume(id.as_str()).await.unwrap();
    assert_eq!(resumed.defects().total(), 0);
    assert_eq!(resumed.history().len(), 4);
}

#[tokio::test]
async fn a_redacted_log_gives_back_the_whole_conversation() {
    let workspace = Workspace::new(&[("repo/a.txt", "hello")]);
    let arguments = json!({"filePath": "a.txt", "password": "open-sesame", "limit": 1});
    let script = Script::new().reply(Reply::new().tool_call("c1", "Read", arguments.clone())).reply("Done.");
    let (blueprint, _) = blueprint(&workspace, "repo", script);
    let assembly = blueprint.assemble().unwrap();
    let session = assembly.create().await.unwrap();
    session.run(r#"Set {"password": "open-sesame", "max_tokens": 5}."#).await.unwrap();
    session.shutdown("other").await.unwrap();

    let resumed = assembly.resume(session.session_id().as_str()).await.unwrap();
    assert_eq!(resumed.defects().total(), 0);
    assert_eq!(resumed.history(), session.history());
    let calls = resumed.history()[1].tool_calls()[0].arguments.clone();
    assert_eq!(serde_json::from_str::<serde_json::Value>(&calls).unwrap(), arguments);
}

#[tokio::test]
async fn what_may_not_be_read_does_not_turn_up_in_searches() {
    let workspace = Workspace::new(&[
        ("repo/.robota/settings.json", r#"{"permissions": {"deny": ["Read(/sub/secrets/**)"]}}"#),
        ("repo/sub/.env", "TOKEN=1"),
        ("repo/sub/open.txt", "TOKEN=2"),
        ("repo/sub/secrets/a.txt", "TOKEN=3"),
    ]);
    let search = |id: &str, tool: &str, arguments| Reply::new().tool_call(id, tool, arguments);
    let script = Script::new()
        .reply(search("c1", "Grep", json!({"pattern": "TOKEN"})))
        .reply(search("c2", "Grep", json!({"pattern": "TOKEN", "path": "..", "glob": ".env"})))
        .reply(search("c3", "Glob", json!({"pattern": "**"})))
        .reply(search("c4", "Read", json!({"filePath": "secrets/a.txt"})))
        .reply("Done.");
    let (mut blueprint, provider) = blueprint(&workspace, "repo/sub", script);
    blueprint.permissions.denied = vec!["Read(.env)".to_owned()];
    blueprint.assemble().unwrap().create().await.unwrap().run("Search.").await.unwrap();

    let requests = provider.requests();
    let result = |request: usize| requests[request].messages.last().unwrap().text();
    let note = "[2 files or folders left out: permission rules deny reading them]";
    assert_eq!(result(1), format!("open.txt\n{note}"));
    assert_eq!(result(2), format!("no matches\n{note}"));
    assert_eq!(result(3), format!("open.txt\n{note}"));
    assert!(result(4).contains("Read(/sub/secrets/**)"), "{}", result(4));
}

#[test]
fn another_day_folder_or_mode_changes_the_note_and_not_the_system_prompt() {
    let workspace = Workspace::new(&[("repo/AGENTS.md", "Use tabs."), ("repo/sub/x", ""), ("lib/x", "")]);
    let told = |cwd: &str, millis: i64, mode: PermissionMode, folders: &[&str]| {
        let (mut blueprint, _) = blueprint(&workspace, cwd, Script::new());
        blueprint.ambient.clock = Arc::new(FixedClock::at(Timestamp::from_millis(millis)));
        blueprint.permissions.mode = Some(mode);
        blueprint.permissions.additional_directories =
            folders.iter().map(|name| workspace.path(name)).collect();
        let options = blueprint.assemble().unwrap().options;
        (options.system_prompt, workspace.normalised(&options.context_note.unwrap()))
    };
    let (prompt, note) = told("repo", 0, PermissionMode::Default, &[]);
    let os = std::env::consts::OS;
    assert_eq!(
        note,
        format!("Working directory: /base/repo\nPlatform: {os}\nDate: 1970-01-01\nPlan mode: off")
    );
    let (same, other) = told("repo/sub", 86_400_000, PermissionMode::Plan, &["lib"]);
    assert_eq!(same, prompt);
    let first =
        "Working directory: /base/repo/sub\nProject root: /base/repo\nAdditional directory: /base/lib\n";
    let second = format!("Platform: {os}\nDate: 1970-01-02\nPlan mode: on. Only look.");
    assert!(other.starts_with(&format!("{first}{second}")), "{other}");
}

#[test]
fn who_replaces_the_prompt_gets_neither_note_nor_instruction_files() {
    let workspace = Workspace::new(&[("home/.robota/AGENTS.md", "# Compact Instructions\nKeep ids.")]);
    let (mut blueprint, _) = blueprint(&workspace, "repo", Script::new());
    let options = blueprint.assemble().unwrap().options;
    assert_eq!(options.compact_instructions.as_deref(), Some("Keep ids."));
    blueprint.prompt.replacement = Some("Be a pirate.".to_owned());
    let options = blueprint.assemble().unwrap().options;
    assert_eq!(&*options.system_prompt, "Be a pirate.");
    assert_eq!((options.context_note, options.compact_instructions), (None, None));
}

#[test]
fn compact_instructions_of_a_project_count_when_it_is_trusted() {
    let section = |text: &str| format!("# Notes\n\n## Compact Instructions\n{text}\n");
    let workspace = Workspace::new(&[
        ("home/.claude/CLAUDE.md", &section("Keep ids.")),
        ("repo/AGENTS.md", &section("Keep names.")),
        ("repo/CLAUDE.md", "# Notes"),
    ]);
    let (mut blueprint, _) = blueprint(&workspace, "repo", Script::new());
    let assembly = blueprint.assemble().unwrap();
    assert_eq!(assembly.options.compact_instructions.as_deref(), Some("Keep ids."));
    let notices: Vec<String> = assembly.notices.iter().map(|notice| workspace.normalised(notice)).collect();
    let notice = "/base/repo/AGENTS.md has compact instructions; ignored because this folder is not trusted; see `robota trust`, or pass --trust";
    assert_eq!(notices, [notice]);

    blueprint.settings.trusted = true;
    let assembly = blueprint.assemble().unwrap();
    assert_eq!(assembly.options.compact_instructions.as_deref(), Some("Keep ids.\n\nKeep names."));
    assert_eq!(assembly.notices, [""; 0]);
}

#[test]
fn settings_say_when_to_compact_and_what_the_log_holds() {
    let options = |text: &str| {
        let workspace = Workspace::new(&[("home/.robota/settings.json", text)]);
        let options = blueprint(&workspace, "repo", Script::new()).0.assemble().unwrap().options;
        (options.auto_compact_threshold, options.durability, options.raw_capture)
    };
    let default = Some(AutoCompactThreshold::default());
    assert_eq!(options(""), (default, Durability::Turn, RawCapture::Off));
    let set = r#"{"autoCompactThreshold": 1, "log": {"durability": "none", "rawCapture": "full"}}"#;
    assert_eq!(options(set), (Some(1.0.try_into().unwrap()), Durability::None, RawCapture::Full));
    assert_eq!(options(r#"{"autoCompactThreshold": false}"#), (None, Durability::Turn, RawCapture::Off));
}

#[test]
fn limits_come_from_the_profile_then_from_the_table_of_models() {
    let workspace = Workspace::new(&[]);
    let (mut blueprint, _) = blueprint(&workspace, "repo", Script::new());
    let limits = |blueprint: &SessionBlueprint| {
        let options = blueprint.assemble().unwrap().options;
        (options.context_window, options.max_output_tokens)
    };
    assert_eq!(limits(&blueprint), (200_000, Some(32_000)));
    blueprint.model.max_output_tokens = Some(500);
    assert_eq!(limits(&blueprint), (200_000, Some(500)));
    blueprint.model.max_output_tokens = None;
    blueprint.model.model = "nobody-knows-me".to_owned();
    assert_eq!(limits(&blueprint), (128_000, None));
}

#[test]
fn prompt_and_tools_of_a_small_project_are_small() {
    let workspace = Workspace::new(&[]);
    let (blueprint, _) = blueprint(&workspace, "repo", Script::new());
    let options = blueprint.assemble().unwrap().options;
    let tools: usize =
        options.tools.iter().map(|tool| serde_json::to_string(tool.spec()).unwrap().len()).sum();
    let size = options.system_prompt.len() + tools;
    assert!(size <= 12_000, "{size} bytes: prompt {}, tools {tools}", options.system_prompt.len());
}

#[tokio::test]
async fn a_query_answers_one_prompt_at_a_time() {
    let workspace = Workspace::new(&[]);
    let script = Script::new().reply(Reply::new().text("one")).reply("two");
    let (mut blueprint, provider) = blueprint(&workspace, "repo", script);
    blueprint.persistent = false;
    let heard = Arc::new(Mutex::new(String::new()));
    let ear = Arc::clone(&heard);
    let query = create_query(blueprint.assemble().unwrap())
        .on_text_delta(move |text| ear.lock().unwrap().push_str(text));
    assert_eq!(query.ask("first").await.unwrap().text, "one");
    assert_eq!(query.ask("second").await.unwrap().text, "two");
    assert_eq!(*heard.lock().unwrap(), "onetwo");
    assert_eq!(provider.requests()[1].messages.len(), 1);
    assert!(!workspace.path("repo/.robota").exists());
}
