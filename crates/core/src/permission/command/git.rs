//! Options and subcommands of `git` that make it run other programs or write outside its work.

use super::options;
use super::words::has_marks;
use super::wrapper::shown;

/// Options before the subcommand that neither take a value of their own nor bring other settings, programs or
/// repositories with them. (`--bare` makes a repository of the folder, with the settings in it.)
const PLAIN: [&str; 18] = [
    "--glob-pathspecs",
    "--help",
    "--html-path",
    "--icase-pathspecs",
    "--info-path",
    "--literal-pathspecs",
    "--man-path",
    "--no-advice",
    "--no-lazy-fetch",
    "--no-optional-locks",
    "--no-pager",
    "--no-replace-objects",
    "--noglob-pathspecs",
    "--paginate",
    "--version",
    "-P",
    "-h",
    "-p",
];

/// Options before the subcommand that take the next word for their value where they have none.
const WITH_VALUE: [&str; 9] = [
    "-C",
    "-c",
    "--attr-source",
    "--config-env",
    "--git-dir",
    "--namespace",
    "--shallow-file",
    "--super-prefix",
    "--work-tree",
];

/// Options of any subcommand that run a program or write a file.
const ANYWHERE: &str = "--exec --upload-pack --receive-pack --extcmd --open-files-in-pager --ext-diff --textconv --output --template --config --upload-archive --tree-filter =ext:: =--to-cmd =--cc-cmd =--smtp-server =--sendmail-cmd =--header-cmd =--remote-cmd --separate-git-dir";

/// Subcommands of which no option runs a program or writes outside the repository's files.
const HARMLESS: [&str; 16] = [
    "add",
    "branch",
    "checkout",
    "commit",
    "describe",
    "ls-files",
    "merge-base",
    "mv",
    "reset",
    "restore",
    "rev-parse",
    "rm",
    "stash",
    "status",
    "switch",
    "worktree",
];

/// Subcommands, and what is risky among their arguments.
const SUBCOMMANDS: &[(&str, &str)] = &[
    ("apply", "--unsafe-paths --build-fake-ancestor"),
    ("archive", "-o --remote"),
    ("bugreport", "-o"),
    ("checkout-index", "--prefix"),
    ("cherry-pick", "--strategy"),
    ("clone", "-u -c -o"),
    ("diagnose", "-o"),
    ("difftool", "-x -t --tool"),
    ("diff", "-o"),
    ("fast-export", "--export-marks"),
    ("format-patch", "-o"),
    ("grep", "-O"),
    ("index-pack", "-o"),
    ("init", "-t"),
    ("interpret-trailers", "--in-place --trailer"),
    ("mergetool", "-t --tool"),
    ("read-tree", "--index-output"),
    ("rebase", "-x -i --interactive -s --strategy"),
    ("revert", "--strategy"),
    ("tag", "-u"),
];

/// Subcommands that run what their arguments or settings say, whatever the options; in the second
/// place those of their actions that do not.
const RUNNING: &[(&str, &[&str])] = &[
    ("bisect", &["start", "bad", "good", "new", "old", "skip", "next", "reset", "log", "terms"]),
    ("archimport", &[]),
    ("bundle", &["list-heads", "verify"]),
    ("citool", &[]),
    ("cvsexportcommit", &[]),
    ("cvsimport", &[]),
    ("cvsserver", &[]),
    ("fast-import", &[]),
    ("fsmonitor--daemon", &["status"]),
    ("http-backend", &[]),
    ("http-fetch", &[]),
    ("http-push", &[]),
    ("imap-send", &[]),
    ("mailinfo", &[]),
    ("mailsplit", &[]),
    ("maintenance", &["run"]),
    ("pack-objects", &[]),
    ("quiltimport", &[]),
    ("scalar", &[]),
    ("credential", &[]),
    ("daemon", &[]),
    ("filter-branch", &[]),
    ("for-each-repo", &[]),
    ("gui", &[]),
    ("help", &[]),
    ("hook", &[]),
    ("instaweb", &[]),
    ("merge-index", &[]),
    ("p4", &[]),
    ("receive-pack", &[]),
    ("send-email", &[]),
    ("shell", &[]),
    ("svn", &[]),
    ("submodule", &["status", "summary", "init", "sync", "absorbgitdirs"]),
    ("upload-archive", &[]),
    ("upload-pack", &[]),
    ("var", &["-l"]),
    ("web--browse", &[]),
];

/// Why a rule with wildcards does not cover `git` with these arguments, of which it gives the first
/// `fixed` literally: what those set, the user has agreed to.
pub(super) fn reaches_further<'a>(
    name: &str,
    words: impl Iterator<Item = &'a str> + Clone,
    fixed: usize,
) -> Option<String> {
    let word = if name == "git" { risky(words, fixed)? } else { return None };
    Some(format!("`git {}` can make git run or write anything", shown(word)))
}

