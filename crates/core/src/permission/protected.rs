//! Files whose change would change what runs later without anyone seeing it.
//!
//! What people look at when they review a change, such as a Makefile or a CI workflow, is not among them.

use super::call::disguises;
use super::place::Places;

/// What a model may write below a `.robota` folder; everything else there is settings, sessions, logs
/// and checkpoints.
const OPEN_STATE: [&str; 3] = ["agents", "memory", "skills"];

const GIT: &str = "git's own files";
const HOOKS: &str = "hooks";
const SETTINGS: &str = "settings";
const EDITOR: &str = "settings of an editor";
const SHELL: &str = "a file that shells run when they start";
const LOGIN: &str = "what runs when a user logs in or a machine starts";
const ENTERING: &str = "what programs run on entering a folder";
const START: &str = "what programs run when they start";
const COMMANDS: &str = "commands that users run by their names";

/// Names and runs of names, in lower case; they count at any depth, with everything below them.
const ANYWHERE: &[(&str, &[&str])] = &[
    (GIT, &[".git", ".gitconfig", ".config/git"]),
    (
        HOOKS,
        &[
            ".githooks",
            ".husky",
            ".pre-commit-config.yaml",
            ".pre-commit-config.yml",
            "lefthook.yml",
            "lefthook.yaml",
            "lefthook.toml",
            ".lefthook.yml",
            ".lefthook.yaml",
            ".lefthook.toml",
            "lefthook-local.yml",
            ".lefthook-local.yml",
            ".hg",
            ".hgrc",
            ".claude/hooks",
            ".cursor/hooks",
            ".cursor/hooks.json",
        ],
    ),
    (
        SETTINGS,
        &[
            ".claude.json",
            ".claude/plugins",
            ".codex/config.toml",
            ".cursor/mcp.json",
            ".gemini/settings.json",
            ".ssh",
            ".gnupg",
        ],
    ),
    (
        EDITOR,
        &[
            ".vscode/settings.json",
            ".vscode/tasks.json",
            ".vscode/mcp.json",
            ".idea",
            ".zed",
            ".fleet",
            ".devcontainer",
            ".devcontainer.json",
            ".vim",
            ".vimrc",
            ".gvimrc",
            ".exrc",
            ".nvimrc",
            ".nvim.lua",
            ".config/nvim",
            ".config/vim",
            ".emacs",
            ".emacs.d",
            ".config/emacs",
            ".dir-locals.el",
            ".config/helix",
            ".helix",
            ".config/code/user",
        ],
    ),
    (
        SHELL,
        &[
            ".bash_aliases",
            ".bash_login",
            ".bash_logout",
            ".bash_profile",
            ".bashrc",
            ".inputrc",
            ".profile",
            ".shrc",
            ".shinit",
            ".kshrc",
            ".mkshrc",
            ".yashrc",
            ".cshrc",
            ".tcshrc",
            ".login",
            ".logout",
            ".zshenv",
            ".zshrc",
            ".zprofile",
            ".zlogin",
            ".zlogout",
            ".zsh",
            ".oh-my-zsh",
            ".config/zsh",
            ".config/bash",
            ".config/fish",
            ".config/nushell",
            ".config/elvish",
            ".config/powershell",
            ".config/starship.toml",
            ".xonshrc",
        ],
    ),
    (
        LOGIN,
        &[
            ".xinitrc",
            ".xprofile",
            ".xsession",
            ".xsessionrc",
            ".pam_environment",
            ".config/autostart",
            ".config/environment.d",
            ".config/systemd",
            ".local/share/systemd",
            ".local/share/dbus-1",
            "library/launchagents",
            "library/launchdaemons",
            "var/spool/cron",
        ],
    ),
    (ENTERING, &[".envrc", ".mcp.json", ".mise.toml", "mise.toml", ".config/mise", ".config/direnv"]),
    (
        START,
        &[
            ".npmrc",
            ".yarnrc",
            ".yarnrc.yml",
            ".pnpmfile.cjs",
            ".pnpmfile.mjs",
            ".cargo/config",
            ".cargo/config.toml",
            ".mvn",
            ".m2/settings.xml",
            ".gradle",
            ".bazelrc",
            ".docker/config.json",
            ".docker/cli-plugins",
            ".kube/config",
            ".aws/config",
            "sitecustomize.py",
            "usercustomize.py",
            ".pythonstartup",
            ".irbrc",
            ".pryrc",
            ".rprofile",
            ".gdbinit",
            ".lldbinit",
            ".tmux.conf",
            ".config/tmux",
            ".screenrc",
            ".curlrc",
            ".wgetrc",
            ".psqlrc",
            ".sqliterc",
            ".my.cnf",
            ".mailcap",
        ],
    ),
    (COMMANDS, &[".local/bin", ".cargo/bin", "node_modules/.bin"]),
];

