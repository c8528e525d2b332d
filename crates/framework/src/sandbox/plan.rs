//! What settings and flags ask of the sandbox.

use std::path::PathBuf;

use robota_core::Rule;

use crate::settings::{SandboxNetwork, Settings};
use crate::{Environment, ProjectPaths};

/// The sandbox that was asked for: settings, flags and workspace joined.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SandboxPlan {
    /// Whether commands are to run in it.
    pub enabled: bool,
    /// Whether none may run where it cannot be enforced.
    pub demanded: bool,
    /// Whether commands in it run without asking.
    pub unasked: bool,
    /// Rules for commands that run outside of it.
    pub excluded: Vec<Rule>,
    /// Folders that commands may change: the workspace, and what the settings add.
    pub writable: Vec<PathBuf>,
    /// Folders for temporary files, which they may change as they please.
    pub scratch: Vec<PathBuf>,
    /// What they may not change, inside of these folders too.
    pub deny_write: Vec<PathBuf>,
    /// What they may not read.
    pub deny_read: Vec<PathBuf>,
    /// What of the network they reach.
    pub network: SandboxNetwork,
    /// Whether they may use sockets of the file system.
    pub allow_unix_sockets: bool,
}

impl Default for SandboxPlan {
    /// None at all.
    fn default() -> Self {
        Self {
            enabled: false,
            demanded: false,
            unasked: false,
            excluded: Vec::new(),
            writable: Vec::new(),
            scratch: Vec::new(),
            deny_write: Vec::new(),
            deny_read: Vec::new(),
            network: SandboxNetwork::Off,
            allow_unix_sockets: false,
        }
    }
}

impl SandboxPlan {
    /// The plan for a session whose workspace is `roots`; `asked` is what a flag says, which wins over the settings.
    #[must_use]
    pub fn resolve(
        paths: &ProjectPaths,
        settings: &Settings,
        environment: &Environment,
        roots: &[PathBuf],
        asked: Option<bool>,
    ) -> Self {
        let sandbox = &settings.sandbox;
        let mut deny_write = sandbox.deny_write.clone();
        // What decides about later sessions is not for a command to change, whatever its name.
        deny_write.extend(paths.user_dir.clone());
        let real = |path: &PathBuf| path.canonicalize().unwrap_or_else(|_| path.clone());
        let home = environment.lookup("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
        let home = home.filter(|home| roots.iter().any(|root| real(home).starts_with(real(root))));
        deny_write.extend(home.iter().flat_map(|home| RUN_BY_OTHERS.map(|name| home.join(name))));
        Self {
            enabled: asked.or(sandbox.enabled).unwrap_or_default(),
            demanded: sandbox.fail_if_unavailable.unwrap_or_default(),
            unasked: sandbox.auto_allow_bash.unwrap_or_default(),
            excluded: sandbox.excluded_commands.iter().map(|sourced| sourced.rule.clone()).collect(),
            writable: roots.iter().chain(&sandbox.allow_write).cloned().collect(),
            scratch: scratch(environment),
            deny_write,
            deny_read: sandbox.deny_read.clone(),
            network: sandbox.network(),
            allow_unix_sockets: sandbox.allow_unix_sockets.unwrap_or_default(),
        }
    }
}

/// What shells, desktops and tools run or obey in a home folder. Where that is in the workspace, nothing may come to
/// be at these names either.
const RUN_BY_OTHERS: [&str; 22] = [
    ".bash_aliases",
    ".bash_login",
    ".bash_logout",
    ".bash_profile",
    ".bashrc",
    ".cargo/config.toml",
    ".config/autostart",
    ".config/environment.d",
    ".config/fish",
    ".config/git",
    ".config/systemd",
    ".gitconfig",
    ".npmrc",
    ".pam_environment",
    ".profile",
    ".ssh",
    ".xprofile",
    ".xsessionrc",
    ".zlogin",
    ".zprofile",
    ".zshenv",
    ".zshrc",
];

/// Where programs put their temporary files.
fn scratch(environment: &Environment) -> Vec<PathBuf> {
    let named = environment.lookup("TMPDIR").map(PathBuf::from).filter(|folder| folder.is_absolute());
    named.into_iter().chain([PathBuf::from("/tmp"), PathBuf::from("/var/tmp")]).collect()
}
