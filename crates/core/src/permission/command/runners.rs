//! Subcommands that run other programs: `npm exec`, `docker run`, `uv run`.

use super::words::has_marks;
use super::wrapper::shown;

/// A program, its subcommands that run others, and whether what they run must be named by the rule
/// as well.
type Runner = (&'static str, &'static [&'static str], bool);

const CONTAINERS: &[&str] = &[
    "run",
    "exec",
    "create",
    "build",
    "cp",
    "import",
    "load",
    "plugin",
    "compose",
    "buildx",
    "context",
    "builder",
    "checkpoint",
    "commit",
    "debug",
    "export",
    "init",
    "kube",
    "machine",
    "mcp",
    "model",
    "offload",
    "play",
    "save",
    "sandbox",
    "scout",
    "service",
    "stack",
    "swarm",
    "unshare",
];
const RUN: &[&str] = &["run"];
const EXEC: &[&str] = &["exec", "x"];

/// What pnpm does itself, and usual names of scripts; any other word it looks up as a program.
const PNPM: &[&str] = &[
    "add",
    "audit",
    "bin",
    "build",
    "check",
    "ci",
    "clean",
    "dedupe",
    "dev",
    "fetch",
    "format",
    "help",
    "i",
    "install",
    "licenses",
    "lint",
    "list",
    "ll",
    "ls",
    "outdated",
    "pack",
    "prune",
    "rebuild",
    "remove",
    "run",
    "run-script",
    "start",
    "store",
    "t",
    "test",
    "tsc",
    "typecheck",
    "uninstall",
    "up",
    "update",
    "upgrade",
    "why",
];

/// Sorted by name.
const TABLE: &[Runner] = &[
    ("asdf", EXEC, true),
    ("aws", &["configure", "ssm"], false),
    ("bundle", &["exec", "config", "console"], true),
    ("cargo", &["rustc", "rustdoc", "config", "watch"], false),
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
    ("npm", &["exec", "x", "explore", "config", "c", "set", "edit", "init", "create", "innit", "pkg"], false),
    ("op", RUN, true),
    ("pdm", RUN, true),
    ("pip", &["config"], false),
    ("pip3", &["config"], false),
    ("pipenv", &["run", "shell"], true),
    ("pipx", &["run", "runpip"], true),
    ("pixi", RUN, true),
    ("pnpm", &["exec", "dlx", "config", "c", "set", "create", "init", "pkg", "env"], false),
    ("podman", CONTAINERS, false),
    ("poetry", &["run", "shell", "config"], true),
    ("rbenv", EXEC, true),
    ("rustup", RUN, true),
    ("rye", RUN, true),
    ("uv", &["run", "tool"], true),
    ("uvx", &[], true),
    (
        "yarn",
        &["exec", "dlx", "node", "config", "create", "init", "plugin", "set", "workspace", "workspaces"],
        false,
    ),
];

/// Why a rule with wildcards does not cover the program `name` with these arguments, of which it
/// gives the first `fixed` literally.
pub(super) fn run<'a>(name: &str, words: impl Iterator<Item = &'a str>, fixed: usize) -> Option<String> {
    let at = TABLE.binary_search_by_key(&name, |(program, ..)| program).ok()?;
    let (_, subcommands, names_inner) = TABLE.get(at)?;
    let words: Vec<&str> = words.collect();
    if name == "gh" && words.contains(&"clone") && words.contains(&"--") {
        return Some("`gh … clone -- …` gives git other settings".to_owned());
    }
    // Options with values may stand before the subcommand.
    let mut behind_option = false;
    for (index, word) in words.iter().enumerate() {
        let is_runner = subcommands.contains(word)
            || (name == "npm" && is_abbreviated(word, subcommands))
            || (name == "pnpm" && !word.starts_with('-') && !PNPM.contains(word))
            || (subcommands.is_empty() && !word.starts_with('-'));
        if is_runner || has_marks(word) {
            let names_program =
                words.get(index + 1).is_some_and(|inner| !inner.starts_with('-')) && fixed > index + 1;
            let is_named = fixed > index && (!names_inner || names_program || subcommands.is_empty());
            return (!is_named).then(|| format!("`{name} {}` may run anything", shown(word)));
        }
        let is_option = word.starts_with('-');
        if !is_option && !behind_option && !is_group(name, word) {
            return None;
        }
        behind_option = is_option;
    }
    None
}

/// The number of arguments before the program that a runner's subcommand runs, for deny and ask rules; the
/// subcommand is empty for a runner that has none.
pub(super) fn inner(runner: &str, subcommand: &str) -> Option<u8> {
    match (runner, subcommand) {
        ("npx" | "bunx" | "pnpx" | "uvx", "") => Some(0),
        ("npm" | "pnpm" | "yarn" | "bun" | "asdf" | "bundle" | "mise", "exec" | "x" | "dlx") => Some(0),
        ("uv" | "pdm" | "pipenv" | "pixi" | "poetry" | "rye" | "pipx" | "conda" | "op", "run") => Some(0),
        ("docker" | "podman" | "docker-compose", "run" | "exec") => Some(1),
        ("kubectl" | "oc", "exec" | "debug") => Some(1),
        ("git", "run" | "foreach") => Some(0),
        _ => None,
    }
}

/// Whether a subcommand follows the word: `docker container run`.
fn is_group(name: &str, word: &str) -> bool {
    matches!(name, "docker" | "podman")
        && matches!(word, "container" | "image" | "volume" | "network" | "system")
}

/// npm takes subcommands in every unambiguous abbreviation.
fn is_abbreviated(word: &str, subcommands: &[&str]) -> bool {
    word.len() > 2 && subcommands.iter().any(|subcommand| subcommand.starts_with(word))
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
        assert!(found("docker container run x", 0) && !found("docker container ls", 0));
        assert!(found("npm exe x", 0) && !found("npm i x", 0) && found("uvx x", 0) && !found("uvx x", 1));
        assert!(found("pnpm touch x", 0) && !found("pnpm -r test", 0) && !found("pnpm touch x", 1));
        assert!(found("gh repo clone a/b -- -c x=y", 0) && !found("gh repo clone a/b", 0));
        assert!(!found("docker ps", 0) && found("docker \u{FDD5}", 0) && !found("npm run \u{FDD5}", 0));
    }
}
