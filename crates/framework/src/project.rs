//! Where a project begins, and where its state and the user's state live.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The folders a session refers to. Absolute, with symlinks resolved where they exist.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProjectPaths {
    /// The working directory of the session.
    pub cwd: PathBuf,
    /// The project: the nearest folder at or above `cwd` that holds `.git`, or settings in `.robota`,
    /// else `cwd`.
    pub root: PathBuf,
    /// The home folder of the user, when there is one.
    pub home: Option<PathBuf>,
    /// The user's own robota folder: `ROBOTA_HOME`, else `~/.robota`.
    pub user_dir: Option<PathBuf>,
    /// Where the project's sessions and logs are kept: `<root>/.robota`, or the user's folder when
    /// the root is the home folder.
    pub state_dir: PathBuf,
}

/// The working directory cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("the working directory {} cannot be used: {source}", path.display())]
pub struct ProjectError {
    path: PathBuf,
    source: io::Error,
}

impl ProjectError {
    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        "change to a folder that exists and that you may read"
    }
}

impl From<ProjectError> for robota_core::Error {
    fn from(error: ProjectError) -> Self {
        Self::new(robota_core::ErrorKind::Configuration, error.to_string())
            .with_hint(error.hint())
            .with_source(error)
    }
}

impl ProjectPaths {
    /// Finds the project around `cwd`.
    ///
    /// The search stops below the home folder: neither `~/.robota` nor a repository of dot files
    /// turns everything under the home folder into one project. Home is a project only when it is
    /// the working directory itself. `user_dir` overrides `~/.robota`.
    ///
    /// `.git` and `.robota` count only when they belong to the owner of `cwd`: a workspace must not grow
    /// by what others put into a shared folder such as `/tmp`. A `.robota` folder that only keeps
    /// sessions, as every folder gets in which robota ran, makes no project.
    ///
    /// # Errors
    ///
    /// When `cwd` does not exist, is no folder, or cannot be reached.
    pub fn detect(cwd: &Path, home: Option<&Path>, user_dir: Option<&Path>) -> Result<Self, ProjectError> {
        let failed = |source| ProjectError { path: cwd.to_owned(), source };
        let cwd = cwd.canonicalize().map_err(failed)?;
        if !cwd.is_dir() {
            return Err(failed(io::ErrorKind::NotADirectory.into()));
        }
        let home = home.filter(|home| home.is_absolute()).map(resolved);
        let user_dir = match user_dir {
            Some(given) => Some(resolved(&cwd.join(given))),
            None => home.as_deref().map(|home| resolved(&home.join(".robota"))),
        };
        let root = find_root(&cwd, home.as_deref(), user_dir.as_deref()).unwrap_or(&cwd).to_owned();
        let state_dir = match &user_dir {
            Some(user_dir) if home.as_deref() == Some(&root) => user_dir.clone(),
            _ => root.join(".robota"),
        };
        Ok(Self { cwd, root, home, user_dir, state_dir })
    }
}

fn find_root<'a>(cwd: &'a Path, home: Option<&Path>, user_dir: Option<&Path>) -> Option<&'a Path> {
    let owner = fs::metadata(cwd).map(|found| found.uid()).ok();
    let marks = |folder: &Path| {
        let state = folder.join(".robota");
        belongs_to(owner, &folder.join(".git"))
            || (Some(state.as_path()) != user_dir && belongs_to(owner, &state) && has_settings(&state))
    };
    cwd.ancestors().take_while(|folder| Some(*folder) != home).find(|folder| marks(folder))
}

/// Whether `path` exists and is `owner`'s, and what it links to as well.
fn belongs_to(owner: Option<u32>, path: &Path) -> bool {
    let is_owners = |found: io::Result<Metadata>| found.is_ok_and(|found| Some(found.uid()) == owner);
    is_owners(path.symlink_metadata()) && is_owners(path.metadata())
}

