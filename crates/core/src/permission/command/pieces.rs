//! Everything in a command line that may be a command, for deny and ask rules.
//!
//! Allow rules must never cover too much, deny rules should never miss: here a command line is cut
//! twice, once as the shell would, once at every separator as if there were no quotes, so that the
//! argument of `sh -c` is seen too. Assignments and programs that run other programs are skipped.
//! This is a net and not a wall: a command can still be assembled from variables.

use super::script::{Script, program};
use super::starts::find_starts;
use super::words::{WORD_GAP, unmarked};
use super::wrapper;

/// The most characters that `${IFS…}` may hold behind the name.
const LONGEST_MODIFIER: usize = 16;

/// The pieces of one command line.
#[derive(Clone, Debug)]
pub(in crate::permission) struct Pieces {
    words: String,
    /// The ranges of the pieces in `words`, and of their starts in `starts`.
    ranges: Vec<(std::ops::Range<usize>, std::ops::Range<usize>)>,
    /// Where commands may begin, in bytes from the beginning of their piece.
    starts: Vec<usize>,
    /// The bytes that commands begin with, one bit each.
    first_bytes: [u64; 4],
    redirected: Vec<Redirected>,
}

/// A file that a redirection names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Redirected {
    pub(super) writes: bool,
    pub(super) name: String,
}

/// The most files of redirections that are noted.
const MOST_REDIRECTED: usize = 1000;

/// Something that may be a command, perhaps behind others that run it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::permission) struct Piece<'a> {
    /// The words with [`WORD_GAP`] between them.
    pub(super) words: &'a str,
    /// Where commands may begin, ascending byte offsets.
    pub(super) starts: &'a [usize],
}

impl Pieces {
    pub(in crate::permission) fn cut(command: &str) -> Self {
        let mut pieces = Self {
            words: String::with_capacity(2 * command.len()),
            ranges: Vec::new(),
            starts: Vec::new(),
            first_bytes: [0; 4],
            redirected: Vec::new(),
        };
        Cutter::new(command, Quotes::Heeded, &mut pieces).run();
        let runs_text = pieces.any_start(|words| wrapper::runs_text(program(words)));
        let runs_quotation = runs_text && pieces.any_start(wrapper::runs_quotation);
        let found = pieces.redirected.len();
        Cutter::new(command, Quotes::Ignored, &mut pieces).run();
        if !runs_text {
            // What stands in quotes redirects nothing.
            pieces.redirected.truncate(found);
        }
        if runs_quotation {
            Cutter::new(command, Quotes::Cut, &mut pieces).run();
        }
        pieces
    }

    /// The one piece that is a command with these words.
    pub(super) fn of_words(words: &str) -> Self {
        let mut pieces = Self::cut("");
        pieces.words.push_str(words);
        pieces.words.push(WORD_GAP);
        pieces.close(0);
        pieces
    }

    /// The files that redirections name, in the order in which they are written.
    pub(super) fn redirected(&self) -> &[Redirected] {
        &self.redirected
    }

    /// The folders that `cd` is called with.
    pub(super) fn changes_of_folder(&self) -> impl Iterator<Item = &str> {
        let commands = self.iter().flat_map(|piece| piece.starts.iter().map(move |start| (piece, *start)));
        commands.filter_map(|(piece, start)| {
            let words = piece.words.get(start..)?.strip_prefix("cd\0")?;
            words.split(WORD_GAP).find(|word| !word.starts_with('-'))
        })
    }

    /// Notes the file that a redirection names, unless it is a descriptor.
    fn redirect(&mut self, from: usize, writes: bool) {
        let name = self.words.get(from..).unwrap_or_default();
        let is_descriptor = name.trim_end_matches('-').bytes().all(|byte| byte.is_ascii_digit());
        if !is_descriptor && name != "/dev/null" && self.redirected.len() < MOST_REDIRECTED {
            let name = name.replace("${HOME}", "~").replace("$HOME", "~");
            let redirected = Redirected { writes, name };
            if !self.redirected.contains(&redirected) {
                self.redirected.push(redirected);
            }
        }
    }

