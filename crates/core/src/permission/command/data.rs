//! Text in a command line that no program of it takes for commands.

use std::borrow::Cow;

use super::script::{Script, program};
use super::wrapper::base_name;

/// Programs that run nothing of what they read.
const READERS_OF_DATA: [&str; 24] = [
    ":", "[", "base64", "cat", "cd", "cut", "diff", "echo", "false", "gh", "git", "grep", "head", "jq", "ls",
    "mkdir", "printf", "sort", "tail", "tee", "test", "tr", "true", "wc",
];

/// `source` without the bodies of here-documents in which nothing is expanded, where every program of the
/// line is known to read them as data: what is written there is no command.
pub(in crate::permission) fn without_data<'a>(source: &'a str, script: &Script) -> Cow<'a, str> {
    let reads_data = |words: &str| READERS_OF_DATA.binary_search(&base_name(program(words))).is_ok();
    let is_data = script.functions.is_empty() && script.commands().all(|(_, words)| reads_data(words));
    if script.literal_bodies.is_empty() || !is_data {
        return Cow::Borrowed(source);
    }
    let mut rest = String::with_capacity(source.len());
    let mut copied = 0;
    for body in &script.literal_bodies {
        rest.push_str(source.get(copied..body.start).unwrap_or_default());
        copied = body.end;
    }
    rest.push_str(source.get(copied..).unwrap_or_default());
    Cow::Owned(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(source: &str) -> String {
        without_data(source, &super::super::read(source).unwrap()).into_owned()
    }

    #[test]
    fn only_what_is_data_for_certain_is_left_out() {
        assert!(READERS_OF_DATA.is_sorted());
        assert_eq!(left("cat <<'E' > x\nrm x\nE\nls"), "cat <<'E' > x\nE\nls");
        let command = "git commit -m \"$(cat <<'E'\nrm x\nE\n)\"";
        assert_eq!(left(command), "git commit -m \"$(cat <<'E'\nE\n)\"");
        for command in
            ["cat <<E\nrm x\nE", "bash <<'E'\nrm x\nE", "cat <<'E' | sh\nrm x\nE", "./x <<'E'\nrm x\nE"]
        {
            assert_eq!(left(command), command);
        }
    }
}
