//! Where a shell was when it ended.
//!
//! The shell itself says so, in a trap that it runs at its exit, by way of a private file. Bash is given the trap by
//! the file that `BASH_ENV` names, so that the command stays byte for byte what it is; for other shells it stands
//! before the command, on the same line. Neither can be changed by what the command says, exit codes and output
//! stay what they are, and a command that forges an answer gains nothing that `cd` would not give it. A shell
//! that is replaced by `exec`, killed, or given another such trap says nothing.

use std::ffi::{OsStr, OsString};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

/// The longest path, in bytes.
const LONGEST: usize = 4096;

/// Words without which a plain command cannot leave its folder.
const MOVERS: [&str; 9] = ["cd", "pushd", "popd", ".", "source", "eval", "command", "builtin", "trap"];

/// The file in which a shell leaves its last folder.
#[derive(Debug)]
pub(crate) struct FinalFolder {
    file: NamedTempFile,
    command: String,
    bash_env: Option<OsString>,
}

impl FinalFolder {
    /// Has `shell` tell where it is when it has run `command`, by a file in the folder `temp`. `None` when the
    /// command cannot move it, or no file can be made.
    pub(crate) fn of(shell: &Path, command: &str, temp: &Path, bash_env: Option<&OsStr>) -> Option<Self> {
        if !may_move(command) {
            return None;
        }
        let mut file = tempfile::Builder::new().prefix("robota-cwd-").tempfile_in(temp).ok()?;
        let path = quoted(file.path().to_str()?);
        let trap =
            format!("trap {} EXIT", quoted(&format!("{{ \\command pwd -P >|{path}; }} 2>/dev/null || :")));
        if shell.file_name() != Some(OsStr::new("bash")) {
            return Some(Self { file, command: format!("{trap}; {command}"), bash_env: None });
        }
        let prelude = match bash_env.map(|given| given.to_str()) {
            None => format!("unset BASH_ENV; {trap}\n"),
            Some(given) => format!("BASH_ENV={}; {trap}; eval \". \\\"$BASH_ENV\\\"\"\n", quoted(given?)),
        };
        file.write_all(prelude.as_bytes()).ok()?;
        let bash_env = Some(file.path().as_os_str().to_owned());
        Some(Self { file, command: command.to_owned(), bash_env })
    }

    /// What the shell has to run in the place of the command.
    pub(crate) fn command(&self) -> &str {
        &self.command
    }

    /// What `BASH_ENV` has to be.
    pub(crate) fn bash_env(&self) -> Option<&OsStr> {
        self.bash_env.as_deref()
    }

    /// The folder, when the shell has told it.
    pub(crate) fn read(self) -> Option<PathBuf> {
        let mut told = Vec::new();
        // What the command may have put in its place is not opened: that could wait for ever.
        let mut file = self.file.as_file();
        file.seek(SeekFrom::Start(0)).ok()?;
        file.take(LONGEST as u64 + 2).read_to_end(&mut told).ok()?;
        let path = told.strip_suffix(b"\n").filter(|path| path.starts_with(b"/") && path.len() <= LONGEST)?;
        Some(PathBuf::from(OsString::from_vec(path.to_vec())))
    }
}

/// Whether a shell that runs `command` may end in another folder. A plain command, or a list of such, is run as it is:
/// that is faster, the shell can make way for the last program, and its signals are seen as what they are.
///
/// Whatever could make a word of something else is not plain: quotes, escapes, expansions, patterns.
fn may_move(command: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || " _-./:,+@%".contains(c) || parts_words(c);
    !command.chars().all(plain) || command.split(parts_words).any(|word| MOVERS.contains(&word))
}

/// Whether `c` stands between words. An assignment may be one of an alias.
fn parts_words(c: char) -> bool {
    " \t\n;&|<>()=".contains(c)
}

/// `text` as one word of a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// The folder for such files: that of the commands, by their `environment`.
pub(crate) fn temp_folder(environment: &[(OsString, OsString)]) -> PathBuf {
    let set = environment.iter().find(|(name, _)| name.as_bytes() == b"TMPDIR");
    let set = set.map(|(_, value)| PathBuf::from(value)).filter(|folder| folder.is_absolute());
    set.unwrap_or_else(|| PathBuf::from("/tmp"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_plain_command_certainly_stays() {
        for stays in
            ["ls -la src", "A=1 cargo test -p x", "./run.sh a/b", "git status", "a && (b|c) >d 2>&1\n"]
        {
            assert!(!may_move(stays), "{stays}");
        }
        for moves in [
            "cd src",
            "pushd x",
            ". ./env",
            "ls; cd x",
            "c\\d x",
            "$x y",
            "command cd x",
            "a\ncd b",
            "a&&cd b",
            "(cd b)",
            "{cd,b}",
            "c? b",
            "alias x=cd; x b",
            "a | . b",
            "c$(echo d) b",
        ] {
            assert!(may_move(moves), "{moves}");
        }
    }
}
