//! A home folder and a project beside each other, in a temporary folder.

use std::path::{Path, PathBuf};

use robota_framework::ProjectPaths;
use robota_testkit::TempWorkspace;

pub(crate) struct Workspace(TempWorkspace);

impl Workspace {
    /// `home/` and `repo/` (with `.git`), and `files` below them.
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let folder = TempWorkspace::new().dir("home").dir("repo/.git");
        for (name, text) in files {
            folder.write(name, text);
        }
        Self(folder)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path(name)
    }

    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        self.0.write(name, bytes);
    }

    pub(crate) fn read(&self, name: &str) -> String {
        self.0.read(name)
    }

    pub(crate) fn paths(&self) -> ProjectPaths {
        self.paths_at("repo")
    }

    pub(crate) fn paths_at(&self, cwd: &str) -> ProjectPaths {
        let home = self.path("home");
        ProjectPaths::detect(&self.path(cwd), Some(&home), None).unwrap()
    }

    /// `text` with the temporary folder shown as `/base`.
    pub(crate) fn normalised(&self, text: &str) -> String {
        text.replace(&*self.0.root().to_string_lossy(), "/base")
    }

    pub(crate) fn relative<'a>(&self, path: &'a Path) -> &'a Path {
        path.strip_prefix(self.0.root()).unwrap()
    }
}
