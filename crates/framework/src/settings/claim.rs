//! What a project's own files set that only the user may grant.
//!
//! The same list says what was ignored without trust, and what trust would let take effect.

use std::fmt;
use std::path::{Path, PathBuf};

use robota_core::{HookAction, HookFailurePolicy, PermissionMode};
use serde::Serialize;

use super::file::FileSettings;
use super::{Layer, LogSettings, ProviderProfile, Scope, SettingsError, read_file};
use crate::ProjectPaths;

/// One thing that a file of a project sets and that takes effect only when the user trusts the project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Claim {
    /// What kind of thing.
    pub kind: ClaimKind,
    /// What it is, for a person: the rule, the event and the command, the name of the variable.
    pub detail: String,
}

/// What kind of thing a project sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum ClaimKind {
    /// A rule that allows calls.
    AllowRule,
    /// The mode to start in.
    Mode,
    /// A further folder of the workspace.
    Directory,
    /// Something that runs when something happens.
    Hook,
    /// A variable for commands and hooks.
    Variable,
    /// A host that is not public.
    AllowedHost,
    /// Where and how a model is reached.
    Provider,
    /// A model.
    Model,
    /// What a model can hold and costs.
    ModelLimits,
    /// The language of answers.
    Language,
    /// When the history is compacted.
    Compaction,
    /// What the log holds.
    Log,
    /// What loosens the sandbox.
    Sandbox,
    /// The search engine.
    Search,
    /// What WebFetch calls itself.
    UserAgent,
}

/// What one file of a project sets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct FileClaims {
    /// The file.
    #[serde(serialize_with = "robota_core::path_text::serialize")]
    pub file: PathBuf,
    /// What it sets; empty when it only denies, asks, or sets nothing.
    pub claims: Vec<Claim>,
}

/// What the project's own files set that takes effect only when the user trusts it, file by file.
///
/// # Errors
///
/// As [`Settings::load`](super::Settings::load).
pub fn project_claims(paths: &ProjectPaths) -> Result<Vec<FileClaims>, SettingsError> {
    let mut files = Vec::new();
    for layer in Layer::all(paths).into_iter().filter(|layer| layer.scope == Scope::Project) {
        let Some(text) = read_file(&layer.path)? else { continue };
        let Some(file) = FileSettings::parse(&layer, &text)? else { continue };
        files.push(FileClaims { claims: claims(&file), file: layer.path });
    }
    Ok(files)
}

/// Takes from a project's file what it may not set, and says so.
pub(super) fn restrict(file: &mut FileSettings, path: &Path, trusted: bool) -> Vec<String> {
    let mut ignored = forbidden(file, path);
    if trusted {
        return ignored;
    }
    let claims = claims(file);
    // What is wrong with hooks that do not run is nobody's concern.
    file.warnings.retain(|warning| !warning.key.starts_with("hooks"));
    *file = FileSettings {
        deny: std::mem::take(&mut file.deny),
        ask: std::mem::take(&mut file.ask),
        bypass_disabled: file.bypass_disabled.take(),
        hook_failure: file.hook_failure,
        sandbox: file.sandbox.narrowing(),
        warnings: std::mem::take(&mut file.warnings),
        ..FileSettings::default()
    };
    if !claims.is_empty() {
        let (path, list) = (path.display(), summary(&claims));
        ignored.push(format!("{path} sets {list}; ignored because this folder is not trusted; {TRUST_HINT}"));
    }
    ignored
}

/// What to do where something is ignored for lack of trust.
pub(crate) const TRUST_HINT: &str = "see `robota trust`, or pass --trust";

/// What no project may set, trusted or not.
fn forbidden(file: &mut FileSettings, path: &Path) -> Vec<String> {
    let path = path.display();
    let mut ignored = Vec::new();
    if file.default_mode == Some(PermissionMode::BypassPermissions) {
        file.default_mode = None;
        ignored.push(format!("{path} sets the mode bypassPermissions; a project's own settings cannot"));
    }
    if file.hook_failure == Some(HookFailurePolicy::Open) {
        file.hook_failure = None;
        ignored.push(format!("{path} sets hookFailure to open; a project's own settings cannot"));
    }
    ignored
}

