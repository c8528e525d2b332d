//! The process as robota sees it: environment, working directory, home folder. Read once, here.
#![expect(clippy::disallowed_methods, reason = "the composition root is where the environment is read")]

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use robota_framework::{Environment, ProjectPaths, SANDBOX_HELPER_ARGUMENT, Variable};

use crate::exit::{Exit, Failure};

/// What the process was started with.
#[derive(Clone)]
pub(crate) struct Host {
    pub(crate) environment: Environment,
    pub(crate) cwd: PathBuf,
    pub(crate) home: Option<PathBuf>,
}

impl Host {
    /// The host of this process.
    pub(crate) fn of_process() -> Result<Self, Failure> {
        let cwd = std::env::current_dir().map_err(|error| {
            Failure::new(Exit::Usage, format!("the working directory cannot be used: {error}"))
                .with_hint("It may have been deleted or moved. Change to a folder that exists.")
        })?;
        let home = std::env::var_os("HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
        Ok(Self { environment: std::env::vars_os().collect(), cwd, home })
    }

    /// The folders around the working directory.
    pub(crate) fn paths(&self) -> Result<ProjectPaths, Failure> {
        self.paths_around(&self.cwd)
    }

    /// The folders around `folder`, which may be relative to the working directory.
    pub(crate) fn paths_around(&self, folder: &Path) -> Result<ProjectPaths, Failure> {
        let user_dir = self.environment.path(Variable::ROBOTA_HOME);
        ProjectPaths::detect(&self.cwd.join(folder), self.home.as_deref(), user_dir.as_deref())
            .map_err(|error| Failure::from_error(Exit::Usage, &error).with_hint(error.hint()))
    }
}

/// The program that confines itself and becomes a command of the sandbox: this one, see `main`.
pub(crate) fn sandbox_helper() -> Option<PathBuf> {
    std::env::current_exe().ok()
}

/// What this program is to do as the helper of the sandbox; `None` when it was started for anything else.
pub(crate) fn sandbox_helper_arguments() -> Option<impl Iterator<Item = OsString>> {
    let mut arguments = std::env::args_os().skip(1);
    (arguments.next()? == SANDBOX_HELPER_ARGUMENT).then_some(arguments)
}

/// The folder for temporary files.
pub(crate) fn temp_dir() -> PathBuf {
    std::env::temp_dir()
}

/// True when the user asked for output without colours.
pub(crate) fn no_color() -> bool {
    std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
}
