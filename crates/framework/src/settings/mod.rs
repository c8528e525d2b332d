//! Settings: six files joined into one value, each counting for as much as it is trusted.
//!
//! User files widen, project files narrow: a project's own files count only where they deny or
//! ask until the user trusts the folder (design section 6). Lists of permission rules are joined over
//! the layers, so no layer can drop a rule of another; everything else is taken from the highest
//! layer that sets it, provider profiles and `log` field by field (seed `001`, Settings Configuration).

mod document;
mod error;
mod file;
mod layer;
mod profile;
mod record;

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use robota_core::{PermissionMode, Rule};

pub use error::SettingsError;
use file::FileSettings;
pub use layer::{Format, Layer, Scope};
pub use profile::ProviderProfile;
pub use record::{AutoCompact, LogSettings};

use crate::ProjectPaths;

/// Largest settings file that is read, in bytes.
const MAX_FILE: u64 = 1024 * 1024;

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
    /// Language to answer in.
    pub language: Option<String>,
    /// When sessions compact their history by themselves.
    pub auto_compact: Option<AutoCompact>,
    /// What logs hold, and when they are safe.
    pub log: LogSettings,
    /// Rules, mode and folders.
    pub permissions: PermissionSettings,
    /// The files that were read, lowest layer first.
    pub files: Vec<PathBuf>,
    /// What was passed over because this version does not know it.
    pub warnings: Vec<SettingsWarning>,
    /// What does not count because the folder is not trusted: one sentence per file, for a person.
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
        for layer in Layer::all(paths) {
            let Some(text) = read_file(&layer.path)? else { continue };
            let Some(mut file) = FileSettings::parse(&layer.path, &text, layer.format)? else { continue };
            if layer.scope == Scope::Project {
                settings.ignored.extend(restrict(&mut file, &layer.path, trusted));
            }
            settings.add(file, &layer, paths);
        }
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
        for text in file.additional_directories {
            let folder = workspace_folder(&text, paths);
            if !permissions.additional_directories.contains(&folder) {
                permissions.additional_directories.push(folder);
            }
        }
        self.warnings.extend(file.warnings);
        self.files.push(layer.path.clone());
    }
}

/// Takes from a project's file what a project may not set, and says so.
fn restrict(file: &mut FileSettings, path: &Path, trusted: bool) -> Option<String> {
    if trusted {
        let bypass = file.default_mode == Some(PermissionMode::BypassPermissions);
        return bypass.then(|| {
            file.default_mode = None;
            let path = path.display();
            format!("{path} sets the mode bypassPermissions; a project's own settings cannot")
        });
    }
    let rules = match file.allow.len() {
        0 => None,
        1 => Some("1 allow rule".to_owned()),
        many => Some(format!("{many} allow rules")),
    };
    let provider =
        file.current_provider.is_some() || file.legacy_provider.is_some() || !file.providers.is_empty();
    let parts = [
        rules,
        file.default_mode.map(|mode| format!("the mode {mode}")),
        (!file.additional_directories.is_empty()).then(|| "additional directories".to_owned()),
        provider.then(|| "a provider".to_owned()),
        file.model.is_some().then(|| "a model".to_owned()),
        file.language.is_some().then(|| "a language".to_owned()),
        file.auto_compact.is_some().then(|| "a threshold for compaction".to_owned()),
        (file.log != LogSettings::default()).then(|| "what the log holds".to_owned()),
    ];
    *file = FileSettings {
        deny: std::mem::take(&mut file.deny),
        ask: std::mem::take(&mut file.ask),
        warnings: std::mem::take(&mut file.warnings),
        ..FileSettings::default()
    };
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let (last, first) = parts.split_last()?;
    let list = if first.is_empty() { last.clone() } else { format!("{} and {last}", first.join(", ")) };
    let path = path.display();
    Some(format!("{path} sets {list}; ignored because this folder is not trusted; pass --trust"))
}

/// A folder named in settings: `~/` is the home folder, relative ones start at the project root.
fn workspace_folder(text: &str, paths: &ProjectPaths) -> PathBuf {
    let home_relative = text.strip_prefix("~/").or((text == "~").then_some(""));
    match (home_relative, &paths.home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => paths.root.join(text),
    }
}

/// The text of a settings file; `None` when there is none.
fn read_file(path: &Path) -> Result<Option<String>, SettingsError> {
    let unreadable = |source| SettingsError::Unreadable { path: path.to_owned(), source };
    let metadata = match path.metadata() {
        Ok(metadata) => metadata,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(unreadable(error)),
    };
    if !metadata.is_file() {
        return Err(SettingsError::NotAFile { path: path.to_owned() });
    }
    if metadata.len() > MAX_FILE {
        return Err(SettingsError::TooLarge { path: path.to_owned(), size: metadata.len(), limit: MAX_FILE });
    }
    let mut bytes = Vec::new();
    File::open(path).and_then(|file| file.take(MAX_FILE).read_to_end(&mut bytes)).map_err(unreadable)?;
    let mut text = String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let text = String::from_utf8_lossy(error.as_bytes());
        let (line, column) = document::position_of(&text, valid);
        SettingsError::NotUtf8 { path: path.to_owned(), line, column }
    })?;
    if text.starts_with('\u{feff}') {
        text.drain(..'\u{feff}'.len_utf8());
    }
    Ok(Some(text))
}
