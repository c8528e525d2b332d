//! What single keys take.

use robota_core::RawCapture;
use robota_session::AutoCompactThreshold;
use robota_tools::{AddressPolicy, DomainAllowList};
use secrecy::SecretString;
use serde_json::Value;

use super::document::Node;
use super::{AutoCompact, SettingsError};

/// Longest name of a language, in characters.
const MAX_LANGUAGE: usize = 64;

/// A text that is not blank.
pub(super) fn text(node: &Node<'_>) -> Result<String, SettingsError> {
    const EXPECTED: &str = "a text that is not blank";
    let text: String = node.value(EXPECTED)?;
    if text.trim().is_empty() { Err(node.invalid(EXPECTED)) } else { Ok(text) }
}

/// A text that is not blank, or a list of them.
pub(super) fn texts(node: &Node<'_>) -> Result<Vec<String>, SettingsError> {
    const EXPECTED: &str = "a text that is not blank, or a list of them";
    match node.value::<Value>(EXPECTED)? {
        Value::String(_) => Ok(vec![text(node)?]),
        Value::Array(_) => node.elements()?.iter().map(text).collect(),
        _ => Err(node.invalid(EXPECTED)),
    }
}

/// One of a few words, and what it stands for.
pub(super) fn choice<T: Copy>(
    node: &Node<'_>,
    choices: &[(&str, T)],
    expected: &str,
) -> Result<T, SettingsError> {
    let text: String = node.value(expected)?;
    let choice = choices.iter().find(|(name, _)| *name == text);
    choice.map(|(_, value)| *value).ok_or_else(|| node.invalid(expected))
}

/// The name of a language.
pub(super) fn language(node: &Node<'_>) -> Result<String, SettingsError> {
    let language = text(node)?;
    let is_name = language.chars().count() <= MAX_LANGUAGE && !language.contains(char::is_control);
    if is_name { Ok(language) } else { Err(node.invalid("the name of a language in one short line")) }
}

/// `autoCompactThreshold`.
pub(super) fn auto_compact(node: &Node<'_>) -> Result<AutoCompact, SettingsError> {
    const EXPECTED: &str = "a share of the context window above 0 and at most 1, or false";
    let threshold = |share: f64| AutoCompactThreshold::try_from(share).ok().map(AutoCompact::From);
    let setting = match node.value::<Value>(EXPECTED)? {
        Value::Bool(false) => Some(AutoCompact::Never),
        Value::Number(share) => share.as_f64().and_then(threshold),
        _ => None,
    };
    setting.ok_or_else(|| node.invalid(EXPECTED))
}

/// `log.rawCapture`.
pub(super) fn raw_capture(node: &Node<'_>) -> Result<RawCapture, SettingsError> {
    const CHOICES: [(&str, RawCapture); 3] =
        [("off", RawCapture::Off), ("responses", RawCapture::Responses), ("full", RawCapture::Full)];
    choice(node, &CHOICES, "off, responses or full")
}

/// The address of a service.
pub(super) fn base_url(node: &Node<'_>) -> Result<String, SettingsError> {
    let url = text(node)?;
    let is_http = url.starts_with("http://") || url.starts_with("https://");
    if is_http { Ok(url) } else { Err(node.invalid("an address beginning with http:// or https://")) }
}

/// A host, or a host and a port: `localhost:3000`, `10.0.0.7`, `[::1]:8080`.
pub(super) fn host(node: &Node<'_>) -> Result<String, SettingsError> {
    const EXPECTED: &str = "a host, or a host and a port, such as `localhost:3000`";
    let text = text(node)?;
    match AddressPolicy::new([&text]) {
        Ok(_) => Ok(text),
        Err(_) => Err(node.invalid(EXPECTED)),
    }
}

/// `true` or `false`.
pub(super) fn flag(node: &Node<'_>) -> Result<bool, SettingsError> {
    node.value("true or false")
}

/// A host that commands in the sandbox may reach: `docs.rs`, `*.docs.rs`, or one of these and a port.
pub(super) fn domain(node: &Node<'_>) -> Result<String, SettingsError> {
    const EXPECTED: &str = "a host such as `docs.rs`, or `*.docs.rs` for those below it";
    let text = text(node)?;
    match DomainAllowList::new([&text]) {
        Ok(_) => Ok(text),
        Err(_) => Err(node.invalid(EXPECTED)),
    }
}

/// Longest name of a program for servers, in bytes.
const MAX_USER_AGENT: usize = 256;

/// What a program calls itself in requests.
pub(super) fn user_agent(node: &Node<'_>) -> Result<String, SettingsError> {
    let name = text(node)?.trim().to_owned();
    let is_plain = name.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    if is_plain && name.len() <= MAX_USER_AGENT {
        Ok(name)
    } else {
        Err(node.invalid("at most 256 characters of ASCII"))
    }
}

/// Name and value of a variable. Values may be credentials, so they are never shown.
pub(super) fn variable(name: &str, node: &Node<'_>) -> Result<SecretString, SettingsError> {
    const EXPECTED: &str = "a text, a number, true or false";
    let node = node.clone().secret();
    if name.is_empty() || name.contains(['=', '\0']) {
        return Err(node.invalid("a variable with a name that has no `=`"));
    }
    let value = match node.value::<Value>(EXPECTED)? {
        Value::String(text) if !text.contains('\0') => text,
        Value::Number(number) => number.to_string(),
        Value::Bool(value) => value.to_string(),
        _ => return Err(node.invalid(EXPECTED)),
    };
    Ok(SecretString::from(value))
}
