//! Files whose change would change what runs later without anyone seeing it.

/// Folders that hold settings and hooks.
const SETTINGS_FOLDERS: [&str; 2] = [".robota", ".claude"];

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
        if is_one_of(name, &SETTINGS_FOLDERS) {
            let inner = names.peek().copied().unwrap_or_default().to_ascii_lowercase();
            if inner == "hooks" {
                return Some("hooks");
            }
            if inner.starts_with("settings") && inner.ends_with(".json") {
                return Some("settings");
            }
        }
        if names.peek().is_none() && is_one_of(name, &SHELL_FILES) {
            return Some("a file that shells run when they start");
        }
        if name.eq_ignore_ascii_case("fish") && path.to_ascii_lowercase().contains("/.config/fish/") {
            return Some("a file that shells run when they start");
        }
    }
    None
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
            "/w/.robota",
            "/w/bashrc",
            "/w/settings.json",
        ] {
            assert!(protected(path).is_none(), "{path}");
        }
    }
}
