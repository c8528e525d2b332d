//! `robota permissions check-url`.

use robota_tools::check_url_row;

use super::rows::{answer_each, without_place};
use crate::exit::{Exit, Failure};
use crate::print::runtime;

pub(super) fn run() -> Result<Exit, Failure> {
    let runtime = runtime()?;
    answer_each(|line| {
        let verdict = runtime.block_on(check_url_row(line)).map_err(|error| without_place(&error))?;
        serde_json::to_string(&verdict).map_err(|error| format!("the verdict cannot be written: {error}"))
    })
}
