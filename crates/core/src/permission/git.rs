//! Options of `git` that make an innocent subcommand do anything.

/// Options before the subcommand that bring other settings, programs or repositories with them.
const REDIRECTING: [&str; 7] =
    ["-C", "-c", "--config-env", "--exec-path", "--git-dir", "--namespace", "--work-tree"];

/// The argument of a `git` call that could make git run something else. `fixed` is the number of
/// arguments that the rule gives literally; what they set, the user has agreed to.
pub(super) fn redirected<'a>(words: impl Iterator<Item = &'a str>, fixed: usize) -> Option<&'a str> {
    let mut words = words.enumerate();
    while let Some((at, word)) = words.next() {
        if !word.starts_with('-') {
            // Reading settings is harmless, and nothing else may follow.
            let reads = |word: &str| {
                matches!(word, "get" | "list" | "-l") || word.starts_with("--get") || word == "--list"
            };
            let is_config = word == "config" && fixed < at + 2;
            return (is_config && !words.next().is_none_or(|(_, action)| reads(action))).then_some(word);
        }
        let name = word.split('=').next().unwrap_or(word);
        if REDIRECTING.contains(&name) {
            let takes_next = !word.contains('=');
            if fixed < at + 1 + usize::from(takes_next) {
                return Some(word);
            }
            if takes_next {
                words.next();
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_and_repositories_from_elsewhere_are_found() {
        let found = |command: &'static str, fixed| redirected(command.split(' '), fixed);
        for (command, fixed, expected) in [
            ("status -c", 0, None),
            ("--no-pager log -C", 0, None),
            ("-c alias.x=!id x", 0, Some("-c")),
            ("--no-pager -C ../other status", 1, Some("-C")),
            ("-C sub status", 2, None),
            ("-C sub -c a=b status", 2, Some("-c")),
            ("--git-dir=/x status", 0, Some("--git-dir=/x")),
            ("--exec-path /x status", 0, Some("--exec-path")),
            ("config alias.x !id", 0, Some("config")),
            ("config core.fsmonitor x", 1, Some("config")),
            ("config user.name x", 2, None),
            ("config --get user.name", 0, None),
            ("config", 0, None),
        ] {
            assert_eq!(found(command, fixed), expected, "{command}");
        }
    }
}
