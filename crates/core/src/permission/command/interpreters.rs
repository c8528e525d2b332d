//! Interpreters of programs: whether a call brings the program's text with it.

use super::options;
use super::words::is_mark;
use super::wrapper::shown;

/// Interpreters that run a program given in an argument.
const INTERPRETERS: &[&str] = &[
    "bun",
    "deno",
    "elixir",
    "ghc",
    "ghci",
    "groovy",
    "guile",
    "irb",
    "julia",
    "lua",
    "luajit",
    "node",
    "nodejs",
    "osascript",
    "perl",
    "php",
    "pypy",
    "python",
    "R",
    "racket",
    "Rscript",
    "ruby",
    "scala",
    "ts-node",
    "tsx",
];

/// Why a rule with wildcards does not cover the interpreter `name` with these arguments.
pub(super) fn runs_text<'a>(name: &str, words: impl Iterator<Item = &'a str> + Clone) -> Option<String> {
    let family = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    if !INTERPRETERS.contains(&family) {
        return None;
    }
    let option = inline_code_option(family, words)?;
    Some(format!("`{name} {}` runs the program in its arguments", shown(option)))
}

/// The word of an interpreter's call that is or brings program text, looked for up to the script's name;
/// without a script the program is read from the input.
fn inline_code_option<'a>(family: &str, mut words: impl Iterator<Item = &'a str> + Clone) -> Option<&'a str> {
    let mut may_be_value = false;
    let mut reads_input = true;
    while let Some(word) = words.next() {
        if is_flag(family, word) {
            reads_input &= word != "--test";
            continue;
        }
        if word == "-m" && !may_be_value {
            return words.next().filter(|module| runs_text_as_module(module));
        }
        let is_version =
            word == "-v" && !matches!(family, "python" | "pypy") && words.clone().next().is_none();
        if matches!(word, "--version" | "--help" | "-V" | "-h") || is_version {
            return None;
        }
        let is_device = word.starts_with("/dev/") || word.starts_with("/proc/");
        if is_inline_code(word) || options::may_be_option(word) || is_device {
            return Some(word);
        }
        if family == "php" && word.starts_with(['-']) && !word.starts_with("--") {
            return Some(word);
        }
        if !(word.starts_with('-') || may_be_value) {
            return None;
        }
        may_be_value = word.starts_with('-') && word.len() == 2;
    }
    reads_input.then_some("-")
}

/// Whether a word is an option without a value that brings no program text.
fn is_flag(family: &str, word: &str) -> bool {
    match family {
        "python" => matches!(word, "-u" | "-B" | "-O" | "-OO" | "-s" | "-S" | "-I" | "-v" | "-q"),
        "php" => word == "-l",
        "node" => matches!(word, "--test" | "--test-only" | "--check"),
        "perl" | "ruby" => word == "-w",
        _ => false,
    }
}

/// Whether a module of Python runs program text from its arguments or its input.
fn runs_text_as_module(module: &str) -> bool {
    const MODULES: [&str; 9] =
        ["IPython", "asyncio", "bpython", "code", "idlelib", "pdb", "ptpython", "sqlite3", "timeit"];
    let top = module.split('.').next().unwrap_or(module);
    MODULES.contains(&top) || module.contains(is_mark)
}

/// Whether a word is an option that takes program text, alone or in a cluster, or such a subcommand of deno or bun.
fn is_inline_code(word: &str) -> bool {
    if let Some(long) = word.strip_prefix("--") {
        const LONG: [&str; 11] = [
            "build-snapshot",
            "command",
            "entry-url",
            "env-file",
            "eval",
            "experimental-",
            "import",
            "loader",
            "print",
            "require",
            "run",
        ];
        return LONG.iter().any(|name| long.starts_with(name)) || word.contains("data:");
    }
    matches!(word, "eval" | "repl" | "x" | "exec")
        || (word.starts_with('-') && word.contains(['B', 'c', 'e', 'E', 'M', 'p', 'r', 'R']))
}
