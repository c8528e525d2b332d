//! What of the host's environment reaches the programs a model runs.

use std::ffi::{OsStr, OsString};

/// Parts of names that mark a secret.
const SECRET_MARKS: [&str; 5] = ["SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "PRIVATE_KEY"];
/// Ends of names that mark a secret.
const SECRET_ENDS: [&str; 5] = ["_API_KEY", "_APIKEY", "_TOKEN", "_ACCESS_KEY", "_AUTH"];
/// Beginnings of names that belong to the agent or steer git away from the workspace.
const FOREIGN_STARTS: [&str; 5] = ["ANTHROPIC_", "OPENAI_", "GEMINI_", "ROBOTA_", "GIT_"];
/// Beginnings of names that change what the words of a command mean which rules have judged: where `cd` goes,
/// functions in the place of programs.
const SHELL_STARTS: [&str; 2] = ["CDPATH", "BASH_FUNC_"];
/// Set so that no program waits for a person or decorates its output.
const FIXED: [(&str, &str); 6] = [
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("GIT_EDITOR", "true"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("TERM", "dumb"),
    ("NO_COLOR", "1"),
];

/// The variables of `host` that a child may see.
///
/// Left out are names that mark a credential (`*_API_KEY`, `*_TOKEN`, `*SECRET*`, `*PASSWORD*` and
/// the like), the agent's own (`ANTHROPIC_*`, `OPENAI_*`, `ROBOTA_*`, …), `GIT_*`, and `CDPATH` and functions that a shell exported. What a user
/// wants to pass all the same is added to the result by the host.
#[must_use]
pub fn child_environment(host: impl IntoIterator<Item = (OsString, OsString)>) -> Vec<(OsString, OsString)> {
    host.into_iter().filter(|(name, _)| !is_withheld(name)).collect()
}

/// `environment` with pagers, colours, editors and prompts switched off, where it does not set them.
pub(crate) fn without_interaction(environment: &[(OsString, OsString)]) -> Vec<(OsString, OsString)> {
    let fixed = FIXED.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
    let is_fixed = |name: &OsStr| FIXED.iter().any(|(fixed, _)| name == OsStr::new(fixed));
    let given = environment.iter().filter(|(name, _)| !is_fixed(name)).cloned();
    given.chain(fixed).collect()
}

fn is_withheld(name: &OsStr) -> bool {
    let name = name.to_string_lossy().to_ascii_uppercase();
    SECRET_MARKS.iter().any(|mark| name.contains(mark))
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
            "TOKENIZERS_PARALLELISM",
            "CARGO_HOME",
        ];
        let host = names.map(|name| (OsString::from(name), OsString::from("1")));
        let kept: Vec<_> = child_environment(host).into_iter().map(|(name, _)| name).collect();
        assert_eq!(kept, ["PATH", "HOME", "AWS_ACCESS_KEY_ID", "TOKENIZERS_PARALLELISM", "CARGO_HOME"]);
    }
}
