//! Whatever an export of a conversation holds, it is one or an error that names a field, and it is read back
//! as it was.

#![no_main]

use libfuzzer_sys::fuzz_target;
use robota_session::{Conversation, ConversationExport, ConversationOptions};

fuzz_target!(|bytes: &[u8]| {
    let Ok(export) = ConversationExport::from_json(bytes) else { return };
    let json = serde_json::to_vec(&export).expect("an export is JSON");
    assert_eq!(ConversationExport::from_json(&json).expect("its own format"), export);
    let conversation = Conversation::import(export, ConversationOptions::new("model", "/p")).expect("a conversation");
    let sent = robota_core::sendable(&conversation.conversation_history().iter().cloned().collect::<Vec<_>>());
    assert_eq!(robota_core::sendable(&sent), sent);
});
