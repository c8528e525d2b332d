//! The six files that settings are read from, and what is said about each.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::ProjectPaths;
use crate::local_rules::approvals_file;
use crate::trust::is_outside;

/// One settings file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Layer {
    /// Where it is.
    pub path: PathBuf,
    /// Whose it is.
    pub scope: Scope,
    /// Whose format it is.
    pub format: Format,
}

/// Whose word a settings file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "trust is decided between exactly these two")]
pub enum Scope {
    /// The user's own file.
    User,
    /// A file of the project, which may have come with a repository.
    Project,
}

/// The program a settings file was written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// `.robota/settings.json`.
    Robota,
    /// `.claude/settings.json`: the same keys and many others, which are passed over.
    Claude,
}

impl Layer {
    /// The layers of a project, lowest first (seed `001`, Settings Configuration), and behind those of the
    /// user what they have allowed for good in this project while it was not trusted. A file that is reached
    /// twice, as in a session in the home folder, counts once, as the user's. A folder of the user within the
    /// project is the project's: whoever wrote that could have written its settings.
    #[must_use]
    pub fn all(paths: &ProjectPaths) -> Vec<Self> {
        let project =
            |path: &str, format| Self { path: paths.root.join(path), scope: Scope::Project, format };
        let user =
            |folder: &Path, path: &str, format| Self { path: folder.join(path), scope: Scope::User, format };
        let user_robota = paths.user_dir.as_deref().map(|dir| Self {
            scope: if is_outside(dir, paths) { Scope::User } else { Scope::Project },
            ..user(dir, "settings.json", Format::Robota)
        });
        let user_claude = paths.home.as_deref().map(|dir| user(dir, ".claude/settings.json", Format::Claude));
        let local = Self::local(paths);
        let of_project = [
            project(".robota/settings.json", Format::Robota),
            local,
            project(".claude/settings.json", Format::Claude),
            project(".claude/settings.local.json", Format::Claude),
        ];
        let mut layers: Vec<Self> = Vec::with_capacity(6);
        let of_user = user_robota.into_iter().chain(user_claude).chain(Self::approvals(paths));
        for layer in of_user.chain(of_project) {
            if !layers.iter().any(|lower| lower.path == layer.path) {
                layers.push(layer);
            }
        }
        layers
    }

    /// The project's file that people do not share.
    pub(crate) fn local(paths: &ProjectPaths) -> Self {
        let path = paths.root.join(".robota/settings.local.json");
        Self { path, scope: Scope::Project, format: Format::Robota }
    }

    /// The user's file for what they have allowed in this project while it was not trusted.
    pub(crate) fn approvals(paths: &ProjectPaths) -> Option<Self> {
        let path = approvals_file(paths)?;
        Some(Self { path, scope: Scope::User, format: Format::Robota })
    }
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.path.display().fmt(f)
    }
}
