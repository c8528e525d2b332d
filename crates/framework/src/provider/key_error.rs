//! Why a key could not be fetched.

use robota_tools::process::RunError;

use super::KeyReference;

/// Most characters shown of what a program complained about.
const SHOWN: usize = 300;

/// A key that could not be fetched.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The program that has it could not be run.
    #[error("{} cannot be run: {source}", reference.asked())]
    NotRun {
        /// Where the key is.
        reference: KeyReference,
        /// Why.
        source: RunError,
    },
    /// The program that has it failed.
    #[error("{} {ending}{said}", reference.asked())]
    Failed {
        /// Where the key is.
        reference: KeyReference,
        /// How it ended, such as `ended with code 1`.
        ending: String,
        /// What it complained about, after a colon; empty when it did not.
        said: String,
    },
    /// The program that has it printed nothing that could be one.
    #[error("{} printed no key", reference.asked())]
    NoKey {
        /// Where the key is.
        reference: KeyReference,
    },
}

impl KeyError {
    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::NotRun { reference: KeyReference::Keyring { .. }, .. } => {
                let program = if cfg!(target_os = "macos") { "security" } else { "secret-tool (libsecret)" };
                format!("install {program}, or give the key as \"$ENV:NAME\" or by \"apiKeyHelper\"")
            }
            Self::Failed { reference, .. } | Self::NotRun { reference, .. } | Self::NoKey { reference } => {
                reference.hint()
            }
        }
    }

    /// What was complained about, in one line behind a colon.
    pub(super) fn shortened(stderr: &str) -> String {
        let words = stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        let shown: String = words.chars().filter(|character| !character.is_control()).take(SHOWN).collect();
        if shown.is_empty() { String::new() } else { format!(": {shown}") }
    }
}

impl KeyReference {
    fn asked(&self) -> String {
        match self {
            Self::Helper { .. } => "the command of `apiKeyHelper`".to_owned(),
            Self::Keyring { service, account } => {
                format!("the program that has the keyring entry `{service}/{account}`")
            }
        }
    }

    fn hint(&self) -> String {
        match self {
            Self::Helper { command } => {
                format!("run it yourself, it must print nothing but the key: {command}")
            }
            Self::Keyring { service, account } if cfg!(target_os = "macos") => {
                format!("store it with: security add-generic-password -s {service} -a {account} -w")
            }
            Self::Keyring { service, account } => format!(
                "store it with: secret-tool store --label={service} service {service} account {account}"
            ),
        }
    }
}
