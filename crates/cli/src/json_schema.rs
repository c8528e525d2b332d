//! The schema that an answer is asked to be valid against: as it is on the command line, or in a file.

use std::fs::File;
use std::io::Read;

use robota_session::OutputSchema;
use serde_json::Value;

use crate::exit::{Exit, Failure};
use crate::harmless::one_line;

/// The longest schema, in bytes: far more than any model API takes.
const MAX_BYTES: u64 = 1024 * 1024;

const HINT: &str = "--json-schema takes a JSON Schema such as '{\"type\": \"object\", \"properties\": {…}}', or the path of a \
    file with one.";

/// The schema that `given` is, or that stands in the file of this name.
pub(crate) fn read(given: &str) -> Result<OutputSchema, Failure> {
    let inline = given.trim_start().starts_with(['{', '[']);
    let (origin, text) = match inline {
        true => ("--json-schema".to_owned(), given.to_owned()),
        false => (one_line(given), of_file(given)?),
    };
    let schema: Value =
        serde_json::from_str(&text).map_err(|error| usage(format!("{origin} is no JSON: {error}")))?;
    OutputSchema::new(schema).map_err(|error| usage(format!("{origin}: {error}")))
}

fn of_file(path: &str) -> Result<String, Failure> {
    let unreadable =
        |error: std::io::Error| usage(format!("the schema {} cannot be read: {error}", one_line(path)));
    let mut text = String::new();
    File::open(path)
        .and_then(|file| file.take(MAX_BYTES + 1).read_to_string(&mut text))
        .map_err(unreadable)?;
    if text.len() as u64 > MAX_BYTES {
        return Err(usage(format!("the schema {} is longer than {} MiB", one_line(path), MAX_BYTES >> 20)));
    }
    Ok(text)
}

fn usage(message: String) -> Failure {
    Failure::new(Exit::Usage, message).with_hint(HINT)
}
