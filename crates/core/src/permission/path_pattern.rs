//! Path patterns of rules: `/src/**`, `//abs/**`, `~/x`, `src/*.rs`, `*.env`.

use super::glob::{Glob, Tail, Token};
use super::place::Places;

/// The most patterns that the braces of one rule may stand for.
const MAX_ALTERNATIVES: usize = 64;

/// A compiled path pattern.
///
/// `*` and `?` stay within a name, `**` crosses `/`, `[a-z]` and `{a,b}` work as in a shell, `\`
/// makes the next character literal, and names that begin with a dot need no special care. A
/// pattern whose last name is literal covers what lies below it too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PathPattern {
    anchor: Anchor,
    alternatives: Vec<Alternative>,
    /// Only files with this ending, in lower case.
    ending: Option<&'static str>,
}

/// The folder that a pattern is relative to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Anchor {
    /// `//x`
    FileSystem,
    /// `~/x`
    Home,
    /// `/x`, `x/y`, `./x`, and `../x` for a number of folders further up.
    Root { up: usize },
    /// `x`: a name at any depth.
    AnyDepth,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Alternative {
    glob: Glob,
    /// Whether the pattern names a folder as a whole, by a literal last name, `/` or `/**`.
    names_folder: bool,
    /// Begins with `**/`.
    floats: bool,
}

impl PathPattern {
    /// Compiles a pattern; the error says what is wrong with it.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        if text.starts_with('!') {
            return Err("patterns cannot be negated; write `./!…` for a name that begins with `!`".into());
        }
        let (anchor, rest) = split_anchor(text)?;
        let alternatives = expand_braces(rest)?;
        let alternatives = alternatives.iter().map(|text| Alternative::parse(text, anchor));
        Ok(Self { anchor, alternatives: alternatives.collect::<Result<_, _>>()?, ending: None })
    }

    /// The same pattern for files that end in `ending`, in lower case, only.
    pub(super) fn ending_in(self, ending: &'static str) -> Self {
        Self { ending: Some(ending), ..self }
    }

    fn has_ending(&self, path: &str) -> bool {
        self.ending.is_none_or(|ending| {
            let start = path.len().checked_sub(ending.len());
            start.and_then(|start| path.get(start..)).is_some_and(|end| end.eq_ignore_ascii_case(ending))
        })
    }

    /// Whether an allow rule with this pattern covers `path`.
    pub(super) fn covers(&self, path: &str, places: &Places) -> bool {
        if !self.has_ending(path) {
            return false;
        }
        match self.anchor {
            Anchor::AnyDepth => places.roots().any(|root| self.covers_below(path, root)),
            Anchor::FileSystem => self.covers_below(path, ""),
            Anchor::Home => places.home().is_some_and(|home| self.covers_below(path, home)),
            Anchor::Root { up } => places.root_above(up).is_some_and(|root| self.covers_below(path, root)),
        }
    }

    /// Whether a deny or ask rule with this pattern concerns `path`: as [`covers`](Self::covers), but
    /// names at any depth and `**/x` are looked for in the whole file system, and what lies below a
    /// match of a wildcard is concerned too.
    pub(super) fn concerns(&self, path: &str, places: &Places) -> bool {
        if !self.has_ending(path) {
            return false;
        }
        let base = match self.anchor {
            Anchor::AnyDepth | Anchor::FileSystem => Some(""),
            Anchor::Home => places.home(),
            Anchor::Root { up } => places.root_above(up),
        };
        let below = base.and_then(|base| below(path, base));
        self.alternatives.iter().any(|alternative| {
            below.is_some_and(|below| alternative.glob.matches(below, Tail::Open))
                || (alternative.floats && alternative.glob.matches(path, Tail::Open))
        })
    }

    fn covers_below(&self, path: &str, base: &str) -> bool {
        let Some(below) = below(path, base) else { return false };
        self.alternatives.iter().any(|alternative| {
            let tail = if alternative.names_folder { Tail::Open } else { Tail::Closed };
            alternative.glob.matches(below, tail)
        })
    }
}

