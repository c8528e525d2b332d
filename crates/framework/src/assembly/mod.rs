//! From settings to a session: tools, rules, prompt, limits and store put together.
//!
//! [`SessionBlueprint`] is what the host knows, [`Assembly`] what a session is made of. A host may
//! change the [`Assembly::options`] before it opens sessions with them, for example to add tools or to
//! say who answers permission questions.

mod error;
mod folders;
mod hooks;
mod permissions;
mod redaction;
mod search;
mod surroundings;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use robota_core::{
    Ambient, DynTool, ModelInfo, ModelTable, PermissionMode, PermissionPolicy, Provider, RequestTuning,
    SessionId,
};
use robota_session::{FileStore, NullStore, Session, SessionOptions, SessionStore};
use robota_tools::process::Confine;
use robota_tools::{AddressPolicy, PathFilter, SearchBackend, ToolOptions, Workspace, builtin_tools};
use secrecy::SecretString;

pub use error::AssemblyError;
pub use permissions::{EffectivePermissions, ModeSource, PermissionOverrides};
pub use redaction::log_filter;

use crate::context::ContextFiles;
use crate::prompt::{ContextNote, PromptParts, PromptSection};
use crate::settings::Settings;
use crate::{Environment, LocalRules, ProjectPaths, ResolvedProvider};

/// Most output tokens of one answer when no profile sets them, whatever the model can do: some services
/// refuse a request whose input and output limit together exceed the window, and this much leaves
/// 84 % of a window of 200,000 tokens to the input.
const MAX_OUTPUT_TOKENS: u32 = 32_000;

/// Everything a session is planned from.
#[derive(Clone)]
#[non_exhaustive]
pub struct SessionBlueprint {
    /// Project, working directory and state folder.
    pub paths: ProjectPaths,
    /// Settings of the user and the project.
    pub settings: Settings,
    /// The host's environment; commands run in it without its credentials.
    pub environment: Environment,
    /// The model, and the limits its profile sets.
    pub model: ResolvedProvider,
    /// What is known of models: the table that ships, and `modelCatalog` of the settings before it.
    pub models: ModelTable,
    /// The provider constructed from `model`.
    pub provider: Arc<dyn Provider>,
    /// What flags say about permissions.
    pub permissions: PermissionOverrides,
    /// What flags say about the system prompt.
    pub prompt: PromptOverrides,
    /// How much effort the model puts into its answers, and whether it thinks first.
    pub tuning: RequestTuning,
    /// Most model calls in one turn; 0 for no limit.
    pub max_turns: u32,
    /// Name of the session, for people.
    pub name: Option<String>,
    /// Id of a new session; a fresh one when `None`.
    pub session_id: Option<SessionId>,
    /// Whether sessions are kept on disk.
    pub persistent: bool,
    /// Whether the hooks of the settings run.
    pub run_hooks: bool,
    /// Whether Write and Edit change files that no call has read: for the calls of a person, who knows them.
    pub changes_unseen: bool,
    /// Where sessions that are not kept put outputs that results show only in part: a folder for temporary files.
    pub temporary_outputs: Option<PathBuf>,
    /// Time and ids.
    pub ambient: Ambient,
}

/// What a host says about the system prompt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "plain data, built with `..Default::default()`")]
pub struct PromptOverrides {
    /// Stands in the place of the built-in prompt and instruction files; there is no note about the run then.
    pub replacement: Option<String>,
    /// Follows the prompt, built-in or replaced.
    pub appendix: Option<String>,
    /// Further sections of the built-in prompt.
    pub sections: Vec<PromptSection>,
}

impl SessionBlueprint {
    /// A persistent session of `model` in the project of `paths`, without overrides and limits.
    #[must_use]
    pub fn new(
        paths: ProjectPaths,
        settings: Settings,
        environment: Environment,
        model: ResolvedProvider,
        provider: Arc<dyn Provider>,
    ) -> Self {
        Self {
            models: ModelTable::builtin().clone().with(settings.model_catalog.iter().cloned()),
            paths,
            settings,
            environment,
            model,
            provider,
            permissions: PermissionOverrides::default(),
            prompt: PromptOverrides::default(),
            tuning: RequestTuning::default(),
            max_turns: 0,
            name: None,
            session_id: None,
            persistent: true,
            run_hooks: true,
            changes_unseen: false,
            temporary_outputs: None,
            ambient: Ambient::default(),
        }
    }

