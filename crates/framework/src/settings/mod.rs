//! Settings: six files, and the rules the user allowed for a project that is not trusted, joined into one
//! value, each counting for as much as it is trusted.
//!
//! User files widen, project files narrow: a project's own files count only where they deny or
//! ask until the user trusts the folder (design section 6). Lists of rules, hooks, hosts and folders are joined over
//! the layers, so no layer can drop a rule of another; everything else is taken from the highest
//! layer that sets it, provider profiles, `log` and `sandbox` field by field (seed `001`, Settings Configuration).

mod catalog;
mod claim;
mod document;
mod error;
mod file;
mod hooks;
mod jsonc;
mod layer;
mod own_variables;
mod profile;
mod read;
mod record;
mod sandbox;
mod suggestion;
mod value;
mod variables;
mod web;

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use robota_core::{HookFailurePolicy, HookScope, HooksConfig, ModelEntry, PermissionMode, Rule};

pub(crate) use claim::TRUST_HINT;
pub use claim::{Claim, ClaimKind, FileClaims, project_claims};
pub use error::SettingsError;
use file::FileSettings;
pub(crate) use file::allow_rules;
pub(crate) use jsonc::JSONC;
pub use layer::{Format, Layer, Scope};
pub use profile::ProviderProfile;
use read::read_file;
pub use record::{AutoCompact, LogSettings};
pub use sandbox::{NetworkMode, SandboxNetwork, SandboxSettings};
pub use variables::Variables;
pub use web::SearchSettings;

use crate::ProjectPaths;

/// The settings in force.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Settings {
    /// Whether the user trusts the project's own files.
    pub trusted: bool,
    /// Name of the profile to use.
    pub current_provider: Option<String>,
    /// Provider profiles by name.
    pub providers: BTreeMap<String, ProviderProfile>,
    /// The single provider of older settings, used when `current_provider` is not set.
    pub legacy_provider: Option<ProviderProfile>,
    /// Models for providers that name none, lowest layer first: of those that a provider can have, the
    /// last counts.
    pub models: Vec<ModelSetting>,
    /// What is known of models besides the table that ships, lowest layer first.
    pub model_catalog: Vec<ModelEntry>,
    /// Language to answer in.
    pub language: Option<String>,
    /// When sessions compact their history by themselves.
    pub auto_compact: Option<AutoCompact>,
    /// What logs hold, and when they are safe.
    pub log: LogSettings,
    /// Rules, mode and folders.
    pub permissions: PermissionSettings,
    /// Hooks of all layers.
    pub hooks: HooksConfig,
    /// What becomes of a call whose guard did not do its work; `None` leaves it to the engine.
    pub hook_failure: Option<HookFailurePolicy>,
    /// Variables for commands and hooks.
    pub env: Variables,
    /// Those of them that are the user's own.
    pub user_env: Variables,
    /// Hosts (`host` or `host:port`) that WebFetch may reach although they are not public.
    pub allowed_hosts: Vec<String>,
    /// How commands of Bash are confined.
    pub sandbox: SandboxSettings,
    /// The search engine of WebSearch; `None` leaves it to the environment.
    pub search: Option<SearchSettings>,
    /// What WebFetch calls itself in requests.
    pub user_agent: Option<String>,
    /// The files that were read, lowest layer first.
    pub files: Vec<PathBuf>,
    /// What has no effect, because this version does not know it.
    pub warnings: Vec<SettingsWarning>,
    /// What of a project's files does not count: one sentence each, for a person.
    pub ignored: Vec<String>,
}

/// A model named outside of any profile.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ModelSetting {
    /// Model id.
    pub model: String,
    /// Format of the file that names it; `.claude` files mean models of Anthropic.
    pub format: Format,
}

/// Permission settings, joined over the layers.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct PermissionSettings {
    /// What never runs.
    pub deny: Vec<SourcedRule>,
    /// What is always asked for.
    pub ask: Vec<SourcedRule>,
    /// What runs without asking.
    pub allow: Vec<SourcedRule>,
    /// The mode to start in.
    pub default_mode: Option<PermissionMode>,
    /// Where `bypassPermissions` is switched off, for a person; `None` when it is not.
    pub bypass_disabled: Option<String>,
    /// Further folders of the workspace, absolute.
    pub additional_directories: Vec<PathBuf>,
}

/// A permission rule and the place it is written at.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SourcedRule {
    /// The rule; its origin is `file:line`.
    pub rule: Rule,
    /// The file.
    pub file: PathBuf,
    /// The line, from 1.
    pub line: usize,
}

