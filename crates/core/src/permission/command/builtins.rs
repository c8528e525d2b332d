//! Commands of the shell that change what later words mean.

use super::options::may_be_option;
use super::reader::is_harmless_variable;
use super::words::MANY;
use super::wrapper::shown;

/// Commands that change how later ones are found, read or run.
const CHANGERS: [&str; 25] = [
    "alias",
    "builtin",
    "declare",
    "dirs",
    "enable",
    "eval",
    "exec",
    "export",
    "getopts",
    "hash",
    "history",
    "let",
    "local",
    "mapfile",
    "popd",
    "pushd",
    "readarray",
    "readonly",
    "set",
    "shopt",
    "trap",
    "typeset",
    "ulimit",
    "unalias",
    "unset",
];

/// Why a rule with wildcards does not cover the command `name` with these arguments: it changes what
/// later words mean.
pub(super) fn changes<'a>(name: &str, mut words: impl Iterator<Item = &'a str>) -> Option<String> {
    let changes = match name {
        "printf" => words.next().is_some_and(|word| word.starts_with("-v") || may_be_option(word)),
        "wait" => words.any(|word| word.starts_with("-p") || may_be_option(word)),
        "read" => words.any(|word| word != "-r" && !is_harmless_variable(word)),
        "[" | "test" => may_read_subscript(&words.collect::<Vec<_>>()),
        "umask" => words.next().is_some(),
        "command" => true,
        _ => CHANGERS.contains(&name),
    };
    let what = if matches!(name, "[" | "test") {
        "run what a variable holds"
    } else {
        "change what later commands do"
    };
    changes.then(|| format!("`{}` may {what}", shown(name)))
}

/// Whether a condition may ask with `-v` for a variable that an expansion names: its subscript is
/// evaluated, which can run commands.
fn may_read_subscript(words: &[&str]) -> bool {
    let is_operator = |word: Option<&&str>| {
        word.is_some_and(|word| {
            matches!(
                *word,
                "=" | "=="
                    | "!="
                    | "<"
                    | ">"
                    | "-eq"
                    | "-ne"
                    | "-lt"
                    | "-le"
                    | "-gt"
                    | "-ge"
                    | "-nt"
                    | "-ot"
                    | "-ef"
            )
        })
    };
    let is_file_test =
        |word: &&str| word.len() == 2 && word.starts_with('-') && !matches!(*word, "-v" | "-R" | "-a" | "-o");
    let operands = words.strip_suffix(&["]"]).unwrap_or(words);
    let is_open = |(index, word): (usize, &&str)| {
        let before = index.checked_sub(1).and_then(|before| operands.get(before));
        let is_operand =
            is_operator(before) || is_operator(operands.get(index + 1)) || before.is_some_and(is_file_test);
        may_be_option(word) && operands.len() > 1 && !is_operand
    };
    // The subscript of `a[i]` is evaluated, and with it what `i` holds.
    let names_more = |pair: &[&str]| matches!(pair, ["-v" | "-R", name] if !is_plain_name(name));
    operands.iter().any(|word| word.contains(MANY))
        || operands.iter().enumerate().any(is_open)
        || operands.windows(2).any(names_more)
}

/// Whether `word` is a name without a subscript.
fn is_plain_name(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changes_later_commands_is_known() {
        let found = |command: &str| {
            let mut words = command.split(' ');
            changes(words.next().unwrap(), words).is_some()
        };
        for command in [
            "export PATH=x",
            "read PATH",
            "read -r IFS",
            "printf -v x y",
            "hash -p /x ls",
            "alias a=b",
            "command cd x",
            "test \u{FDD5}",
            "test -v \u{FDD4}",
            "test \u{FDD4} \u{FDD4}",
            "[ \u{FDD4} \u{FDD4} ]",
            "[ -f x -a \u{FDD4} \u{FDD4} ]",
            "test -v a[x]",
            "[ -v a\u{FDD4} ]",
            "[ ! -R a\u{FDD2}x] ]",
        ] {
            assert!(found(command), "{command}");
        }
        for command in [
            "test -f \u{FDD4}",
            "test -v name",
            "[ \u{FDD4} = \u{FDD4} ]",
            "[ \u{FDD4} ]",
            "read -r line",
            "read a b",
            "printf %s x",
            "wait",
            "echo x",
            "umask",
        ] {
            assert!(!found(command), "{command}");
        }
    }
}
