//! Which provider is decided on, and what is said when none can be.

use robota_framework::{Environment, ProviderOverrides, ProviderSetupError, ResolvedProvider, Settings};
use secrecy::ExposeSecret;

use crate::workspace::Workspace;

type Pairs = &'static [(&'static str, &'static str)];

fn settings(text: &str) -> Settings {
    let workspace = Workspace::new(&[("home/.robota/settings.json", text)]);
    Settings::load(&workspace.paths(), false).unwrap()
}

fn resolve(
    file: &str,
    environment: Pairs,
    provider: &str,
    model: &str,
) -> Result<ResolvedProvider, ProviderSetupError> {
    let given = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let overrides = ProviderOverrides { provider: given(provider), model: given(model) };
    ResolvedProvider::resolve(&settings(file), &environment.iter().copied().collect(), &overrides)
}

/// Name, type, model, key and address in one line.
fn decided(file: &str, environment: Pairs, provider: &str, model: &str) -> String {
    match resolve(file, environment, provider, model) {
        Ok(found) => {
            let key =
                found.credential.as_ref().map_or("no key", |credential| credential.secret().expose_secret());
            let url = found.base_url.as_deref().unwrap_or("vendor");
            format!("{} {} {} {key} {url}", found.name, found.kind, found.model)
        }
        Err(error) => error.to_string(),
    }
}

const PROFILES: &str = r#"{"currentProvider": "work",
    "provider": {"name": "openai", "apiKey": "legacy-key"},
    "providers": {
        "work": {"type": "anthropic", "model": "claude-work", "apiKey": "$ENV:WORK_KEY"},
        "file": {"type": "openai", "apiKey": "file-key"},
        "local": {"type": "openai", "model": "qwen", "baseURL": "http://localhost:1234/v1"},
        "remote": {"type": "openai", "model": "qwen", "baseURL": "https://models.example/v1"},
        "bare": {"type": "gemma", "apiKey": "k"},
        "untyped": {"model": "x"}}}"#;

#[test]
fn the_first_that_says_anything_decides() {
    const KEYS: Pairs = &[("ANTHROPIC_API_KEY", "a-key"), ("OPENAI_API_KEY", "o-key"), ("WORK_KEY", "w-key")];
    const ASKED: Pairs =
        &[("OPENAI_API_KEY", "o-key"), ("ROBOTA_PROVIDER", "openai"), ("ROBOTA_MODEL", "env-model")];
    let legacy = r#"{"provider": {"name": "openai", "apiKey": "legacy-key"}, "model": "gpt-x"}"#;
    let cases: &[(&str, Pairs, &str, &str, &str)] = &[
        (PROFILES, KEYS, "", "", "work anthropic claude-work w-key vendor"),
        (PROFILES, KEYS, "file", "", "file openai gpt-4.1 file-key vendor"),
        (PROFILES, KEYS, "anthropic", "", "anthropic anthropic claude-sonnet-4-5 a-key vendor"),
        (PROFILES, KEYS, "openai", "mine", "openai openai mine o-key vendor"),
        (PROFILES, ASKED, "", "", "openai openai env-model o-key vendor"),
        (PROFILES, ASKED, "local", "", "local openai env-model no key http://localhost:1234/v1"),
        (legacy, KEYS, "", "", "provider openai gpt-x legacy-key vendor"),
        ("", KEYS, "", "", "anthropic anthropic claude-sonnet-4-5 a-key vendor"),
        ("", &[("OPENAI_API_KEY", "o-key"), ("OPENAI_MODEL", "m")], "", "", "openai openai m o-key vendor"),
        (
            "",
            &[("ANTHROPIC_AUTH_TOKEN", "t"), ("ANTHROPIC_BASE_URL", "https://gw.example")],
            "",
            "",
            "anthropic anthropic claude-sonnet-4-5 t https://gw.example",
        ),
        (
            "",
            &[("OPENAI_BASE_URL", "http://[::1]:8080/v1")],
            "",
            "m",
            "openai openai m no key http://[::1]:8080/v1",
        ),
    ];
    for (file, environment, provider, model, expected) in cases {
        assert_eq!(decided(file, environment, provider, model), *expected, "{provider} {environment:?}");
    }
}

#[test]
fn a_key_goes_only_to_the_address_it_was_given_with() {
    const ENVIRONMENT: Pairs = &[("OPENAI_API_KEY", "o-key"), ("OPENAI_BASE_URL", "https://proxy.example")];
    assert_eq!(decided(PROFILES, ENVIRONMENT, "file", ""), "file openai gpt-4.1 file-key vendor");
    assert_eq!(
        decided(PROFILES, ENVIRONMENT, "local", ""),
        "local openai qwen no key http://localhost:1234/v1"
    );
    let error = resolve(PROFILES, ENVIRONMENT, "remote", "").unwrap_err();
    assert_eq!(error.to_string(), "the provider `remote` has no API key");
    assert!(error.hint().contains("is not sent the vendor's key"), "{}", error.hint());
    assert_eq!(decided("", ENVIRONMENT, "", ""), "openai openai gpt-4.1 o-key https://proxy.example");
}

