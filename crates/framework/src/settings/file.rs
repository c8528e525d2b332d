//! One settings file: which keys are known, what each takes, and what is passed over.

use std::collections::BTreeMap;
use std::num::{NonZeroU32, NonZeroU64};
use std::path::Path;
use std::time::Duration;

use robota_core::{PermissionMode, RawCapture, Rule};
use robota_session::AutoCompactThreshold;
use secrecy::SecretString;
use serde_json::Value;

use super::document::Node;
use super::{AutoCompact, Format, LogSettings, ProviderProfile, SettingsError, SettingsWarning, SourcedRule};

/// Modes of `.claude` files that robota does not have.
const FOREIGN_MODES: [&str; 2] = ["auto", "dontAsk"];

/// Longest name of a language, in characters.
const MAX_LANGUAGE: usize = 64;

/// What one file says.
#[derive(Debug, Default)]
pub(super) struct FileSettings {
    pub(super) current_provider: Option<String>,
    pub(super) providers: BTreeMap<String, ProviderProfile>,
    pub(super) legacy_provider: Option<ProviderProfile>,
    pub(super) model: Option<String>,
    pub(super) language: Option<String>,
    pub(super) auto_compact: Option<AutoCompact>,
    pub(super) log: LogSettings,
    pub(super) allow: Vec<SourcedRule>,
    pub(super) ask: Vec<SourcedRule>,
    pub(super) deny: Vec<SourcedRule>,
    pub(super) default_mode: Option<PermissionMode>,
    pub(super) additional_directories: Vec<String>,
    pub(super) warnings: Vec<SettingsWarning>,
}

impl FileSettings {
    /// Reads the text of a file; `None` when it is blank.
    pub(super) fn parse(path: &Path, text: &str, format: Format) -> Result<Option<Self>, SettingsError> {
        let Some(file) = Node::of_file(path, text)? else { return Ok(None) };
        let mut reader = Reader { path, format, settings: Self::default() };
        reader.file(&file)?;
        Ok(Some(reader.settings))
    }
}

struct Reader<'a> {
    path: &'a Path,
    format: Format,
    settings: FileSettings,
}

impl Reader<'_> {
    fn file(&mut self, file: &Node<'_>) -> Result<(), SettingsError> {
        for (name, node) in file.members()? {
            match name.as_str() {
                "currentProvider" => self.settings.current_provider = Some(text(&node)?),
                "providers" => {
                    for (name, node) in node.members()? {
                        let profile = self.profile(&node, "type")?;
                        self.settings.providers.insert(name, profile);
                    }
                }
                "provider" => self.settings.legacy_provider = Some(self.profile(&node, "name")?),
                "model" => self.settings.model = Some(text(&node)?),
                "language" => self.settings.language = Some(language(&node)?),
                "autoCompactThreshold" => self.settings.auto_compact = Some(auto_compact(&node)?),
                "log" => self.log(&node)?,
                "permissions" => self.permissions(&node)?,
                _ => self.passed_over(&node, "is not a setting of this version"),
            }
        }
        Ok(())
    }

    /// Reads a profile whose type may also stand under `type_key`, as in the legacy `provider`.
    fn profile(&mut self, node: &Node<'_>, type_key: &str) -> Result<ProviderProfile, SettingsError> {
        let mut profile = ProviderProfile { files: vec![self.path.to_owned()], ..ProviderProfile::default() };
        for (name, node) in node.members()? {
            match name.as_str() {
                "type" => profile.kind = Some(text(&node)?),
                name if name == type_key => profile.kind = Some(text(&node)?),
                "model" => profile.model = Some(text(&node)?),
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
                _ => self.passed_over(&node, "is not a field of a provider"),
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
                _ => self.passed_over(&node, "is not a setting of the log"),
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
                "additionalDirectories" => {
                    self.settings.additional_directories =
                        node.elements()?.iter().map(text).collect::<Result<_, _>>()?;
                }
                _ => self.passed_over(&node, "is not a permission setting of this version"),
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
        let origin = format!("{}:{line}", self.path.display());
        let rule = Rule::parse(&text, &origin)
            .map_err(|error| node.invalid(format!("a permission rule; {}", error.reason())))?;
        Ok(SourcedRule { rule, file: self.path.to_owned(), line })
    }

    fn default_mode(&mut self, node: &Node<'_>) -> Result<(), SettingsError> {
        const EXPECTED: &str = "plan, default, acceptEdits or bypassPermissions";
        let text: String = node.value(EXPECTED)?;
        match text.parse() {
            Ok(mode) => self.settings.default_mode = Some(mode),
            Err(_) if self.format == Format::Claude && FOREIGN_MODES.contains(&text.as_str()) => {
                self.passed_over(node, "names a mode that robota does not have");
            }
            Err(_) => return Err(node.invalid(EXPECTED)),
        }
        Ok(())
    }

    fn passed_over(&mut self, node: &Node<'_>, why: &str) {
        self.settings.warnings.push(SettingsWarning {
            file: self.path.to_owned(),
            line: node.line(),
            key: node.key().to_owned(),
            message: format!("`{}` {why}; it has no effect", node.key()),
        });
    }
}

fn text(node: &Node<'_>) -> Result<String, SettingsError> {
    const EXPECTED: &str = "a text that is not blank";
    let text: String = node.value(EXPECTED)?;
    if text.trim().is_empty() { Err(node.invalid(EXPECTED)) } else { Ok(text) }
}

fn language(node: &Node<'_>) -> Result<String, SettingsError> {
    let language = text(node)?;
    let is_name = language.chars().count() <= MAX_LANGUAGE && !language.contains(char::is_control);
    if is_name { Ok(language) } else { Err(node.invalid("the name of a language in one short line")) }
}

fn auto_compact(node: &Node<'_>) -> Result<AutoCompact, SettingsError> {
    const EXPECTED: &str = "a share of the context window above 0 and at most 1, or false";
    let threshold = |share: f64| AutoCompactThreshold::try_from(share).ok().map(AutoCompact::From);
    let setting = match node.value::<Value>(EXPECTED)? {
        Value::Bool(false) => Some(AutoCompact::Never),
        Value::Number(share) => share.as_f64().and_then(threshold),
        _ => None,
    };
    setting.ok_or_else(|| node.invalid(EXPECTED))
}

fn raw_capture(node: &Node<'_>) -> Result<RawCapture, SettingsError> {
    const CHOICES: [(&str, RawCapture); 3] =
        [("off", RawCapture::Off), ("responses", RawCapture::Responses), ("full", RawCapture::Full)];
    const EXPECTED: &str = "off, responses or full";
    let text: String = node.value(EXPECTED)?;
    let choice = CHOICES.iter().find(|(name, _)| *name == text);
    choice.map(|(_, capture)| *capture).ok_or_else(|| node.invalid(EXPECTED))
}

fn base_url(node: &Node<'_>) -> Result<String, SettingsError> {
    let url = text(node)?;
    let is_http = url.starts_with("http://") || url.starts_with("https://");
    if is_http { Ok(url) } else { Err(node.invalid("an address beginning with http:// or https://")) }
}
