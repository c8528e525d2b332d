//! Words as texts: how patterns are read, and which characters stand for what the shell expands.

/// Stands between the words of a command in the texts that patterns are matched against.
pub(in crate::permission) const WORD_GAP: char = '\0';

/// Characters that stand for `*`, `?`, `[` and `~` where they are unquoted and the shell expands
/// them, so that a rule written for the quoted character does not cover the unquoted one.
const EXPANDED: [(char, char); 4] =
    [('*', '\u{FDD0}'), ('?', '\u{FDD1}'), ('[', '\u{FDD2}'), ('~', '\u{FDD3}')];

/// Stands for what the shell puts in the place of an expansion within one word.
pub(super) const ONE: char = '\u{FDD4}';

/// Stands for an expansion that may become any number of words.
pub(super) const MANY: char = '\u{FDD5}';

/// Whether the shell may put other text in the place of some of `word`.
pub(super) fn has_marks(word: &str) -> bool {
    word.contains(is_mark)
}

/// Whether `c` stands for something that the shell expands.
pub(super) fn is_mark(c: char) -> bool {
    matches!(c, '\u{FDD0}'..='\u{FDEF}')
}

/// Whether `word` is the command `[`, which nothing expands.
pub(super) fn is_bracket(word: &str) -> bool {
    word.chars().eq([unquoted('[')])
}

/// `words` as they are written, without marks for what expands.
pub(super) fn unmarked(words: &str) -> String {
    words.chars().map(|c| if c == ONE || c == MANY { '$' } else { original(c).0 }).collect()
}

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
    /// The pattern of an allow rule: `*` is a wildcard.
    Pattern,
    /// The pattern of a deny or ask rule: only quotes and blanks have a meaning.
    Lenient,
}

/// The pattern of an allow rule is more than the words of one command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NotSimple;

/// The pattern that matches exactly the command with these words.
pub(super) fn to_pattern(words: &str) -> String {
    let mut text = String::with_capacity(words.len() + 8);
    for (index, word) in words.split(WORD_GAP).enumerate() {
        if index > 0 {
            text.push(' ');
        }
        push_quoted(&mut text, word, index == 0);
    }
    text
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
pub(super) fn lex(text: &str, dialect: Dialect, emit: &mut dyn FnMut(Item)) -> Result<(), NotSimple> {
    let mut lexer = Lexer { rest: text, dialect, emit, words: 0, in_word: false };
    while let Some(c) = lexer.next() {
        lexer.bare(c)?;
    }
    if lexer.words == 0 && dialect != Dialect::Lenient {
        return Err(NotSimple);
    }
    Ok(())
}

struct Lexer<'a> {
    rest: &'a str,
    dialect: Dialect,
    emit: &'a mut dyn FnMut(Item),
    words: usize,
    in_word: bool,
}

impl Lexer<'_> {
    fn next(&mut self) -> Option<char> {
        let c = self.rest.chars().next()?;
        self.rest = self.rest.get(c.len_utf8()..).unwrap_or_default();
        Some(c)
    }

    fn starts_with(&self, c: char) -> bool {
        self.rest.starts_with(c)
    }

    /// What a lenient reading takes as it is.
    fn obstacle(&self) -> Result<(), NotSimple> {
        if self.dialect == Dialect::Lenient { Ok(()) } else { Err(NotSimple) }
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

    fn push(&mut self, c: char, quoting: Quoting) -> Result<(), NotSimple> {
        if c == WORD_GAP || matches!(c, '\u{FDD0}'..='\u{FDEF}') {
            self.obstacle()?;
        }
        self.begin_word();
        (self.emit)(Item::Char(c, quoting));
        Ok(())
    }

    fn bare(&mut self, c: char) -> Result<(), NotSimple> {
        match c {
            ' ' | '\t' => self.in_word = false,
            '\n' => self.line_break()?,
            '\'' => self.single_quoted()?,
            '"' => self.double_quoted()?,
            '\\' => match self.next() {
                Some('\n') => {}
                Some(escaped) => self.push(escaped, Quoting::Backslash)?,
                None => self.obstacle()?,
            },
            _ => {
                self.check_bare(c)?;
                self.push(c, Quoting::Bare)?;
            }
        }
        Ok(())
    }

    /// A line break ends a command; around the only one it means nothing.
    fn line_break(&mut self) -> Result<(), NotSimple> {
        self.in_word = false;
        if self.words > 0 {
            self.rest = self.rest.trim_start_matches([' ', '\t', '\n']);
            if !self.rest.is_empty() {
                return self.obstacle();
            }
        }
        Ok(())
    }

    fn check_bare(&self, c: char) -> Result<(), NotSimple> {
        let in_name = self.words == 0 || (self.words == 1 && self.in_word);
        match c {
            ';' | '&' | '|' => self.obstacle(),
            '<' | '>' => self.obstacle(),
            '(' | ')' => self.obstacle(),
            '{' | '}' => self.obstacle(),
            '$' | '`' => self.obstacle(),
            '#' if !self.in_word => self.obstacle(),
            '=' if in_name => self.obstacle(),
            '!' if self.words == 0 => self.obstacle(),
            '*' if in_name && self.dialect == Dialect::Pattern => Ok(()),
            '[' if self.words == 0 && (self.rest.is_empty() || self.rest.starts_with([' ', '\t'])) => Ok(()),
            '*' | '?' | '[' | '~' if in_name => self.obstacle(),
            _ => Ok(()),
        }
    }

    fn single_quoted(&mut self) -> Result<(), NotSimple> {
        self.begin_word();
        while let Some(c) = self.next() {
            if c == '\'' {
                return Ok(());
            }
            self.push(c, Quoting::Single)?;
        }
        self.obstacle()
    }

    fn double_quoted(&mut self) -> Result<(), NotSimple> {
        self.begin_word();
        while let Some(c) = self.next() {
            match c {
                '"' => return Ok(()),
                '$' | '`' => {
                    self.obstacle()?;
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
        self.obstacle()
    }
}
