//! Whatever stands in a log, reading it ends, and what it gives is sendable.

#![no_main]

use libfuzzer_sys::fuzz_target;
use robota_session::{LogFold, LogItem, LogReader};

fuzz_target!(|bytes: &[u8]| {
    let mut events = Vec::new();
    for item in LogReader::new(bytes) {
        if let LogItem::Event(event) = item.expect("memory can be read") {
            events.push(*event);
        }
    }
    let mut fold = LogFold::new("s".parse().expect("an id"));
    fold.read(bytes).expect("memory can be read");
    let stored = fold.finish();
    assert!(stored.mark.offset <= bytes.len() as u64);
});
