//! What of the host's environment reaches the programs a model runs.

use std::ffi::{OsStr, OsString};

/// Parts of names that mark a secret.
const SECRET_MARKS: [&str; 6] = ["SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "PRIVATE_KEY"];
/// Ends of names that mark a secret.
const SECRET_ENDS: [&str; 8] =
    ["_API_KEY", "_APIKEY", "_TOKEN", "_ACCESS_KEY", "_AUTH", "_AUTHTOKEN", "_PASS", "_PAT"];
/// Names that are secrets.
const SECRETS: [&str; 4] = ["TOKEN", "API_KEY", "APIKEY", "MYSQL_PWD"];
/// Beginnings of names that belong to the agent or steer git away from the workspace.
const FOREIGN_STARTS: [&str; 5] = ["ANTHROPIC_", "OPENAI_", "GEMINI_", "ROBOTA_", "GIT_"];
/// Beginnings of names that change what the words of a command mean which rules have judged: where `cd` goes,
/// functions in the place of programs.
const SHELL_STARTS: [&str; 2] = ["CDPATH", "BASH_FUNC_"];
/// Names that make programs colour what no terminal shows, whatever else asks them not to.
const COLOURS: [&str; 2] = ["FORCE_COLOR", "CLICOLOR_FORCE"];
/// Set so that no program waits for a person or decorates its output.
///
/// Programs that page only on a terminal (`man`, `systemctl`, `less`) need nothing here. `CI` and
/// `PYTHONUNBUFFERED` are not set: they change what programs do and how fast.
const FIXED: [(&str, &str); 11] = [
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("GIT_EDITOR", "true"),
    ("GIT_SEQUENCE_EDITOR", "true"),
    ("GIT_TERMINAL_PROMPT", "0"),
    // Empty: no program is asked for a password, whatever the configuration names.
    ("GIT_ASKPASS", ""),
    ("GCM_INTERACTIVE", "never"),
    ("SSH_ASKPASS_REQUIRE", "never"),
    ("DEBIAN_FRONTEND", "noninteractive"),
    ("TERM", "dumb"),
    ("NO_COLOR", "1"),
];

/// The variables of `host` that a child may see.
///
/// Left out are names that mark a credential (`*_API_KEY`, `*_TOKEN`, `*_PASS`, `*SECRET*`, `*PASSWORD*` and
/// the like), the agent's own (`ANTHROPIC_*`, `OPENAI_*`, `ROBOTA_*`, …), `GIT_*`, and `CDPATH` and functions
/// that a shell exported. What a user wants to pass all the same is added to the result by the host.
#[must_use]
pub fn child_environment(host: impl IntoIterator<Item = (OsString, OsString)>) -> Vec<(OsString, OsString)> {
    host.into_iter().filter(|(name, _)| !is_withheld(name)).collect()
}

/// `environment` with pagers, colours, editors and prompts switched off, where it does not set them.
pub(crate) fn without_interaction(environment: &[(OsString, OsString)]) -> Vec<(OsString, OsString)> {
    let fixed = FIXED.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
    let is_fixed = |name: &OsStr| {
        FIXED.iter().any(|(fixed, _)| name == *fixed) || COLOURS.iter().any(|colour| name == *colour)
    };
    let given = environment.iter().filter(|(name, _)| !is_fixed(name)).cloned();
    given.chain(fixed).collect()
}

fn is_withheld(name: &OsStr) -> bool {
    let name = name.to_string_lossy().to_ascii_uppercase();
    SECRETS.contains(&name.as_str())
        || SECRET_MARKS.iter().any(|mark| name.contains(mark))
        || SECRET_ENDS.iter().any(|end| name.ends_with(end))
        || FOREIGN_STARTS.iter().chain(&SHELL_STARTS).any(|start| name.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_stay_with_the_host() {
        let names = [
            "PATH",
            "HOME",
            "MY_API_KEY",
            "GH_TOKEN",
            "aws_secret_access_key",
            "AWS_ACCESS_KEY_ID",
            "GIT_DIR",
            "OPENAI_BASE_URL",
            "DB_PASSWORD",
            "CDPATH",
            "BASH_FUNC_ls%%",
            "GOOGLE_APPLICATION_CREDENTIALS",
            "AWS_SESSION_TOKEN",
            "SSH_PASSPHRASE",
            "TOKEN",
            "DB_PASS",
            "TOKENIZERS_PARALLELISM",
            "SSH_AUTH_SOCK",
            "COMPASS_HOME",
            "CARGO_HOME",
        ];
        let host = names.map(|name| (OsString::from(name), OsString::from("1")));
        let kept: Vec<_> = child_environment(host).into_iter().map(|(name, _)| name).collect();
        assert_eq!(
            kept,
            [
                "PATH",
                "HOME",
                "AWS_ACCESS_KEY_ID",
                "TOKENIZERS_PARALLELISM",
                "SSH_AUTH_SOCK",
                "COMPASS_HOME",
                "CARGO_HOME"
            ]
        );
    }

    #[test]
    fn nothing_waits_for_a_person_or_colours_its_output() {
        let host = [("FORCE_COLOR", "1"), ("TERM", "xterm"), ("HOME", "/h")];
        let host = host.map(|(name, value)| (OsString::from(name), OsString::from(value)));
        let quiet = without_interaction(&host);
        let value = |name: &str| {
            let found: Vec<_> =
                quiet.iter().filter(|(known, _)| known == name).map(|(_, value)| value).collect();
            (found.len() == 1).then(|| found[0].to_str().unwrap())
        };
        assert_eq!((value("TERM"), value("FORCE_COLOR"), value("HOME")), (Some("dumb"), None, Some("/h")));
    }
}
