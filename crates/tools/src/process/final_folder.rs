//! Where a shell was when it ended.
//!
//! The shell itself says so, in a trap that it runs at its exit, by way of a private file. Bash is given the trap by
//! the file that `BASH_ENV` names, so that the command stays byte for byte what it is; for other shells it stands
//! before the command, on the same line. Neither can be changed by what the command says, exit codes and output
//! stay what they are, and a command that forges an answer gains nothing that `cd` would not give it. A shell
//! that is replaced by `exec`, killed, or given another such trap says nothing.
//!
//! A confined command can change the files of all temporary folders, also when it runs on in the background. What
//! runs unconfined must not obey such a file, so that its own lies in memory, where only it gets by way of `/proc`.
//! The file is read by its handle: whatever a command puts in its place is not looked at.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{Read, Seek, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use tempfile::TempPath;

/// The longest path, in bytes.
const LONGEST: usize = 4096;

/// Words without which a plain command cannot leave its folder.
const MOVERS: [&str; 9] = ["cd", "pushd", "popd", ".", "source", "eval", "command", "builtin", "trap"];

/// The file in which a shell leaves its last folder.
#[derive(Debug)]
pub(crate) struct FinalFolder {
    file: File,
    /// Removed in the end.
    _path: Option<TempPath>,
    command: String,
    /// What `BASH_ENV` has to be.
    bash_env: Option<OsString>,
}

impl FinalFolder {
    /// Has `shell` tell where it is when it has run `command` in `environment`, in which that is prepared. `None` when
    /// the command cannot move it, or no file can be made.
    pub(crate) fn prepare(
        shell: &Path,
        command: &str,
        environment: &mut Vec<(OsString, OsString)>,
        is_confined: bool,
    ) -> Option<Self> {
        let given = environment.iter().find(|(name, _)| name == "BASH_ENV");
        let bash_env = given.map(|(_, value)| value.clone());
        let place = Place::of(environment, is_confined);
        let mut folder = Self::of(shell, command, &place, bash_env.as_deref())?;
        if let Some(file) = folder.bash_env.take() {
            environment.retain(|(name, _)| name != "BASH_ENV");
            environment.push(("BASH_ENV".into(), file));
        }
        Some(folder)
    }

    /// Has `shell` tell where it is when it has run `command`, by a file at `place`. `None` when the command cannot
    /// move it, or no file can be made.
    fn of(shell: &Path, command: &str, place: &Place, bash_env: Option<&OsStr>) -> Option<Self> {
        if !may_move(command) {
            return None;
        }
        let (mut file, shown, path) = place.file()?;
        let trap = trap_into(shown.to_str()?);
        if shell.file_name() != Some(OsStr::new("bash")) {
            return Some(Self { file, _path: path, command: format!("{trap}; {command}"), bash_env: None });
        }
        let prelude = match bash_env.map(|given| given.to_str()) {
            None => format!("unset BASH_ENV; {trap}\n"),
            Some(given) => format!("BASH_ENV={}; {trap}; eval \". \\\"$BASH_ENV\\\"\"\n", quoted(given?)),
        };
        file.write_all(prelude.as_bytes()).ok()?;
        let bash_env = Some(shown.into_os_string());
        Some(Self { file, _path: path, command: command.to_owned(), bash_env })
    }

    /// What the shell has to run in the place of the command.
    pub(crate) fn command(&self) -> &str {
        &self.command
    }

    /// The folder, when the shell has told it.
    pub(crate) fn read(mut self) -> Option<PathBuf> {
        let mut told = Vec::new();
        self.file.rewind().ok()?;
        self.file.take(LONGEST as u64 + 2).read_to_end(&mut told).ok()?;
        self::told(&told)
    }
}

/// Where such a file is.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    /// In this folder, which confined commands can write to.
    Folder(PathBuf),
    /// Out of their reach.
    Memory,
}

impl Place {
    /// That of a command, by its `environment`.
    fn of(environment: &[(OsString, OsString)], is_confined: bool) -> Self {
        if cfg!(target_os = "linux") && !is_confined {
            Self::Memory
        } else {
            Self::Folder(temp_folder(environment))
        }
    }

    /// A new file, where a shell finds it, and what removes it.
    fn file(&self) -> Option<(File, PathBuf, Option<TempPath>)> {
        match self {
            Self::Folder(folder) => {
                let named = tempfile::Builder::new().prefix("robota-cwd-").tempfile_in(folder).ok()?;
                let (file, path) = named.into_parts();
                Some((file, path.to_path_buf(), Some(path)))
            }
            Self::Memory => {
                let (file, path) = in_memory()?;
                Some((file, path, None))
            }
        }
    }
}

#[cfg(target_os = "linux")]
fn in_memory() -> Option<(File, PathBuf)> {
    use std::os::fd::AsRawFd;

    let file = rustix::fs::memfd_create("robota-cwd", rustix::fs::MemfdFlags::CLOEXEC).ok()?;
    let path = format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd());
    Some((file.into(), path.into()))
}

#[cfg(not(target_os = "linux"))]
fn in_memory() -> Option<(File, PathBuf)> {
    None
}

/// `command` for a shell elsewhere, which leaves its last folder, with a line feed behind, in the new file `path` of that
/// place. `None` when the command cannot move it.
pub(crate) fn telling(command: &str, path: &str) -> Option<String> {
    may_move(command).then(|| format!("{}; {command}", trap_into(path)))
}

/// The folder that such a file tells.
pub(crate) fn told(content: &[u8]) -> Option<PathBuf> {
    let path = content.strip_suffix(b"\n").filter(|path| path.starts_with(b"/") && path.len() <= LONGEST)?;
    Some(PathBuf::from(OsString::from_vec(path.to_vec())))
}

/// The command that has a shell leave its last folder in the file `path`.
fn trap_into(path: &str) -> String {
    let path = quoted(path);
    format!("trap {} EXIT", quoted(&format!("{{ \\command pwd -P >|{path}; }} 2>/dev/null || :")))
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

/// The folder for temporary files: that of the commands, by their `environment`.
fn temp_folder(environment: &[(OsString, OsString)]) -> PathBuf {
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
