//! Which provider is decided on, and what is said when none can be.

use robota_framework::{
    Environment, KeyReference, ListedProvider, ProviderOverrides, ProviderSetupError, ResolvedProvider,
    Settings, list_providers,
};
use secrecy::ExposeSecret;

use crate::definitions::DEFINITIONS;
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
    let overrides =
        ProviderOverrides { provider: given(provider), model: given(model), ..ProviderOverrides::default() };
    let environment = environment.iter().copied().collect();
    ResolvedProvider::resolve(&settings(file), &environment, &overrides, &DEFINITIONS)
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
        "bare": {"type": "ollama", "apiKey": "k"},
        "google": {"type": "google"},
        "odd": {"type": "gpt"},
        "vault": {"type": "openai", "apiKey": "$KEYRING:robota/work"},
        "loose": {"type": "openai", "apiKey": "$KEYRING:robota"},
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
        (PROFILES, &[("GOOGLE_API_KEY", "g")], "google", "", "google gemini gemini-3-flash-preview g vendor"),
        (
            "",
            &[("GOOGLE_API_KEY", "g"), ("GEMINI_API_KEY", "first")],
            "",
            "m",
            "gemini gemini m first vendor",
        ),
        // A key without an address is not enough, and a server of one's own is found by its address alone.
        (
            "",
            &[("AZURE_OPENAI_API_KEY", "z"), ("OLLAMA_BASE_URL", "http://10.0.0.7:11434/v1")],
            "",
            "m",
            "ollama ollama m no key http://10.0.0.7:11434/v1",
        ),
        ("", &[("OLLAMA_API_KEY", "k"), ("OPENAI_API_KEY", "o")], "", "", "openai openai gpt-4.1 o vendor"),
        ("", &[("OPENAI_API_KEY", "o")], "ollama", "m", "ollama ollama m no key vendor"),
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
fn options_are_passed_on_and_what_is_wrong_with_them_names_profile_and_file() {
    let file = r#"{"currentProvider": "a",
        "providers": {"a": {"type": "openai", "apiKey": "k", "fallbackModel": "gpt-5",
                            "options": {"hedaers": {}}}}}"#;
    let found = resolve(file, &[], "", "").unwrap();
    assert_eq!(found.options, Some(serde_json::json!({"hedaers": {}})));
    assert_eq!(found.fallback_models, ["gpt-5"]);
    let error = found.invalid_options("`hedaers` in `options` is not known");
    assert_eq!(error.to_string(), "the provider `a`: `hedaers` in `options` is not known");
    assert!(error.hint().ends_with("home/.robota/settings.json"), "{}", error.hint());
}

#[test]
fn a_key_that_is_elsewhere_is_a_reference_and_goes_to_no_address_of_the_environment() {
    const ELSEWHERE: Pairs = &[("OPENAI_API_KEY", "o-key"), ("OPENAI_BASE_URL", "https://proxy.example")];
    let found = resolve(PROFILES, ELSEWHERE, "vault", "").unwrap();
    assert!(found.credential.is_none() && found.base_url.is_none());
    let KeyReference::Keyring { service, account } = found.key_reference.unwrap() else {
        panic!("no keyring")
    };
    assert_eq!((service.as_str(), account.as_str()), ("robota", "work"));
    assert_eq!(found.credential_source.as_deref(), Some("`providers.vault.apiKey` in the settings"));

    let file = r#"{"providers": {"a": {"type": "openai", "apiKeyHelper": "pass show a"}}}"#;
    let found = resolve(file, ELSEWHERE, "a", "").unwrap();
    let KeyReference::Helper { command } = found.key_reference.unwrap() else { panic!("no helper") };
    assert_eq!((command.as_str(), found.base_url), ("pass show a", None));
}

#[test]
fn providers_are_listed_with_where_they_come_from_and_which_one_counts() {
    const KEYS: Pairs = &[("OPENAI_API_KEY", "o"), ("WORK_KEY", "w"), ("GEMINI_API_KEY", "g")];
    let listed = |file: &str, environment: Pairs, provider: Option<&str>| {
        let overrides =
            ProviderOverrides { provider: provider.map(str::to_owned), ..ProviderOverrides::default() };
        let environment = environment.iter().copied().collect();
        let list = list_providers(&settings(file), &environment, &overrides, &DEFINITIONS).unwrap();
        let line = |entry: &ListedProvider| {
            let state = match &entry.resolved {
                Ok(found) => found.model.clone(),
                Err(error) => error.to_string(),
            };
            format!("{} {:?} {} {state}", entry.name, entry.origin, entry.current.unwrap_or("-"))
        };
        list.iter().map(line).collect::<Vec<_>>()
    };
    let file = r#"{"currentProvider": "work", "providers": {
        "work": {"type": "anthropic", "apiKey": "$ENV:WORK_KEY"}, "away": {"type": "openai", "apiKey": "$ENV:NOPE"}}}"#;
    let unset =
        "the provider profile `away` takes its key from the environment variable NOPE, which is not set";
    assert_eq!(
        listed(file, KEYS, None),
        [
            format!("away Profile - {unset}"),
            "work Profile `currentProvider` in the settings claude-sonnet-4-5".to_owned(),
            "openai Environment - gpt-4.1".to_owned(),
            "gemini Environment - gemini-3-flash-preview".to_owned(),
        ]
    );
    let first = "openai Environment the first that the environment is enough for gpt-4.1";
    assert_eq!(listed("", KEYS, None)[0], first);
    assert_eq!(listed("", &[], None), Vec::<String>::new());
    assert_eq!(
        listed("", &[], Some("openai")),
        ["openai Environment --provider the provider `openai` has no API key"]
    );
}

#[test]
fn a_model_of_another_program_or_vendor_is_not_sent() {
    let workspace = Workspace::new(&[("home/.claude/settings.json", r#"{"model": "opus"}"#)]);
    let alias = Settings::load(&workspace.paths(), false).unwrap();
    workspace.write("home/.claude/settings.json", br#"{"model": "claude-opus-4-5"}"#);
    let full = Settings::load(&workspace.paths(), false).unwrap();
    let model = |settings: &Settings, key: &str| {
        let environment = Environment::from_iter([(key, "k")]);
        let overrides = ProviderOverrides::default();
        ResolvedProvider::resolve(settings, &environment, &overrides, &DEFINITIONS).unwrap().model
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
            "use one of: bare, file, google, local, loose, odd, remote, untyped, vault, work, anthropic, openai, gemini, \
             azure, ollama",
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
}

#[test]
fn profiles_that_name_no_type_or_no_entry_are_told_with_what_there_is() {
    let error = resolve(PROFILES, &[], "loose", "").unwrap_err();
    assert!(error.to_string().contains("`$KEYRING:robota`, which names no entry"), "{error}");
    let error = resolve(PROFILES, &[], "odd", "").unwrap_err();
    assert_eq!(error.to_string(), "the provider profile `odd` has the type `gpt`, which there is not");
    assert!(
        error.hint().starts_with("use one of anthropic, openai, gemini, azure, ollama in "),
        "{}",
        error.hint()
    );
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
      - set ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY or the key of another provider
      - describe a provider in ~/.robota/settings.json:
          {
            "currentProvider": "local",
            "providers": {"local": {"type": "ollama", "model": "qwen3"}}
          }
      - run `robota demo`, which needs no key
    "#);
}

#[test]
fn debug_output_hides_the_key() {
    let found = resolve("", &[("ANTHROPIC_API_KEY", "sk-secret")], "", "").unwrap();
    assert!(!format!("{found:?}").contains("sk-secret"));
}
