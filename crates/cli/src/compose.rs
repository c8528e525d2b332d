//! Composition: from flags, settings and environment to a session that can be opened.

use std::sync::Arc;

use robota_core::{ModelInfo, SystemClock};
use robota_framework::{
    Assembly, AssemblyError, PermissionOverrides, ProjectPaths, PromptOverrides, ProviderOverrides,
    ResolvedProvider, SessionBlueprint, Settings, TrustStore,
};
use robota_session::{ErrorKind, Session};

use crate::args::{RunArgs, split_rules};
use crate::exit::{Exit, Failure, exit_of};
use crate::harmless::one_line;
use crate::host::{Host, sandbox_helper, temp_dir};
use crate::model_setup::{connect, limits_notice, model_of, model_table, with_models};
use crate::permissions_args::PolicyArgs;

/// A session, ready to be opened.
pub(crate) struct Composition {
    pub(crate) assembly: Assembly,
    pub(crate) paths: ProjectPaths,
    pub(crate) model: ResolvedProvider,
    pub(crate) model_info: ModelInfo,
    /// The models that take its place when it fails.
    pub(crate) fallback_models: Vec<(String, ModelInfo)>,
    /// What is assumed of the model, because nobody knows.
    pub(crate) limits: Option<String>,
    /// What the project sets and has no effect without trust: one sentence for each file.
    pub(crate) ignored: Vec<String>,
    /// What else a person should know before the run: one sentence each.
    pub(crate) notices: Vec<String>,
}

/// Puts together what `args` ask for.
pub(crate) fn compose(host: &Host, args: &RunArgs) -> Result<Composition, Failure> {
    let paths = host.paths()?;
    let settings = settings(&paths, args.trust)?;
    let host = &with_models(host, &settings);
    let overrides = ProviderOverrides {
        provider: args.provider.clone(),
        model: args.model.clone(),
        fallback_models: args.tuning.fallback_models.clone(),
    };
    let model = model_of(host, &settings, &overrides)?;
    let models = model_table(&paths, &settings, &model);
    let model_info = models.lookup(&model.model);
    let fallback_models =
        model.fallback_models.iter().map(|name| (name.clone(), models.lookup(name))).collect();
    let provider = connect(host, &model, &model_info, &args.tuning.betas)?;
    let ignored = settings.ignored.iter().map(|notice| one_line(notice)).collect();
    let limits = limits_notice(&model_info).map(|notice| one_line(&notice));
    let mut notices: Vec<String> = settings.warnings.iter().map(ToString::to_string).collect();

    let mut blueprint =
        SessionBlueprint::new(paths.clone(), settings, host.environment.clone(), model.clone(), provider);
    blueprint.models = models;
    blueprint.permissions = PermissionOverrides {
        mode: args.permission_mode,
        allowed: split_rules(&args.allowed_tools),
        denied: split_rules(&args.denied_tools),
        additional_directories: args.add_dir.clone(),
        sandbox: args.sandbox.asked(),
        sandbox_helper: sandbox_helper(),
    };
    blueprint.temporary_outputs = Some(temp_dir());
    blueprint.prompt = PromptOverrides {
        replacement: args.system_prompt.clone(),
        appendix: args.append_system_prompt.clone(),
        ..PromptOverrides::default()
    };
    blueprint.max_turns = args.max_turns.unwrap_or(0);
    blueprint.tuning = args.tuning.of_requests();
    blueprint.name.clone_from(&args.name);
    blueprint.persistent = !args.no_session_persistence;
    let assembly = assembled(&blueprint)?;
    notices.extend(assembly.notices.iter().cloned());
    // Some of them quote what a repository says.
    notices.iter_mut().for_each(|notice| *notice = one_line(notice));
    Ok(Composition { assembly, paths, model, model_info, fallback_models, limits, ignored, notices })
}

/// The parts of a session.
pub(crate) fn assembled(blueprint: &SessionBlueprint) -> Result<Assembly, Failure> {
    blueprint
        .assemble()
        .map_err(|error| Failure::from_error(exit_of_assembly(&error), &error).with_hint(error.hint()))
}

