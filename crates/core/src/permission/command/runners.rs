//! Subcommands that run other programs: `npm exec`, `docker run`, `uv run`.

use super::words::has_marks;
use super::wrapper::shown;

/// A program, its subcommands that run others, and whether what they run must be named by the rule
/// as well.
type Runner = (&'static str, &'static [&'static str], bool);

const CONTAINERS: &[&str] =
    &["run", "exec", "create", "build", "cp", "import", "load", "plugin", "compose", "buildx", "context"];
const RUN: &[&str] = &["run"];
const EXEC: &[&str] = &["exec", "x"];

/// Sorted by name.
const TABLE: &[Runner] = &[
    ("asdf", EXEC, true),
    ("bundle", &["exec", "config", "console"], true),
    ("conda", RUN, true),
    ("docker", CONTAINERS, false),
    ("docker-compose", &["run", "exec", "build"], false),
    ("flatpak", &["run", "enter"], false),
    ("gh", &["alias", "extension", "extensions", "ext", "config", "codespace", "cs"], false),
    ("go", &["run", "generate", "tool", "env"], false),
    ("ip", &["netns", "vrf", "n", "v"], true),
    ("kubectl", &["exec", "run", "debug", "cp", "edit", "plugin", "attach", "config"], false),
    ("mise", &["exec", "x", "run", "r"], true),
    ("nix", &["run", "shell", "develop", "eval", "build", "repl"], false),
    ("npm", &["exec", "x", "explore", "config", "c", "set", "edit"], false),
    ("op", RUN, true),
    ("pdm", RUN, true),
    ("pipenv", &["run", "shell"], true),
    ("pixi", RUN, true),
    ("pnpm", &["exec", "dlx", "config", "c", "set"], false),
    ("podman", CONTAINERS, false),
    ("poetry", &["run", "shell", "config"], true),
    ("rbenv", EXEC, true),
    ("rustup", RUN, true),
    ("rye", RUN, true),
    ("uv", &["run", "tool"], true),
    ("yarn", &["exec", "dlx", "node", "config"], false),
];

/// Why a rule with wildcards does not cover the program `name` with these arguments, of which it
/// gives the first `fixed` literally.
pub(super) fn run<'a>(name: &str, words: impl Iterator<Item = &'a str>, fixed: usize) -> Option<String> {
    let at = TABLE.binary_search_by_key(&name, |(program, ..)| program).ok()?;
    let (_, subcommands, names_inner) = TABLE.get(at)?;
    let words: Vec<&str> = words.collect();
    // Options with values may stand before the subcommand.
    let mut behind_option = false;
    for (index, word) in words.iter().enumerate() {
        if subcommands.contains(word) || has_marks(word) {
            let names_program =
                words.get(index + 1).is_some_and(|inner| !inner.starts_with('-')) && fixed > index + 1;
            let is_named = fixed > index && (!names_inner || names_program);
            return (!is_named).then(|| format!("`{name} {}` may run anything", shown(word)));
        }
        let is_option = word.starts_with('-');
        if !is_option && !behind_option {
            return None;
        }
        behind_option = is_option;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_runs_others_must_be_named() {
        assert!(TABLE.is_sorted_by_key(|(name, ..)| *name));
        let found = |command: &str, fixed| {
            let mut words = command.split(' ');
            let name = words.next().unwrap();
            run(name, words, fixed).is_some()
        };
        assert!(found("npm exec x", 0) && !found("npm exec x", 1) && !found("npm run exec", 0));
        assert!(found("npm --silent exec x", 0) && found("docker --host y run x", 0));
        assert!(found("uv run x", 1) && !found("uv run x y", 2) && found("uv run --with x", 2));
        assert!(!found("docker ps", 0) && found("docker \u{FDD5}", 0) && !found("npm run \u{FDD5}", 0));
    }
}
