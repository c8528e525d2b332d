//! From settings to the provider of a model: the one place where the two are put together.

use std::ffi::OsStr;
use std::sync::Arc;

use robota_core::{ModelInfo, ModelSource, ModelTable, Provider};
use robota_framework::{
    Credential, KeySources, ModelLists, ProjectPaths, ProviderOverrides, ProviderSetupError,
    ResolvedProvider, Settings, Variable,
};
use robota_providers::{ConnectionOptions, ProviderKind, ProviderOptions, ProviderSpec, build, definitions};
use robota_tools::process::find_shell;

use crate::exit::{Exit, Failure};
use crate::host::Host;

/// The most retries a user may ask for.
const MAX_RETRIES: u32 = 20;

/// The host as the user's own settings complete it: with the variables of models that they set.
pub(crate) fn with_models(host: &Host, settings: &Settings) -> Host {
    Host { environment: settings.environment(&host.environment, &definitions()), ..host.clone() }
}

/// The model of a run, its key fetched.
pub(crate) fn model_of(
    host: &Host,
    settings: &Settings,
    overrides: &ProviderOverrides,
) -> Result<ResolvedProvider, Failure> {
    let resolved = ResolvedProvider::resolve(settings, &host.environment, overrides, &definitions());
    let mut model = resolved.map_err(|error| setup_failure(&error))?;
    fetch_key(host, &mut model)?;
    Ok(model)
}

/// What is missing for a model to be called, as a person reads it.
pub(crate) fn setup_failure(error: &ProviderSetupError) -> Failure {
    Failure::from_error(Exit::Configuration, error).with_hint(error.hint())
}

/// Fetches the key where another program has it.
pub(crate) fn fetch_key(host: &Host, model: &mut ResolvedProvider) -> Result<(), Failure> {
    if model.key_reference.is_none() {
        return Ok(());
    }
    let path = host.environment.lookup("PATH").map(OsStr::new);
    let sources = KeySources::new(find_shell(path), &host.cwd, host.environment.pairs());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::from_error(Exit::Failed, &error))?;
    runtime.block_on(model.fetch_key(&sources)).map_err(|error| {
        let failure = Failure::from_error(Exit::Configuration, &error);
        let failure = failure.with_hint(error.hint());
        Failure {
            message: format!("the provider `{}` has no key: {}", model.name, failure.message),
            ..failure
        }
    })
}

/// Most output tokens of a model whose provider tells its window and not this.
const ASSUMED_OUTPUT: u64 = 8_192;

/// What is known of models: the settings', the table's, and behind them what the provider said when it was asked last.
pub(crate) fn model_table(paths: &ProjectPaths, settings: &Settings, model: &ResolvedProvider) -> ModelTable {
    let table = ModelTable::builtin().clone().with(settings.model_catalog.iter().cloned());
    if table.lookup(&model.model).known {
        return table;
    }
    match ModelLists::new(paths).load(model) {
        Some(list) => table.with_listed(list.entries(ASSUMED_OUTPUT)),
        None => table,
    }
}

/// What to tell about a model whose limits nobody knows.
pub(crate) fn limits_notice(info: &ModelInfo) -> Option<String> {
    let told = format!(
        "the model {} is not in the table: assuming a window of {} tokens; set `modelCatalog` in settings, or run \
         `robota provider models --refresh`",
        info.id, info.context_window
    );
    (info.source == ModelSource::Assumed).then_some(told)
}

/// The provider of a resolved profile, with retries. `betas` are asked for besides those of its options.
pub(crate) fn connect(
    host: &Host,
    model: &ResolvedProvider,
    info: &ModelInfo,
    betas: &[String],
) -> Result<Arc<dyn Provider>, Failure> {
    let mut spec = spec_of(model)?;
    spec.options.betas.extend(betas.iter().cloned());
    spec.default_max_output_tokens = u32::try_from(info.max_output_tokens).ok();
    if let Some(retries) = retries(host)? {
        spec.retry.max_attempts = retries + 1;
    }
    build(spec).map_err(|error| not_built(&error))
}

/// What a resolved profile is for the crate of providers.
pub(crate) fn spec_of(model: &ResolvedProvider) -> Result<ProviderSpec, Failure> {
    let kind: ProviderKind =
        model.kind.parse().map_err(|error| Failure::from_error(Exit::Configuration, &error))?;
    let mut spec = ProviderSpec::new(kind);
    match &model.credential {
        Some(Credential::ApiKey(key)) => spec.api_key = Some(key.clone()),
        Some(Credential::BearerToken(token)) => spec.auth_token = Some(token.clone()),
        _ => {}
    }
    spec.connection = ConnectionOptions {
        base_url: model.base_url.clone(),
        base_url_source: model.base_url_source.clone(),
        key_source: model.credential_source.clone(),
        idle_timeout: model.idle_timeout,
        ..ConnectionOptions::default()
    };
    spec.fallback_models.clone_from(&model.fallback_models);
    if let Some(options) = &model.options {
        spec.options = ProviderOptions::parse(options)
            .map_err(|problem| setup_failure(&model.invalid_options(problem.to_string())))?;
    }
    Ok(spec)
}

/// A provider that could not be made, as a person reads it.
pub(crate) fn not_built(error: &robota_core::ProviderError) -> Failure {
    let failure = Failure::from_error(Exit::Configuration, error);
    match error.hint() {
        Some(hint) => failure.with_hint(hint),
        None => failure,
    }
}

fn retries(host: &Host) -> Result<Option<u32>, Failure> {
    let variable = Variable::ROBOTA_MAX_RETRIES;
    let Some(text) = host.environment.get(variable) else { return Ok(None) };
    let number = text.parse().ok().filter(|number| *number <= MAX_RETRIES);
    number.map(Some).ok_or_else(|| {
        let message = format!("{} is `{text}`; expected a number from 0 to {MAX_RETRIES}", variable.name);
        Failure::new(Exit::Configuration, message)
    })
}
