use super::*;

/// Paths, a blank between them, and what they are.
const PROTECTED: [(&str, &str); 15] = [
    ("/w/.git /w/sub/.git/hooks/x /w/.GIT/config /w/.robota/skills/x/.git/config", "git's own files"),
    ("/home/u/.gitconfig /home/u/.config/git/config /srv/bare/HEAD /srv/a.git/config", "git's own files"),
    ("/w/.husky/pre-commit /w/.githooks/x /srv/bare/hooks/pre-receive /w/.pre-commit-config.yaml", "hooks"),
    ("/w/.robota/hooks/x.sh /w/.claude/hooks/x.sh /srv/robota/hooks/x", "hooks"),
    ("/w/.robota/settings.json /w/.claude/settings.local.json /srv/robota/settings.json", "settings"),
    ("/home/u/.ssh/authorized_keys /home/u/.ssh/config /home/u/.claude.json", "settings"),
    ("/w/.robota/sessions/x.json /w/sub/.Robota/logs/x.jsonl /srv/ROBOTA/logs/x", "robota's own state"),
    ("/w/.vscode/tasks.json /w/.idea/x /w/.devcontainer.json /home/u/.vimrc", "settings of an editor"),
    ("/home/u/.bashrc /home/u/.zshenv /home/u/.profile", "a file that shells run when they start"),
    ("/home/u/.kshrc /home/u/.config/fish/config.fish", "a file that shells run when they start"),
    (
        "/home/u/.config/autostart/x /home/u/.config/systemd/user/x",
        "what runs when a user logs in or a machine starts",
    ),
    ("/etc/profile.d/x /etc/cron.d/x /Etc/Crontab", "what runs when a user logs in or a machine starts"),
    ("/w/sub/.envrc /w/.mcp.json", "what programs run on entering a folder"),
    (
        "/w/.cargo/config.toml /w/.npmrc /v/lib/site-packages/x.pth /w/sitecustomize.py",
        "what programs run when they start",
    ),
    ("/home/u/.local/bin/ls /w/node_modules/.bin/tsc", "commands that users run by their names"),
];

/// What people see when they review a change, and names that only look like protected ones.
const OPEN: [&str; 19] = [
    "/w/.gitignore",
    "/w/.github/workflows/ci.yml",
    "/w/.robota/memory/x.md",
    "/w/.robota/agents/x.md",
    "/w/.robota/skills/x/SKILL.md",
    "/w/.robota",
    "/w/.claude/agents/x.md",
    "/w/.vscode/launch.json",
    "/w/src/hooks/use_state.ts",
    "/w/hooks/pre-commit.sample",
    "/w/bashrc",
    "/w/settings.json",
    "/w/Makefile",
    "/w/etc/profile",
    "/w/cargo/config.toml",
    "/srv/robota/memory/x.md",
    "/srv/robotastate/settings.json",
    "/w/x.pth",
    "/w/a.git",
];

/// What `path` is when Write is asked about it in the mode that asks least.
fn protection(path: &str) -> Option<String> {
    let policy = policy(PermissionMode::BypassPermissions, &[], &[], &["Write", "Edit"]);
    let reason = policy.on_path("Write", path).reason;
    let (_, behind) = reason.split_once(" is protected (")?;
    Some(behind.split_once("): ").unwrap().0.to_owned())
}

#[test]
fn what_runs_later_is_protected_wherever_it_lies() {
    for (paths, what) in PROTECTED {
        for path in paths.split(' ') {
            assert_eq!(protection(path).as_deref(), Some(what), "{path}");
        }
    }
    for path in OPEN {
        assert_eq!(protection(path), None, "{path}");
    }
}