fn has_settings(state: &Path) -> bool {
    ["settings.json", "settings.local.json"].iter().any(|name| state.join(name).is_file())
}

/// The path without symlinks, or as given when it does not exist yet.
pub(crate) fn resolved(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests {
    use robota_testkit::TempWorkspace;

    use super::*;

    #[test]
    fn the_nearest_marked_folder_is_the_root() {
        let folder = TempWorkspace::new().dir("repo/.git").dir("repo/pkg/src").dir("repo/other");
        let folder = folder.file("repo/pkg/.robota/settings.json", "").dir("plain");
        let folder = folder.file(".robota/settings.json", "");
        let (base, user_dir) = (folder.root(), folder.path(".robota"));
        let root = |cwd: &str| ProjectPaths::detect(&base.join(cwd), None, Some(&user_dir)).unwrap().root;
        assert_eq!(root("repo/pkg/src"), base.join("repo/pkg"));
        assert_eq!(root("plain"), base.join("plain"));
        assert_eq!(root("repo/other"), base.join("repo"));
    }

    #[test]
    fn sessions_of_a_folder_above_make_no_project() {
        let folder = TempWorkspace::new().dir("code/.robota/sessions").dir("code/app/src");
        let root = || ProjectPaths::detect(&folder.path("code/app/src"), None, None).unwrap().root;
        assert_eq!(root(), folder.path("code/app/src"));
        folder.write("code/.robota/settings.local.json", "{}");
        assert_eq!(root(), folder.path("code"));
    }

    #[test]
    fn what_belongs_to_another_user_makes_no_project() {
        let folder = TempWorkspace::new().dir("shared/.git").dir("shared/mine");
        let owner = folder.root().metadata().unwrap().uid();
        let mark = folder.path("shared/.git");
        assert!(
            belongs_to(Some(owner), &mark) && !belongs_to(Some(owner + 1), &mark) && !belongs_to(None, &mark)
        );
        // Only the superuser can give a folder away.
        if std::os::unix::fs::chown(&mark, Some(owner + 1), None).is_ok() {
            let paths = ProjectPaths::detect(&folder.path("shared/mine"), None, None).unwrap();
            assert_eq!(paths.root, folder.path("shared/mine"));
        }
    }

    #[test]
    fn a_worktree_has_a_git_file_instead_of_a_folder() {
        let folder = TempWorkspace::new().dir("tree/src").file("tree/.git", "gitdir: /elsewhere");
        let base = folder.root();
        let paths = ProjectPaths::detect(&base.join("tree/src"), None, None).unwrap();
        assert_eq!(paths.root, base.join("tree"));
        assert_eq!(paths.state_dir, base.join("tree/.robota"));
    }

    #[test]
    fn the_home_folder_is_a_project_only_when_it_is_the_working_directory() {
        let folder = TempWorkspace::new().dir("home/.robota").dir("home/.git").dir("home/notes");
        let (base, home) = (folder.root(), folder.path("home"));
        let paths = ProjectPaths::detect(&home.join("notes"), Some(&home), None).unwrap();
        assert_eq!(paths.root, home.join("notes"));
        assert_eq!(paths.user_dir, Some(home.join(".robota")));

        let paths = ProjectPaths::detect(&home, Some(&home), None).unwrap();
        assert_eq!((paths.root, paths.state_dir), (home.clone(), home.join(".robota")));

        let elsewhere = base.join("state");
        let paths = ProjectPaths::detect(&home, Some(&home), Some(&elsewhere)).unwrap();
        assert_eq!(paths.state_dir, elsewhere);
    }

    #[test]
    fn a_vanished_working_directory_is_an_error_that_names_it() {
        let folder = TempWorkspace::new();
        let error = ProjectPaths::detect(&folder.path("gone"), None, None).unwrap_err();
        assert!(error.to_string().contains("gone cannot be used"), "{error}");
    }
}
