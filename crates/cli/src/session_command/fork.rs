//! `robota session fork`.

use robota_session::archive::{ForkOptions, fork};

use super::{Shelf, count, print};
use crate::exit::{Exit, Failure};
use crate::session_args::ForkArgs;

pub(super) fn run(shelf: &Shelf, args: &ForkArgs) -> Result<Exit, Failure> {
    let original = shelf.find(&args.session)?.id;
    let mut options = ForkOptions::default();
    options.at = args.at;
    options.name.clone_from(&args.name);
    options.line_filter = Some(shelf.line_filter()?);
    let report = shelf.wait(fork(&shelf.store, &original, &options))?;
    print(&report, args.json, |output| {
        let (id, messages) = (&report.session_id, count(report.messages, "message", "messages"));
        let turn = match report.at {
            None => String::new(),
            Some(0) => " before its first turn".to_owned(),
            Some(turn) => format!(" after turn {turn}"),
        };
        output.line(&format!("session {id} is a copy of {original}{turn}: {messages}"));
        output.line(&format!("go on with it: robota -r {id}"));
    })
}
