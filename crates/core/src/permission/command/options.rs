//! Options that make an innocent program run other programs, or write where it likes.

use super::words::is_mark;
use super::wrapper::shown;

/// A program and what is risky among its arguments: `--long` (in every abbreviation), `-x` (a letter,
/// in clusters too), `=text` (a word that begins so), and `NAME=` (any word with `=`).
type Risks = (&'static str, &'static [&'static str]);

const VI: &[&str] =
    &["-c", "--cmd", "-S", "-s", "-u", "-U", "-i", "-w", "-W", "--listen", "--startuptime", "=+"];
const TAR: &[&str] = &[
    "--checkpoint-action",
    "--to-command",
    "--use-compress-program",
    "-I",
    "--info-script",
    "--new-volume-script",
    "-F",
    "--rsh-command",
    "--rmt-command",
    "--absolute-names",
    "-P",
    "--index-file",
];
const COMPILER: &[&str] =
    &["=-wrapper", "=-B", "=-specs", "=--specs", "=-fplugin", "=-Xclang", "=-ld-path", "=@"];
const PACKAGES: &[&str] = &[
    "--script-shell",
    "--shell",
    "--prefix",
    "-C",
    "--dir",
    "--cwd",
    "--node-options",
    "--userconfig",
    "--globalconfig",
];

/// Sorted by name.
const TABLE: &[Risks] = &[
    ("7z", &["=-si", "=-so"]),
    ("bsdtar", TAR),
    ("c++", COMPILER),
    ("cargo", &["--config", "-C", "-Z"]),
    ("cc", COMPILER),
    ("clang", COMPILER),
    ("clang++", COMPILER),
    ("cmake", &["-P", "-E", "-C", "--toolchain"]),
    ("cpio", &["--rsh-command", "-O", "-F", "-I"]),
    (
        "curl",
        &[
            "-o",
            "-O",
            "--output",
            "--remote-name",
            "--remote-name-all",
            "--output-dir",
            "-K",
            "--config",
            "-c",
            "--cookie-jar",
            "-D",
            "--dump-header",
            "--trace",
            "--trace-ascii",
            "--stderr",
            "--libcurl",
            "--hsts",
            "--alt-svc",
            "--etag-save",
            "-J",
            "--engine",
            "--netrc-file",
        ],
    ),
    ("date", &["-s", "--set"]),
    ("dd", &["=of="]),
    (
        "emacs",
        &["--eval", "--execute", "--load", "-l", "--script", "--funcall", "-f", "--batch", "-Q", "--insert"],
    ),
    ("fd", &["-x", "-X", "--exec", "--exec-batch"]),
    ("fdfind", &["-x", "-X", "--exec", "--exec-batch"]),
    ("g++", COMPILER),
    ("gcc", COMPILER),
    (
        "gmake",
        &["--eval", "-E", "-f", "--file", "--makefile", "-C", "--directory", "-I", "--include-dir", "NAME="],
    ),
    (
        "go",
        &[
            "=-exec",
            "=--exec",
            "=-toolexec",
            "=--toolexec",
            "=-overlay",
            "=--overlay",
            "=-vettool",
            "=--vettool",
            "-C",
            "=-o",
            "=-modfile",
            "=-ldflags",
            "=-gcflags",
        ],
    ),
    ("gsort", &["--compress-program", "--output", "-o", "-T", "--temporary-directory"]),
    ("gtar", TAR),
    ("gvim", VI),
    (
        "just",
        &[
            "--shell",
            "--shell-arg",
            "-f",
            "--justfile",
            "-d",
            "--working-directory",
            "--set",
            "-c",
            "--command",
            "--chooser",
            "NAME=",
        ],
    ),
    (
        "less",
        &[
            "=+",
            "-o",
            "-O",
            "--log-file",
            "--LOG-FILE",
            "-k",
            "--lesskey-file",
            "--lesskey-src",
            "--lesskey-content",
            "-T",
            "--tag-file",
        ],
    ),
    (
        "make",
        &["--eval", "-E", "-f", "--file", "--makefile", "-C", "--directory", "-I", "--include-dir", "NAME="],
    ),
    (
        "man",
        &[
            "-P",
            "--pager",
            "-H",
            "--html",
            "-C",
            "--config-file",
            "-M",
            "--manpath",
            "-X",
            "-T",
            "--preprocessor",
            "-p",
            "-l",
        ],
    ),
    ("more", &["=+"]),
    ("ninja", &["-f", "-C"]),
    ("npm", PACKAGES),
    ("nvim", VI),
    (
        "patch",
        &["-e", "--ed", "-o", "--output", "-d", "--directory", "-r", "--reject-file", "-B", "--prefix"],
    ),
    ("pip", &["--python", "--target", "-t", "--prefix", "--root", "--log"]),
    ("pip3", &["--python", "--target", "-t", "--prefix", "--root", "--log"]),
    ("pnpm", PACKAGES),
    ("pytest", &["-p", "-c", "-o", "--override-ini", "--rootdir", "--confcutdir", "--config-file"]),
    ("rg", &["--pre", "--hostname-bin"]),
    (
        "rsync",
        &[
            "-e",
            "--rsh",
            "--rsync-path",
            "-M",
            "--remote-option",
            "--log-file",
            "--write-batch",
            "--only-write-batch",
        ],
    ),
    ("rustc", &["-C", "--codegen", "-Z", "-o", "--out-dir", "--emit"]),
    ("rvim", VI),
    ("scp", &["-S", "-o", "-F", "-D", "-J"]),
    ("sdiff", &["--diff-program", "-o", "--output"]),
    ("sftp", &["-S", "-o", "-F", "-D", "-b", "-s", "-J"]),
    ("sort", &["--compress-program", "--output", "-o", "-T", "--temporary-directory"]),
    ("split", &["--filter"]),
    ("ssh-keygen", &["-D", "-f", "-w"]),
    ("tar", TAR),
    ("tcpdump", &["-z", "-w", "-W", "-G"]),
    ("tree", &["-o"]),
    ("unzip", &["-d"]),
    ("vi", VI),
    ("view", VI),
    ("vim", VI),
    ("vimdiff", VI),
    (
        "wget",
        &[
            "--use-askpass",
            "-e",
            "--execute",
            "--config",
            "-O",
            "--output-document",
            "-o",
            "-a",
            "--output-file",
            "--append-output",
            "-P",
            "--directory-prefix",
            "--post-file",
            "--save-cookies",
            "--hsts-file",
            "--warc-file",
        ],
    ),
    ("xxd", &["-r"]),
    ("yarn", PACKAGES),
    ("yq", &["-i", "--inplace", "-s", "--split-exp"]),
    ("zip", &["-T", "--test", "--unzip-command", "-O", "--output-file", "--out", "-lf", "--logfile-path"]),
];

/// Why a rule with wildcards does not cover the program `name` with these arguments. The first
/// `fixed` arguments the rule gives literally, so they are the user's word.
pub(super) fn risky<'a>(name: &str, words: impl Iterator<Item = &'a str>, fixed: usize) -> Option<String> {
    let at = TABLE.binary_search_by_key(&name, |(program, _)| program).ok()?;
    let (_, risks) = TABLE.get(at)?;
    let word = find(risks, words, fixed, name.ends_with("tar"))?;
    Some(format!("`{name} {}` may run or write something", shown(word)))
}

/// The first of `words` behind the `fixed` ones that is, or may become, one of `risks`.
pub(super) fn find<'a>(
    risks: &[&str],
    words: impl Iterator<Item = &'a str>,
    fixed: usize,
    clusters_without_dash: bool,
) -> Option<&'a str> {
    let mut options_end = false;
    let mut takes_value = false;
    for (index, word) in words.enumerate() {
        let is_named = index < fixed;
        // Behind an option `--` may be its value.
        let may_be_value = std::mem::replace(&mut takes_value, word.starts_with('-') && !word.contains('='));
        if word == "--" && !options_end && !may_be_value {
            options_end = true;
        } else if !options_end && !is_named && may_be_option(word) {
            return Some(word);
        } else if !options_end && is_named {
            // A value may follow in a word of its own; that the rule gives literally too, or not at all.
            if index + 1 == fixed && !word.contains('=') && risks.iter().any(|risk| is_risk(word, risk)) {
                return Some(word);
            }
        } else if risks.iter().any(|risk| is_risk(word, risk) && (!options_end || !risk.starts_with('-')))
            || (clusters_without_dash && index == 0 && word.contains(['I', 'F', 'P']))
        {
            return Some(word);
        }
    }
    None
}

