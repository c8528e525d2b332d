//! Whatever stands in a snapshot, it is a record or an error, and a record becomes a session.

#![no_main]

use libfuzzer_sys::fuzz_target;
use robota_session::SessionRecord;

fuzz_target!(|bytes: &[u8]| {
    if let Ok((record, _)) = SessionRecord::decode(bytes) {
        let stored = record.into_stored();
        assert!(stored.history.messages().len() <= bytes.len());
    }
});
