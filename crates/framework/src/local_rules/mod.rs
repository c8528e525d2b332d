//! "Always for this project": rules that a person allows for good.
//!
//! In a project that the user trusts they go to its `settings.local.json`. The allow rules of any other project
//! do not count, so there they are kept in the user's own folder, in a file for that project alone.

mod edit;

use std::fmt::Write as _;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use edit::with_allow_rules;
use futures_util::future::BoxFuture;
use robota_core::{Error, ErrorKind, InvalidRule, Rule};
use robota_session::RuleKeeper;

use crate::settings::{Layer, SettingsError, allow_rules};
use crate::trust::is_outside;
use crate::{ProjectPaths, files};

/// Largest settings file that is changed, in bytes.
const MAX_FILE: u64 = 1024 * 1024;
/// Longest name of a file, in bytes.
const MAX_NAME: usize = 255;

/// Keeps rules in a settings file: the [`RuleKeeper`] of a project.
///
/// The file is replaced whole, while no other robota changes it; comments and layout of the rest stay. One
/// that cannot be understood, or is a symbolic link, is left alone.
#[derive(Clone, Debug)]
pub struct LocalRules {
    layer: Option<Arc<Layer>>,
}

/// Why rules were not kept. Nothing was changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeepError {
    /// There is no place for them.
    #[error(
        "rules of this project cannot be kept while it is not trusted: there is no folder of the user for them"
    )]
    NoPlace,
    /// One is no rule.
    #[error(transparent)]
    Rule(#[from] InvalidRule),
    /// The file cannot be understood.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The file cannot be changed without touching something else in it.
    #[error("{} cannot be changed: {reason}", path.display())]
    Edit {
        /// The file.
        path: PathBuf,
        /// What is in the way.
        reason: String,
    },
    /// The file cannot be read or written.
    #[error("{} cannot be changed: {source}", path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

impl LocalRules {
    /// The rules of the project of `paths`: in its own file when it is trusted, else in the user's folder.
    #[must_use]
    pub fn new(paths: &ProjectPaths, trusted: bool) -> Self {
        let layer = if trusted { Some(Layer::local(paths)) } else { Layer::approvals(paths) };
        Self { layer: layer.map(Arc::new) }
    }

    /// The file that rules go to; `None` when there is no place for them.
    #[must_use]
    pub fn file(&self) -> Option<&Path> {
        self.layer.as_deref().map(|layer| layer.path.as_path())
    }

    /// Adds `rules` to the allow rules of the file, without those that it has already. Waits for other
    /// processes that do the same, and for the disk.
    ///
    /// # Errors
    ///
    /// When one is no rule, or the file cannot be understood, read or written. Nothing is changed then.
    pub fn add(&self, rules: &[String]) -> Result<(), KeepError> {
        let layer = self.layer.as_deref().ok_or(KeepError::NoPlace)?;
        let rules = rules.iter().map(|rule| Ok(rule.parse::<Rule>()?.text().to_owned()));
        let rules = rules.collect::<Result<Vec<_>, InvalidRule>>()?;
        let path = &layer.path;
        let failed = |source| KeepError::File { path: path.clone(), source };
        let folder = path.parent().unwrap_or(Path::new("/"));
        if files::make_folder(folder).map_err(failed)? {
            // As for sessions: a folder that robota made is hidden from git.
            files::replace(&folder.join(".gitignore"), b"*\n").map_err(failed)?;
        }
        let _lock = files::lock_folder(folder).map_err(failed)?;
        let text = files::read(path, MAX_FILE).map_err(failed)?.map(|(_, text)| text).unwrap_or_default();
        let text = text.trim_start_matches('\u{feff}');
        let before = allow_rules(layer, text)?;
        let refused = |reason: String| KeepError::Edit { path: path.clone(), reason };
        let Some(changed) = with_allow_rules(text, &rules).map_err(refused)? else { return Ok(()) };
        let after = allow_rules(layer, &changed)?;
        if !after.starts_with(&before) || !rules.iter().all(|rule| after.contains(rule)) {
            return Err(refused("the rules would not read as they are meant".to_owned()));
        }
        // An editor takes no lock: what it has saved meanwhile is not written over.
        let now = files::read(path, MAX_FILE).map_err(failed)?.map(|(_, text)| text).unwrap_or_default();
        if now.trim_start_matches('\u{feff}') != text {
            return Err(refused("another program is changing it".to_owned()));
        }
        files::replace(path, changed.as_bytes()).map_err(failed)
    }
}

impl RuleKeeper for LocalRules {
    fn keep<'a>(&'a self, rules: &'a [String]) -> BoxFuture<'a, Result<String, Error>> {
        Box::pin(async move {
            let (keeper, rules) = (self.clone(), rules.to_vec());
            let added = tokio::task::spawn_blocking(move || keeper.add(&rules)).await;
            let lost =
                |error| Error::new(ErrorKind::Storage, "the rules were not written").with_source(error);
            added
                .map_err(lost)?
                .map_err(|error| Error::new(ErrorKind::Storage, error.to_string()).with_source(error))?;
            Ok(self.file().map(|file| file.display().to_string()).unwrap_or_default())
        })
    }
}

/// The file of the user's folder for rules of the project of `paths`, named after its root; `None` when the
/// user has no folder of their own outside of it, or the name would be too long.
pub(crate) fn approvals_file(paths: &ProjectPaths) -> Option<PathBuf> {
    let folder = paths.user_dir.as_ref().filter(|folder| is_outside(folder, paths))?;
    let mut name = String::new();
    for byte in paths.root.as_os_str().as_bytes() {
        // One name for one path: what is not kept as it is is written as its bytes.
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.') {
            name.push(char::from(*byte));
        } else {
            let _ = write!(name, "%{byte:02X}");
        }
    }
    name.push_str(".json");
    (name.len() <= MAX_NAME).then(|| folder.join("projects").join(name))
}
