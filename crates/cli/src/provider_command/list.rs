//! `robota provider list`.

use robota_framework::{ListedProvider, ProviderOrigin, ProviderOverrides, list_providers};
use robota_providers::definitions;
use serde::Serialize;

use super::Setup;
use crate::exit::{Exit, Failure};
use crate::harmless::one_line;
use crate::model_setup::setup_failure;
use crate::provider_args::ProviderListArgs;
use crate::report::print;
use crate::stdout::Output;

#[derive(Serialize)]
struct Listing {
    providers: Vec<Row>,
}

/// A provider as it is shown. Never with its key.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    name: String,
    /// `settings` or `environment`.
    from: &'static str,
    /// The files that describe it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    files: Vec<String>,
    current: bool,
    /// What makes it the current one.
    #[serde(skip_serializing_if = "Option::is_none")]
    because: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    r#type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    #[serde(rename = "baseURL", skip_serializing_if = "Option::is_none")]
    base_url: Option<String>,
    /// Where the key is.
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    /// What keeps it from being used.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

pub(super) fn run(args: &ProviderListArgs) -> Result<Exit, Failure> {
    let setup = Setup::of(&args.folder)?;
    let environment = &setup.host.environment;
    let overrides = ProviderOverrides::default();
    let providers = list_providers(&setup.settings, environment, &overrides, &definitions())
        .map_err(|error| setup_failure(&error))?;
    let listing = Listing { providers: providers.into_iter().map(Row::of).collect() };
    print(&listing, args.folder.json, |output| listing.tell(output))
}

impl Row {
    fn of(listed: ListedProvider) -> Self {
        let from = match listed.origin {
            ProviderOrigin::Environment => "environment",
            _ => "settings",
        };
        let mut row = Self {
            name: listed.name,
            from,
            files: Vec::new(),
            current: listed.current.is_some(),
            because: listed.current,
            r#type: None,
            model: None,
            base_url: None,
            key: None,
            problem: None,
            hint: None,
        };
        match listed.resolved {
            Ok(resolved) => {
                let has_key = resolved.credential.is_some() || resolved.key_reference.is_some();
                let elsewhere = if resolved.key_reference.is_some() { " (elsewhere)" } else { "" };
                let source = resolved.credential_source.filter(|_| has_key);
                row.key = source.map(|source| format!("{source}{elsewhere}"));
                row.files = resolved.files.iter().map(|file| file.display().to_string()).collect();
                (row.r#type, row.model) = (Some(resolved.kind), Some(resolved.model));
                row.base_url = resolved.base_url;
            }
            Err(error) => (row.problem, row.hint) = (Some(error.to_string()), Some(error.hint())),
        }
        row
    }

    fn lines(&self) -> Vec<String> {
        let mark = if self.current { "*" } else { " " };
        let what = match (&self.r#type, &self.model) {
            (Some(kind), Some(model)) => format!("{kind} {model}"),
            _ => "cannot be used".to_owned(),
        };
        let mut lines = vec![format!("{mark} {}  {what}", self.name)];
        let mut detail = |name: &str, text: &str| lines.push(format!("    {name:<8} {text}"));
        if let Some(because) = self.because {
            detail("current", because);
        }
        match self.files.last() {
            Some(file) => detail("from", file),
            None => detail("from", self.from),
        }
        if let Some(url) = &self.base_url {
            detail("address", url);
        }
        match (&self.key, &self.problem) {
            (Some(key), _) => detail("key", key),
            (None, None) => detail("key", "none, and none is asked for"),
            (None, Some(problem)) => detail("problem", problem),
        }
        if let Some(hint) = &self.hint {
            detail("hint", hint);
        }
        lines.iter().map(|line| one_line(line)).collect()
    }
}

impl Listing {
    fn tell(&self, output: &mut Output) {
        if self.providers.is_empty() {
            output
                .line("No provider is set up: there is none in the settings, and no key in the environment.");
            output.line(
                "Set ANTHROPIC_API_KEY, OPENAI_API_KEY or another; the types are in docs/providers.md.",
            );
        }
        self.providers.iter().flat_map(Row::lines).for_each(|line| output.line(&line));
    }
}