    /// Puts the session's parts together. Reads instruction files; opens and writes nothing.
    ///
    /// # Errors
    ///
    /// When a flag or variable holds a rule, mode or folder that cannot be used.
    pub fn assemble(&self) -> Result<Assembly, AssemblyError> {
        let effective =
            EffectivePermissions::resolve(&self.paths, &self.settings, &self.environment, &self.permissions)?;
        let (permissions, mut notices) = (effective.policy, effective.notices);
        let confinement = effective.sandbox.confinement(&permissions);
        let (search, notice) = search::backend(&self.settings, &self.environment);
        notices.extend(notice);
        let folders = permissions.roots.get(1..).unwrap_or_default().to_vec();
        let mut tools = self.tools(&permissions, Equipment { confinement, search })?;
        permissions::check_names(&self.permissions, &tools, &mut notices);
        permissions::take_away(&mut tools, &permissions.rules.deny);

        let mut options =
            SessionOptions::new(Arc::clone(&self.provider), self.model.model.as_str(), &self.paths.cwd);
        self.instruct(&mut options, &tools, &mut notices);
        if self.prompt.replacement.is_none() {
            options.context_note = Some(self.context_note(&folders, permissions.mode));
        }
        options.tools = tools;
        options.permissions = permissions;
        options.name.clone_from(&self.name);
        options.session_id.clone_from(&self.session_id);
        options.max_turns = self.max_turns;
        options.tuning.clone_from(&self.tuning);
        let info = self.models.lookup(&self.model.model);
        options.context_window = info.context_window;
        options.max_output_tokens = self.model.max_output_tokens.or_else(|| output_limit(&info));
        if let Some(setting) = self.settings.auto_compact {
            options.auto_compact_threshold = setting.threshold();
        }
        options.store = self.store();
        options.durability = self.settings.log.durability.unwrap_or_default();
        options.raw_capture = self.settings.log.raw_capture.unwrap_or_default();
        options.ambient = self.ambient.clone();
        options.line_filter = Some(redaction::filter(&self.secrets()));
        options.rule_keeper = Some(Arc::new(LocalRules::new(&self.paths, self.settings.trusted)));
        options.temporary_outputs.clone_from(&self.temporary_outputs);
        options.hooks = hooks::runner(self, &options)?;
        Ok(Assembly { options, notices })
    }

    /// What the model is told before the conversation begins, and when it summarises it. A prompt that is
    /// replaced leaves instruction files out of both.
    fn instruct(&self, options: &mut SessionOptions, tools: &[Arc<dyn DynTool>], notices: &mut Vec<String>) {
        let trusted = self.settings.trusted;
        let context = match self.prompt.replacement {
            None => ContextFiles::load(&self.paths, trusted),
            Some(_) => ContextFiles::default(),
        };
        notices.extend(context.notices.iter().cloned());
        options.compact_instructions = context.compact_instructions(trusted, notices);
        let names: Vec<&str> = tools.iter().map(|tool| tool.spec().name.as_str()).collect();
        let prompt = PromptParts {
            tools: &names,
            language: self.settings.language.as_deref(),
            context: Some(&context),
            trusted,
            sections: self.prompt.sections.clone(),
            replacement: self.prompt.replacement.as_deref(),
            appendix: self.prompt.appendix.as_deref(),
        };
        options.system_prompt = prompt.render().into();
    }

    /// What is true of this run, and need not be of the next one of the same session.
    fn context_note(&self, folders: &[PathBuf], mode: PermissionMode) -> String {
        let note = ContextNote {
            cwd: self.paths.cwd.clone(),
            root: self.paths.root.clone(),
            additional_directories: folders,
            platform: std::env::consts::OS,
            now: self.ambient.now(),
            mode,
        };
        note.render()
    }

