//! Cloning a repository without running anything of it.

use super::super::error::{SandboxError, SandboxErrorKind};

/// A clone to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::sandbox) struct GitClone {
    url: String,
    reference: Option<String>,
    /// Commits that are taken; all without it.
    depth: Option<u32>,
}

/// No prompt, no other protocol, whatever a configuration says.
const ENVIRONMENT: [(&str, &str); 4] = [
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_ALLOW_PROTOCOL", "file:git:https:ssh"),
    ("GIT_ASKPASS", "true"),
    ("GIT_SSH_COMMAND", "ssh -o BatchMode=yes"),
];

impl GitClone {
    /// # Errors
    ///
    /// When the address or the name cannot be told from options, or the address is of no known protocol.
    pub(super) fn new(
        path: &str,
        url: &str,
        reference: Option<&str>,
        depth: Option<u32>,
    ) -> Result<Self, SandboxError> {
        let refused = |why: &str| {
            Err(SandboxError::new(SandboxErrorKind::InvalidManifest, format!("entries.{path:?}: {why}")))
        };
        let plain = |text: &str| {
            !text.is_empty() && !text.starts_with('-') && !text.contains(|c: char| c.is_control() || c == ' ')
        };
        if !plain(url) || !is_known(url) {
            return refused(
                "the url of a gitRepo begins with https://, ssh://, git:// or file://, or is user@host:path",
            );
        }
        if reference.is_some_and(|reference| !plain(reference)) {
            return refused("the ref of a gitRepo is the name of a branch or tag");
        }
        if depth == Some(0) {
            return refused("the depth of a gitRepo is at least 1");
        }
        Ok(Self { url: url.to_owned(), reference: reference.map(str::to_owned), depth })
    }

    /// The arguments of `git`.
    pub(in crate::sandbox) fn arguments(&self, target: &str) -> Vec<String> {
        let mut arguments = vec!["-c", "core.hooksPath=/dev/null", "clone", "--quiet", "--template="];
        arguments.push("--no-recurse-submodules");
        let depth = self.depth.map(|depth| depth.to_string());
        if let Some(depth) = &depth {
            arguments.extend(["--depth", depth]);
        }
        if let Some(reference) = &self.reference {
            arguments.extend(["--branch", reference]);
        }
        arguments.extend(["--", &self.url, target]);
        arguments.into_iter().map(str::to_owned).collect()
    }

    /// Variables of the program.
    pub(in crate::sandbox) fn environment() -> impl Iterator<Item = (&'static str, &'static str)> {
        ENVIRONMENT.into_iter()
    }

    /// The folder that a `file:` address names on the machine that clones.
    pub(in crate::sandbox) fn local(&self) -> Option<&str> {
        let scheme = self.url.get(..7).filter(|scheme| scheme.eq_ignore_ascii_case("file://"))?;
        self.url.get(scheme.len()..)
    }

    /// The error of a clone that did not succeed.
    pub(in crate::sandbox) fn failed(&self, error: &SandboxError) -> SandboxError {
        let message = self.without_secret(&format!("cannot clone {}: {error}", self.url));
        SandboxError::new(error.kind(), message)
    }

    /// `text` without what stands before the host of the address: a token, often.
    fn without_secret(&self, text: &str) -> String {
        let behind = self.url.split_once("://").filter(|(scheme, _)| !scheme.eq_ignore_ascii_case("ssh"));
        let authority = behind.and_then(|(_, rest)| rest.split('/').next());
        match authority.and_then(|authority| authority.rsplit_once('@')) {
            Some((secret, _)) if !secret.is_empty() => text.replace(&format!("{secret}@"), "***@"),
            _ => text.to_owned(),
        }
    }
}

fn is_known(url: &str) -> bool {
    if let Some((scheme, rest)) = url.split_once("://") {
        let known = ["https", "ssh", "git", "file"].iter().any(|known| scheme.eq_ignore_ascii_case(known));
        // A host that begins like an option would be one to ssh.
        return known && !rest.is_empty() && !rest.starts_with('-');
    }
    // `transport::address` runs a program of that name.
    let Some((host, path)) = url.split_once(':') else { return false };
    let named = host.split_once('@').is_some_and(|(user, host)| {
        !user.is_empty() && !host.is_empty() && !host.starts_with('-') && !host.contains('/')
    });
    named && !path.is_empty() && !path.starts_with(':')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_are_addresses() {
        let taken = |url: &str| GitClone::new("x", url, None, Some(1)).is_ok();
        let good =
            ["https://h/r.git", "ssh://git@h/r", "file:///r", "git://h/r", "git@h:r.git", "HTTPS://h/r"];
        let bad = [
            "",
            "ext::sh -c x",
            "ext::x",
            "a@b::x",
            "--upload-pack=x",
            "http://h/r",
            "ssh://-oProxyCommand=x/r",
            "git@-oX:r",
            "/r",
            "r",
            "https://h/a b",
            "https://h/\n",
            "fd::3",
            "h:r",
        ];
        assert!(good.iter().all(|url| taken(url)), "{good:?}");
        assert!(!bad.iter().any(|url| taken(url)), "{bad:?}");
        assert!(GitClone::new("x", "https://h/r", Some("-x"), None).is_err());
        assert!(GitClone::new("x", "https://h/r", None, Some(0)).is_err());
    }

    #[test]
    fn a_token_in_an_address_is_not_told() {
        let clone = GitClone::new("x", "https://me:t0ken@h/r", None, None).unwrap();
        let git = SandboxError::new(SandboxErrorKind::Failed, "fatal: https://me:t0ken@h/r: 403");
        let error = clone.failed(&git);
        assert_eq!(error.to_string(), "cannot clone https://***@h/r: fatal: https://***@h/r: 403");
        assert!(!format!("{error:?}").contains("t0ken"));
        let plain = GitClone::new("x", "ssh://git@h/r", None, None).unwrap();
        assert_eq!(plain.without_secret("ssh://git@h/r"), "ssh://git@h/r");
    }

    #[test]
    fn arguments_end_before_the_address() {
        let clone = GitClone::new("x", "https://h/r", Some("v1"), Some(1)).unwrap();
        let expected = "-c core.hooksPath=/dev/null clone --quiet --template= --no-recurse-submodules --depth 1 \
                        --branch v1 -- https://h/r t";
        assert_eq!(clone.arguments("t").join(" "), expected);
    }
}
