//! The permissions that a run in a folder would have.

use robota_framework::{EffectivePermissions, ProjectPaths, Settings};

use crate::compose::{exit_of_assembly, overrides_of, settings};
use crate::exit::Failure;
use crate::host::Host;
use crate::permissions_args::PolicyArgs;

/// What counts in a folder, and what does not.
pub(crate) struct Effective {
    pub(crate) paths: ProjectPaths,
    pub(crate) settings: Settings,
    pub(crate) permissions: EffectivePermissions,
}

impl Effective {
    /// Reads the settings as a run with `args` would.
    pub(crate) fn of(args: &PolicyArgs) -> Result<Self, Failure> {
        let host = Host::of_process()?;
        let paths = match &args.cwd {
            Some(folder) => host.paths_around(folder)?,
            None => host.paths()?,
        };
        let settings = settings(&paths, args.trust)?;
        let environment = settings.environment(&host.environment);
        let overrides = overrides_of(args);
        let permissions = EffectivePermissions::resolve(&paths, &settings, &environment, &overrides)
            .map_err(|error| Failure::from_error(exit_of_assembly(&error), &error).with_hint(error.hint()))?;
        Ok(Self { paths, settings, permissions })
    }

    /// What does not count although somebody wrote it: one sentence each.
    pub(crate) fn ignored(&self) -> Vec<String> {
        let of_settings = self.settings.ignored.iter().chain(&self.permissions.notices).cloned();
        of_settings.chain(self.settings.warnings.iter().map(ToString::to_string)).collect()
    }
}
