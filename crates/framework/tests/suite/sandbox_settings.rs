//! The settings of sandbox, search and WebFetch: what is joined, and what a project may say.

use std::path::PathBuf;

use robota_framework::{
    Environment, NetworkMode, Sandbox, SandboxNetwork, SandboxPlan, SandboxState, Settings,
};

use crate::workspace::Workspace;

fn shown(settings: &Settings) -> Vec<String> {
    settings.sandbox.excluded_commands.iter().map(|sourced| sourced.rule.text().to_owned()).collect()
}

#[test]
fn layers_are_joined_field_by_field_and_lists_add_up() {
    let workspace = Workspace::new(&[
        (
            "home/.robota/settings.json",
            r#"{"sandbox": {"enabled": true, "failIfUnavailable": true, "excludedCommands": ["docker", "git fetch *"],
                "filesystem": {"allowWrite": ["~/.cache/x", "/var/tmp"], "denyRead": ["~/.ssh"]},
                "network": {"allowedDomains": ["docs.rs", "*.crates.io"], "allowUnixSockets": true}},
               "search": {"provider": "searxng", "baseUrl": "http://127.0.0.1:9"}, "webFetch": {"userAgent": "me/1"}}"#,
        ),
        (
            "repo/.robota/settings.json",
            r#"{"sandbox": {"autoAllowBashIfSandboxed": true, "excludedCommands": ["Bash(make -n *)"],
                "filesystem": {"allowWrite": ["target"], "denyWrite": ["src/generated"]},
                "network": {"allowedDomains": ["example.com"]}}}"#,
        ),
        (
            "repo/.claude/settings.json",
            r#"{"sandbox": {"network": {"allowUnixSockets": ["/x"]}, "other": 1}}"#,
        ),
    ]);
    let settings = Settings::load(&workspace.paths(), true).unwrap();
    let sandbox = &settings.sandbox;
    assert_eq!(
        (sandbox.enabled, sandbox.fail_if_unavailable, sandbox.auto_allow_bash),
        (Some(true), Some(true), Some(true))
    );
    assert_eq!(shown(&settings), ["Bash(docker *)", "Bash(git fetch *)", "Bash(make -n *)"]);
    let expected =
        [workspace.path("home/.cache/x"), PathBuf::from("/var/tmp"), workspace.path("repo/target")];
    assert_eq!(sandbox.allow_write, expected);
    assert_eq!(sandbox.deny_write, [workspace.path("repo/src/generated")]);
    assert_eq!(sandbox.deny_read, [workspace.path("home/.ssh")]);
    let domains = ["docs.rs", "*.crates.io", "example.com"].map(str::to_owned).to_vec();
    assert_eq!(sandbox.network(), SandboxNetwork::Domains(domains));
    assert_eq!(sandbox.allow_unix_sockets, Some(true));
    let [warning] = &settings.warnings[..] else { panic!("{:?}", settings.warnings) };
    assert!(warning.message.starts_with("`sandbox.network.allowUnixSockets` is a list"), "{warning}");
    assert_eq!(settings.search.unwrap().base_url.as_deref(), Some("http://127.0.0.1:9"));
    assert_eq!(settings.user_agent.as_deref(), Some("me/1"));
}

