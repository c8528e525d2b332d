//! One settings file: which keys are known, what each takes, and what is passed over.

use std::collections::BTreeMap;
use std::num::{NonZeroU32, NonZeroU64};
use std::time::Duration;

use robota_core::{HookFailurePolicy, HooksConfig, ModelEntry, PermissionMode, Rule};
use secrecy::SecretString;
use serde_json::Value;

use super::document::Node;
use super::suggestion::closest;
use super::value::{auto_compact, base_url, choice, host, language, raw_capture, text, texts, variable};
use super::variables::TRUST_LEVELS;
use super::{
    AutoCompact, Format, Layer, LogSettings, ProviderProfile, SandboxSettings, SearchSettings, SettingsError,
    SettingsWarning, SourcedRule, Variables, hooks, jsonc,
};

/// Modes of `.claude` files that robota does not have.
const FOREIGN_MODES: [&str; 2] = ["auto", "dontAsk"];

const KEYS: [&str; 19] = [
    "$schema",
    "autoCompactThreshold",
    "currentProvider",
    "defaultTrustLevel",
    "disableAllHooks",
    "env",
    "hookFailure",
    "hooks",
    "language",
    "log",
    "model",
    "modelCatalog",
    "permissions",
    "provider",
    "providers",
    "sandbox",
    "search",
    "web",
    "webFetch",
];
const PROFILE_KEYS: [&str; 9] = [
    "apiKey",
    "apiKeyHelper",
    "baseURL",
    "fallbackModel",
    "maxOutputTokens",
    "model",
    "options",
    "timeout",
    "type",
];
const LOG_KEYS: [&str; 2] = ["durability", "rawCapture"];
const WEB_KEYS: [&str; 1] = ["allowedHosts"];
const PERMISSION_KEYS: [&str; 6] =
    ["additionalDirectories", "allow", "ask", "defaultMode", "deny", "disableBypassPermissionsMode"];

/// What one file says.
#[derive(Debug, Default)]
pub(super) struct FileSettings {
    pub(super) current_provider: Option<String>,
    pub(super) providers: BTreeMap<String, ProviderProfile>,
    pub(super) legacy_provider: Option<ProviderProfile>,
    pub(super) model: Option<String>,
    pub(super) model_catalog: Vec<ModelEntry>,
    pub(super) language: Option<String>,
    pub(super) auto_compact: Option<AutoCompact>,
    pub(super) log: LogSettings,
    pub(super) allow: Vec<SourcedRule>,
    pub(super) ask: Vec<SourcedRule>,
    pub(super) deny: Vec<SourcedRule>,
    pub(super) default_mode: Option<PermissionMode>,
    pub(super) trust_level: Option<PermissionMode>,
    /// Where `bypassPermissions` is switched off.
    pub(super) bypass_disabled: Option<String>,
    pub(super) additional_directories: Vec<String>,
    pub(super) hooks: HooksConfig,
    pub(super) disable_hooks: bool,
    pub(super) hook_failure: Option<HookFailurePolicy>,
    pub(super) env: Variables,
    pub(super) allowed_hosts: Vec<String>,
    pub(super) sandbox: SandboxSettings,
    pub(super) search: Option<SearchSettings>,
    pub(super) user_agent: Option<String>,
    pub(super) warnings: Vec<SettingsWarning>,
}

impl FileSettings {
    /// Reads the text of the file of `layer`; `None` when it is blank.
    pub(super) fn parse(layer: &Layer, text: &str) -> Result<Option<Self>, SettingsError> {
        let json = jsonc::blank(text);
        let Some(file) = Node::of_file(&layer.path, text, &json)? else { return Ok(None) };
        let mut reader = Reader { layer, settings: Self::default() };
        reader.file(&file)?;
        Ok(Some(reader.settings))
    }
}

/// The allow rules in the text of the file of `layer`, as they are written.
///
/// # Errors
///
/// When the text cannot be understood.
pub(crate) fn allow_rules(layer: &Layer, text: &str) -> Result<Vec<String>, SettingsError> {
    let file = FileSettings::parse(layer, text)?.unwrap_or_default();
    Ok(file.allow.iter().map(|sourced| sourced.rule.text().to_owned()).collect())
}

