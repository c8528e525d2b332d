//! The words of one simple shell command, read with shell quoting and nothing else.
//!
//! An allow rule may only cover a command whose effect can be told from its words. Everything that
//! would make the shell do more than start one program with these words is an [`Obstacle`].

use std::fmt;

/// Stands between the words of a command in the texts that patterns are matched against.
pub(super) const WORD_GAP: char = '\0';

/// Characters that stand for `*`, `?`, `[` and `~` where they are unquoted and the shell expands
/// them, so that a rule written for the quoted character does not cover the unquoted one.
const EXPANDED: [(char, char); 4] =
    [('*', '\u{FDD0}'), ('?', '\u{FDD1}'), ('[', '\u{FDD2}'), ('~', '\u{FDD3}')];

/// The character that stands for an unquoted `c`.
pub(super) fn unquoted(c: char) -> char {
    EXPANDED.iter().find(|(plain, _)| *plain == c).map_or(c, |(_, marked)| *marked)
}

/// The character that `c` stands for, and whether it was unquoted and expands.
fn original(c: char) -> (char, bool) {
    EXPANDED.iter().find(|(_, marked)| *marked == c).map_or((c, false), |(plain, _)| (*plain, true))
}

/// How a character of a command was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quoting {
    Bare,
    Backslash,
    Single,
    Double,
}

/// What the lexer finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Item {
    /// A character of a word.
    Char(char, Quoting),
    /// The next word begins.
    Gap,
}

/// What is being read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    /// A command line.
    Command,
    /// The pattern of an allow rule: `*` is a wildcard.
    Pattern,
    /// The pattern of a deny or ask rule: only quotes and blanks have a meaning.
    Lenient,
}

/// What keeps a command line from being one simple command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Obstacle {
    found: Option<char>,
    /// In characters, from 1.
    position: usize,
    effect: &'static str,
    pub(super) advice: &'static str,
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.found {
            Some('\n') => write!(f, "the line break at character {}", self.position)?,
            Some(c) if c.is_control() => write!(f, "the control character at {}", self.position)?,
            Some(c) => write!(f, "`{c}` at character {}", self.position)?,
            None => f.write_str("the command")?,
        }
        write!(f, " {}", self.effect)
    }
}

const SPLIT: &str = "run its parts as separate calls";
const WRITE_OUT: &str = "write the command without it";

/// One simple command, its quotes undone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SimpleCommand {
    /// The words, with [`WORD_GAP`] between them and unquoted characters that expand marked.
    pub(super) words: String,
}

impl SimpleCommand {
    pub(super) fn parse(command: &str) -> Result<Self, Obstacle> {
        let mut words = String::with_capacity(command.len());
        lex(command, Dialect::Command, &mut |item| match item {
            Item::Char(c, Quoting::Bare) => words.push(unquoted(c)),
            Item::Char(c, _) => words.push(c),
            Item::Gap => words.push(WORD_GAP),
        })?;
        Ok(Self { words })
    }

    /// The pattern that matches exactly this command.
    pub(super) fn to_pattern(&self) -> String {
        let mut text = String::with_capacity(self.words.len() + 8);
        for (index, word) in self.words.split(WORD_GAP).enumerate() {
            if index > 0 {
                text.push(' ');
            }
            push_quoted(&mut text, word, index == 0);
        }
        text
    }
}

/// Appends `word` in the form in which a pattern reads it back.
fn push_quoted(text: &mut String, word: &str, is_name: bool) {
    let is_plain = |c: char| {
        c.is_alphanumeric()
            || matches!(c, '_' | '-' | '.' | '/' | ':' | '@' | '%' | '+' | ',' | '\'')
            || (c == '=' && !is_name)
    };
    let needs_quotes =
        word.is_empty() || word.chars().map(original).any(|(c, expands)| !expands && !is_plain(c));
    let mut in_quotes = false;
    let mut set_quotes = |text: &mut String, wanted: bool| {
        if in_quotes != wanted {
            text.push('\'');
            in_quotes = wanted;
        }
    };
    for (c, expands) in word.chars().map(original) {
        set_quotes(text, needs_quotes && !expands && c != '\'');
        if c == '\'' || (c == '*' && expands) {
            text.push('\\');
        }
        text.push(c);
    }
    set_quotes(text, word.is_empty());
    set_quotes(text, false);
}

/// Reads `text`, handing every character of every word to `emit`.
pub(super) fn lex(text: &str, dialect: Dialect, emit: &mut dyn FnMut(Item)) -> Result<(), Obstacle> {
    let mut lexer = Lexer { rest: text, position: 0, dialect, emit, words: 0, in_word: false };
    while let Some(c) = lexer.next() {
        lexer.bare(c)?;
    }
    if lexer.words == 0 && dialect != Dialect::Lenient {
        return Err(Obstacle { found: None, position: 0, effect: "is empty", advice: "name a program" });
    }
    Ok(())
}