    /// The environment of commands: that of the host without its credentials, and over it the variables of the settings.
    #[must_use]
    pub fn command_environment(&self) -> Vec<(OsString, OsString)> {
        surroundings::of_children(self)
    }

    /// The built-in tools. Relative paths and commands start in the working directory, wherever in
    /// the project it is. What deny rules keep from being read stays out of searches.
    fn tools(
        &self,
        permissions: &PermissionPolicy,
        equipment: Equipment,
    ) -> Result<Vec<Arc<dyn DynTool>>, AssemblyError> {
        let workspace =
            Workspace::new(&self.paths.cwd, permissions.roots.iter().cloned(), self.paths.home.clone());
        let workspace = if self.changes_unseen { workspace.changing_unseen() } else { workspace };
        let mut options = ToolOptions::new(workspace, surroundings::of_children(self));
        options.address_policy = AddressPolicy::new(&self.settings.allowed_hosts)?;
        options.confinement = equipment.confinement;
        options.search = equipment.search;
        if let Some(name) = &self.settings.user_agent {
            options.web_fetch.user_agent.clone_from(name);
        }
        options.web_fetch.clock = Arc::clone(&self.ambient.clock);
        options.unreadable = permissions
            .reading_denials()
            .map(|denials| -> PathFilter { Arc::new(move |path: &Path| denials.deny(path)) });
        Ok(builtin_tools(options))
    }

    fn store(&self) -> Arc<dyn SessionStore> {
        if self.persistent {
            Arc::new(FileStore::with_clock(&self.paths.state_dir, Arc::clone(&self.ambient.clock)))
        } else {
            Arc::new(NullStore)
        }
    }

    /// Every value that came from a credential source: what children and logs must not see.
    fn secrets(&self) -> Vec<SecretString> {
        let of_model = self.model.credential.as_ref().map(|credential| credential.secret().clone());
        of_model.into_iter().chain(redaction::secrets(&self.settings, &self.environment)).collect()
    }
}

/// What only some tools need.
#[derive(Default)]
struct Equipment {
    /// Confines commands of Bash.
    confinement: Option<Arc<dyn Confine>>,
    /// Answers WebSearch.
    search: Option<Arc<dyn SearchBackend>>,
}

/// The output limit of a model that the table knows; what others can do is for the provider to guess.
fn output_limit(info: &ModelInfo) -> Option<u32> {
    let limit = u32::try_from(info.max_output_tokens).unwrap_or(u32::MAX);
    info.known.then_some(limit.min(MAX_OUTPUT_TOKENS))
}

/// The parts of a session, ready to be opened any number of times.
#[derive(Clone)]
#[non_exhaustive]
pub struct Assembly {
    /// What sessions are made of.
    pub options: SessionOptions,
    /// What was cut, passed over or has no effect: one sentence each, for a person.
    pub notices: Vec<String>,
}

impl Assembly {
    /// Makes a new session.
    ///
    /// # Errors
    ///
    /// As [`Session::create`].
    pub async fn create(&self) -> Result<Session, robota_session::Error> {
        Session::create(self.options.clone()).await
    }

    /// Goes on with the session that `query` names: by id, by the beginning of its id, or by name.
    ///
    /// # Errors
    ///
    /// As the store's `find` and [`Session::resume`].
    pub async fn resume(&self, query: &str) -> Result<Session, robota_session::Error> {
        let head = self.options.store.find(query).await?;
        Session::resume(self.options.clone(), &head.id).await
    }

    /// Makes a session that begins with a copy of the one that `query` names.
    ///
    /// # Errors
    ///
    /// As the store's `find` and [`Session::fork`].
    pub async fn fork(&self, query: &str) -> Result<Session, robota_session::Error> {
        let head = self.options.store.find(query).await?;
        Session::fork(self.options.clone(), &head.id).await
    }

    /// Id of the session of this working directory in which something happened last.
    ///
    /// # Errors
    ///
    /// [`Storage`](robota_session::ErrorKind::Storage) when the sessions cannot be listed.
    pub async fn latest(&self) -> Result<Option<SessionId>, robota_session::Error> {
        Ok(self.options.store.latest_for(&self.options.cwd).await?.map(|head| head.id))
    }
}
