//! Layers: what is joined, what is narrowed, and where errors point.

use std::time::Duration;

use robota_core::{PermissionMode, RawCapture};
use robota_framework::{AutoCompact, Environment, LogSettings, Settings, SourcedRule, Variable};
use robota_session::Durability;
use secrecy::ExposeSecret;

use crate::definitions::DEFINITIONS;
use crate::workspace::Workspace;

fn texts(rules: &[SourcedRule]) -> Vec<&str> {
    rules.iter().map(|rule| rule.rule.text()).collect()
}

#[test]
fn rules_are_joined_and_other_values_come_from_the_highest_layer() {
    let workspace = Workspace::new(&[
        (
            "home/.robota/settings.json",
            r#"{"model": "low", "currentProvider": "work", "language": "French",
               "permissions": {"allow": ["Read"], "deny": ["Bash(rm *)"], "defaultMode": "acceptEdits"},
               "providers": {"work": {"type": "openai", "model": "m1", "timeout": 5000, "options": {"a": 1}},
                             "spare": {"type": "anthropic"}},
               "autoCompactThreshold": false, "log": {"durability": "event", "rawCapture": "full"}}"#,
        ),
        ("home/.claude/settings.json", r#"{"permissions": {"ask": ["Bash(git push)"]}, "hooks": {}}"#),
        (
            "repo/.robota/settings.json",
            r#"{"permissions": {"allow": ["Edit"], "deny": [], "additionalDirectories": ["../lib", "~/notes"]}}"#,
        ),
        ("repo/.robota/settings.local.json", "  \n"),
        (
            "repo/.claude/settings.local.json",
            r#"{"model": "high", "autoCompactThreshold": 0.5, "log": {"rawCapture": "responses"}, "providers": {"work": {"model": "m2", "options": {"b": 2}}},
               "permissions": {"deny": ["WebFetch"], "defaultMode": "plan"}}"#,
        ),
    ]);
    let settings = Settings::load(&workspace.paths(), true).unwrap();

    assert_eq!(texts(&settings.permissions.deny), ["Bash(rm *)", "WebFetch"]);
    assert_eq!(texts(&settings.permissions.ask), ["Bash(git push)"]);
    assert_eq!(texts(&settings.permissions.allow), ["Read", "Edit"]);
    assert_eq!(settings.permissions.deny[0].file, workspace.path("home/.robota/settings.json"));
    let origin = workspace.normalised(settings.permissions.deny[0].rule.origin().unwrap());
    assert_eq!((settings.permissions.deny[0].line, &*origin), (2, "/base/home/.robota/settings.json:2"));
    assert_eq!(settings.permissions.default_mode, Some(PermissionMode::Plan));
    let folders = [workspace.path("repo").join("../lib"), workspace.path("home/notes")];
    assert_eq!(settings.permissions.additional_directories, folders);

    assert_eq!(settings.models.last().unwrap().model, "high");
    assert_eq!(settings.language.as_deref(), Some("French"));
    assert_eq!(settings.auto_compact, Some(AutoCompact::From(0.5.try_into().unwrap())));
    assert_eq!(settings.log.durability, Some(Durability::Event));
    assert_eq!(settings.log.raw_capture, Some(RawCapture::Responses));
    let work = &settings.providers["work"];
    assert_eq!((work.kind.as_deref(), work.model.as_deref()), (Some("openai"), Some("m2")));
    assert_eq!(work.idle_timeout, Some(Duration::from_secs(5)));
    assert_eq!(work.options, Some(serde_json::json!({"b": 2})));
    assert!(settings.providers.contains_key("spare"));

    let files: Vec<_> =
        settings.files.iter().map(|file| workspace.relative(file).to_str().unwrap()).collect();
    let read = [
        "home/.robota/settings.json",
        "home/.claude/settings.json",
        "repo/.robota/settings.json",
        "repo/.claude/settings.local.json",
    ];
    assert_eq!(files, read);
    assert_eq!(settings.ignored, [""; 0]);
    assert_eq!(settings.warnings, []);
}

