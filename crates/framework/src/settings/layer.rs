//! The six files that settings are read from, and what is said about each.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::ProjectPaths;

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
    /// The layers of a project, lowest first (seed `001`, Settings Configuration). A file that is
    /// reached twice, as in a session in the home folder, counts once, as the user's.
    #[must_use]
    pub fn all(paths: &ProjectPaths) -> Vec<Self> {
        let project =
            |path: &str, format| Self { path: paths.root.join(path), scope: Scope::Project, format };
        let user =
            |folder: &Path, path: &str, format| Self { path: folder.join(path), scope: Scope::User, format };
        let user_robota = paths.user_dir.as_deref().map(|dir| user(dir, "settings.json", Format::Robota));
        let user_claude = paths.home.as_deref().map(|dir| user(dir, ".claude/settings.json", Format::Claude));
        let of_project = [
            project(".robota/settings.json", Format::Robota),
            project(".robota/settings.local.json", Format::Robota),
            project(".claude/settings.json", Format::Claude),
            project(".claude/settings.local.json", Format::Claude),
        ];
        let mut layers: Vec<Self> = Vec::with_capacity(6);
        for layer in user_robota.into_iter().chain(user_claude).chain(of_project) {
            if !layers.iter().any(|lower| lower.path == layer.path) {
                layers.push(layer);
            }
        }
        layers
    }
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.path.display().fmt(f)
    }
}