/// The same, from the root of the file system on.
const AT_ROOT: &[&str] = &[
    "etc/profile",
    "etc/profile.d",
    "etc/bash.bashrc",
    "etc/bashrc",
    "etc/environment",
    "etc/zsh",
    "etc/zshenv",
    "etc/zprofile",
    "etc/zshrc",
    "etc/fish",
    "etc/ssh",
    "etc/sudoers",
    "etc/sudoers.d",
    "etc/crontab",
    "etc/cron.d",
    "etc/cron.hourly",
    "etc/cron.daily",
    "etc/cron.weekly",
    "etc/cron.monthly",
    "etc/init.d",
    "etc/rc.local",
    "etc/systemd",
    "etc/ld.so.preload",
    "etc/ld.so.conf",
    "etc/ld.so.conf.d",
    "etc/gitconfig",
    "etc/xdg/autostart",
];

/// What git runs from a folder `hooks`, also in a repository that is not called `.git`.
const GIT_HOOKS: [&str; 28] = [
    "applypatch-msg",
    "commit-msg",
    "fsmonitor-watchman",
    "p4-changelist",
    "p4-post-changelist",
    "p4-pre-submit",
    "p4-prepare-changelist",
    "post-applypatch",
    "post-checkout",
    "post-commit",
    "post-index-change",
    "post-merge",
    "post-receive",
    "post-rewrite",
    "post-update",
    "pre-applypatch",
    "pre-auto-gc",
    "pre-commit",
    "pre-merge-commit",
    "pre-push",
    "pre-rebase",
    "pre-receive",
    "prepare-commit-msg",
    "proc-receive",
    "push-to-checkout",
    "reference-transaction",
    "sendemail-validate",
    "update",
];

/// What `path` is, when its change is asked for whatever the rules and the mode say.
///
/// Names are compared without regard to case and to characters nobody sees, as some file systems do.
pub(super) fn protected(path: &str, places: &Places) -> Option<&'static str> {
    let folded = fold(path);
    let in_state = |folder: &str| folded.strip_prefix(&*fold(folder))?.strip_prefix('/').and_then(in_state);
    if let Some(what) = places.protected().find_map(in_state) {
        return Some(what);
    }
    let names: Vec<&str> = folded.split('/').filter(|name| !name.is_empty()).collect();
    if AT_ROOT.iter().any(|trail| begins_with(&names, trail)) {
        return Some(LOGIN);
    }
    (0..names.len()).find_map(|at| in_list(names.get(at..)?))
}

/// What the file or folder at `path`, relative to any folder, is, when permission rules protect it by its name.
///
/// For sandboxes, which keep the same files as they are. Settings and state below a `.robota` folder and all
/// below a `.git` folder count.
#[must_use]
pub fn protected_name(path: &str) -> Option<&'static str> {
    let folded = fold(path);
    let names: Vec<&str> = folded.split('/').filter(|name| !name.is_empty()).collect();
    (0..names.len()).find_map(|at| in_list(names.get(at..)?))
}

/// What lies at the beginning of `names`, the rest of a path from some name on.
fn in_list(names: &[&str]) -> Option<&'static str> {
    let (name, inner) = (*names.first()?, names.get(1).copied());
    if is_git(name, inner) {
        return Some(GIT);
    }
    let is_settings = |inner: &str| inner.starts_with("settings") && inner.ends_with(".json");
    match (name, inner) {
        (".robota", Some(_)) => {
            if let Some(what) = in_state(&names.get(1..)?.join("/")) {
                return Some(what);
            }
        }
        (".claude", Some(inner)) if is_settings(inner) => return Some(SETTINGS),
        ("hooks", Some(hook)) if GIT_HOOKS.contains(&hook) => return Some(HOOKS),
        ("site-packages" | "dist-packages", Some(inner)) if inner.ends_with(".pth") => return Some(START),
        _ => {}
    }
    let found = ANYWHERE.iter().find(|(_, trails)| trails.iter().any(|trail| begins_with(names, trail)));
    found.map(|(what, _)| *what)
}

/// Whether `name` is a repository by its name, or the file that makes a folder one.
fn is_git(name: &str, inner: Option<&str>) -> bool {
    match inner {
        Some(_) => name.ends_with(".git"),
        // A folder with a file of this name, `objects` and `refs` is a repository, whose settings git obeys.
        None => name == "head",
    }
}

/// What `inner` is in a folder of robota's state.
fn in_state(inner: &str) -> Option<&'static str> {
    let first = inner.split('/').next().unwrap_or_default();
    match first {
        "" => None,
        "hooks" => Some(HOOKS),
        _ if first.starts_with("settings") && first.ends_with(".json") => Some(SETTINGS),
        _ if OPEN_STATE.contains(&first) => None,
        _ => Some("robota's own state"),
    }
}

/// Whether the names of `trail` come first in `names`.
fn begins_with(names: &[&str], trail: &str) -> bool {
    let mut names = names.iter();
    trail.split('/').all(|wanted| names.next().is_some_and(|name| *name == wanted))
}

/// `path` as file systems compare it that ignore case and invisible characters.
fn fold(path: &str) -> String {
    if path.is_ascii() {
        return path.to_ascii_lowercase();
    }
    let seen = path.chars().filter(|c| !disguises(*c));
    seen.flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect()
}
