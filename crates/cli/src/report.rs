//! What a command found out: for people, or as JSON.

use serde::Serialize;

use crate::exit::{Exit, Failure};
use crate::harmless::json as harmless_json;
use crate::stdout::Output;

/// Prints a report: as one JSON object, or the way `tell` does it.
pub(crate) fn print<T: Serialize>(
    report: &T,
    json: bool,
    tell: impl FnOnce(&mut Output),
) -> Result<Exit, Failure> {
    let mut output = Output::new();
    if json {
        output.line(&json_of(report)?);
    } else {
        tell(&mut output);
    }
    written(output)
}

/// One line of JSON in which a terminal finds nothing to do.
pub(crate) fn json_of<T: Serialize>(value: &T) -> Result<String, Failure> {
    serde_json::to_string(value)
        .map(harmless_json)
        .map_err(|error| Failure::new(Exit::Failed, format!("this cannot be written as JSON: {error}")))
}

/// Hands on what was written.
pub(crate) fn written(output: Output) -> Result<Exit, Failure> {
    output.finish().map_err(|error| Failure::output(&error))?;
    Ok(Exit::Success)
}
