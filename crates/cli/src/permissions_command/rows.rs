//! One line in, one line out: questions on standard input, answers on standard output.

use std::io::{self, BufRead, Read};

use serde::Serialize;
use serde_json::value::RawValue;

use crate::exit::{Exit, Failure};
use crate::harmless::json as harmless_json;
use crate::report::written;
use crate::stdout::Output;

/// The longest line that is looked at, in bytes; of a longer one nothing is kept.
const LONGEST: usize = 16 * 1024 * 1024;

/// What some editors put in front of a text.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// A question that cannot be answered.
#[derive(Serialize)]
struct Broken<'a> {
    /// The id of the row, when it could be made out.
    id: Option<&'a RawValue>,
    error: &'a str,
}

/// Answers every line of standard input that is not blank, in order. Each answer is handed on before the next
/// line is read, so that a program may wait for it.
///
/// # Errors
///
/// When standard input cannot be read or standard output not be written. A row without an answer is none: it gets
/// its error in the place of the answer.
pub(super) fn answer_each(mut answer: impl FnMut(&str) -> Result<String, String>) -> Result<Exit, Failure> {
    let mut input = io::stdin().lock();
    let mut output = Output::new();
    let mut line = Vec::new();
    let mut first = true;
    while !output.is_over() {
        let whole = read_line(&mut input, &mut line).map_err(|error| unreadable(&error))?;
        let Some(whole) = whole else { break };
        if std::mem::take(&mut first) && line.starts_with(BYTE_ORDER_MARK) {
            line.drain(..BYTE_ORDER_MARK.len());
        }
        let answered = match std::str::from_utf8(&line) {
            _ if !whole => Err(format!("the line has more than {LONGEST} bytes")),
            Ok(text) if text.trim().is_empty() => continue,
            Ok(text) => answer(text),
            Err(error) => Err(format!("the line is not UTF-8 text: see byte {}", error.valid_up_to() + 1)),
        };
        output.line(&harmless_json(answered.unwrap_or_else(|error| broken(&line, &error))));
        output.flush();
    }
    written(output)
}

/// Reads a line without its end; `Some(false)` when it was too long, `None` at the end of the input.
fn read_line(input: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<Option<bool>> {
    line.clear();
    // Room for one byte too many, by which a line that is too long is recognised.
    let most = LONGEST as u64 + 1;
    if input.by_ref().take(most).read_until(b'\n', line)? == 0 {
        return Ok(None);
    }
    if line.last() == Some(&b'\n') {
        line.pop();
        return Ok(Some(true));
    }
    let whole = line.len() <= LONGEST;
    if !whole {
        line.clear();
        input.skip_until(b'\n')?;
    }
    Ok(Some(whole))
}

/// What is wrong with some JSON, without the place, which within a line says little.
pub(super) fn without_place(error: &impl ToString) -> String {
    let text = error.to_string();
    text.rsplit_once(" at line ").map_or(text.as_str(), |(problem, _)| problem).to_owned()
}

fn unreadable(error: &io::Error) -> Failure {
    Failure::new(Exit::Storage, format!("standard input cannot be read: {error}"))
}

fn broken(line: &[u8], error: &str) -> String {
    let text = String::from_utf8_lossy(line);
    let error = serde_json::to_string(&Broken { id: id_of(&text), error });
    // Neither part of it can fail to be written.
    error.unwrap_or_default()
}

/// The id of a row that may be broken elsewhere.
fn id_of(line: &str) -> Option<&RawValue> {
    #[derive(serde::Deserialize)]
    struct Known<'a> {
        #[serde(borrow)]
        id: Option<&'a RawValue>,
    }
    let is_object = line.trim_start().starts_with('{');
    serde_json::from_str::<Known<'_>>(line).ok().filter(|_| is_object)?.id
}
