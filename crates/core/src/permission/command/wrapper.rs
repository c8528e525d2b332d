//! Programs that run other programs.

use super::words::{WORD_GAP, is_bracket, is_mark, unmarked};
use super::{builtins, git, interpreters, options, runners, sed};
use crate::permission::call::quote;

/// Programs whose arguments name a program to run, with the number of arguments before its name
/// (options not counted).
const WRAPPERS: &[(&str, u8)] = &[
    (".", 0),
    ("ash", 0),
    ("at", 0),
    ("autossh", 0),
    ("bash", 0),
    ("batch", 0),
    ("bind", 0),
    ("builtin", 0),
    ("busybox", 0),
    ("bwrap", 0),
    ("caffeinate", 0),
    ("capsh", 0),
    ("catatonit", 0),
    ("catchsegv", 0),
    ("cgexec", 0),
    ("choom", 0),
    ("chpst", 0),
    ("chronic", 0),
    ("chroot", 1),
    ("chrt", 1),
    ("cmd", 0),
    ("command", 0),
    ("compgen", 0),
    ("complete", 0),
    ("concurrently", 0),
    ("coproc", 0),
    ("coreutils", 0),
    ("cpulimit", 0),
    ("crontab", 0),
    ("cross-env", 0),
    ("csh", 0),
    ("daemonize", 0),
    ("dash", 0),
    ("dbus-run-session", 0),
    ("direnv", 2),
    ("doas", 0),
    ("dotenvx", 0),
    ("dtrace", 0),
    ("dumb-init", 0),
    ("eatmydata", 0),
    ("elvish", 0),
    ("entr", 0),
    ("env", 0),
    ("envdir", 1),
    ("eval", 0),
    ("exec", 0),
    ("expect", 0),
    ("fakechroot", 0),
    ("fakeroot", 0),
    ("faketime", 1),
    ("fc", 0),
    ("firejail", 0),
    ("fish", 0),
    ("flock", 1),
    ("gdb", 0),
    ("gdbserver", 1),
    ("genv", 0),
    ("gnice", 0),
    ("gosu", 1),
    ("gtime", 0),
    ("gtimeout", 1),
    ("gxargs", 0),
    ("heaptrack", 0),
    ("hyperfine", 0),
    ("i386", 0),
    ("ifne", 0),
    ("ionice", 0),
    ("jobs", 0),
    ("ksh", 0),
    ("lckdo", 1),
    ("ld.so", 0),
    ("linux32", 0),
    ("linux64", 0),
    ("lldb", 0),
    ("logsave", 1),
    ("ltrace", 0),
    ("machinectl", 2),
    ("mksh", 0),
    ("mosh", 1),
    ("newgrp", 0),
    ("nice", 0),
    ("nodemon", 0),
    ("nohup", 0),
    ("nsenter", 0),
    ("nu", 0),
    ("numactl", 0),
    ("parallel", 0),
    ("pdsh", 0),
    ("pee", 0),
    ("perf", 1),
    ("pkexec", 0),
    ("posh", 0),
    ("powershell", 0),
    ("prlimit", 0),
    ("proot", 0),
    ("proxychains", 0),
    ("proxychains4", 0),
    ("pwsh", 0),
    ("rbash", 0),
    ("retry", 0),
    ("rlwrap", 0),
    ("rr", 1),
    ("rtprio", 0),
    ("run-one", 0),
    ("run-parts", 0),
    ("run0", 0),
    ("runcon", 1),
    ("runuser", 0),
    ("s6-setuidgid", 1),
    ("screen", 0),
    ("script", 1),
    ("sem", 0),
    ("setarch", 0),
    ("setlock", 1),
    ("setpriv", 0),
    ("setsid", 0),
    ("setuidgid", 1),
    ("sg", 1),
    ("sh", 0),
    ("softlimit", 0),
    ("source", 0),
    ("ssh", 1),
    ("ssh-agent", 0),
    ("sshpass", 0),
    ("start-stop-daemon", 0),
    ("stdbuf", 0),
    ("strace", 0),
    ("su", 1),
    ("su-exec", 1),
    ("sudo", 0),
    ("systemd-cat", 0),
    ("systemd-inhibit", 0),
    ("systemd-nspawn", 0),
    ("systemd-run", 0),
    ("systemd-socket-activate", 0),
    ("taskset", 1),
    ("tcsh", 0),
    ("time", 0),
    ("timelimit", 0),
    ("timeout", 1),
    ("tini", 0),
    ("tmux", 1),
    ("torify", 0),
    ("torsocks", 0),
    ("toybox", 0),
    ("trap", 0),
    ("tsocks", 0),
    ("tsp", 0),
    ("uclampset", 0),
    ("uftrace", 1),
    ("uname26", 0),
    ("unbuffer", 0),
    ("unshare", 0),
    ("valgrind", 0),
    ("watch", 0),
    ("watchexec", 0),
    ("wine", 0),
    ("x86_64", 0),
    ("xargs", 0),
    ("xonsh", 0),
    ("xvfb-run", 0),
    ("yash", 0),
    ("zrun", 0),
    ("zsh", 0),
];

