//! The setting `sandbox`: how commands of Bash are confined.

use std::path::{Path, PathBuf};

use robota_core::Rule;
use serde_json::Value;

use super::document::Node;
use super::file::Reader;
use super::value::{choice, domain, flag, text};
use super::{Format, SettingsError, SourcedRule};
use crate::ProjectPaths;

const KEYS: [&str; 6] =
    ["autoAllowBashIfSandboxed", "enabled", "excludedCommands", "failIfUnavailable", "filesystem", "network"];
const FILESYSTEM_KEYS: [&str; 3] = ["allowWrite", "denyRead", "denyWrite"];
const NETWORK_KEYS: [&str; 3] = ["allowUnixSockets", "allowedDomains", "mode"];

/// The setting `sandbox`, under the names of Claude Code. What no file sets is off.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct SandboxSettings {
    /// Whether commands of Bash run in the sandbox.
    pub enabled: Option<bool>,
    /// Whether none runs at all where the system cannot enforce the sandbox.
    pub fail_if_unavailable: Option<bool>,
    /// Whether commands in the sandbox run without asking.
    pub auto_allow_bash: Option<bool>,
    /// Rules for commands that run outside of it.
    pub excluded_commands: Vec<SourcedRule>,
    /// Folders and files that may be written besides the workspace.
    pub allow_write: Vec<PathBuf>,
    /// Folders and files that may not be written, wherever they are.
    pub deny_write: Vec<PathBuf>,
    /// Folders and files that may not be read.
    pub deny_read: Vec<PathBuf>,
    /// What of the network can be reached whatever the domains are; `None` leaves it to them.
    pub network_mode: Option<NetworkMode>,
    /// Hosts that may be reached: `host`, or `*.host` for those below it.
    pub allowed_domains: Vec<String>,
    /// Whether sockets of the file system may be used, such as that of a container engine.
    pub allow_unix_sockets: Option<bool>,
}

/// The setting `sandbox.network.mode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "what lies between is for the domains to say")]
pub enum NetworkMode {
    /// No network.
    Off,
    /// The network as it is.
    Open,
}

/// What of the network a command in the sandbox can reach.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "hosts must enforce every one of them")]
pub enum SandboxNetwork {
    /// Nothing.
    Off,
    /// These hosts, by a proxy.
    Domains(Vec<String>),
    /// Everything.
    Open,
}

impl SandboxSettings {
    /// What of the network can be reached: by the mode, and without one the domains where there are any.
    #[must_use]
    pub fn network(&self) -> SandboxNetwork {
        match self.network_mode {
            Some(NetworkMode::Open) => SandboxNetwork::Open,
            None if !self.allowed_domains.is_empty() => SandboxNetwork::Domains(self.allowed_domains.clone()),
            Some(NetworkMode::Off) | None => SandboxNetwork::Off,
        }
    }

    /// Lays what `higher` sets over these; lists are joined.
    pub(super) fn overlay(&mut self, higher: Self, paths: &ProjectPaths) {
        let Self { enabled, fail_if_unavailable, auto_allow_bash, excluded_commands, .. } = higher;
        self.enabled = enabled.or(self.enabled);
        self.fail_if_unavailable = fail_if_unavailable.or(self.fail_if_unavailable);
        self.auto_allow_bash = auto_allow_bash.or(self.auto_allow_bash);
        self.excluded_commands.extend(excluded_commands);
        let resolved = |list: Vec<PathBuf>| list.into_iter().map(|path| place(&path, paths));
        self.allow_write.extend(resolved(higher.allow_write));
        self.deny_write.extend(resolved(higher.deny_write));
        self.deny_read.extend(resolved(higher.deny_read));
        self.network_mode = higher.network_mode.or(self.network_mode);
        self.allowed_domains.extend(higher.allowed_domains);
        self.allow_unix_sockets = higher.allow_unix_sockets.or(self.allow_unix_sockets);
    }

    /// The part that only takes away: what a project may set that nobody trusts.
    pub(super) fn narrowing(&self) -> Self {
        Self {
            enabled: self.enabled.filter(|enabled| *enabled),
            fail_if_unavailable: self.fail_if_unavailable.filter(|demanded| *demanded),
            auto_allow_bash: self.auto_allow_bash.filter(|unasked| !unasked),
            deny_write: self.deny_write.clone(),
            deny_read: self.deny_read.clone(),
            network_mode: self.network_mode.filter(|mode| *mode == NetworkMode::Off),
            allow_unix_sockets: self.allow_unix_sockets.filter(|allowed| !allowed),
            ..Self::default()
        }
    }