/// Something in a settings file that has no effect.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SettingsWarning {
    /// The file.
    pub file: PathBuf,
    /// The line, from 1.
    pub line: usize,
    /// The key, with the keys around it.
    pub key: String,
    /// One sentence for a person.
    pub message: String,
}

impl fmt::Display for SettingsWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file.display(), self.line, self.message)
    }
}

impl Settings {
    /// Reads and joins the layers of a project.
    ///
    /// A missing or blank file is an absent one. `trusted` says whether the user trusts the
    /// project's own files.
    ///
    /// # Errors
    ///
    /// When a file cannot be read or understood, a project's too, trusted or not: its deny rules
    /// would be lost in silence.
    pub fn load(paths: &ProjectPaths, trusted: bool) -> Result<Self, SettingsError> {
        let mut settings = Self { trusted, ..Self::default() };
        let mut joined = Joined::default();
        for layer in Layer::all(paths) {
            let Some(text) = read_file(&layer.path)? else { continue };
            let Some(mut file) = FileSettings::parse(&layer, &text)? else { continue };
            if layer.scope == Scope::Project {
                settings.ignored.extend(claim::restrict(&mut file, &layer.path, trusted));
            }
            joined.note(&file, layer.scope);
            settings.add(file, &layer, paths);
        }
        settings.settle(&joined);
        Ok(settings)
    }

    /// Lays one file over the layers below it.
    fn add(&mut self, file: FileSettings, layer: &Layer, paths: &ProjectPaths) {
        self.current_provider = file.current_provider.or(self.current_provider.take());
        self.language = file.language.or(self.language.take());
        self.auto_compact = file.auto_compact.or(self.auto_compact);
        self.log.overlay(file.log);
        if let Some(model) = file.model {
            self.models.push(ModelSetting { model, format: layer.format });
        }
        self.model_catalog.extend(file.model_catalog);
        for (name, profile) in file.providers {
            self.providers.entry(name).or_default().overlay(profile);
        }
        if let Some(profile) = file.legacy_provider {
            self.legacy_provider.get_or_insert_default().overlay(profile);
        }
        let permissions = &mut self.permissions;
        permissions.deny.extend(file.deny);
        permissions.ask.extend(file.ask);
        permissions.allow.extend(file.allow);
        permissions.default_mode = file.default_mode.or(permissions.default_mode);
        permissions.bypass_disabled = permissions.bypass_disabled.take().or(file.bypass_disabled);
        for text in file.additional_directories {
            let folder = workspace_folder(&text, paths);
            if !permissions.additional_directories.contains(&folder) {
                permissions.additional_directories.push(folder);
            }
        }
        self.hooks.groups.extend(file.hooks.groups);
        self.allowed_hosts.extend(file.allowed_hosts);
        self.sandbox.overlay(file.sandbox, paths);
        self.search = file.search.or(self.search.take());
        self.user_agent = file.user_agent.or(self.user_agent.take());
        if layer.scope == Scope::User {
            self.user_env.extend(file.env.clone());
        }
        self.env.extend(file.env);
        self.warnings.extend(file.warnings);
        self.files.push(layer.path.clone());
    }

    /// What can only be said when all layers are known.
    fn settle(&mut self, joined: &Joined) {
        self.permissions.default_mode = self.permissions.default_mode.or(joined.trust_level);
        // A project may take its own hooks away, and nobody else's.
        self.hooks.groups.retain(|group| match group.origin.scope {
            _ if joined.no_hooks => false,
            HookScope::Project => !joined.no_project_hooks,
            _ => true,
        });
        self.hook_failure = joined.hook_failure;
    }
}

/// What the layers say together about single questions.
#[derive(Default)]
struct Joined {
    /// The mode of `defaultTrustLevel`, which counts where no layer has a `defaultMode`.
    trust_level: Option<PermissionMode>,
    no_hooks: bool,
    no_project_hooks: bool,
    hook_failure: Option<HookFailurePolicy>,
}

impl Joined {
    fn note(&mut self, file: &FileSettings, scope: Scope) {
        self.trust_level = file.trust_level.or(self.trust_level);
        match scope {
            Scope::User => self.no_hooks |= file.disable_hooks,
            Scope::Project => self.no_project_hooks |= file.disable_hooks,
        }
        self.hook_failure = file.hook_failure.or(self.hook_failure);
    }
}

/// A folder named in settings: `~/` is the home folder, relative ones start at the project root.
fn workspace_folder(text: &str, paths: &ProjectPaths) -> PathBuf {
    let home_relative = text.strip_prefix("~/").or((text == "~").then_some(""));
    match (home_relative, &paths.home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => paths.root.join(text),
    }
}
