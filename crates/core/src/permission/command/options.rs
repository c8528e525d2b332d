//! Options that make an innocent program run other programs, or write where it likes.

use super::option_table::risks_of;
use super::words::is_mark;
use super::wrapper::shown;

/// Why a rule with wildcards does not cover the program `name` with these arguments. The first
/// `fixed` arguments the rule gives literally, so they are the user's word.
pub(super) fn risky<'a>(name: &str, words: impl Iterator<Item = &'a str>, fixed: usize) -> Option<String> {
    let risks = risks_of(name)?;
    let word = find(risks, words, fixed, name.ends_with("tar"))?;
    Some(format!("`{name} {}` may run or write something", shown(word)))
}

/// The first of `words` behind the `fixed` ones that is, or may become, one of `risks`, which are written as
/// in the table.
pub(super) fn find<'a>(
    risks: &str,
    words: impl Iterator<Item = &'a str>,
    fixed: usize,
    clusters_without_dash: bool,
) -> Option<&'a str> {
    // Once for all words.
    let risks: &[&str] = &risks.split(' ').collect::<Vec<_>>();
    let mut options_end = false;
    let mut takes_value = false;
    let mut words = words.enumerate().peekable();
    while let Some((index, word)) = words.next() {
        let is_named = index < fixed;
        // Behind an option `--` may be its value.
        let may_be_value = std::mem::replace(&mut takes_value, word.starts_with('-') && !word.contains('='));
        let next = words.peek().map(|(_, next)| *next);
        if word == "--" && !options_end && !may_be_value {
            if !is_named && risks.contains(&"--") {
                return Some(word);
            }
            options_end = true;
        } else if !options_end && !is_named && may_be_option(word) {
            return Some(word);
        } else if !options_end && is_named {
            // A value may follow in a word of its own; that the rule gives literally too, or not at all.
            if index + 1 == fixed && !word.contains('=') && is_risky(word, None, risks, false) {
                return Some(word);
            }
        } else if is_risky(word, next, risks, options_end)
            || (clusters_without_dash && index == 0 && word.contains(['I', 'F', 'P', 'g']))
        {
            return Some(word);
        }
    }
    None
}

/// Whether the shell may put an option in the place of `word`.
pub(super) fn may_be_option(word: &str) -> bool {
    word.starts_with(is_mark_but_home) || (word.starts_with('-') && word.contains(is_mark))
}

/// Expansions that can begin with `-`; that of `~` cannot.
fn is_mark_but_home(c: char) -> bool {
    is_mark(c) && c != super::words::unquoted('~')
}

/// Whether `word`, before the word `next`, is one of `risks`; where options have ended, none of these is.
fn is_risky(word: &str, next: Option<&str>, risks: &[&str], options_end: bool) -> bool {
    let mut harmless = risks.iter().filter_map(|risk| risk.strip_prefix('!'));
    if harmless.any(|harmless| word.starts_with(harmless)) {
        return false;
    }
    let values = risks.first().and_then(|first| first.strip_prefix(':')).unwrap_or_default();
    risks.iter().any(|risk| {
        let option = risk.strip_prefix('>').unwrap_or(risk);
        if option.starts_with('-') && options_end {
            return false;
        }
        is_risk(word, option, values) && !(option.len() < risk.len() && is_discarded(word, next, option))
    })
}

/// Whether the value of `option` in `word`, or behind it, is the standard output or nothing.
fn is_discarded(word: &str, next: Option<&str>, option: &str) -> bool {
    let value = match option.strip_prefix("--") {
        Some(_) if word == option => next,
        Some(_) => word.strip_prefix(option).and_then(|rest| rest.strip_prefix('=')),
        None => {
            let letter = option.strip_prefix('-').unwrap_or_default();
            word.split_once(letter).map(|(_, value)| value).filter(|value| !value.is_empty()).or(next)
        }
    };
    matches!(value, Some("-" | "/dev/null"))
}

/// Whether `word` is `risk`; `values` are the letters behind which a cluster is a value.
fn is_risk(word: &str, risk: &str, values: &str) -> bool {
    if risk == "NAME=" {
        return word.contains('=') && !word.starts_with('-');
    }
    if let Some(beginning) = risk.strip_prefix('=') {
        return word.starts_with(beginning);
    }
    if let Some(part) = risk.strip_prefix('*') {
        return word.contains(part);
    }
    if let Some(long) = risk.strip_prefix("--") {
        let given = word.strip_prefix("--").unwrap_or_default().split('=').next().unwrap_or_default();
        return !given.is_empty() && long.starts_with(given);
    }
    let Some(letters) = risk.strip_prefix('-') else { return false };
    match word.strip_prefix('-') {
        Some(cluster) if letters.len() == 1 => {
            let end = cluster.find(|letter| values.contains(letter)).map_or(cluster.len(), |at| at + 1);
            !cluster.starts_with('-') && cluster.get(..end).unwrap_or(cluster).contains(letters)
        }
        Some(cluster) => cluster.starts_with(letters),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(command: &str, fixed: usize) -> bool {
        let mut words = command.split(' ');
        let name = words.next().unwrap();
        risky(name, words, fixed).is_some()
    }

    #[test]
    fn risky_options_are_found_in_every_form() {
        for command in [
            "tar xf a --checkpoint-action=exec=id",
            "tar --to-comm x",
            "tar -xIf x",
            "tar xIf id a",
            "sort --compress-prog id",
            "sort -uo x",
            "rg --pre=id x",
            "rsync -avze x",
            "curl -sSLo x",
            "make SHELL=x",
            "make --eval x",
            "curl -XPOSTo x -o y",
            "curl -w %output{x} y",
            "curl -Oo /dev/null x",
            "curl -o x -o - y",
            "curl -T a file:///x",
            "wget -qO x y",
            "go build --ldflags=x",
            "go -C x build",
            "cmake -DCMAKE_C_COMPILER=x .",
            "cmake --build . -- -f x",
            "kubectl --kubeconfig x get pods",
            "install -s --strip-prog=x a b",
            "tar cfg a b c",
            "sort -to -ok x",
            "zip -TT id",
            "man -Pid x",
            "wget -O x",
            "dd if=a of=b",
            "sort \u{FDD5}",
            "sort -\u{FDD4}",
            "make -- CC=x",
            "sort -k -- \u{FDD4}",
        ] {
            assert!(found(command, 0), "{command}");
        }
    }

    #[test]
    fn harmless_options_are_left_alone() {
        for command in [
            "tar xzf a",
            "tar -czf a b",
            "sort -rn x",
            "rg -n x",
            "rsync -av a b",
            "curl -sSL https://x.y",
            "make test",
            "sort -k 1 -- \u{FDD5}",
            "sort -- \u{FDD5}",
            "sort a\u{FDD5}",
            "ls -o",
            "sort -- -o",
            "curl --fail x",
            "curl -XPOST x",
            "curl -sSo /dev/null -w %{http_code} x",
            "curl -sD - -o /dev/null x",
            "wget -qO- x",
            "wget --output-document=- x",
            "sort -to x",
            "go test -run=TestCamel",
            "cmake -S . -B build -DCMAKE_BUILD_TYPE=Release",
        ] {
            assert!(!found(command, 0), "{command}");
        }
        assert!(
            !found("make -C docs html", 2) && found("make -C docs html", 1) && found("make -C a -f b", 2)
        );
        assert!(!found("curl --output=x y", 1) && found("curl --output=x -o y", 1));
    }
}