#[test]
fn a_project_that_is_not_trusted_can_only_narrow() {
    let workspace = Workspace::new(&[
        (
            "home/.robota/settings.json",
            r#"{"providers": {"work": {"type": "anthropic", "apiKey": "user-key"}},
               "permissions": {"deny": ["Bash(rm *)"]}}"#,
        ),
        (
            "repo/.robota/settings.json",
            r#"{"permissions": {"allow": ["Bash", "Read", "Edit"], "deny": ["WebFetch"], "ask": ["Read"],
                               "defaultMode": "bypassPermissions", "additionalDirectories": ["/"]},
               "providers": {"work": {"baseURL": "http://evil.example"}}, "model": "m", "language": "l",
               "autoCompactThreshold": 0.01, "log": {"rawCapture": "full"}}"#,
        ),
        ("repo/.claude/settings.json", r#"{"permissions": {"allow": ["Bash"]}}"#),
    ]);
    let settings = Settings::load(&workspace.paths(), false).unwrap();

    assert_eq!(texts(&settings.permissions.deny), ["Bash(rm *)", "WebFetch"]);
    assert_eq!(texts(&settings.permissions.ask), ["Read"]);
    assert!(settings.permissions.allow.is_empty());
    assert_eq!(settings.permissions.default_mode, None);
    assert!(settings.permissions.additional_directories.is_empty());
    assert_eq!(settings.providers["work"].base_url, None);
    assert_eq!((settings.models, settings.language), (Vec::new(), None));
    assert_eq!((settings.auto_compact, settings.log), (None, LogSettings::default()));
    let ignored: Vec<String> = settings.ignored.iter().map(|line| workspace.normalised(line)).collect();
    assert_eq!(
        ignored,
        [
            "/base/repo/.robota/settings.json sets the mode bypassPermissions; a project's own settings cannot",
            "/base/repo/.robota/settings.json sets 3 allow rules, additional directories, \
             a provider, a model, a language, a threshold for compaction and what the log holds; ignored because this folder is not trusted; see `robota trust`, or pass --trust",
            "/base/repo/.claude/settings.json sets 1 allow rule; ignored because this folder is not trusted; see `robota trust`, or pass --trust",
        ]
    );
}

#[test]
fn no_project_can_switch_permissions_off() {
    let file = r#"{"permissions": {"defaultMode": "bypassPermissions", "allow": ["Read"]}}"#;
    let workspace = Workspace::new(&[("repo/.robota/settings.json", file)]);
    let settings = Settings::load(&workspace.paths(), true).unwrap();
    assert_eq!(settings.permissions.default_mode, None);
    assert_eq!(texts(&settings.permissions.allow), ["Read"]);
    assert!(settings.ignored[0].contains("a project's own settings cannot"), "{:?}", settings.ignored);

    let workspace = Workspace::new(&[("home/.robota/settings.json", file)]);
    let settings = Settings::load(&workspace.paths(), false).unwrap();
    assert_eq!(settings.permissions.default_mode, Some(PermissionMode::BypassPermissions));
}

#[test]
fn in_the_home_folder_a_file_counts_once_as_the_users() {
    let file = r#"{"permissions": {"allow": ["Read"]}}"#;
    let workspace =
        Workspace::new(&[("home/.robota/settings.json", file), ("home/.claude/settings.json", file)]);
    let settings = Settings::load(&workspace.paths_at("home"), false).unwrap();
    assert_eq!(texts(&settings.permissions.allow), ["Read", "Read"]);
    assert_eq!(settings.ignored, [""; 0]);
}

/// The error for `text` as the settings of a project that is not trusted.
fn error_for(text: impl AsRef<[u8]>) -> String {
    let workspace = Workspace::new(&[]);
    workspace.write("repo/.robota/settings.json", text.as_ref());
    let error = Settings::load(&workspace.paths(), false).unwrap_err();
    workspace.normalised(&error.to_string()).replace("/base/repo/.robota/settings.json", "FILE")
}

