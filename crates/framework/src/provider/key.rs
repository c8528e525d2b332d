//! Keys that are not at hand: in the keyring of the system, or printed by a command of the user's.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use robota_tools::process::{CommandLine, Ending, Exchanged, exchange};
use secrecy::SecretString;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{Credential, KeyError, ResolvedProvider};

/// How a key begins that is in a keyring.
pub(crate) const KEYRING: &str = "$KEYRING:";

/// How long a command may take to print a key.
const DEADLINE: Duration = Duration::from_secs(10);

/// How long a fetched key is used without asking again.
const FRESH: Duration = Duration::from_secs(5 * 60);

/// Longest key, in bytes: what is longer would not go through as a header.
const LONGEST: usize = 16 * 1024;

/// Where a key is fetched from.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum KeyReference {
    /// A command prints it (`apiKeyHelper`).
    Helper {
        /// The command, for a shell.
        command: String,
    },
    /// The keyring of the system has it (`$KEYRING:service/account`).
    Keyring {
        /// The service of the entry.
        service: String,
        /// The account of the entry.
        account: String,
    },
}

impl KeyReference {
    /// The reference `service/account`.
    pub(super) fn of_keyring(entry: &str) -> Option<Self> {
        let (service, account) = entry.rsplit_once('/')?;
        let is_name = |name: &str| !name.is_empty() && !name.starts_with('-') && !name.contains('\0');
        (is_name(service) && is_name(account))
            .then(|| Self::Keyring { service: service.to_owned(), account: account.to_owned() })
    }
}

/// What it takes to fetch keys: a shell, a folder and an environment for the programs that are asked. Clones share what was
/// fetched, which is used for five minutes.
#[derive(Clone, Debug)]
pub struct KeySources {
    shell: PathBuf,
    directory: PathBuf,
    environment: Vec<(OsString, OsString)>,
    fetched: Arc<Mutex<HashMap<KeyReference, (Instant, SecretString)>>>,
}

