//! What a session in a folder would be, without a model: for commands that need its tools, rules or sandbox only.

use std::sync::Arc;

use futures_util::stream;
use robota_core::{
    Capabilities, ModelRequest, ModelStream, ModelTable, Provider, ProviderError, ProviderErrorKind,
    ProviderInfo,
};
use robota_framework::{
    EffectivePermissions, ProviderOverrides, ResolvedProvider, SessionBlueprint, Settings,
};
use tokio_util::sync::CancellationToken;

use crate::compose::{exit_of_assembly, folder, overrides_of};
use crate::exit::Failure;
use crate::harmless::one_line;
use crate::host::Host;
use crate::model_setup::{connect, model_of, with_models};
use crate::permissions_args::PolicyArgs;

/// The plan of a session that is kept nowhere.
pub(crate) struct Unmodelled {
    pub(crate) blueprint: SessionBlueprint,
    /// What of the settings has no effect: one sentence each.
    pub(crate) notices: Vec<String>,
}

impl Unmodelled {
    /// Reads the settings as a run with `args` would.
    pub(crate) fn of(args: &PolicyArgs) -> Result<Self, Failure> {
        let (host, paths, settings) = folder(args)?;
        let host = with_models(&host, &settings);
        let (model, provider) = model(&host, &settings);
        let warnings = settings.warnings.iter().map(ToString::to_string);
        let notices = settings.ignored.iter().cloned().chain(warnings);
        let notices = notices.map(|notice| one_line(&notice)).collect();
        let mut blueprint = SessionBlueprint::new(paths, settings, host.environment.clone(), model, provider);
        blueprint.permissions = overrides_of(args);
        blueprint.persistent = false;
        Ok(Self { blueprint, notices })
    }

    /// The rules, mode and sandbox of the session.
    pub(crate) fn permissions(&self) -> Result<EffectivePermissions, Failure> {
        let SessionBlueprint { paths, settings, environment, permissions, .. } = &self.blueprint;
        EffectivePermissions::resolve(paths, settings, environment, permissions)
            .map_err(|error| Failure::from_error(exit_of_assembly(&error), &error).with_hint(error.hint()))
    }
}

/// The model that a run would have, for hooks that ask one; where none is set up, one that says so.
fn model(host: &Host, settings: &Settings) -> (ResolvedProvider, Arc<dyn Provider>) {
    let model =
        model_of(host, settings, &ProviderOverrides::default()).unwrap_or_else(|_| ResolvedProvider::none());
    let info = ModelTable::builtin().lookup(&model.model);
    let provider = connect(host, &model, &info, &[]).unwrap_or_else(|_| Arc::new(NoModel::new()));
    (model, provider)
}

/// Stands where no model is set up.
struct NoModel(ProviderInfo);

impl NoModel {
    fn new() -> Self {
        Self(ProviderInfo::new("none", Capabilities::default()))
    }
}

impl Provider for NoModel {
    fn info(&self) -> &ProviderInfo {
        &self.0
    }

    fn stream(&self, _: ModelRequest, _: CancellationToken) -> ModelStream {
        let error = ProviderError::new(ProviderErrorKind::Configuration, "no model is set up");
        Box::pin(stream::iter([Err(error)]))
    }
}