/// The folder that a command is about that runs no prompt: this process, its project, and the settings there.
pub(crate) fn folder(args: &PolicyArgs) -> Result<(Host, ProjectPaths, Settings), Failure> {
    let host = Host::of_process()?;
    let paths = match &args.cwd {
        Some(folder) => host.paths_around(folder)?,
        None => host.paths()?,
    };
    let settings = settings(&paths, args.trust)?;
    Ok((host, paths, settings))
}

/// What the flags of a command say about permissions that runs no prompt.
pub(crate) fn overrides_of(args: &PolicyArgs) -> PermissionOverrides {
    PermissionOverrides {
        mode: args.permission_mode,
        allowed: split_rules(&args.allowed_tools),
        denied: split_rules(&args.denied_tools),
        additional_directories: args.add_dir.clone(),
        sandbox: args.sandbox.asked(),
        sandbox_helper: sandbox_helper(),
    }
}

/// The settings of a run in `paths`; `trust` is the flag for it.
pub(crate) fn settings(paths: &ProjectPaths, trust: bool) -> Result<Settings, Failure> {
    // Before anything of the project is opened.
    let trusted = trust || is_trusted(paths)?;
    Settings::load(paths, trusted)
        .map_err(|error| Failure::from_error(Exit::Configuration, &error).with_hint(SETTINGS_HINT))
}

/// Whether the user has trusted the project for good.
fn is_trusted(paths: &ProjectPaths) -> Result<bool, Failure> {
    TrustStore::new(paths, Arc::new(SystemClock))
        .is_trusted(&paths.root)
        .map_err(|error| Failure::from_error(Exit::Configuration, &error).with_hint(error.hint()))
}

/// A flag is the command line's fault, a variable the environment's.
pub(crate) fn exit_of_assembly(error: &AssemblyError) -> Exit {
    if error.is_configuration() { Exit::Configuration } else { Exit::Usage }
}

/// What to do about settings that cannot be read.
pub(crate) const SETTINGS_HINT: &str =
    "Nothing was started, because rules in that file would be lost. Correct it or move it away.";

impl Composition {
    /// Opens the session that `args` ask for: a new one, the latest, a named one, or a copy.
    pub(crate) async fn open(&self, args: &RunArgs) -> Result<Session, Failure> {
        let wanted = match (&args.resume, args.continue_latest) {
            (Some(query), _) => query.clone(),
            (None, true) => self.latest().await?,
            (None, false) => return self.assembly.create().await.map_err(|error| session_failure(&error)),
        };
        let opened = if args.fork_session {
            self.assembly.fork(&wanted).await
        } else {
            self.assembly.resume(&wanted).await
        };
        opened.map_err(|error| session_failure(&error))
    }

    async fn latest(&self) -> Result<String, Failure> {
        let latest = self.assembly.latest().await.map_err(|error| session_failure(&error))?;
        latest.map(|id| id.to_string()).ok_or_else(|| {
            let folder = self.paths.cwd.display();
            Failure::new(Exit::Configuration, format!("there is no session to continue in {folder}"))
                .with_hint("Start one without -c, or see `robota session list`.")
        })
    }
}

const WITHOUT_FILES: &str = "With --no-session-persistence a run needs no files, and cannot be resumed.";

/// A failure of a session as a person reads it.
pub(crate) fn session_failure(error: &robota_session::Error) -> Failure {
    let exit = match error.kind() {
        ErrorKind::Engine(kind) => exit_of(kind),
        ErrorKind::Storage => Exit::Storage,
        _ => Exit::Configuration,
    };
    let failure = Failure::from_error(exit, error);
    match (error.hint(), exit) {
        (Some(hint), Exit::Storage) => failure.with_hint(format!("{hint}. {WITHOUT_FILES}")),
        (None, Exit::Storage) => failure.with_hint(WITHOUT_FILES),
        (Some(hint), _) => failure.with_hint(hint),
        (None, _) => failure,
    }
}
