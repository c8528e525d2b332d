//! The arguments of a call: JSON, a file with it, or standard input.

use std::fs::File;
use std::io::{self, Read};

use serde_json::value::RawValue;

use crate::exit::{Exit, Failure};

/// The most that is read, in bytes.
const LONGEST: u64 = 64 * 1024 * 1024;

/// What `given` stands for.
pub(super) fn read(given: &str) -> Result<String, Failure> {
    let text = match (given, given.strip_prefix('@')) {
        ("-", _) => all_of(io::stdin().lock(), "standard input")?,
        (_, Some(path)) => {
            let file = File::open(path).map_err(|error| unreadable(path, &error))?;
            all_of(file, path)?
        }
        (text, None) => text.to_owned(),
    };
    let text = text.trim_start_matches('\u{feff}').trim();
    // The tool itself says what else is wrong with them.
    serde_json::from_str::<&RawValue>(text).map_err(|error| {
        Failure::new(Exit::Usage, format!("--args: this is not JSON: {error}")).with_hint(HINT)
    })?;
    Ok(text.to_owned())
}

const HINT: &str =
    r#"--args takes what a model would write, such as '{"filePath":"notes.txt"}', @FILE, or -"#;

fn all_of(from: impl Read, name: &str) -> Result<String, Failure> {
    let mut text = String::new();
    let read = from.take(LONGEST + 1).read_to_string(&mut text).map_err(|error| unreadable(name, &error))?;
    if read as u64 > LONGEST {
        return Err(Failure::new(Exit::Usage, format!("--args: {name} has more than {LONGEST} bytes")));
    }
    Ok(text)
}

fn unreadable(name: &str, error: &io::Error) -> Failure {
    Failure::new(Exit::Usage, format!("--args: {name} cannot be read: {error}")).with_hint(HINT)
}