    /// Whether `holds` for the words from some place on at which a command may begin.
    fn any_start(&self, holds: impl Fn(&str) -> bool) -> bool {
        self.iter().any(|piece| {
            piece.starts.iter().any(|start| holds(piece.words.get(*start..).unwrap_or_default()))
        })
    }

    /// Adds the simple commands of a script that cutting may have missed.
    pub(in crate::permission) fn add(&mut self, script: &Script) {
        if !script.is_deep {
            return;
        }
        for (_, words) in script.commands() {
            let from = self.words.len();
            self.words.push_str(&unmarked(words));
            self.words.push(WORD_GAP);
            self.close(from);
        }
    }

    /// Whether a command may begin with `prefix`: a first look, by its first byte.
    pub(super) fn may_begin_with(&self, prefix: &str) -> bool {
        prefix.bytes().next().is_none_or(|byte| {
            let (slot, bit) = slot_and_bit(byte);
            self.first_bytes.get(slot).is_some_and(|bits| bits & bit != 0)
        })
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Piece<'_>> {
        self.ranges.iter().filter_map(|(words, starts)| {
            Some(Piece { words: self.words.get(words.clone())?, starts: self.starts.get(starts.clone())? })
        })
    }

    /// Ends the piece whose words began at `from`, each with a gap behind it.
    fn close(&mut self, from: usize) {
        let Some(words) = self.words.get(from..).and_then(|words| words.strip_suffix(WORD_GAP)) else {
            return;
        };
        let first_start = self.starts.len();
        find_starts(words, &mut self.starts);
        for start in self.starts.get(first_start..).unwrap_or_default() {
            let (slot, bit) = words.as_bytes().get(*start).map_or((0, 0), |byte| slot_and_bit(*byte));
            if let Some(bits) = self.first_bytes.get_mut(slot) {
                *bits |= bit;
            }
        }
        let end = from + words.len();
        self.ranges.push((from..end, first_start..self.starts.len()));
        self.words.truncate(end);
    }
}

/// Where the bit of `byte` stands in a set of bytes.
fn slot_and_bit(byte: u8) -> (usize, u64) {
    (usize::from(byte >> 6), 1 << (byte & 63))
}

/// What the next word is, when it is none of the command's.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Skip {
    Nothing,
    /// The file of a redirection.
    File {
        writes: bool,
    },
    /// The text of a here-string, or the end of a here-document.
    Text,
}

/// What quotes do when a command line is cut.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Quotes {
    /// What they do in the shell.
    Heeded,
    /// Nothing.
    Ignored,
    /// They end a piece, so that a quotation is one of its own.
    Cut,
}

/// Cuts one command line in one of these ways.
struct Cutter<'a> {
    rest: &'a str,
    quotes: Quotes,
    pieces: &'a mut Pieces,
    piece_start: usize,
    word_start: usize,
    /// Something has been read of a word, if only the quotes around nothing.
    in_word: bool,
    /// The next word is the target of a redirection.
    skips_word: Skip,
    in_braces: bool,
}

impl<'a> Cutter<'a> {
    fn new(command: &'a str, quotes: Quotes, pieces: &'a mut Pieces) -> Self {
        let start = pieces.words.len();
        Self {
            rest: command,
            quotes,
            pieces,
            piece_start: start,
            word_start: start,
            in_word: false,
            skips_word: Skip::Nothing,
            in_braces: false,
        }
    }

    fn run(mut self) {
        while let Some(c) = self.next() {
            self.step(c);
        }
        self.end_piece();
    }

    fn next(&mut self) -> Option<char> {
        let c = self.rest.chars().next()?;
        self.rest = self.rest.get(c.len_utf8()..).unwrap_or_default();
        Some(c)
    }