struct Lexer<'a> {
    rest: &'a str,
    position: usize,
    dialect: Dialect,
    emit: &'a mut dyn FnMut(Item),
    words: usize,
    in_word: bool,
}

impl Lexer<'_> {
    fn next(&mut self) -> Option<char> {
        let c = self.rest.chars().next()?;
        self.rest = self.rest.get(c.len_utf8()..).unwrap_or_default();
        self.position += 1;
        Some(c)
    }

    fn starts_with(&self, c: char) -> bool {
        self.rest.starts_with(c)
    }

    /// Notes an obstacle; a lenient reading goes on with the character as it is.
    fn obstacle(&self, c: char, effect: &'static str, advice: &'static str) -> Result<(), Obstacle> {
        if self.dialect == Dialect::Lenient {
            return Ok(());
        }
        Err(Obstacle { found: Some(c), position: self.position, effect, advice })
    }

    fn begin_word(&mut self) {
        if !self.in_word {
            if self.words > 0 {
                (self.emit)(Item::Gap);
            }
            self.words += 1;
            self.in_word = true;
        }
    }

    fn push(&mut self, c: char, quoting: Quoting) -> Result<(), Obstacle> {
        if c == WORD_GAP || matches!(c, '\u{FDD0}'..='\u{FDEF}') {
            self.obstacle(c, "is not a character of a command", WRITE_OUT)?;
        }
        self.begin_word();
        (self.emit)(Item::Char(c, quoting));
        Ok(())
    }

    fn bare(&mut self, c: char) -> Result<(), Obstacle> {
        match c {
            ' ' | '\t' => self.in_word = false,
            '\n' => self.line_break()?,
            '\'' => self.single_quoted()?,
            '"' => self.double_quoted()?,
            '\\' => match self.next() {
                Some('\n') => {}
                Some(escaped) => self.push(escaped, Quoting::Backslash)?,
                None => self.obstacle(c, "escapes nothing", WRITE_OUT)?,
            },
            _ => {
                self.check_bare(c)?;
                self.push(c, Quoting::Bare)?;
            }
        }
        Ok(())
    }

    /// A line break ends a command; around the only one it means nothing.
    fn line_break(&mut self) -> Result<(), Obstacle> {
        self.in_word = false;
        if self.words > 0 {
            self.rest = self.rest.trim_start_matches([' ', '\t', '\n']);
            if !self.rest.is_empty() {
                return self.obstacle('\n', "separates commands", SPLIT);
            }
        }
        Ok(())
    }

    fn check_bare(&self, c: char) -> Result<(), Obstacle> {
        let in_name = self.words == 0 || (self.words == 1 && self.in_word);
        match c {
            ';' | '&' | '|' => self.obstacle(c, "joins commands", SPLIT),
            '<' | '>' => self.obstacle(c, "redirects input or output", WRITE_OUT),
            '(' | ')' => self.obstacle(c, "belongs to a subshell or a function", SPLIT),
            '{' | '}' => self.obstacle(c, "belongs to a group or an expansion", WRITE_OUT),
            '$' | '`' => {
                self.obstacle(c, "is replaced by the shell", "write the value out, or single-quote it")
            }
            '#' if !self.in_word => self.obstacle(c, "begins a comment", WRITE_OUT),
            '=' if in_name => self.obstacle(c, "sets a variable for the command", WRITE_OUT),
            '!' if self.words == 0 => self.obstacle(c, "negates or recalls a command", WRITE_OUT),
            '*' if in_name && self.dialect == Dialect::Pattern => Ok(()),
            '[' if self.words == 0 && (self.rest.is_empty() || self.rest.starts_with([' ', '\t'])) => Ok(()),
            '*' | '?' | '[' | '~' if in_name => {
                self.obstacle(c, "leaves it to the shell which program runs", "name the program")
            }
            _ => Ok(()),
        }
    }

    fn single_quoted(&mut self) -> Result<(), Obstacle> {
        self.begin_word();
        let opened = self.position;
        while let Some(c) = self.next() {
            if c == '\'' {
                return Ok(());
            }
            self.push(c, Quoting::Single)?;
        }
        self.position = opened;
        self.obstacle('\'', "opens a quotation that is not closed", "close it")
    }

    fn double_quoted(&mut self) -> Result<(), Obstacle> {
        self.begin_word();
        let opened = self.position;
        while let Some(c) = self.next() {
            match c {
                '"' => return Ok(()),
                '$' | '`' => {
                    self.obstacle(c, "is replaced by the shell", "write the value out, or single-quote it")?;
                    self.push(c, Quoting::Double)?;
                }
                '\\' if self.starts_with('\n') => {
                    self.next();
                }
                '\\' if self.rest.starts_with(['$', '`', '"', '\\']) => {
                    let escaped = self.next().unwrap_or(c);
                    self.push(escaped, Quoting::Backslash)?;
                }
                _ => self.push(c, Quoting::Double)?,
            }
        }
        self.position = opened;
        self.obstacle('"', "opens a quotation that is not closed", "close it")
    }
}