#[test]
fn a_project_without_trust_can_only_make_it_tighter() {
    let loose = r#"{"sandbox": {"enabled": false, "autoAllowBashIfSandboxed": true, "excludedCommands": ["curl"],
        "filesystem": {"allowWrite": ["/"], "denyWrite": ["a"], "denyRead": ["b"]},
        "network": {"mode": "open", "allowedDomains": ["evil.example"]}},
        "search": {"provider": "searxng", "baseUrl": "http://evil.example"}, "webFetch": {"userAgent": "x"}}"#;
    let workspace = Workspace::new(&[
        ("home/.robota/settings.json", r#"{"sandbox": {"enabled": true}}"#),
        ("repo/.robota/settings.json", loose),
    ]);
    let settings = Settings::load(&workspace.paths(), false).unwrap();
    let sandbox = &settings.sandbox;
    assert_eq!(
        (sandbox.enabled, sandbox.auto_allow_bash, sandbox.network()),
        (Some(true), None, SandboxNetwork::Off)
    );
    assert!(shown(&settings).is_empty() && sandbox.allow_write.is_empty());
    assert_eq!(sandbox.deny_write, [workspace.path("repo/a")]);
    assert_eq!(sandbox.deny_read, [workspace.path("repo/b")]);
    assert!(settings.search.is_none() && settings.user_agent.is_none());
    let [ignored] = &settings.ignored[..] else { panic!("{:?}", settings.ignored) };
    assert!(
        ignored.contains("sets a looser sandbox, a search engine and the name of WebFetch;"),
        "{ignored}"
    );

    let tight = r#"{"sandbox": {"enabled": true, "failIfUnavailable": true, "network": {"mode": "off"}}}"#;
    let open = r#"{"sandbox": {"network": {"mode": "open"}}}"#;
    let workspace =
        Workspace::new(&[("home/.robota/settings.json", open), ("repo/.robota/settings.json", tight)]);
    let paths = workspace.paths();
    let settings = Settings::load(&paths, false).unwrap();
    assert_eq!(settings.sandbox.network_mode, Some(NetworkMode::Off));
    assert_eq!(settings.ignored, [""; 0]);
    let plan = |asked| {
        SandboxPlan::resolve(
            &paths,
            &settings,
            &Environment::default(),
            std::slice::from_ref(&paths.root),
            asked,
        )
    };
    assert!(plan(None).enabled && plan(None).demanded && !plan(Some(false)).enabled);
    assert_eq!(plan(None).writable, std::slice::from_ref(&paths.root));
}

#[test]
fn a_home_that_is_a_workspace_keeps_what_others_run() {
    let workspace = Workspace::new(&[("home/.robota/settings.json", r#"{"sandbox": {"enabled": true}}"#)]);
    let paths = workspace.paths();
    let settings = Settings::load(&paths, false).unwrap();
    let home = workspace.path("home");
    let environment = Environment::from_iter([("HOME", home.as_os_str())]);
    let denied = |root: PathBuf| {
        SandboxPlan::resolve(&paths, &settings, &environment, &[root], None)
            .deny_write
            .contains(&home.join(".bashrc"))
    };
    assert!(denied(home.clone()) && denied(workspace.path("")));
    assert!(!denied(workspace.path("repo")) && !denied(workspace.path("home/project")));
}

#[test]
fn a_setting_that_cannot_be_followed_runs_nothing() {
    let workspace = Workspace::new(&[(
        "home/.robota/settings.json",
        r#"{"sandbox": {"enabled": true, "filesystem": {"allowWrite": ["/"]}}}"#,
    )]);
    let paths = workspace.paths();
    let settings = Settings::load(&paths, false).unwrap();
    let roots = [paths.root.clone()];
    let plan = SandboxPlan::resolve(&paths, &settings, &Environment::default(), &roots, None);
    let sandbox = Sandbox::prepare(plan, Some(&"/nowhere/robota".into()));
    if cfg!(target_os = "linux") {
        assert!(
            matches!(&sandbox.state, SandboxState::Refused { reason } if reason.contains("/ is the root folder"))
        );
        assert!(sandbox.notice().unwrap().contains("Bash runs nothing"));
        assert!(sandbox.commands().is_none());
    }
}

#[test]
fn mistakes_are_named_with_their_place() {
    for (text, told) in [
        (r#"{"sandbox": {"enabled": "yes"}}"#, r#"`sandbox.enabled` is "yes"; expected true or false"#),
        (r#"{"sandbox": {"network": {"mode": "none"}}}"#, "expected off or open"),
        (
            r#"{"sandbox": {"network": {"allowedDomains": ["http://x"]}}}"#,
            "expected a host such as `docs.rs`",
        ),
        (r#"{"sandbox": {"excludedCommands": ["git (x"]}}"#, "`sandbox.excludedCommands[0]`"),
        (r#"{"search": {"apiKey": "sk-12345678"}}"#, "`provider` is missing"),
        (r#"{"search": {"provider": "google"}}"#, "expected brave, tavily or searxng"),
        (r#"{"webFetch": {"userAgent": "a\nb"}}"#, "expected at most 256 characters of ASCII"),
    ] {
        let workspace = Workspace::new(&[("home/.robota/settings.json", text)]);
        let error = Settings::load(&workspace.paths(), false).unwrap_err().to_string();
        assert!(error.contains(told), "{error}");
    }
    let slip = r#"{"sandbox": {"enable": true}}"#;
    let workspace = Workspace::new(&[("home/.robota/settings.json", slip)]);
    let settings = Settings::load(&workspace.paths(), false).unwrap();
    assert!(settings.warnings[0].message.ends_with("did you mean `enabled`?"), "{:?}", settings.warnings);
}
