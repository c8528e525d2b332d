//! `robota provider …`: which models can be reached, and what is wrong when one cannot. One file for each command.

mod call;
mod diagnosis;
mod list;
mod models;
mod nearest;
mod test;

use robota_framework::{ProjectPaths, ProviderOverrides, ProviderSetupError, ResolvedProvider, Settings};
use robota_providers::definitions;

use crate::compose::settings;
use crate::exit::{Exit, Failure};
use crate::harmless::one_line;
use crate::host::Host;
use crate::model_setup::{fetch_key, setup_failure, with_models};
use crate::provider_args::{FolderArgs, ProviderCommand};
use crate::stdout::complain;

/// Runs a provider command.
pub(crate) fn run(command: &ProviderCommand) -> Result<Exit, Failure> {
    match command {
        ProviderCommand::List(args) => list::run(args),
        ProviderCommand::Test(args) => test::run(args),
        ProviderCommand::Models(args) => models::run(args),
    }
}

/// What decides about providers in a folder.
struct Setup {
    host: Host,
    paths: ProjectPaths,
    settings: Settings,
}

impl Setup {
    /// Reads the settings as a run in the folder would, and remarks upon what of them has no effect.
    fn of(args: &FolderArgs) -> Result<Self, Failure> {
        let host = Host::of_process()?;
        let paths = match &args.cwd {
            Some(folder) => host.paths_around(folder)?,
            None => host.paths()?,
        };
        let settings = settings(&paths, args.trust)?;
        let warnings = settings.warnings.iter().map(ToString::to_string);
        for notice in settings.ignored.iter().cloned().chain(warnings) {
            complain(&format!("note: {}", one_line(&notice)));
        }
        let host = with_models(&host, &settings);
        Ok(Self { host, paths, settings })
    }

    /// The provider called `name`, its key fetched; without a name, the one that a run would use. A model is
    /// named for it in any case.
    fn provider(&self, name: Option<&String>, model: Option<&String>) -> Result<Named, Failure> {
        let resolve = |model: Option<&String>| {
            let overrides = ProviderOverrides {
                provider: name.cloned(),
                model: model.cloned(),
                ..ProviderOverrides::default()
            };
            let environment = &self.host.environment;
            ResolvedProvider::resolve(&self.settings, environment, &overrides, &definitions())
        };
        let (resolved, has_model) = match resolve(model) {
            Err(ProviderSetupError::NoModel { .. }) => (resolve(Some(&NO_MODEL.to_owned())), false),
            resolved => (resolved, true),
        };
        let mut provider = resolved.map_err(|error| setup_failure(&error))?;
        fetch_key(&self.host, &mut provider)?;
        Ok(Named { provider, has_model })
    }
}

/// Stands for a model where none is named.
const NO_MODEL: &str = "none";

/// A provider that may have no model.
struct Named {
    provider: ResolvedProvider,
    has_model: bool,
}