#[test]
fn what_was_decided_says_where_it_can_be_corrected() {
    const ENVIRONMENT: Pairs =
        &[("ANTHROPIC_AUTH_TOKEN", "t"), ("ANTHROPIC_BASE_URL", "https://gw.example"), ("WORK_KEY", "w-key")];
    let sources = |file: &str, provider: &str| {
        let found = resolve(file, ENVIRONMENT, provider, "").unwrap();
        [found.credential_source, found.base_url_source].map(Option::unwrap_or_default)
    };
    assert_eq!(sources("", ""), ["ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL"]);
    assert_eq!(sources(PROFILES, "work"), ["WORK_KEY", "ANTHROPIC_BASE_URL"]);
    assert_eq!(sources(PROFILES, "file"), ["`providers.file.apiKey` in the settings", ""]);
    let local = ["`providers.local.apiKey` in the settings", "`providers.local.baseURL` in the settings"];
    assert_eq!(sources(PROFILES, "local"), local);
    let legacy = r#"{"provider": {"name": "openai", "baseURL": "https://gw.example", "apiKey": "k"}}"#;
    assert_eq!(
        sources(legacy, ""),
        ["`provider.apiKey` in the settings", "`provider.baseURL` in the settings"]
    );
}

#[test]
fn options_that_cannot_be_used_name_their_profile_and_file() {
    let file = r#"{"currentProvider": "a",
        "providers": {"a": {"type": "openai", "apiKey": "k", "options": {"hedaers": {}}}}}"#;
    let error = resolve(file, &[], "", "").unwrap_err();
    let message = "the provider `a`: `hedaers` in `options` is not known; there are `headers` and `body`";
    assert_eq!(error.to_string(), message);
    assert!(error.hint().ends_with("home/.robota/settings.json"), "{}", error.hint());
}

#[test]
fn a_model_of_another_program_or_vendor_is_not_sent() {
    let workspace = Workspace::new(&[("home/.claude/settings.json", r#"{"model": "opus"}"#)]);
    let alias = Settings::load(&workspace.paths(), false).unwrap();
    workspace.write("home/.claude/settings.json", br#"{"model": "claude-opus-4-5"}"#);
    let full = Settings::load(&workspace.paths(), false).unwrap();
    let model = |settings: &Settings, key: &str| {
        let environment = Environment::from_iter([(key, "k")]);
        ResolvedProvider::resolve(settings, &environment, &ProviderOverrides::default()).unwrap().model
    };
    assert_eq!(model(&alias, "ANTHROPIC_API_KEY"), "claude-sonnet-4-5");
    assert_eq!(model(&full, "ANTHROPIC_API_KEY"), "claude-opus-4-5");
    assert_eq!(model(&full, "OPENAI_API_KEY"), "gpt-4.1");

    // Nor does it hide one of a lower layer that can be sent.
    workspace.write("home/.robota/settings.json", br#"{"model": "mine"}"#);
    let above = Settings::load(&workspace.paths(), false).unwrap();
    assert_eq!(model(&above, "ANTHROPIC_API_KEY"), "claude-opus-4-5");
    assert_eq!(model(&above, "OPENAI_API_KEY"), "mine");
    workspace.write("home/.claude/settings.json", br#"{"model": "opus"}"#);
    let above = Settings::load(&workspace.paths(), false).unwrap();
    assert_eq!(model(&above, "ANTHROPIC_API_KEY"), "mine");
}

#[test]
fn what_is_missing_is_named_with_the_way_out() {
    let cases: &[(&str, Pairs, &str, &str, &str)] = &[
        (
            PROFILES,
            &[],
            "",
            "the provider profile `work` takes its key from the environment variable WORK_KEY, which is not set",
            "set WORK_KEY, or choose another provider with --provider",
        ),
        (
            PROFILES,
            &[],
            "nope",
            "there is no provider `nope`",
            "use one of: bare, file, local, remote, untyped, work, anthropic, openai",
        ),
        (
            r#"{"currentProvider": "anthropic", "providers": {"a": {}}}"#,
            &[("ANTHROPIC_API_KEY", "k")],
            "",
            "there is no provider `anthropic`, which the setting `currentProvider` names",
            "use one of: a",
        ),
        (
            PROFILES,
            &[],
            "bare",
            "no model is named for the provider `bare`",
            "give --model, set ROBOTA_MODEL, or add \"model\" to the profile",
        ),
        (
            "",
            &[],
            "openai",
            "the provider `openai` has no API key",
            "set OPENAI_API_KEY, or add \"apiKey\" to `providers.openai` in the settings",
        ),
        (
            "",
            &[("OPENAI_API_KEY", "k"), ("OPENAI_BASE_URL", "localhost:1")],
            "",
            "OPENAI_BASE_URL is `localhost:1`, which is no address beginning with http:// or https://",
            "correct OPENAI_BASE_URL or unset it",
        ),
    ];
    for (file, environment, provider, message, hint) in cases {
        let error = resolve(file, environment, provider, "").unwrap_err();
        assert_eq!((error.to_string().as_str(), error.hint().as_str()), (*message, *hint));
    }
    let error = resolve(PROFILES, &[], "untyped", "").unwrap_err();
    assert!(error.to_string().contains("`untyped` has no `type`"), "{error}");
    assert!(error.hint().ends_with("home/.robota/settings.json"), "{}", error.hint());
}

#[test]
fn without_any_key_the_first_steps_are_listed() {
    let error = resolve("", &[], "", "").unwrap_err();
    assert!(matches!(error, ProviderSetupError::NoProvider));
    insta::assert_snapshot!(format!("{error}\n{}", error.hint()), @r#"
    no model provider is set up: no API key in the environment and no provider in the settings
    do one of these:
      - set ANTHROPIC_API_KEY or OPENAI_API_KEY
      - describe a provider in ~/.robota/settings.json:
          {
            "currentProvider": "local",
            "providers": {"local": {"type": "openai", "model": "qwen3", "baseURL": "http://localhost:11434/v1"}}
          }
      - run `robota demo`, which needs no key
    "#);
}

#[test]
fn debug_output_hides_the_key() {
    let found = resolve("", &[("ANTHROPIC_API_KEY", "sk-secret")], "", "").unwrap();
    assert!(!format!("{found:?}").contains("sk-secret"));
}
