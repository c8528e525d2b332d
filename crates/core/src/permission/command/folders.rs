//! Where a command runs: what `cd` before it leaves of that.

use std::io;
use std::path::{Component, Path, PathBuf};

use super::options::may_be_option;
use super::script::{Part, PartKind, Script, program};
use super::words::{WORD_GAP, has_marks};
use super::wrapper::{base_name, shown};
use crate::permission::place::{Places, text_of};

/// The most folders in which a command may run.
const MOST: usize = 16;

/// Programs whose arguments are files.
const FILE_UTILITIES: [&str; 58] = [
    "[",
    "awk",
    "b2sum",
    "base64",
    "basename",
    "bat",
    "cat",
    "chgrp",
    "chmod",
    "chown",
    "cksum",
    "cmp",
    "column",
    "comm",
    "cp",
    "csplit",
    "cut",
    "dd",
    "diff",
    "du",
    "egrep",
    "fgrep",
    "file",
    "find",
    "fmt",
    "fold",
    "grep",
    "gunzip",
    "gzip",
    "head",
    "install",
    "join",
    "less",
    "ln",
    "ls",
    "md5sum",
    "mkdir",
    "mkfifo",
    "more",
    "mv",
    "nl",
    "od",
    "paste",
    "rg",
    "rm",
    "rmdir",
    "sed",
    "sha256sum",
    "shred",
    "sort",
    "stat",
    "tac",
    "tail",
    "tee",
    "test",
    "touch",
    "truncate",
    "wc",
];

/// Commands that make no symlinks: a folder that is missing when they have run, or made by them, is where its
/// name says.
const MAKES_NO_LINKS: [&str; 22] = [
    ":", "[", "cat", "cd", "cut", "diff", "echo", "false", "grep", "head", "jq", "ls", "mkdir", "printf",
    "pwd", "sort", "tail", "test", "tr", "true", "uniq", "wc",
];

/// The most programs of a line that are remembered; more than there are in that list.
const MOST_PROGRAMS: usize = 64;

/// Where the commands of one shell run.
#[derive(Clone, Debug)]
enum Place {
    /// In the folder in which the line begins.
    Home,
    /// In one of these folders, all of the workspace.
    OneOf(Vec<PathBuf>),
    /// Nobody knows, for this reason.
    Lost(String),
}

/// Follows a script from its beginning to its end.
pub(super) struct Folders<'a> {
    script: &'a Script,
    places: &'a Places,
    cwd: &'a Path,
    shells: Vec<Option<Place>>,
    /// What the line has run so far.
    programs: Vec<String>,
    /// Whether a folder was entered through a symlink.
    came_by_link: bool,
}

impl<'a> Folders<'a> {
    pub(super) fn new(script: &'a Script, places: &'a Places, cwd: &'a Path) -> Self {
        Self { script, places, cwd, shells: Vec::new(), programs: Vec::new(), came_by_link: false }
    }

    /// Takes notice of `part`; parts come in their order. The error says why what it does cannot be told
    /// from where it stands.
    pub(super) fn pass(&mut self, part: &Part) -> Result<(), String> {
        let place = self.place_of(part.shell);
        match &part.kind {
            PartKind::Input(range) => self.check_input(&place, self.script.words(range)),
            PartKind::Simple(range) => {
                let words = self.script.words(range);
                check_words(&place, words)?;
                if program(words) == "cd" {
                    let place = self.behind_cd(place, part, words);
                    self.set(part.shell, place);
                }
                self.note(program(words));
                Ok(())
            }
            PartKind::Nothing | PartKind::Gap(_) => Ok(()),
        }
    }

    /// Remembers a program, once.
    fn note(&mut self, program: &str) {
        if self.programs.len() < MOST_PROGRAMS && !self.programs.iter().any(|known| known == program) {
            self.programs.push(program.to_owned());
        }
    }

    fn place_of(&mut self, shell: usize) -> Place {
        if let Some(Some(place)) = self.shells.get(shell) {
            return place.clone();
        }
        // The shells that have not begun yet begin where those are that start them.
        let mut unknown = vec![shell];
        let mut place = Place::Home;
        let mut at = shell;
        while let Some(parent) = self.script.parent_of(at) {
            if let Some(Some(known)) = self.shells.get(parent) {
                place = known.clone();
                break;
            }
            unknown.push(parent);
            at = parent;
        }
        for shell in unknown {
            self.set(shell, place.clone());
        }
        place
    }

    fn set(&mut self, shell: usize, place: Place) {
        if self.shells.len() <= shell {
            self.shells.resize(shell + 1, None);
        }
        if let Some(slot) = self.shells.get_mut(shell) {
            *slot = Some(place);
        }
    }