fn risky<'a>(words: impl Iterator<Item = &'a str> + Clone, fixed: usize) -> Option<&'a str> {
    let mut rest = words.clone().enumerate();
    while let Some((at, word)) = rest.next() {
        if options::may_be_option(word) {
            return Some(word);
        }
        if !word.starts_with('-') {
            return subcommand(word, words.skip(at + 1), fixed.saturating_sub(at + 1), fixed > at);
        }
        if PLAIN.contains(&word) {
            continue;
        }
        let takes_next = WITH_VALUE.contains(&word);
        if fixed < at + 1 + usize::from(takes_next) {
            return Some(word);
        }
        if takes_next {
            rest.next();
        }
    }
    None
}

/// `fixed` is the number of the subcommand's arguments that the rule gives.
fn subcommand<'a>(
    name: &'a str,
    words: impl Iterator<Item = &'a str> + Clone,
    fixed: usize,
    is_named: bool,
) -> Option<&'a str> {
    let action = words.clone().next();
    if name == "config" {
        // Reading settings is harmless, and nothing else may follow.
        let reads = |word: &str| {
            matches!(word, "get" | "list" | "-l") || word.starts_with("--get") || word == "--list"
        };
        // `git config user.name` reads as well; a second word would set it.
        let is_scope = |word: &&str| matches!(*word, "--global" | "--local" | "--system" | "--worktree");
        let names: Vec<&str> = words.filter(|word| !is_scope(word)).collect();
        let asks =
            matches!(names[..], [name] if !name.starts_with('-') && name.contains('.') && !has_marks(name));
        return (fixed < 1 && !action.is_none_or(reads) && !asks).then_some(name);
    }
    if let Some((_, harmless)) = RUNNING.iter().find(|(runner, _)| *runner == name) {
        let is_harmless = match action {
            None => !harmless.is_empty() || name == "help",
            Some(action) => harmless.contains(&action),
        };
        return (!(is_harmless || is_named && fixed >= 1)).then_some(name);
    }
    if HARMLESS.contains(&name) {
        return None;
    }
    let is_helper = ["credential-", "remote-", "submodule--", "mergetool--"]
        .iter()
        .any(|prefix| name.starts_with(prefix));
    // git runs `git-NAME`, with a slash in the name from where that leads.
    if options::may_be_option(name) || name.contains("::") || name.contains('/') || is_helper {
        return Some(name);
    }
    let own = SUBCOMMANDS.iter().find(|(subcommand, _)| *subcommand == name).map_or("", |(_, own)| own);
    options::find(ANYWHERE, words.clone(), fixed, false).or_else(|| options::find(own, words, fixed, false))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_and_programs_from_elsewhere_are_found() {
        let found = |command: &'static str, fixed| risky(command.split(' '), fixed);
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
            ("config user.name x", 2, None),
            ("config --get user.name", 0, None),
            ("config", 0, None),
            ("config --global user.name", 0, None),
            ("config user.\u{FDD5}", 0, Some("config")),
            ("config --unset user.name", 0, Some("config")),
            ("rebase --exec id", 0, Some("--exec")),
            ("rebase -x id main", 1, Some("-x")),
            ("rebase main", 0, None),
            ("bisect run x", 0, Some("bisect")),
            ("bisect good", 0, None),
            ("remote-ext x id", 0, Some("remote-ext")),
            ("merge-index id -a", 0, Some("merge-index")),
            ("log -S -- \u{FDD4}", 0, Some("\u{FDD4}")),
            ("bisect run x", 2, None),
            ("submodule foreach id", 0, Some("submodule")),
            ("grep -Oid x", 0, Some("-Oid")),
            ("fetch --upload-pa=x y", 0, Some("--upload-pa=x")),
            ("ls-remote ext::id", 0, Some("ext::id")),
            ("diff --output=x", 0, Some("--output=x")),
            ("log --oneline", 0, None),
            ("a/b", 0, Some("a/b")),
            ("--shallow-file status submodule foreach id", 0, Some("--shallow-file")),
            ("--bare log", 0, Some("--bare")),
            ("instaweb", 0, Some("instaweb")),
            ("help", 0, None),
            ("bundle create x HEAD", 0, Some("bundle")),
            ("apply --unsafe-paths x", 0, Some("--unsafe-paths")),
            ("checkout-index --prefix=/x/ -a", 0, Some("--prefix=/x/")),
            ("rebase -s ../x main", 0, Some("-s")),
            ("bisect", 0, None),
            ("commit -m x", 0, None),
            ("checkout -- \u{FDD5}", 0, None),
            ("add \u{FDD0}.rs", 0, None),
            ("diff \u{FDD0}.rs", 0, Some("\u{FDD0}.rs")),
            ("commit -m \u{FDD4}", 0, None),
            ("\u{FDD5}", 0, Some("\u{FDD5}")),
        ] {
            assert_eq!(found(command, fixed), expected, "{command}");
        }
    }
}