/// Reads one file; sections with many keys are read in files of their own.
pub(super) struct Reader<'a> {
    pub(super) layer: &'a Layer,
    pub(super) settings: FileSettings,
}

impl Reader<'_> {
    fn file(&mut self, file: &Node<'_>) -> Result<(), SettingsError> {
        for (name, node) in file.members()? {
            match name.as_str() {
                "$schema" => {}
                "currentProvider" => self.settings.current_provider = Some(text(&node)?),
                "providers" => {
                    for (name, node) in node.members()? {
                        let profile = self.profile(&node, "type")?;
                        self.settings.providers.insert(name, profile);
                    }
                }
                "provider" => self.settings.legacy_provider = Some(self.profile(&node, "name")?),
                "model" => self.settings.model = Some(text(&node)?),
                "modelCatalog" => self.model_catalog(&node)?,
                "language" => self.settings.language = Some(language(&node)?),
                "autoCompactThreshold" => self.settings.auto_compact = Some(auto_compact(&node)?),
                "log" => self.log(&node)?,
                "permissions" => self.permissions(&node)?,
                "defaultTrustLevel" => {
                    self.settings.trust_level = Some(choice(&node, &TRUST_LEVELS, "safe, moderate or full")?);
                }
                "hooks" => {
                    let (hooks, warnings) = hooks::read(&node, self.layer)?;
                    self.settings.hooks = hooks;
                    self.settings.warnings.extend(warnings);
                }
                "disableAllHooks" => self.settings.disable_hooks = node.value("true or false")?,
                "hookFailure" => {
                    const CHOICES: [(&str, HookFailurePolicy); 2] =
                        [("open", HookFailurePolicy::Open), ("closed", HookFailurePolicy::Closed)];
                    self.settings.hook_failure = Some(choice(&node, &CHOICES, "open or closed")?);
                }
                "env" => {
                    for (name, node) in node.members()? {
                        let value = variable(&name, &node)?;
                        self.settings.env.insert(name, value);
                    }
                }
                "web" => self.web(&node)?,
                "webFetch" => self.web_fetch(&node)?,
                "sandbox" => self.sandbox(&node)?,
                "search" => self.search(&node)?,
                _ => self.unknown(&node, &name, "is not a setting of this version", &KEYS),
            }
        }
        Ok(())
    }

    /// Reads a profile whose type may also stand under `type_key`, as in the legacy `provider`.
    fn profile(&mut self, node: &Node<'_>, type_key: &str) -> Result<ProviderProfile, SettingsError> {
        let files = vec![self.layer.path.clone()];
        let mut profile = ProviderProfile { files, ..ProviderProfile::default() };
        for (name, node) in node.members()? {
            match name.as_str() {
                "type" => profile.kind = Some(text(&node)?),
                name if name == type_key => profile.kind = Some(text(&node)?),
                "model" => profile.model = Some(text(&node)?),
                "fallbackModel" => profile.fallback_models = Some(texts(&node)?),
                "apiKeyHelper" => profile.api_key_helper = Some(text(&node)?),
                "apiKey" => profile.api_key = Some(SecretString::from(text(&node.secret())?)),
                "baseURL" => profile.base_url = Some(base_url(&node)?),
                "timeout" => {
                    let millis: NonZeroU64 = node.value("a positive number of milliseconds")?;
                    profile.idle_timeout = Some(Duration::from_millis(millis.get()));
                }
                "maxOutputTokens" => {
                    let tokens: NonZeroU32 = node.value("a positive number of tokens")?;
                    profile.max_output_tokens = Some(tokens.get());
                }
                "options" => {
                    node.members()?;
                    profile.options = Some(node.value::<Value>("an object of less than 128 levels")?);
                }
                _ => self.unknown(&node, &name, "is not a field of a provider", &PROFILE_KEYS),
            }
        }
        Ok(profile)
    }

    fn log(&mut self, node: &Node<'_>) -> Result<(), SettingsError> {
        for (name, node) in node.members()? {
            match name.as_str() {
                "durability" => {
                    self.settings.log.durability = Some(node.value("turn, event or none")?);
                }
                "rawCapture" => self.settings.log.raw_capture = Some(raw_capture(&node)?),
                _ => self.unknown(&node, &name, "is not a setting of the log", &LOG_KEYS),
            }
        }
        Ok(())
    }

    fn web(&mut self, node: &Node<'_>) -> Result<(), SettingsError> {
        for (name, node) in node.members()? {
            match name.as_str() {
                "allowedHosts" => {
                    self.settings.allowed_hosts =
                        node.elements()?.iter().map(host).collect::<Result<_, _>>()?;
                }
                _ => self.unknown(&node, &name, "is not a setting of the web tools", &WEB_KEYS),
            }
        }
        Ok(())
    }

    fn permissions(&mut self, node: &Node<'_>) -> Result<(), SettingsError> {
        for (name, node) in node.members()? {
            match name.as_str() {
                "allow" => self.settings.allow = self.rules(&node)?,
                "ask" => self.settings.ask = self.rules(&node)?,
                "deny" => self.settings.deny = self.rules(&node)?,
                "defaultMode" => self.default_mode(&node)?,
                "disableBypassPermissionsMode" => {
                    choice(&node, &[("disable", ())], "disable")?;
                    self.settings.bypass_disabled =
                        Some(format!("{}:{}", self.layer.path.display(), node.line()));
                }
                "additionalDirectories" => {
                    self.settings.additional_directories =
                        node.elements()?.iter().map(text).collect::<Result<_, _>>()?;
                }
                _ => {
                    let why = "is not a permission setting of this version";
                    self.unknown(&node, &name, why, &PERMISSION_KEYS);
                }
            }
        }
        Ok(())
    }

    fn rules(&self, node: &Node<'_>) -> Result<Vec<SourcedRule>, SettingsError> {
        node.elements()?.iter().map(|node| self.rule(node)).collect()
    }

    fn rule(&self, node: &Node<'_>) -> Result<SourcedRule, SettingsError> {
        let text: String = node.value("a permission rule such as `Read(src/**)` or `Bash(git status)`")?;
        let line = node.line();
        let path = &self.layer.path;
        let rule = Rule::parse(&text, &format!("{}:{line}", path.display()))
            .map_err(|error| node.invalid(format!("a permission rule; {}", error.reason())))?;
        Ok(SourcedRule { rule, file: path.clone(), line })
    }

    fn default_mode(&mut self, node: &Node<'_>) -> Result<(), SettingsError> {
        const EXPECTED: &str = "plan, default, acceptEdits or bypassPermissions";
        let text: String = node.value(EXPECTED)?;
        match text.parse() {
            Ok(mode) => self.settings.default_mode = Some(mode),
            Err(_) if self.layer.format == Format::Claude && FOREIGN_MODES.contains(&text.as_str()) => {
                self.warn(node, format!("`{text}` is a mode that robota does not have; it has no effect"));
            }
            Err(_) => return Err(node.invalid(EXPECTED)),
        }
        Ok(())
    }

    /// Notes a key that nothing is read from. Files of another program have many that are none of ours:
    /// there only slips of the pen count.
    pub(super) fn unknown(&mut self, node: &Node<'_>, name: &str, why: &str, known: &[&str]) {
        let meant = closest(name, known);
        let hint = match (meant, self.layer.format) {
            (Some(meant), _) => format!("did you mean `{meant}`?"),
            (None, Format::Robota) => "it has no effect".to_owned(),
            (None, Format::Claude) => return,
        };
        self.warn(node, format!("`{}` {why}; {hint}", node.key()));
    }

    pub(super) fn warn(&mut self, node: &Node<'_>, message: String) {
        self.settings.warnings.push(SettingsWarning {
            file: self.layer.path.clone(),
            line: node.line(),
            key: node.key().to_owned(),
            message,
        });
    }
}
