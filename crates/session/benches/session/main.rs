//! What a session may cost: deltas, rounds, resume, listing, bytes on disk, memory. Budgets and
//! figures stand in `benches/README.md`.

#![expect(clippy::unwrap_used, reason = "a bench that cannot go on must stop")]

mod append;
mod deltas;
mod growth;
mod idle;
mod large_log;
mod listing;
mod memory;
mod resume;
mod rounds;
mod scene;
mod stopwatch;
#[path = "../../../providers/benches/providers/streams.rs"]
mod streams;

use std::time::Duration;

use criterion::Criterion;

fn main() {
    let criterion = Criterion::default().warm_up_time(Duration::from_secs(1));
    let mut criterion = criterion.measurement_time(Duration::from_secs(3)).configure_from_args();
    // As many threads as the program has.
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    // First, because memory that other benches have left would be used again unseen.
    large_log::report(&runtime);
    idle::report(&runtime);
    append::bench(&mut criterion, &runtime);
    deltas::bench(&mut criterion, &runtime);
    rounds::bench(&mut criterion, &runtime);
    resume::bench(&mut criterion, &runtime);
    listing::bench(&mut criterion, &runtime);
    criterion.final_summary();
    growth::report(&runtime);
}

/// Whether the command line asks for `name`: criterion's filter, for figures that are no times.
fn wanted(name: &str) -> bool {
    let filter = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    filter.is_none_or(|filter| name.contains(&filter))
}

/// Prints a figure that is no time.
#[expect(clippy::print_stdout, reason = "the output of a bench")]
fn show(what: &str, figure: &str) {
    println!("{what:60} {figure}");
}
