//! Files whose change would change what runs later without anyone seeing it.

/// What a model may write below a `.robota` folder; everything else there is settings, sessions, logs
/// and checkpoints.
const OPEN_STATE: [&str; 3] = ["agents", "memory", "skills"];

/// Folders of hooks that git runs where a project is set up to use them.
const HOOK_FOLDERS: [&str; 2] = [".githooks", ".husky"];

/// Files that programs run, or take programs to run from, on entering or opening a folder.
const STARTERS: [&str; 2] = [".envrc", ".mcp.json"];

/// Files that shells run when they start.
const SHELL_FILES: [&str; 17] = [
    ".bash_aliases",
    ".bash_login",
    ".bash_logout",
    ".bash_profile",
    ".bashrc",
    ".cshrc",
    ".kshrc",
    ".login",
    ".profile",
    ".tcshrc",
    ".xprofile",
    ".xsessionrc",
    ".zlogin",
    ".zlogout",
    ".zprofile",
    ".zshenv",
    ".zshrc",
];

/// What `path` is, when its change is asked for whatever the rules and the mode say.
///
/// Names are compared without regard to case, as some file systems do.
pub(super) fn protected(path: &str) -> Option<&'static str> {
    let mut names = path.split('/').skip_while(|name| name.is_empty()).peekable();
    while let Some(name) = names.next() {
        if name.eq_ignore_ascii_case(".git") {
            return Some("git's own files");
        }
        if is_one_of(name, &HOOK_FOLDERS) {
            return Some("hooks");
        }
        let inner = names.peek().copied().unwrap_or_default();
        if let Some(what) = in_tool_folder(name, inner) {
            return Some(what);
        }
        if inner.is_empty() && is_one_of(name, &STARTERS) {
            return Some("what programs run on entering a folder");
        }
        if inner.is_empty() && is_one_of(name, &SHELL_FILES) {
            return Some("a file that shells run when they start");
        }
        if name.eq_ignore_ascii_case("fish") && path.to_ascii_lowercase().contains("/.config/fish/") {
            return Some("a file that shells run when they start");
        }
    }
    None
}

/// What `inner` is in the folder `name`, when that belongs to robota, Claude Code or an editor.
fn in_tool_folder(name: &str, inner: &str) -> Option<&'static str> {
    let inner = inner.to_ascii_lowercase();
    let is_settings = inner.starts_with("settings") && inner.ends_with(".json");
    match name.to_ascii_lowercase().as_str() {
        ".robota" | ".claude" if inner == "hooks" => Some("hooks"),
        ".robota" | ".claude" if is_settings => Some("settings"),
        ".robota" if !inner.is_empty() && !OPEN_STATE.contains(&inner.as_str()) => Some("robota's own state"),
        ".vscode" if matches!(inner.as_str(), "settings.json" | "tasks.json") => {
            Some("settings of an editor")
        }
        _ => None,
    }
}

fn is_one_of(name: &str, list: &[&str]) -> bool {
    list.iter().any(|entry| entry.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn protected_names_are_found_at_any_depth() {
        for path in [
            "/w/.git",
            "/w/sub/.git/hooks/pre-commit",
            "/w/.GIT/config",
            "/w/.robota/settings.json",
            "/w/.claude/settings.local.json",
            "/w/.robota/hooks/x.sh",
            "/w/.robota/sessions/x.json",
            "/w/sub/.Robota/logs/x.jsonl",
            "/w/.robota/checkpoints/1/a",
            "/w/.robota/skills/x/.git/config",
            "/w/sub/.envrc",
            "/w/.mcp.json",
            "/w/.vscode/tasks.json",
            "/w/sub/.vscode/settings.json",
            "/w/.husky/pre-commit",
            "/w/.githooks/x",
            "/home/u/.bashrc",
            "/home/u/.zshenv",
            "/home/u/.config/fish/config.fish",
        ] {
            assert!(protected(path).is_some(), "{path}");
        }
        for path in [
            "/w/.gitignore",
            "/w/.github/x",
            "/w/.robota/memory/x.md",
            "/w/.robota/agents/x.md",
            "/w/.robota/skills/x/SKILL.md",
            "/w/.claude/agents/x.md",
            "/w/.vscode/launch.json",
            "/w/.envrc/x",
            "/w/.robota",
            "/w/bashrc",
            "/w/settings.json",
        ] {
            assert!(protected(path).is_none(), "{path}");
        }
    }
}
