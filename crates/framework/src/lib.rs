//! Assembly of robota sessions: what an embedder or the command line starts from.
//!
//! A session is planned from values, in this order: [`ProjectPaths`] says where the project is,
//! [`TrustStore`] whether the user trusts it, [`Settings`] what user and project have set, [`ResolvedProvider`] which model to talk to and how.
//! The host constructs the provider, since this crate knows none, and hands all of it to a
//! [`SessionBlueprint`], which becomes an [`Assembly`]: tools, permission rules, hooks, system prompt and note,
//! limits and store, ready to open sessions. [`create_query`] is the short way for single prompts.
//!
//! The crate reads the user's trust decisions, settings and instruction files, and writes three things: those
//! decisions, rules that a person allows for good, and the lists of models that providers gave. Environment, home folder and
//! working directory arrive as values ([`Environment`]), and nothing is printed; what a person should
//! know comes back as text (`notices`, `warnings`, `ignored`).

mod assembly;
mod context;
mod environment;
mod files;
mod hook;
mod local_rules;
mod model_lists;
mod project;
mod prompt;
mod provider;
mod query;
mod sandbox;
mod settings;
mod trust;

pub use assembly::{
    Assembly, AssemblyError, EffectivePermissions, ModeSource, PermissionOverrides, PromptOverrides,
    SessionBlueprint, log_filter,
};
pub use context::{
    ContextFile, ContextFiles, ContextKind, ContextOrigin, MAX_CONTEXT_FILE, MAX_CONTEXT_TOTAL,
};
pub use environment::{Environment, Variable};
pub use local_rules::{KeepError, LocalRules};
pub use model_lists::{ModelList, ModelLists, OfferedModel};
pub use project::{ProjectError, ProjectPaths};
pub use prompt::{ContextNote, PromptParts, PromptSection};
pub use provider::{
    Credential, DEFAULT_IDLE_TIMEOUT, KeyError, KeyReference, KeySources, ListedProvider, ProviderOrigin,
    ProviderOverrides, ProviderSetupError, ResolvedProvider, list_providers,
};
pub use query::{Query, create_query};
pub use sandbox::{SANDBOX_HELPER_ARGUMENT, Sandbox, SandboxPlan, SandboxState, system_sandbox_status};
pub use settings::{
    AutoCompact, Claim, ClaimKind, FileClaims, Format, Layer, LogSettings, ModelSetting, NetworkMode,
    PermissionSettings, ProviderProfile, SandboxNetwork, SandboxSettings, Scope, SearchSettings, Settings,
    SettingsError, SettingsWarning, SourcedRule, Variables, project_claims,
};
pub use trust::{TrustError, TrustStore, TrustedFolder};