fn claims(file: &FileSettings) -> Vec<Claim> {
    let mut list = Vec::new();
    let mut add = |kind, detail: String| list.push(Claim { kind, detail });
    file.allow.iter().for_each(|sourced| add(ClaimKind::AllowRule, sourced.rule.text().to_owned()));
    if let Some(mode) = file.default_mode.or(file.trust_level) {
        add(ClaimKind::Mode, mode.to_string());
    }
    file.additional_directories.iter().for_each(|folder| add(ClaimKind::Directory, folder.clone()));
    for group in &file.hooks.groups {
        let matcher = group.matcher.text();
        let event = group.event;
        let when = if matcher.is_empty() { event.to_string() } else { format!("{event} ({matcher})") };
        group.hooks.iter().for_each(|hook| add(ClaimKind::Hook, format!("{when}: {}", shown(&hook.action))));
    }
    file.env.keys().for_each(|name| add(ClaimKind::Variable, name.clone()));
    file.allowed_hosts.iter().for_each(|host| add(ClaimKind::AllowedHost, host.clone()));
    for (name, profile) in &file.providers {
        add(ClaimKind::Provider, described(name, profile));
    }
    if let Some(profile) = &file.legacy_provider {
        add(ClaimKind::Provider, described("provider", profile));
    }
    if let Some(name) = &file.current_provider {
        add(ClaimKind::Provider, format!("the current one: {name}"));
    }
    file.model.iter().for_each(|model| add(ClaimKind::Model, model.clone()));
    let entries = file.model_catalog.iter();
    entries
        .for_each(|entry| add(ClaimKind::ModelLimits, format!("{} with {} tokens", entry.id, entry.context)));
    file.language.iter().for_each(|language| add(ClaimKind::Language, language.clone()));
    if let Some(threshold) = file.auto_compact {
        let share =
            threshold.threshold().map_or("never".to_owned(), |share| format!("from {}", share.share()));
        add(ClaimKind::Compaction, share);
    }
    if file.log != LogSettings::default() {
        add(ClaimKind::Log, "durability or raw capture".to_owned());
    }
    file.sandbox.widening().into_iter().for_each(|what| add(ClaimKind::Sandbox, what));
    if let Some(search) = &file.search {
        add(ClaimKind::Search, with_address(search.provider.name(), search.base_url.as_deref()));
    }
    file.user_agent.iter().for_each(|name| add(ClaimKind::UserAgent, name.clone()));
    list
}

/// A profile, for a person: its address, and what it runs.
fn described(name: &str, profile: &ProviderProfile) -> String {
    let shown = with_address(name, profile.base_url.as_deref());
    match &profile.api_key_helper {
        Some(command) => format!("{shown}, with the key that the command {command} prints"),
        None => shown,
    }
}

fn with_address(name: &str, address: Option<&str>) -> String {
    address.map_or_else(|| name.to_owned(), |address| format!("{name} at {address}"))
}

/// What a hook does, for a person.
fn shown(action: &HookAction) -> String {
    match action {
        HookAction::Command { command } => format!("command {command}"),
        HookAction::Http { url, .. } => format!("post to {url}"),
        HookAction::Prompt { prompt, .. } => format!("prompt {prompt}"),
        HookAction::Agent { prompt, .. } => format!("agent {prompt}"),
        _ => "a hook of a type that this version does not know".to_owned(),
    }
}

/// The claims in a few words: `3 allow rules, the mode plan and a model`.
fn summary(claims: &[Claim]) -> String {
    let mut parts: Vec<String> = Vec::new();
    for (index, claim) in claims.iter().enumerate() {
        let is_first = !claims.iter().take(index).any(|earlier| earlier.kind == claim.kind);
        if is_first {
            let of_kind = claims.iter().filter(|other| other.kind == claim.kind).count();
            parts.push(claim.kind.counted(of_kind, &claim.detail));
        }
    }
    match parts.split_last() {
        Some((last, first)) if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        Some((last, _)) => last.clone(),
        None => String::new(),
    }
}

impl ClaimKind {
    /// So many things of this kind; `detail` is about the first.
    fn counted(self, count: usize, detail: &str) -> String {
        let many = |what: &str| if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") };
        match self {
            Self::AllowRule => many("allow rule"),
            Self::Hook => many("hook"),
            Self::Variable => many("variable"),
            Self::AllowedHost => many("allowed host"),
            Self::Mode => format!("the mode {detail}"),
            Self::Directory => "additional directories".to_owned(),
            Self::Provider => "a provider".to_owned(),
            Self::Model => "a model".to_owned(),
            Self::ModelLimits => "limits of models".to_owned(),
            Self::Language => "a language".to_owned(),
            Self::Compaction => "a threshold for compaction".to_owned(),
            Self::Log => "what the log holds".to_owned(),
            Self::Sandbox => "a looser sandbox".to_owned(),
            Self::Search => "a search engine".to_owned(),
            Self::UserAgent => "the name of WebFetch".to_owned(),
        }
    }

    /// What a person calls it.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::AllowRule => "allow rule",
            Self::Mode => "permission mode",
            Self::Directory => "additional directory",
            Self::Hook => "hook",
            Self::Variable => "variable for commands and hooks",
            Self::AllowedHost => "allowed host",
            Self::Provider => "provider",
            Self::Model => "model",
            Self::ModelLimits => "limits of a model",
            Self::Language => "language",
            Self::Compaction => "compaction",
            Self::Log => "log",
            Self::Sandbox => "looser sandbox",
            Self::Search => "search engine",
            Self::UserAgent => "name of WebFetch",
        }
    }
}

impl fmt::Display for ClaimKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.title())
    }
}
