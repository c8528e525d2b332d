//! The tools of a session, without a model.

use futures_util::stream;
use robota_core::{
    Capabilities, HookEvent, ModelInfo, ModelRequest, ModelStream, ModelTable, Provider, ProviderError,
    ProviderErrorKind, ProviderInfo,
};
use robota_framework::{Assembly, ProviderOverrides, ResolvedProvider, SessionBlueprint};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

use crate::compose::{assembled, overrides_of, provider, settings};
use crate::exit::Failure;
use crate::harmless::one_line;
use crate::host::Host;
use crate::permissions_args::PolicyArgs;

/// Hooks of these events run around a call; those of a session and its turns do not, because there is neither.
const EVENTS: [HookEvent; 4] = [
    HookEvent::PreToolUse,
    HookEvent::PostToolUse,
    HookEvent::PostToolUseFailure,
    HookEvent::PermissionRequest,
];

/// What a session in a folder would have.
pub(super) struct Toolbox {
    pub(super) assembly: Assembly,
    /// What a person should know: one sentence each.
    pub(super) notices: Vec<String>,
}

impl Toolbox {
    /// Reads the settings as a run with `args` would.
    pub(super) fn open(args: &PolicyArgs) -> Result<Self, Failure> {
        let host = Host::of_process()?;
        let paths = match &args.cwd {
            Some(folder) => host.paths_around(folder)?,
            None => host.paths()?,
        };
        let mut settings = settings(&paths, args.trust)?;
        settings.hooks.groups.retain(|group| EVENTS.contains(&group.event));
        let host = Host { environment: settings.environment(&host.environment), ..host };
        let (model, provider) = model(&host, &settings);
        let mut notices = settings.ignored.clone();
        notices.extend(settings.warnings.iter().map(ToString::to_string));
        let mut blueprint =
            SessionBlueprint::new(paths, settings, host.environment.clone(), model, provider);
        blueprint.permissions = overrides_of(args);
        blueprint.persistent = false;
        let assembly = assembled(&blueprint)?;
        notices.extend(assembly.notices.iter().cloned());
        notices.iter_mut().for_each(|notice| *notice = one_line(notice));
        Ok(Self { assembly, notices })
    }
}

/// The model that a run would have, for hooks that ask one; where none is set up, one that says so.
fn model(host: &Host, settings: &robota_framework::Settings) -> (ResolvedProvider, Arc<dyn Provider>) {
    let resolved = ResolvedProvider::resolve(settings, &host.environment, &ProviderOverrides::default());
    let model = resolved.unwrap_or_else(|_| ResolvedProvider::none());
    let info: ModelInfo = ModelTable::builtin().lookup(&model.model);
    let provider = provider(host, &model, &info).unwrap_or_else(|_| Arc::new(NoModel::new()));
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
