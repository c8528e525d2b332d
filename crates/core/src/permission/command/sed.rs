//! Whether a call of `sed` can do nothing but print.
//!
//! Some commands of sed run programs (`e`) or write files (`w`), and `-i` changes its input. A rule
//! with `*` covers only what is known to do none of it; everything not understood counts as able to.

/// The word of a `sed` call that may do more than print; `words` are its arguments.
pub(super) fn more_than_printing<'a>(words: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let mut words = words.peekable();
    let mut operand = None;
    let mut has_script = false;
    let mut options_end = false;
    while let Some(word) = words.next() {
        if options_end || !word.starts_with('-') || word == "-" {
            // A name that the shell expands may become an option.
            if word.starts_with(|c| matches!(c, '\u{FDD0}'..='\u{FDEF}')) {
                return Some(word);
            }
            operand = operand.or(Some(word));
        } else if word == "--" {
            options_end = true;
        } else if matches!(word, "-e" | "--expression") || is_cluster_before_script(word) {
            has_script = true;
            let script = words.next().unwrap_or(word);
            if !only_prints(script) {
                return Some(script);
            }
        } else if !is_harmless(word) {
            return Some(word);
        }
    }
    operand.filter(|script| !has_script && !only_prints(script))
}

/// `-ne` and the like: the next word is a script.
fn is_cluster_before_script(word: &str) -> bool {
    word.strip_prefix('-').and_then(|letters| letters.strip_suffix('e')).is_some_and(is_harmless_letters)
}

fn is_harmless(option: &str) -> bool {
    const LONG: [&str; 8] = [
        "--debug",
        "--null-data",
        "--posix",
        "--quiet",
        "--regexp-extended",
        "--sandbox",
        "--silent",
        "--unbuffered",
    ];
    LONG.contains(&option) || option.strip_prefix('-').is_some_and(is_harmless_letters)
}

fn is_harmless_letters(letters: &str) -> bool {
    !letters.is_empty() && letters.bytes().all(|letter| b"nErsuz".contains(&letter))
}

/// Whether a script consists of `p`, `d`, `q`, `=`, `n` and `s` without its flags `e` and `w`.
fn only_prints(script: &str) -> bool {
    commands(script).is_some()
}

/// Reads the whole script as commands that only print.
fn commands(script: &str) -> Option<()> {
    let mut rest = script;
    loop {
        rest = rest.trim_start_matches([' ', ';', '\n']);
        if rest.is_empty() {
            return Some(());
        }
        rest = addresses(rest)?;
        let mut chars = rest.chars();
        rest = match chars.next()? {
            'p' | 'd' | 'q' | '=' | 'n' => chars.as_str(),
            's' => {
                let delimiter = chars.next().filter(|c| c.is_ascii_punctuation() && *c != '\\')?;
                let replacement = delimited(chars.as_str(), delimiter, true)?;
                let flags = delimited(replacement, delimiter, false)?;
                flags.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, 'g' | 'p' | 'i' | 'I'))
            }
            _ => return None,
        };
        if !rest.is_empty() && !rest.starts_with([' ', ';', '\n']) {
            return None;
        }
        // Behind a blank no command may begin, only a separator.
        rest = rest.trim_start_matches(' ');
        if !rest.is_empty() && !rest.starts_with([';', '\n']) {
            return None;
        }
    }
}

/// What follows the addresses before a command.
fn addresses(script: &str) -> Option<&str> {
    let rest = address(script)?;
    let rest = match rest.strip_prefix(',') {
        Some(second) => address(second).filter(|rest| rest.len() < second.len())?,
        None => rest,
    };
    Some(rest.trim_start_matches([' ', '!']))
}

/// What follows one address, or `script` when there is none.
fn address(script: &str) -> Option<&str> {
    if let Some(rest) = script.strip_prefix('$') {
        return Some(rest);
    }
    match script.strip_prefix('/') {
        Some(pattern) => delimited(pattern, '/', true),
        None => Some(script.trim_start_matches(|c: char| c.is_ascii_digit())),
    }
}

/// What follows the part up to `delimiter`. Implementations disagree on a delimiter within the
/// brackets of a pattern, so there it is not understood.
fn delimited(text: &str, delimiter: char, is_pattern: bool) -> Option<&str> {
    let mut chars = text.chars();
    let mut in_brackets = false;
    while let Some(c) = chars.next() {
        match c {
            c if c == delimiter => return (!in_brackets).then_some(chars.as_str()),
            '\\' => {
                chars.next()?;
            }
            '[' if is_pattern && !in_brackets => {
                in_brackets = true;
                let behind = chars.as_str().strip_prefix('^').unwrap_or(chars.as_str());
                chars = behind.strip_prefix(']').unwrap_or(behind).chars();
            }
            ']' => in_brackets = false,
            '\n' | '\u{FDD0}'..='\u{FDEF}' => return None,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_can_only_print_passes() {
        let stopped = |words: &[&str]| more_than_printing(words.iter().copied()).is_some();
        for words in [
            &["-n", "1,20p", "src/a.rs"][..],
            &["s/[0-9]*/x/g", "a"],
            &["-E", "s|a/b|w e|2gI"],
            &["-ne", "/^fn/,/^}/p", "a"],
            &["-e", "$!d", "-e", "5q", "--", "-x"],
            &["1d; 3p ;$="],
            &["s/a\\/w/e/"],
        ] {
            assert!(!stopped(words), "{words:?}");
        }
        for words in [
            &["1e touch x"][..],
            &["s/a/id/e"],
            &["s/a/b/w /etc/x"],
            &["s/a/b/gew x"],
            &["w x", "a"],
            &["-n", "1w x"],
            &["$!{w x", "-e", "}"],
            &["s/[/]/e/", "a"],
            &["s/[/]/;e id;s/x/y/"],
            &["-e", "p", "-e", "e id"],
            &["a", "-f", "x.sed"],
            &["p", "-i", "a"],
            &["-ie", "p"],
            &["--in-place", "p"],
            &["--expr=e id"],
            &["-ee id"],
            &["s/a/b/\ne id"],
            &["s\\a\\b\\e"],
            &["s/[]/];p;s/x/p", "a"],
            &["r /etc/passwd"],
            &["p", "\u{FDD0}"],
            &["p x"],
        ] {
            assert!(stopped(words), "{words:?}");
        }
    }
}