impl KeySources {
    /// Runs commands by `shell` in `directory` with `environment`, which is all that they inherit.
    #[must_use]
    pub fn new(
        shell: impl Into<PathBuf>,
        directory: impl Into<PathBuf>,
        environment: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Self {
        Self {
            shell: shell.into(),
            directory: directory.into(),
            environment: environment.into_iter().collect(),
            fetched: Arc::default(),
        }
    }

    /// The key behind `reference`.
    ///
    /// # Errors
    ///
    /// When the program that has it cannot be run, fails, takes longer than ten seconds, or prints no key. What it
    /// printed is in no error, since that may be the key.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime with time and I/O enabled.
    pub async fn fetch(&self, reference: &KeyReference) -> Result<SecretString, KeyError> {
        if let Some(key) = self.fresh(reference) {
            return Ok(key);
        }
        let key = self.ask(reference).await?;
        let mut fetched = self.fetched.lock().unwrap_or_else(PoisonError::into_inner);
        fetched.insert(reference.clone(), (Instant::now(), key.clone()));
        Ok(key)
    }

    fn fresh(&self, reference: &KeyReference) -> Option<SecretString> {
        let fetched = self.fetched.lock().unwrap_or_else(PoisonError::into_inner);
        let (since, key) = fetched.get(reference)?;
        (since.elapsed() < FRESH).then(|| key.clone())
    }

    async fn ask(&self, reference: &KeyReference) -> Result<SecretString, KeyError> {
        let (program, arguments) = self.program(reference);
        let command = CommandLine {
            program,
            arguments,
            directory: self.directory.clone(),
            environment: self.environment.clone(),
            timeout: DEADLINE,
        };
        let ended = exchange(command, Vec::new(), &CancellationToken::new()).await;
        let Exchanged { ending, stdout, stderr, .. } =
            ended.map_err(|source| KeyError::NotRun { reference: reference.clone(), source })?;
        let failed = |ending| {
            let said = KeyError::shortened(&stderr.text);
            Err(KeyError::Failed { reference: reference.clone(), ending, said })
        };
        match ending {
            Ending::Exited(0) => {}
            Ending::Exited(code) => return failed(format!("ended with code {code}")),
            Ending::Signalled(signal) => return failed(format!("was ended by signal {signal}")),
            _ => return failed(format!("took longer than {} s", DEADLINE.as_secs())),
        }
        let key = stdout.text.trim();
        if key.is_empty() || key.len() > LONGEST || key.contains(char::is_control) {
            return Err(KeyError::NoKey { reference: reference.clone() });
        }
        Ok(SecretString::from(key))
    }

    /// The program that has the key. Keyrings are asked through the program that comes with them: it unlocks them
    /// with a person's help where that is needed.
    fn program(&self, reference: &KeyReference) -> (PathBuf, Vec<OsString>) {
        let words = |words: &[&str]| words.iter().map(OsString::from).collect();
        match reference {
            KeyReference::Helper { command } => (self.shell.clone(), words(&["-c", command])),
            KeyReference::Keyring { service, account } if cfg!(target_os = "macos") => {
                let asked = words(&["find-generic-password", "-s", service, "-a", account, "-w"]);
                ("security".into(), asked)
            }
            KeyReference::Keyring { service, account } => {
                ("secret-tool".into(), words(&["lookup", "service", service, "account", account]))
            }
        }
    }
}

impl ResolvedProvider {
    /// Fetches the key where it is not at hand, so that a provider can be constructed.
    ///
    /// # Errors
    ///
    /// As [`KeySources::fetch`].
    pub async fn fetch_key(&mut self, sources: &KeySources) -> Result<(), KeyError> {
        if let Some(reference) = &self.key_reference {
            self.credential = Some(Credential::ApiKey(sources.fetch(reference).await?));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret;

    use super::*;

    fn sources(folder: &std::path::Path) -> KeySources {
        KeySources::new("/bin/sh", folder, [("PATH".into(), "/usr/bin:/bin".into())])
    }

    fn helper(command: &str) -> KeyReference {
        KeyReference::Helper { command: command.to_owned() }
    }

    #[tokio::test]
    async fn a_command_prints_the_key_once_in_five_minutes() {
        let folder = tempfile::tempdir().unwrap();
        let sources = sources(folder.path());
        let asked = helper("echo x >> asked; echo ' key-from-helper '");
        for _ in 0..3 {
            let key = sources.clone().fetch(&asked).await.unwrap();
            assert_eq!(key.expose_secret(), "key-from-helper");
        }
        assert_eq!(std::fs::read_to_string(folder.path().join("asked")).unwrap(), "x\n");
        tokio::time::pause();
        tokio::time::advance(FRESH).await;
        tokio::time::resume();
        sources.fetch(&asked).await.unwrap();
        assert_eq!(std::fs::read_to_string(folder.path().join("asked")).unwrap(), "x\nx\n");
    }

    #[tokio::test]
    async fn a_command_that_fails_is_told_without_what_it_printed() {
        let folder = tempfile::tempdir().unwrap();
        let sources = sources(folder.path());
        let told = async |command: &str| {
            let error = sources.fetch(&helper(command)).await.unwrap_err();
            assert!(!format!("{error} {error:?} {}", error.hint()).contains("sk-secret"), "{error:?}");
            error.to_string()
        };
        let failed = told("echo sk-''secret; echo 'vault is sealed' >&2; exit 3").await;
        assert_eq!(failed, "the command of `apiKeyHelper` ended with code 3: vault is sealed");
        assert_eq!(told("true").await, "the command of `apiKeyHelper` printed no key");
        let lines = told("printf 'sk-%s\\nother' secret").await;
        assert_eq!(lines, "the command of `apiKeyHelper` printed no key");
    }

    #[test]
    fn an_entry_of_a_keyring_has_a_service_and_an_account() {
        let keyring = |service: &str, account: &str| {
            Some(KeyReference::Keyring { service: service.to_owned(), account: account.to_owned() })
        };
        assert_eq!(KeyReference::of_keyring("robota/work"), keyring("robota", "work"));
        assert_eq!(KeyReference::of_keyring("a/b/c"), keyring("a/b", "c"));
        for entry in ["", "robota", "/x", "x/", "x/-w"] {
            assert_eq!(KeyReference::of_keyring(entry), None, "{entry}");
        }
    }
}