/// Whether the shell may put an option in the place of `word`.
pub(super) fn may_be_option(word: &str) -> bool {
    word.starts_with(is_mark_but_home) || (word.starts_with('-') && word.contains(is_mark))
}

/// Expansions that can begin with `-`; that of `~` cannot.
fn is_mark_but_home(c: char) -> bool {
    is_mark(c) && c != super::words::unquoted('~')
}

fn is_risk(word: &str, risk: &str) -> bool {
    if risk == "NAME=" {
        return word.contains('=') && !word.starts_with('-');
    }
    if let Some(beginning) = risk.strip_prefix('=') {
        return word.starts_with(beginning);
    }
    if let Some(long) = risk.strip_prefix("--") {
        let given = word.strip_prefix("--").unwrap_or_default().split('=').next().unwrap_or_default();
        return !given.is_empty() && long.starts_with(given);
    }
    let letters = risk.strip_prefix('-').unwrap_or_default();
    match word.strip_prefix('-') {
        Some(cluster) if letters.len() == 1 => !cluster.starts_with('-') && cluster.contains(letters),
        Some(cluster) => cluster.starts_with(letters),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted() {
        assert!(TABLE.is_sorted_by_key(|(name, _)| *name));
    }

    #[test]
    fn risky_options_are_found_in_every_form() {
        let found = |command: &str, fixed| {
            let mut words = command.split(' ');
            let name = words.next().unwrap();
            risky(name, words, fixed).is_some()
        };
        for command in [
            "tar xf a --checkpoint-action=exec=id",
            "tar --to-comm x",
            "tar -xIf x",
            "tar xIf id a",
            "sort --compress-prog id",
            "sort -uo x",
            "rg --pre=id x",
            "rsync -avze x",
            "curl -sSLo x",
            "make SHELL=x",
            "make --eval x",
            "vim +q",
            "zip -TT id",
            "man -Pid x",
            "wget -O x",
            "dd if=a of=b",
            "sort \u{FDD5}",
            "sort -\u{FDD4}",
            "make -- CC=x",
            "sort -k -- \u{FDD4}",
        ] {
            assert!(found(command, 0), "{command}");
        }
        for command in [
            "tar xzf a",
            "tar -czf a b",
            "sort -rn x",
            "rg -n x",
            "rsync -av a b",
            "curl -sSL https://x.y",
            "make test",
            "sort -k 1 -- \u{FDD5}",
            "sort -- \u{FDD5}",
            "sort a\u{FDD5}",
            "ls -o",
            "sort -- -o",
            "curl --fail x",
        ] {
            assert!(!found(command, 0), "{command}");
        }
        assert!(
            !found("make -C docs html", 2) && found("make -C docs html", 1) && found("make -C a -f b", 2)
        );
        assert!(!found("curl --output=x y", 1) && found("curl --output=x -o y", 1));
    }
}