    /// The rest, for a person: one text for each.
    pub(super) fn widening(&self) -> Vec<String> {
        let mut list = Vec::new();
        let mut note = |holds: bool, what: &str| list.extend(holds.then(|| what.to_owned()));
        note(self.enabled == Some(false), "off");
        note(self.fail_if_unavailable == Some(false), "not demanded");
        note(self.auto_allow_bash == Some(true), "commands in it run without asking");
        note(self.network_mode == Some(NetworkMode::Open), "the whole network");
        note(self.allow_unix_sockets == Some(true), "Unix sockets");
        list.extend(self.excluded_commands.iter().map(|sourced| format!("outside of it: {}", sourced.rule)));
        list.extend(self.allow_write.iter().map(|path| format!("writing to {}", path.display())));
        list.extend(self.allowed_domains.iter().map(|domain| format!("the host {domain}")));
        list
    }
}

/// A path of the settings: `~/` is the home folder, relative ones start at the project.
fn place(path: &Path, paths: &ProjectPaths) -> PathBuf {
    match (path.strip_prefix("~"), &paths.home) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => paths.root.join(path),
    }
}

impl Reader<'_> {
    /// `sandbox`.
    pub(super) fn sandbox(&mut self, node: &Node<'_>) -> Result<(), SettingsError> {
        for (name, node) in node.members()? {
            match name.as_str() {
                "enabled" => self.settings.sandbox.enabled = Some(flag(&node)?),
                "failIfUnavailable" => self.settings.sandbox.fail_if_unavailable = Some(flag(&node)?),
                "autoAllowBashIfSandboxed" => self.settings.sandbox.auto_allow_bash = Some(flag(&node)?),
                "excludedCommands" => {
                    let rules: Result<Vec<_>, _> =
                        node.elements()?.iter().map(|node| self.excluded(node)).collect();
                    self.settings.sandbox.excluded_commands = rules?;
                }
                "filesystem" => self.filesystem(&node)?,
                "network" => self.network(&node)?,
                _ => self.unknown(&node, &name, "is not a setting of the sandbox", &KEYS),
            }
        }
        Ok(())
    }

    fn filesystem(&mut self, node: &Node<'_>) -> Result<(), SettingsError> {
        for (name, node) in node.members()? {
            let sandbox = &mut self.settings.sandbox;
            match name.as_str() {
                "allowWrite" => sandbox.allow_write = folders(&node)?,
                "denyWrite" => sandbox.deny_write = folders(&node)?,
                "denyRead" => sandbox.deny_read = folders(&node)?,
                _ => self.unknown(&node, &name, "is not a setting of the sandbox", &FILESYSTEM_KEYS),
            }
        }
        Ok(())
    }

    fn network(&mut self, node: &Node<'_>) -> Result<(), SettingsError> {
        for (name, node) in node.members()? {
            match name.as_str() {
                "mode" => {
                    const CHOICES: [(&str, NetworkMode); 2] =
                        [("off", NetworkMode::Off), ("open", NetworkMode::Open)];
                    let mode = choice(&node, &CHOICES, "off or open")?;
                    self.settings.sandbox.network_mode = Some(mode);
                }
                "allowedDomains" => {
                    let domains = node.elements()?.iter().map(domain).collect::<Result<_, _>>()?;
                    self.settings.sandbox.allowed_domains = domains;
                }
                "allowUnixSockets" if self.is_list_of_claude(&node)? => {
                    let message = "`sandbox.network.allowUnixSockets` is a list; here sockets are allowed all or \
                                   none, so it has no effect";
                    self.warn(&node, message.to_owned());
                }
                "allowUnixSockets" => self.settings.sandbox.allow_unix_sockets = Some(flag(&node)?),
                _ => self.unknown(&node, &name, "is not a setting of the sandbox", &NETWORK_KEYS),
            }
        }
        Ok(())
    }

    /// Whether the value is a list, which in files of Claude Code it may be.
    fn is_list_of_claude(&self, node: &Node<'_>) -> Result<bool, SettingsError> {
        let value: Value = node.value("true or false")?;
        Ok(value.is_array() && self.layer.format == Format::Claude)
    }

    /// A command that runs outside: what stands between the parentheses of a rule for Bash, or such a rule. A single
    /// word is a program with any arguments.
    fn excluded(&self, node: &Node<'_>) -> Result<SourcedRule, SettingsError> {
        let written = text(node)?;
        let written = written.trim();
        let rule = match written {
            rule if rule.starts_with("Bash(") => rule.to_owned(),
            program if program.chars().all(|c| c.is_ascii_alphanumeric() || "_-./".contains(c)) => {
                format!("Bash({program} *)")
            }
            pattern => format!("Bash({pattern})"),
        };
        let line = node.line();
        let rule = Rule::parse(&rule, &format!("{}:{line}", self.layer.path.display()))
            .map_err(|error| node.invalid(format!("a command such as `docker *`; {}", error.reason())))?;
        Ok(SourcedRule { rule, file: self.layer.path.clone(), line })
    }
}

fn folders(node: &Node<'_>) -> Result<Vec<PathBuf>, SettingsError> {
    node.elements()?.iter().map(|node| text(node).map(PathBuf::from)).collect()
}