    fn skip(&mut self, prefix: char) -> bool {
        let rest = self.rest.strip_prefix(prefix);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn step(&mut self, c: char) {
        match c {
            ' ' | '\t' | WORD_GAP => self.end_word(),
            ';' | '|' | '\n' | '(' | ')' | '`' => self.end_piece(),
            '&' if self.skip('>') => self.redirect('>'),
            '&' => self.end_piece(),
            '<' | '>' => self.redirect(c),
            '{' | '}' if self.quotes != Quotes::Heeded => {
                self.in_braces = c == '{';
                self.end_piece();
            }
            ',' if self.in_braces => self.end_word(),
            '\\' => self.backslash(),
            '$' => self.dollar(),
            '\'' | '"' if self.quotes == Quotes::Ignored => {}
            '\'' | '"' if self.quotes == Quotes::Cut => self.end_piece(),
            '\'' => self.single_quoted(),
            '"' => self.double_quoted(),
            _ => self.push(c),
        }
    }

    fn push(&mut self, c: impl Into<Option<char>>) {
        self.pieces.words.extend(c.into());
        self.in_word = true;
    }

    fn backslash(&mut self) {
        if self.skip('\n') || self.quotes != Quotes::Heeded {
            return;
        }
        let escaped = self.next();
        self.push(escaped);
    }

    /// `$IFS` is a blank and `$'…'` a quotation; other variables stay as they are.
    fn dollar(&mut self) {
        if let Some(rest) = self.rest.strip_prefix("IFS") {
            self.rest = rest;
            self.end_word();
        } else if let Some(rest) = self.rest.strip_prefix("{IFS") {
            let modifier = rest.char_indices().take(LONGEST_MODIFIER).find(|(_, c)| *c == '}');
            self.rest = modifier.and_then(|(at, _)| rest.get(at + 1..)).unwrap_or(rest);
            self.end_word();
        } else if self.quotes == Quotes::Heeded && self.skip('\'') {
            self.ansi_quoted();
        } else if !self.rest.starts_with(['\'', '"']) {
            self.push('$');
        }
    }

    fn single_quoted(&mut self) {
        let (quoted, rest) = self.rest.split_once('\'').unwrap_or((self.rest, ""));
        self.pieces.words.push_str(quoted);
        self.in_word = true;
        self.rest = rest;
    }

    fn double_quoted(&mut self) {
        self.in_word = true;
        while let Some(c) = self.next() {
            match c {
                '"' => return,
                '\\' if self.skip('\n') => {}
                '\\' if self.rest.starts_with(['$', '`', '"', '\\']) => {
                    let escaped = self.next();
                    self.pieces.words.extend(escaped);
                }
                _ => self.pieces.words.push(c),
            }
        }
    }

    /// The inside of `$'…'`, with the escapes that stand for one character.
    fn ansi_quoted(&mut self) {
        self.in_word = true;
        while let Some(c) = self.next() {
            match c {
                '\'' => return,
                '\\' => self.ansi_escape(),
                _ => self.pieces.words.push(c),
            }
        }
    }

    fn ansi_escape(&mut self) {
        let (introducer, radix, digits) = match self.rest.chars().next() {
            Some('x') => (1, 16, 2),
            Some('u') => (1, 16, 4),
            Some('U') => (1, 16, 8),
            Some('0'..='7') => (0, 8, 3),
            _ => {
                let escaped = self.next();
                self.pieces.words.extend(escaped);
                return;
            }
        };
        let rest = self.rest.get(introducer..).unwrap_or_default();
        let digits = rest.chars().take(digits).take_while(|c| c.is_digit(radix)).count();
        let (number, rest) = rest.split_at_checked(digits).unwrap_or((rest, ""));
        self.pieces.words.extend(u32::from_str_radix(number, radix).ok().and_then(char::from_u32));
        self.rest = rest;
    }

    /// A redirection's operator has been met: neither the number before it nor its target is a word.
    fn redirect(&mut self, first: char) {
        let word = self.pieces.words.get(self.word_start..).unwrap_or_default();
        if word.bytes().all(|byte| byte.is_ascii_digit()) {
            self.pieces.words.truncate(self.word_start);
            self.in_word = false;
        }
        self.end_word();
        let operators = ["<<", "<-", "<", ">", "&", "|"];
        let operator =
            operators.iter().find(|operator| self.rest.starts_with(**operator)).copied().unwrap_or("");
        self.rest = self.rest.get(operator.len()..).unwrap_or_default();
        self.skips_word = match (first, operator) {
            ('<', "<" | "<<" | "<-") => Skip::Text,
            ('<', "" | "&") => Skip::File { writes: false },
            _ => Skip::File { writes: true },
        };
    }

    fn end_word(&mut self) {
        if !std::mem::take(&mut self.in_word) {
            return;
        }
        let skips = std::mem::replace(&mut self.skips_word, Skip::Nothing);
        if let Skip::File { writes } = skips {
            self.pieces.redirect(self.word_start, writes);
        }
        let words = &mut self.pieces.words;
        if skips == Skip::Nothing {
            words.push(WORD_GAP);
        } else {
            words.truncate(self.word_start);
        }
        self.word_start = words.len();
    }

    fn end_piece(&mut self) {
        self.end_word();
        self.skips_word = Skip::Nothing;
        self.pieces.close(self.piece_start);
        self.piece_start = self.pieces.words.len();
        self.word_start = self.piece_start;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every text at which a command may begin.
    fn commands(command: &str) -> Vec<String> {
        let pieces = Pieces::cut(command);
        let mut found: Vec<String> = pieces
            .iter()
            .flat_map(|piece| {
                piece.starts.iter().map(move |&start| piece.words[start..].replace(WORD_GAP, " "))
            })
            .collect();
        found.sort();
        found.dedup();
        found
    }

    #[test]
    fn commands_are_found_behind_whatever_runs_them() {
        for command in [
            "rm x",
            "true && rm x",
            "a\nrm x",
            "/bin/rm x",
            "r''m x",
            "r\\m x",
            "\"rm\" x",
            "$'\\x72m' x",
            "$'\\162m' x",
            "rm${IFS}x",
            "rm$IFS'x'",
            "{rm,x}",
            ">f rm x",
            "2>&1 rm x",
            "rm >f x",
            "A=1 B+=2 rm x",
            "sudo -u root rm x",
            "sudo env A=1 nice -n 10 timeout -k 5 10 rm x",
            "xargs -n 1 -P 4 rm x",
            "find . -name y -exec rm x",
            "sudo find . -exec env rm x",
            "sh -c 'rm x'",
            "bash -lc \"cd y; rm x\"",
            "echo \"$(rm x)\"",
            "echo `rm x`",
            "if true; then rm x; fi",
            "{ rm x; }",
            "(rm x)",
            "! rm x",
            "a<&-&rm x",
            "cat <<EOF\nit's\nEOF\nrm x",
            "ls # it's\nrm x",
            "eval rm x",
            "bash <<< 'rm x'",
            "echo 'rm x' | sh",
            "env -S\"rm x\"",
            "npm exec -- rm x",
            "npx rm x",
            "docker exec web rm x",
            "kubectl exec p -- rm x",
            "git bisect run rm x",
            "git submodule foreach 'rm x'",
            "perf stat rm x",
            "tmux new-session -d 'rm x'",
            "at now <<< 'rm x'",
            "ssh-agent rm x",
        ] {
            assert!(commands(command).contains(&"rm x".to_owned()), "{command}: {:?}", commands(command));
        }
    }

    #[test]
    fn arguments_are_not_commands() {
        for command in [
            "echo rm x",
            "grep -r 'rm x' .",
            "git commit -m 'rm x'",
            "cat >rm x",
            "find . -name rm x",
            "echo 'rm x'; sh build.sh",
            "npm run rm x",
            "docker rm x",
        ] {
            assert!(!commands(command).contains(&"rm x".to_owned()), "{command}: {:?}", commands(command));
        }
    }
}
