//! The permissions that a run in a folder would have.

use robota_framework::{EffectivePermissions, ProjectPaths, Settings};

use crate::compose::{exit_of_assembly, folder, overrides_of};
use crate::exit::Failure;
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
        let (host, paths, settings) = folder(args)?;
        let environment = settings.environment(&host.environment, &robota_providers::definitions());
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