/// Shells, which run the script named by their first argument.
const SHELLS: &[&str] =
    &["ash", "bash", "csh", "dash", "fish", "ksh", "mksh", "rbash", "sh", "tcsh", "yash", "zsh"];

/// Programs that hand text in their arguments or their input to a shell.
const TEXT_RUNNERS: &[&str] = &[
    "at",
    "batch",
    "env",
    "eval",
    "foreach",
    "hyperfine",
    "npx",
    "screen",
    "script",
    "ssh",
    "su",
    "tmux",
    "trap",
    "watch",
];

/// Interpreters whose first argument is a program, or names one that a later argument can replace, and
/// programs that run what they read as commands, such as editors.
const PROGRAM_TAKERS: &[&str] = &[
    "ansible",
    "awk",
    "clickhouse-client",
    "clisp",
    "dc",
    "duckdb",
    "ed",
    "evim",
    "ex",
    "ftp",
    "gawk",
    "ghci",
    "gnuplot",
    "gp",
    "gvim",
    "iex",
    "igawk",
    "jshell",
    "kak",
    "lftp",
    "m4",
    "mail",
    "mailx",
    "mariadb",
    "mawk",
    "maxima",
    "mongo",
    "mongosh",
    "mutt",
    "mysql",
    "mysqlsh",
    "nawk",
    "nc",
    "ncat",
    "netcat",
    "nvim",
    "ocaml",
    "octave",
    "original-awk",
    "pgawk",
    "psql",
    "red",
    "rview",
    "rvim",
    "sbcl",
    "socat",
    "sqlite",
    "sqlite3",
    "tclsh",
    "telnet",
    "utop",
    "vi",
    "view",
    "vim",
    "vimdiff",
    "vimx",
    "wish",
];

/// Commands of the shell that read a variable's name from an argument, and expand what they find in
/// its subscript: `printf -v 'a[$(rm x)]'`.
const SUBSCRIPT_READERS: &[&str] = &[
    "[",
    "declare",
    "export",
    "let",
    "local",
    "mapfile",
    "printf",
    "read",
    "readarray",
    "readonly",
    "test",
    "typeset",
    "unset",
    "wait",
];

/// Words of the shell's grammar behind which a command begins.
const OPENERS: &[&str] =
    &["!", "{", "coproc", "do", "elif", "else", "function", "if", "then", "time", "until", "while"];

/// The last name of a path to a program.
pub(super) fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// The number of arguments that stand before the inner program's name, when `program` wraps one.
pub(super) fn positionals(program: &str) -> Option<u8> {
    let name = base_name(program);
    WRAPPERS.binary_search_by_key(&name, |(wrapper, _)| wrapper).ok().and_then(|at| Some(WRAPPERS.get(at)?.1))
}

/// Whether `program` may run a command line that is given as text.
pub(super) fn runs_text(program: &str) -> bool {
    let name = base_name(program);
    SHELLS.contains(&name) || TEXT_RUNNERS.contains(&name) || matches!(name, "parallel" | "xargs")
}

/// Whether the command with these words may run a quotation of its line: a shell without a script, or a
/// program that hands its arguments to one.
pub(super) fn runs_quotation(words: &str) -> bool {
    let mut words = words.split(WORD_GAP);
    let name = base_name(words.next().unwrap_or_default());
    TEXT_RUNNERS.contains(&name)
        || (SHELLS.contains(&name) && words.next().is_none_or(|word| word.starts_with('-')))
}

/// Whether a command begins behind the word `word`.
pub(super) fn opens_command(word: &str) -> bool {
    OPENERS.contains(&word)
}

/// Whether `word` is an option of `find` behind which a command stands.
pub(super) fn is_find_exec(word: &str) -> bool {
    matches!(word, "-exec" | "-execdir" | "-ok" | "-okdir")
}

