//! Hooks of the settings in a session.

use std::sync::Arc;

use robota_core::HookFailurePolicy;
use robota_framework::{Environment, ProjectPaths, SessionBlueprint, Settings};
use robota_testkit::{Reply, Script, ScriptedProvider, fixed_ambient};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use robota_core::{HookCall, HookDecision, HookInput, HookOutcome, HookScope, PermissionMode, SessionSource};

use crate::definitions::resolved;
use crate::workspace::Workspace;

const HOOK: &str =
    r#"{"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "true"}]}]}}"#;

fn origins(settings: &Settings, workspace: &Workspace) -> Vec<String> {
    settings.hooks.groups.iter().map(|group| workspace.normalised(&group.origin.place)).collect()
}

#[test]
fn no_layer_drops_a_hook_of_another_and_projects_need_trust() {
    let workspace = Workspace::new(&[
        ("home/.robota/settings.json", HOOK),
        ("home/.claude/settings.json", HOOK),
        ("repo/.robota/settings.json", r#"{"hooks": {}, "disableAllHooks": true, "hookFailure": "open"}"#),
        ("repo/.claude/settings.json", HOOK),
    ]);
    let of_user = ["/base/home/.robota/settings.json", "/base/home/.claude/settings.json"];
    let settings = Settings::load(&workspace.paths(), false).unwrap();
    assert_eq!(origins(&settings, &workspace), of_user);
    assert!(settings.ignored[1].contains("sets 1 hook; ignored because"), "{:?}", settings.ignored);
    let settings = Settings::load(&workspace.paths(), true).unwrap();
    assert_eq!(
        (origins(&settings, &workspace), settings.hook_failure),
        (of_user.map(str::to_owned).to_vec(), None)
    );

    workspace.write("repo/.robota/settings.json", r#"{"hookFailure": "closed"}"#);
    let settings = Settings::load(&workspace.paths(), true).unwrap();
    assert_eq!((settings.hooks.groups.len(), settings.hook_failure), (3, Some(HookFailurePolicy::Closed)));
    workspace.write("home/.robota/settings.json", r#"{"disableAllHooks": true}"#);
    assert_eq!(Settings::load(&workspace.paths(), true).unwrap().hooks.groups, []);
}

#[test]
fn a_folder_of_the_user_within_the_project_is_the_projects() {
    let workspace = Workspace::new(&[("repo/.robota/settings.json", HOOK), ("home/repo/.git/HEAD", "")]);
    let (root, home) = (workspace.path("repo"), workspace.path("home"));
    let load = |paths: &ProjectPaths, trusted| Settings::load(paths, trusted).unwrap().hooks.groups;
    let inside = ProjectPaths::detect(&root, Some(&home), Some(&root.join(".robota"))).unwrap();
    assert_eq!(load(&inside, false), []);
    assert_eq!(load(&inside, true)[0].origin.scope, HookScope::Project);
    // What lies in the home folder is the user's, also in a project around it.
    workspace.write("home/.robota/settings.json", HOOK);
    workspace.write(".git/HEAD", "");
    let around = ProjectPaths::detect(&workspace.path(""), Some(&home), None).unwrap();
    assert_eq!(load(&around, false)[0].origin.scope, HookScope::User);
}

#[test]
fn mistakes_in_hooks_have_a_place() {
    let workspace = Workspace::new(&[]);
    let error = |text: &str| {
        workspace.write("home/.robota/settings.json", text);
        workspace.normalised(&Settings::load(&workspace.paths(), false).unwrap_err().to_string())
    };
    let told = error("{\"hooks\": {\n // guard\n \"PreToolUse\": [{\"hooks\": [{\"type\": \"command\"}]}]}}");
    assert!(
        told.starts_with("/base/home/.robota/settings.json:3:28: `hooks.PreToolUse[0].hooks[0]`: "),
        "{told}"
    );
    let told = error(r#"{"hooks": {"Stop": [], "Stop": []}}"#);
    assert!(told.ends_with("`hooks.Stop` is given twice; join the two"), "{told}");
    workspace.write("home/.robota/settings.json", r#"{"hooks": {"PreTooluse": []}}"#);
    let settings = Settings::load(&workspace.paths(), false).unwrap();
    assert_eq!(settings.warnings[0].key, "hooks.PreTooluse");
}

/// What the hooks of `settings` say to `call` when models answer by `script`, and what those were asked.
async fn said(
    settings: &str,
    files: &[(&str, &str)],
    script: Script,
    call: HookCall,
) -> (HookOutcome, Arc<ScriptedProvider>) {
    let workspace = Workspace::new(files);
    workspace.write("home/.robota/settings.json", settings);
    let settings = Settings::load(&workspace.paths(), false).unwrap();
    let environment =
        Environment::from_iter([("ANTHROPIC_API_KEY", "sk-ant-0123456789"), ("PATH", "/usr/bin:/bin")]);
    let model = resolved(&settings, &environment);
    let provider = Arc::new(ScriptedProvider::new(script));
    let mut blueprint =
        SessionBlueprint::new(workspace.paths(), settings, environment, model, provider.clone());
    blueprint.ambient = fixed_ambient();
    let options = blueprint.assemble().unwrap().options;
    let input = HookInput::new("s1".parse().unwrap(), workspace.path("repo"), PermissionMode::Default, call);
    let outcome = options.hooks.unwrap().run(&input, &CancellationToken::new()).await;
    (outcome, provider)
}

fn bash(command: &str) -> HookCall {
    HookCall::PreToolUse {
        tool_name: "Bash".into(),
        tool_input: json!({"command": command}),
        tool_use_id: "c1".into(),
    }
}

fn hook(event: &str, hook: &serde_json::Value) -> String {
    json!({"hooks": {event: [{"hooks": [hook]}]}}).to_string()
}

#[tokio::test]
async fn a_prompt_is_text_where_text_is_taken_and_a_question_elsewhere() {
    let prompt = json!({"type": "prompt", "prompt": "Speak French."});
    let start = HookCall::SessionStart { source: SessionSource::Startup };
    let (outcome, provider) = said(&hook("SessionStart", &prompt), &[], Script::new(), start).await;
    assert_eq!(outcome, HookOutcome::context("Speak French."));
    assert_eq!(provider.requests().len(), 0);

    let script = Script::new().reply(r#"No: {"ok": false, "reason": "too dangerous"}"#);
    let (outcome, provider) = said(&hook("PreToolUse", &prompt), &[], script, bash("rm -rf x")).await;
    assert_eq!(outcome, HookOutcome::decided(HookDecision::Deny, "too dangerous"));
    assert!(provider.requests()[0].messages[0].text().contains("rm -rf x"));

    let prompt = json!({"type": "prompt", "prompt": "Well? $ARGUMENTS", "model": "small"});
    let script = Script::new().reply("I do not know.");
    let (outcome, provider) = said(&hook("PreToolUse", &prompt), &[], script, bash("ls")).await;
    assert_eq!(outcome.permission.unwrap().decision, HookDecision::Deny);
    assert!(outcome.failures[0].contains("I do not know."), "{:?}", outcome.failures);
    assert_eq!(&*provider.requests()[0].model, "small");
}

#[tokio::test]
async fn an_agent_looks_at_files_and_runs_nothing() {
    let script = Script::new()
        .reply(Reply::new().tool_call("a1", "Bash", json!({"command": "touch made"})))
        .reply(Reply::new().tool_call("a2", "Read", json!({"filePath": "policy.txt"})))
        .reply("{\"ok\": false, \"reason\": \"the policy says no\"}");
    let agent = hook("PreToolUse", &json!({"type": "agent", "prompt": "Follow policy.txt.", "maxTurns": 5}));
    let files = [("repo/policy.txt", "No touching.\n")];
    let (outcome, provider) = said(&agent, &files, script, bash("ls")).await;
    assert_eq!(outcome, HookOutcome::decided(HookDecision::Deny, "the policy says no"));
    let requests = provider.requests();
    let names: Vec<&str> = requests[0].tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["Read", "Glob", "Grep"]);
    assert!(requests[2].messages.last().unwrap().text().contains("No touching."));
}