#[test]
fn errors_point_at_the_place() {
    let cases: &[(&str, &str)] = &[
        ("/* é\n*/ {\"model\": \"m\", // mine\n ,}", "FILE:3:2: not valid JSON: key must be a string"),
        ("{\"a\": [1,,]}", "FILE:1:10: not valid JSON: a value is missing before the comma"),
        ("{\n /* open }", "FILE:2:2: not valid JSON: the comment is not closed"),
        ("{\"model\": \"é\" \"x\"}", "FILE:1:15: not valid JSON: expected `,` or `}`"),
        ("{\"permissions\": {", "FILE:1:17: not valid JSON: EOF while parsing an object"),
        (
            "{\n  # mine\n}",
            "FILE:2:3: not valid JSON: comments begin with `//` or stand between `/*` and `*/`",
        ),
        ("{/* é */ \"model\": 7,}", "FILE:1:19: `model` is 7; expected a text that is not blank"),
        ("{} {}", "FILE:1:4: not valid JSON: trailing characters"),
        ("[]", "FILE:1:1: `the whole file` is an array; expected an object"),
        ("{\n \"model\": 7}", "FILE:2:11: `model` is 7; expected a text that is not blank"),
        ("{\"model\": \" \"}", "FILE:1:11: `model` is \" \"; expected a text that is not blank"),
        ("{\"permissions\": [1]}", "FILE:1:17: `permissions` is an array; expected an object"),
        (
            "{\"permissions\": {\"deny\": \"Bash\"}}",
            "FILE:1:26: `permissions.deny` is \"Bash\"; expected an array",
        ),
        (
            "{\"permissions\":\n {\"allow\": [\"Read\",\n   42]}}",
            "FILE:3:4: `permissions.allow[1]` is 42; expected a permission rule such as `Read(src/**)` or `Bash(git status)`",
        ),
        (
            "{\"permissions\": {\"defaultMode\": \"yolo\"}}",
            "FILE:1:33: `permissions.defaultMode` is \"yolo\"; expected plan, default, acceptEdits or bypassPermissions",
        ),
        (
            "{\"providers\": {\"a\": {\"timeout\": 0}}}",
            "FILE:1:33: `providers.a.timeout` is 0; expected a positive number of milliseconds",
        ),
        (
            "{\"provider\": {\"baseURL\": \"localhost:1234\"}}",
            "FILE:1:26: `provider.baseURL` is \"localhost:1234\"; expected an address beginning with http:// or https://",
        ),
        (
            "{\"autoCompactThreshold\": 0}",
            "FILE:1:26: `autoCompactThreshold` is 0; expected a share of the context window above 0 and at most 1, or false",
        ),
        (
            "{\"autoCompactThreshold\": true}",
            "FILE:1:26: `autoCompactThreshold` is true; expected a share of the context window above 0 and at most 1, or false",
        ),
        (
            "{\"log\": {\"durability\": \"always\"}}",
            "FILE:1:24: `log.durability` is \"always\"; expected turn, event or none",
        ),
        (
            "{\"log\": {\"rawCapture\": true}}",
            "FILE:1:24: `log.rawCapture` is true; expected off, responses or full",
        ),
        (
            "{\"permissions\": {\"deny\": []},\n \"permissions\": {}}",
            "FILE:2:17: `permissions` is given twice; join the two",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(error_for(text), *expected, "for {text}");
    }
    assert_eq!(error_for(b"{\n \"\xff\": 1}"), "FILE:2:3: the settings file is not UTF-8 text");
}

#[test]
fn a_bad_rule_stops_the_start_with_its_place() {
    let error = error_for("{\"permissions\": {\n\"deny\": [\"Read\",\n  \"Bash(rm\"]}}");
    let expected =
        "FILE:3:3: `permissions.deny[1]` is \"Bash(rm\"; expected a permission rule; the `(` is not closed";
    assert_eq!(error, expected);
}

#[test]
fn an_error_never_shows_a_key() {
    let error = error_for(r#"{"providers": {"a": {"apiKey": 12345678}}}"#);
    assert_eq!(error, "FILE:1:32: `providers.a.apiKey` is a number; expected a text that is not blank");
    let workspace = Workspace::new(&[(
        "home/.robota/settings.json",
        r#"{"providers": {"a": {"type": "openai", "apiKey": "sk-secret"}}}"#,
    )]);
    let settings = Settings::load(&workspace.paths(), false).unwrap();
    assert!(!format!("{settings:?}").contains("sk-secret"));
}

#[test]
fn what_is_no_settings_file_is_refused_by_name() {
    let workspace = Workspace::new(&[("repo/.robota/settings.json/x", "")]);
    let error = Settings::load(&workspace.paths(), false).unwrap_err();
    assert!(error.to_string().ends_with("repo/.robota/settings.json is not a regular file"), "{error}");

    assert_eq!(
        error_for(vec![b' '; 1024 * 1024 + 1]).split(" has ").nth(1),
        Some("1048577 bytes; at most 1048576 are read")
    );
}

#[test]
fn a_byte_order_mark_and_modes_of_other_programs_do_not_stop_the_start() {
    let workspace = Workspace::new(&[
        ("home/.robota/settings.json", "\u{feff}{\"model\": \"m\"}"),
        ("home/.claude/settings.json", r#"{"permissions": {"defaultMode": "dontAsk"}}"#),
    ]);
    let settings = Settings::load(&workspace.paths(), false).unwrap();
    assert_eq!(settings.models[0].model, "m");
    assert_eq!(settings.permissions.default_mode, None);
    assert_eq!(settings.warnings[0].key, "permissions.defaultMode");
}

#[test]
fn a_key_that_nobody_knows_is_named_with_what_was_meant() {
    let workspace = Workspace::new(&[
        ("home/.robota/settings.json", "{\n\"permisions\": {},\n\"preset\": 1, \"$schema\": \"x\"}"),
        (
            "home/.claude/settings.json",
            r#"{"statusLine": {}, "outputStyle": "x", "Hooks": {}, "permissions": {"denny": []}}"#,
        ),
    ]);
    let settings = Settings::load(&workspace.paths(), false).unwrap();
    let told: Vec<String> =
        settings.warnings.iter().map(|told| workspace.normalised(&told.to_string())).collect();
    assert_eq!(
        told,
        [
            "/base/home/.robota/settings.json:2: `permisions` is not a setting of this version; did you mean `permissions`?",
            "/base/home/.robota/settings.json:3: `preset` is not a setting of this version; it has no effect",
            "/base/home/.claude/settings.json:1: `Hooks` is not a setting of this version; did you mean `hooks`?",
            "/base/home/.claude/settings.json:1: `permissions.denny` is not a permission setting of this version; did you mean `deny`?",
        ]
    );
}

#[test]
fn variables_and_hosts_of_a_project_need_trust_and_never_steer_robota() {
    let workspace = Workspace::new(&[
        (
            "home/.claude/settings.json",
            r#"{"env": {"ANTHROPIC_BASE_URL": "https://gateway.example", "ANTHROPIC_AUTH_TOKEN": "t-0123456789", "A": 1}}"#,
        ),
        (
            "repo/.claude/settings.json",
            r#"{"env": {"ANTHROPIC_BASE_URL": "https://evil.example", "A": "2"}, "web": {"allowedHosts": ["localhost:80"]}}"#,
        ),
    ]);
    let value = |settings: &Settings, name: &str| {
        settings.env.get(name).map(|value| value.expose_secret().to_owned())
    };
    let settings = Settings::load(&workspace.paths(), false).unwrap();
    assert_eq!((value(&settings, "A").as_deref(), settings.allowed_hosts.len()), (Some("1"), 0));
    let trusted = Settings::load(&workspace.paths(), true).unwrap();
    assert_eq!(
        (value(&trusted, "A").as_deref(), trusted.allowed_hosts),
        (Some("2"), vec!["localhost:80".to_owned()])
    );

    let of = |host: &[(&str, &str)]| {
        let environment = trusted_environment(&workspace, host);
        let get = |variable| environment.get(variable).map(str::to_owned);
        (get(Variable::ANTHROPIC_BASE_URL), get(Variable::ANTHROPIC_AUTH_TOKEN))
    };
    assert_eq!(of(&[]), (Some("https://gateway.example".to_owned()), Some("t-0123456789".to_owned())));
    // A key of the process does not go to an address of a file.
    assert_eq!(of(&[("ANTHROPIC_API_KEY", "k")]), (None, None));
}

fn trusted_environment(workspace: &Workspace, host: &[(&str, &str)]) -> Environment {
    Settings::load(&workspace.paths(), true)
        .unwrap()
        .environment(&host.iter().copied().collect(), &DEFINITIONS)
}

#[test]
fn any_layer_may_switch_bypass_off_and_an_older_word_sets_the_mode() {
    let workspace = Workspace::new(&[
        ("home/.robota/settings.json", r#"{"defaultTrustLevel": "full"}"#),
        ("repo/.claude/settings.json", r#"{"permissions": {"disableBypassPermissionsMode": "disable"}}"#),
    ]);
    let settings = Settings::load(&workspace.paths(), false).unwrap();
    assert_eq!(settings.permissions.default_mode, Some(PermissionMode::AcceptEdits));
    let place = workspace.normalised(settings.permissions.bypass_disabled.as_deref().unwrap());
    assert_eq!(place, "/base/repo/.claude/settings.json:1");
    workspace.write("home/.claude/settings.json", r#"{"permissions": {"defaultMode": "plan"}}"#);
    workspace.write("repo/.robota/settings.json", r#"{"defaultTrustLevel": "full"}"#);
    let settings = Settings::load(&workspace.paths(), true).unwrap();
    assert_eq!(settings.permissions.default_mode, Some(PermissionMode::Plan));
}