/// Whether `word` sets a variable: `NAME=…`, `NAME+=…`, `NAME[…]=…`.
pub(super) fn is_assignment(word: &str) -> bool {
    let Some((name, _)) = word.split_once('=') else { return false };
    let name = name.strip_suffix('+').unwrap_or(name);
    let name = name.split('[').next().unwrap_or(name);
    let mut chars = name.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Why a rule with wildcards does not cover the command with these words: it may run or write
/// anything. `fixed` is the number of words that the rule gives literally.
pub(super) fn runs_anything(words: &str, fixed: usize) -> Option<String> {
    let mut words = words.split(WORD_GAP);
    let program = words.next()?;
    let name = if is_bracket(program) { "[" } else { base_name(program) };
    if let Some(first) = words.clone().next()
        && SHELLS.contains(&name)
        && fixed >= 2
        && !first.starts_with(['-', '+'])
    {
        return None;
    }
    if positionals(name).is_some() && !(name == "env" && words.clone().next().is_none()) {
        return Some(format!("`{name}` runs the command in its arguments"));
    }
    if PROGRAM_TAKERS.contains(&name) {
        return Some(format!("`{name}` runs the program in its arguments"));
    }
    if SUBSCRIPT_READERS.contains(&name) && words.clone().any(|word| word.contains(['$', '`'])) {
        return Some(format!("`{name}` may expand the `$` in its arguments"));
    }
    let found = builtins::changes(name, words.clone())
        .or_else(|| find(name, words.clone()))
        .or_else(|| sed_script(name, words.clone()))
        .or_else(|| second_operand(name, words.clone()))
        .or_else(|| git::reaches_further(name, words.clone(), fixed.saturating_sub(1)))
        .or_else(|| runners::run(name, words.clone(), fixed.saturating_sub(1)))
        .or_else(|| options::risky(name, words.clone(), fixed.saturating_sub(1)));
    if found.is_some() {
        return found;
    }
    interpreters::runs_text(name, words)
}

/// A word in a reason.
pub(super) fn shown(word: &str) -> String {
    quote(&unmarked(word))
}

fn find<'a>(name: &str, mut words: impl Iterator<Item = &'a str>) -> Option<String> {
    if !matches!(name, "find" | "gfind" | "bfs") {
        return None;
    }
    let acts =
        |word: &str| is_find_exec(word) || matches!(word, "-delete" | "-fls") || word.starts_with("-fprint");
    let word = words.find(|word| acts(word) || options::may_be_option(word))?;
    Some(format!("`find {}` may change or run something", shown(word)))
}

fn sed_script<'a>(name: &str, words: impl Iterator<Item = &'a str>) -> Option<String> {
    if !matches!(name, "sed" | "gsed") {
        return None;
    }
    let word = sed::more_than_printing(words)?;
    Some(format!("`{name}` may run or write something with `{}`", shown(word)))
}

/// `uniq a b` and `xxd a b` write the second file.
fn second_operand<'a>(name: &str, words: impl Iterator<Item = &'a str>) -> Option<String> {
    let values: &[&str] = match name {
        "uniq" | "guniq" => &["-f", "-s", "-w"],
        "xxd" => &["-c", "-cols", "-g", "-groupsize", "-l", "-len", "-n", "-name", "-o", "-s", "-seek", "-R"],
        _ => return None,
    };
    let mut is_value = false;
    let mut operands = words.filter(|word| {
        let was_value = std::mem::replace(&mut is_value, values.contains(word));
        word.contains(is_mark) || !(was_value || word.len() > 1 && word.starts_with('-'))
    });
    let first = operands.next()?;
    let output = if first.contains(is_mark) { first } else { operands.next()? };
    (output != "-").then(|| format!("`{name}` may write `{}`", shown(output)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted() {
        assert!(WRAPPERS.is_sorted_by_key(|(name, _)| *name));
        assert_eq!(positionals("/usr/bin/timeout"), Some(1));
        assert_eq!(positionals("times"), None);
    }

    #[test]
    fn only_what_runs_anything_is_held_back() {
        let check = |command: &str, fixed| runs_anything(&command.replace(' ', "\0"), fixed).is_some();
        assert!(!check("env", 1) && check("env git status", 1) && check("/usr/bin/sudo -u x ls", 3));
        assert!(check("bash -c x", 2) && check("bash", 1) && !check("bash run.sh -c", 2));
        assert!(check("python3.12 -c x", 1) && check("perl -ne x", 1) && check("node --eval=x", 1));
        assert!(
            check("python3 -m timeit x", 1) && check("python3 -m code", 1) && !check("python3 -u x.py", 1)
        );
        assert!(check("php -d a=b x.php", 1) && check("node --loader=x y.js", 1) && check("bun exec x", 1));
        assert!(
            check("uniq a b", 1) && !check("uniq -f 1 a", 1) && !check("uniq -c", 1) && check("xxd a b", 1)
        );
        assert!(
            !check("xxd -l 16 a", 1) && check("vim x", 1) && check("npx -c x", 1) && check("ssh-agent x", 1)
        );
        assert!(check("python -W error -c x", 1) && check("deno eval x", 1));
        assert!(check("perl -MFoo=bar run.pl", 1) && check("gawk -f x.awk", 1) && check("sed -i p x", 1));
        assert!(check("git -c a.b=c status", 1) && !check("git status", 1) && !check("sed -n 5p x", 1));
        assert!(!check("python3 run.py -c", 1) && !check("python -m pytest -c x", 1));
        assert!(check("find . -exec rm x", 1) && check("find . -delete", 1) && !check("find . -name x", 1));
        assert!(is_assignment("A=1") && is_assignment("_a+=1") && is_assignment("a[0]=x"));
        assert!(!is_assignment("1=2") && !is_assignment("--a=b") && !is_assignment("=x"));
    }
}
