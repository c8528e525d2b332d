//! The two names of a conversation: `conv_{uuid}` for people and exports, the session id for the store.

use robota_core::SessionId;
use sha2::{Digest, Sha256};
use uuid::{Builder, Uuid};

use crate::Error;

/// What the id of a conversation begins with.
const PREFIX: &str = "conv_";

/// The conversation id of the session `id`: over the same UUID. An id that is no UUID, as it is written
/// in lower case with hyphens, stands for one of version 8 made from its SHA-256, always the same.
pub(super) fn conversation_id(id: &SessionId) -> String {
    let text = id.as_str();
    let own = Uuid::try_parse(text).ok().filter(|uuid| uuid.as_hyphenated().to_string() == text);
    format!("{PREFIX}{}", own.unwrap_or_else(|| derived(text)))
}

/// The session that `text` names: a session id, or a conversation id, whose UUID it then is.
pub(super) fn session_id(text: &str) -> Result<SessionId, Error> {
    Ok(match uuid_of(text) {
        Some(uuid) => uuid.to_string().parse()?,
        None => text.parse()?,
    })
}

/// The UUID of a conversation id; `None` when `text` is none.
pub(super) fn uuid_of(text: &str) -> Option<Uuid> {
    text.strip_prefix(PREFIX).and_then(|uuid| Uuid::try_parse(uuid).ok())
}

fn derived(text: &str) -> Uuid {
    let hash: [u8; 32] = Sha256::digest(text).into();
    let mut bytes = [0; 16];
    bytes.iter_mut().zip(hash).for_each(|(byte, hashed)| *byte = hashed);
    Builder::from_custom_bytes(bytes).into_uuid()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn conversation(id: &str) -> String {
        conversation_id(&id.parse().unwrap())
    }

    #[test]
    fn a_uuid_is_kept_and_leads_back() {
        let id = "019aa6b2-0000-7000-8000-00000000000a";
        assert_eq!(conversation(id), format!("conv_{id}"));
        assert_eq!(session_id(&format!("conv_{id}")).unwrap().as_str(), id);
        assert_eq!(session_id(&format!("conv_{}", id.to_uppercase())).unwrap().as_str(), id);
    }

    #[test]
    fn any_other_id_has_one_uuid_of_version_8() {
        let made = conversation("fix-login");
        assert_eq!(made, conversation("fix-login"));
        assert_eq!(uuid_of(&made).unwrap().get_version_num(), 8);
        assert_eq!(session_id("fix-login").unwrap().as_str(), "fix-login");
        // Another spelling is another file in the store, and so another conversation.
        let upper = "019AA6B2-0000-7000-8000-00000000000A";
        assert_ne!(conversation(upper), conversation(&upper.to_lowercase()));
    }
}
