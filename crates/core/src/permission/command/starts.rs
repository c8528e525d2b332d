//! Where in the words of a piece commands may begin.

use super::words::WORD_GAP;
use super::{runners, wrapper};

/// What the words of a piece are looked through for.
#[derive(Clone, Copy)]
enum Seek {
    /// The name of a command.
    Command,
    /// The command that a program runs, behind its options and `positionals` other arguments.
    Inner { positionals: u8, behind_option: bool },
    /// The options of `find` that run a command, if this is one.
    Arguments,
}

/// Appends the offsets at which commands may begin.
pub(super) fn find_starts(words: &str, starts: &mut Vec<usize>) {
    let mut seek = Seek::Command;
    let mut in_find = false;
    let mut behind_exec = false;
    let mut offset = 0;
    let mut runner = "";
    for word in words.split(WORD_GAP) {
        let is_option = word.starts_with('-');
        let may_be_command = match seek {
            Seek::Command => !is_option && !wrapper::is_assignment(word),
            Seek::Inner { .. } => !is_option && !wrapper::is_assignment(word),
            Seek::Arguments => in_find && behind_exec,
        };
        if may_be_command {
            starts.push(offset);
            let name = wrapper::base_name(word);
            if name.len() < word.len() {
                starts.push(offset + word.len() - name.len());
            }
            in_find |= name == "find";
            seek = behind_command(seek, word, name);
            runner = name;
        } else if let (Seek::Arguments, Some(positionals)) = (seek, runners::inner(runner, word)) {
            if word == "foreach" {
                starts.push(offset);
            }
            seek = Seek::Inner { positionals, behind_option: false };
            runner = "";
        } else if let Seek::Inner { behind_option, .. } = &mut seek {
            *behind_option = is_option;
        }
        behind_exec = wrapper::is_find_exec(word);
        offset += word.len() + WORD_GAP.len_utf8();
    }
}

/// What to look for behind a word that may be a command.
fn behind_command(seek: Seek, word: &str, name: &str) -> Seek {
    if matches!(seek, Seek::Command) && wrapper::opens_command(word) {
        return Seek::Command;
    }
    if let Some(positionals) = wrapper::positionals(name).or_else(|| runners::inner(name, "")) {
        return Seek::Inner { positionals, behind_option: false };
    }
    match seek {
        Seek::Inner { positionals, behind_option: true } => Seek::Inner { positionals, behind_option: false },
        Seek::Inner { positionals: left @ 1.., .. } => {
            Seek::Inner { positionals: left - 1, behind_option: false }
        }
        Seek::Inner { .. } if word.starts_with(|c: char| c.is_ascii_digit()) => seek,
        _ => Seek::Arguments,
    }
}
