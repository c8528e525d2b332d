//! Commands of the shell that change what later words mean.

use super::options::may_be_option;
use super::reader::is_harmless_variable;
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
        "umask" => words.next().is_some(),
        "command" => true,
        _ => CHANGERS.contains(&name),
    };
    changes.then(|| format!("`{}` may change what later commands do", shown(name)))
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
        ] {
            assert!(found(command), "{command}");
        }
        for command in ["read -r line", "read a b", "printf %s x", "wait", "echo x", "umask"] {
            assert!(!found(command), "{command}");
        }
    }
}