/// The part of `path` below `base`, beginning with `/`, or empty when both are the same.
fn below<'a>(path: &'a str, base: &str) -> Option<&'a str> {
    path.strip_prefix(base).filter(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn split_anchor(text: &str) -> Result<(Anchor, &str), String> {
    if let Some(rest) = text.strip_prefix("//") {
        return Ok((Anchor::FileSystem, rest));
    }
    if let Some(rest) = text.strip_prefix('~') {
        return if rest.is_empty() || rest.starts_with('/') {
            Ok((Anchor::Home, rest))
        } else {
            Err("only `~/` is understood, for one's own home folder; write `./~…` for a name that begins with `~`"
                .into())
        };
    }
    if text.starts_with('/') {
        return Ok((Anchor::Root { up: 0 }, text));
    }
    let mut rest = text;
    let mut up = 0;
    loop {
        if let Some(shorter) = rest.strip_prefix("./") {
            rest = shorter;
        } else if let Some(shorter) = rest.strip_prefix("../") {
            rest = shorter;
            up += 1;
        } else {
            break;
        }
    }
    let (up, rest) = match rest {
        ".." => (up + 1, ""),
        "." => (up, ""),
        _ => (up, rest),
    };
    let name = rest.trim_end_matches('/');
    let is_name = rest.len() == text.len() && !name.contains('/') && name != "**";
    Ok(if is_name { (Anchor::AnyDepth, rest) } else { (Anchor::Root { up }, rest) })
}

impl Alternative {
    fn parse(text: &str, anchor: Anchor) -> Result<Self, String> {
        let mut names: Vec<&str> = text.split('/').filter(|name| !name.is_empty() && *name != ".").collect();
        if names.contains(&"..") {
            return Err("`..` may only stand at the beginning".into());
        }
        names.dedup_by(|a, b| *a == "**" && *b == "**");
        let floats =
            anchor == Anchor::Root { up: 0 } && names.first() == Some(&"**") && !text.starts_with('/');
        let everything_below = names.last() == Some(&"**");
        if everything_below {
            names.pop();
        }
        let mut tokens = Vec::new();
        let mut after_folders = false;
        if anchor == Anchor::AnyDepth {
            tokens.extend([Token::Char('/'), Token::Folders, Token::InFolders]);
            after_folders = true;
        }
        let mut last_is_literal = true;
        for name in names {
            if !after_folders {
                tokens.push(Token::Char('/'));
            }
            after_folders = name == "**";
            last_is_literal = if after_folders {
                tokens.extend([Token::Folders, Token::InFolders]);
                false
            } else {
                compile_name(name, &mut tokens)?
            };
        }
        let names_folder = everything_below || last_is_literal || text.ends_with('/');
        Ok(Self { glob: Glob::new(tokens, '/'), names_folder, floats })
    }
}

/// Appends the tokens of one name; true when it has no wildcard.
fn compile_name(name: &str, tokens: &mut Vec<Token>) -> Result<bool, String> {
    let mut literal = true;
    let mut chars = name.chars().peekable();
    while let Some(c) = chars.next() {
        literal &= !matches!(c, '*' | '?' | '[');
        tokens.push(match c {
            '\\' => Token::Char(chars.next().ok_or("a `\\` stands at the end of a name")?),
            '*' if chars.next_if_eq(&'*').is_some() => Token::Deep,
            '*' => Token::Run,
            '?' => Token::One,
            '[' => compile_class(&mut chars)?,
            _ => Token::Char(c),
        });
    }
    Ok(literal)
}

fn compile_class(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Result<Token, String> {
    const UNCLOSED: &str = "a `[` is not closed within its name; write `\\[` for the character itself";
    let negated = chars.next_if(|c| matches!(c, '!' | '^')).is_some();
    let mut ranges = Vec::new();
    loop {
        let low = match chars.next().ok_or(UNCLOSED)? {
            ']' if !ranges.is_empty() => break,
            '\\' => chars.next().ok_or(UNCLOSED)?,
            c => c,
        };
        let mut high = low;
        if chars.peek() == Some(&'-') {
            chars.next();
            match chars.peek() {
                Some(']') => ranges.push(('-', '-')),
                _ => {
                    high = chars.next().ok_or(UNCLOSED)?;
                    if high == '\\' {
                        high = chars.next().ok_or(UNCLOSED)?;
                    }
                }
            }
        }
        if high < low {
            return Err(format!("the range `{low}-{high}` is empty"));
        }
        ranges.push((low, high));
    }
    Ok(Token::Class { negated, ranges: ranges.into() })
}

/// The patterns that one with braces stands for.
fn expand_braces(text: &str) -> Result<Vec<String>, String> {
    let mut done = vec![String::new()];
    let mut group: Option<Vec<String>> = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (c, &mut group) {
            ('{', Some(_)) => return Err("braces within braces are not supported".into()),
            ('{', None) => group = Some(vec![String::new()]),
            (',', Some(options)) => options.push(String::new()),
            ('}', Some(options)) => {
                if done.len() * options.len() > MAX_ALTERNATIVES {
                    return Err(format!("its braces stand for more than {MAX_ALTERNATIVES} patterns"));
                }
                done =
                    done.iter().flat_map(|head| options.iter().map(move |o| format!("{head}{o}"))).collect();
                group = None;
            }
            ('}', None) => {
                return Err("a `}` has no `{` before it; write `\\}` for the character itself".into());
            }
            (_, Some(options)) => {
                if let Some(option) = options.last_mut() {
                    push_with_escape(option, c, &mut chars);
                }
            }
            (_, None) => {
                let mut next = String::new();
                push_with_escape(&mut next, c, &mut chars);
                done.iter_mut().for_each(|head| head.push_str(&next));
            }
        }
    }
    if group.is_some() {
        return Err("a `{` is not closed; write `\\{` for the character itself".into());
    }
    Ok(done)
}

/// Appends `c`, and with a backslash the character it escapes.
fn push_with_escape(text: &mut String, c: char, chars: &mut std::str::Chars<'_>) {
    text.push(c);
    if c == '\\' {
        text.extend(chars.next());
    }
}

/// `path` as a pattern that matches only it (and what lies below).
pub(super) fn escape(path: &str) -> String {
    let mut text = String::with_capacity(path.len());
    for c in path.chars() {
        if matches!(c, '*' | '?' | '[' | ']' | '{' | '}' | '(' | ')' | '\\') {
            text.push('\\');
        }
        text.push(c);
    }
    if text.ends_with(char::is_whitespace)
        && let Some(last) = text.pop()
    {
        text.push('\\');
        text.push(last);
    }
    text
}
