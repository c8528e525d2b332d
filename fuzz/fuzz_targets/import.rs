//! Whatever an artifact holds, it is one or an error that names a field, and it becomes a session as it is.

#![no_main]

use libfuzzer_sys::fuzz_target;
use robota_session::archive::parse_artifact;

fuzz_target!(|bytes: &[u8]| match parse_artifact(bytes) {
    Ok(artifact) => {
        let record = artifact.record().clone();
        assert_eq!(record.id, *artifact.session_id());
        let stored = record.into_stored();
        let sent = robota_core::sendable(stored.history.messages());
        assert_eq!(robota_core::sendable(&sent), sent);
    }
    Err(error) => assert!(!error.to_string().is_empty()),
});