    fn behind_cd(&mut self, place: Place, part: &Part, words: &str) -> Place {
        let mut folders = match place {
            Place::Lost(_) => return place,
            Place::OneOf(folders) => folders,
            Place::Home => vec![self.cwd.to_owned()],
        };
        let lost = |why: &str| Place::Lost(format!("`{}` {why}", shown(&words.replace(WORD_GAP, " "))));
        let mut arguments = words.split(WORD_GAP).skip(1).filter(|word| !matches!(*word, "--" | "-P" | "-L"));
        let (Some(target), None) = (arguments.next(), arguments.next()) else {
            return lost("does not name one folder");
        };
        if has_marks(target) || may_be_option(target) || target.starts_with('-') || target.is_empty() {
            return lost("does not name its folder");
        }
        if part.repeats || !self.script.functions.is_empty() {
            return lost("may be run more than once");
        }
        // It may fail, and what follows then runs where it stands.
        for from in folders.clone() {
            let Some(folder) = self.leads_to(&from.join(target)) else {
                return lost("leads to a folder that is not known");
            };
            if !self.places.contain(&text_of(&folder)) {
                return lost("leads out of the workspace");
            }
            if !folders.contains(&folder) {
                folders.push(folder);
            }
        }
        if folders.len() > MOST {
            return lost("leads to too many folders");
        }
        if folders.iter().all(|folder| folder == self.cwd) { Place::Home } else { Place::OneOf(folders) }
    }

    /// The folder that `cd` goes to. One that is not there yet is where its name says, as long as nothing
    /// before it in the line could make it lead elsewhere.
    fn leads_to(&mut self, target: &Path) -> Option<PathBuf> {
        let found = target.canonicalize().ok();
        // The shell takes `..` away before it follows links, also those it came by.
        let climbs = target.components().any(|part| part == Component::ParentDir);
        let is_linked = found.as_deref().is_some_and(|found| text_of(found) != text_of(target));
        if climbs && (self.came_by_link || is_linked) {
            return None;
        }
        self.came_by_link |= is_linked;
        found.or_else(|| self.not_there(target))
    }

    /// What is not there yet, and nothing before it in the line could make a link of.
    fn not_there(&self, target: &Path) -> Option<PathBuf> {
        let is_made = |program: &str| MAKES_NO_LINKS.binary_search(&program).is_ok();
        if !self.programs.iter().all(|program| is_made(program)) {
            return None;
        }
        let mut there = target;
        while let Err(error) = there.symlink_metadata() {
            if error.kind() != io::ErrorKind::NotFound {
                return None;
            }
            there = there.parent()?;
        }
        let missing = target.strip_prefix(there).ok()?;
        Some(there.canonicalize().ok()?.join(missing))
    }

    fn check_input(&self, place: &Place, name: &str) -> Result<(), String> {
        if name == "/dev/null" {
            return Ok(());
        }
        if name.starts_with("/dev/") || (!name.starts_with('/') && !matches!(place, Place::Home)) {
            return Err("it cannot be told which file it reads".to_owned());
        }
        let file = self.cwd.join(name);
        let climbs = file.components().any(|part| part == Component::ParentDir);
        let found = file.canonicalize().ok().or_else(|| self.not_there(&file).filter(|_| !climbs));
        let file = found.ok_or("it reads a file that is not there")?;
        if self.places.contain(&text_of(&file)) {
            return Ok(());
        }
        Err("it reads a file outside the workspace".to_owned())
    }
}

/// Whether the command means the same in `place` as where the line begins.
fn check_words(place: &Place, words: &str) -> Result<(), String> {
    let folders = match place {
        Place::Home => return Ok(()),
        Place::Lost(why) => return Err(format!("{why}, and what follows runs there")),
        Place::OneOf(folders) => folders,
    };
    let name = program(words);
    let takes_files = FILE_UTILITIES.binary_search(&base_name(name)).is_ok();
    for (index, word) in words.split(WORD_GAP).enumerate() {
        let is_path =
            (word.contains('/') && !word.starts_with('/')) || matches!(word, "." | "..") || has_marks(word);
        let is_operand = index > 0 && takes_files && !word.starts_with('-') && !word.starts_with('/');
        let is_number = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
        let names_file =
            || index > 0 && folders.iter().any(|folder| folder.join(word).symlink_metadata().is_ok());
        let is_cd = name == "cd" && index > 0;
        if !is_cd
            && (is_path
                || (is_operand && !is_number)
                || (!word.is_empty() && !word.starts_with('/') && names_file()))
        {
            return Err(format!("`cd` before it changes what `{}` means", shown(word)));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_sorted() {
        assert!(FILE_UTILITIES.is_sorted() && MAKES_NO_LINKS.is_sorted());
    }
}
