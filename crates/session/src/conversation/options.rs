//! What a conversation is made of.

use std::path::PathBuf;
use std::sync::Arc;

use robota_core::{Ambient, Redactor, SessionId};

use crate::{Durability, LineFilter, NullStore, SessionStore, redacting_filter};

/// What a conversation is made of: the constructor arguments of seed `003`.
///
/// Made by [`ConversationOptions::new`]; every field may be changed before the conversation is.
#[derive(Clone)]
#[non_exhaustive]
pub struct ConversationOptions {
    /// Time and ids.
    pub ambient: Ambient,
    /// The id its log has; a fresh one when `None`.
    pub session_id: Option<SessionId>,
    /// Model id, for the metadata.
    pub model: Arc<str>,
    /// Where the log is kept. In a [`NullStore`] the conversation is not persistent.
    pub store: Arc<dyn SessionStore>,
    /// When the log is made to survive the death of the machine.
    pub durability: Durability,
    /// Goes over every log line before it is stored; by default it takes out what stands under the key of a
    /// secret.
    pub line_filter: Option<LineFilter>,
    /// Working directory, absolute; recorded with the conversation.
    pub cwd: PathBuf,
}

impl ConversationOptions {
    /// A conversation with `model` in the folder `cwd`, under a fresh id and without persistence.
    #[must_use]
    pub fn new(model: impl Into<Arc<str>>, cwd: impl Into<PathBuf>) -> Self {
        Self {
            ambient: Ambient::default(),
            session_id: None,
            model: model.into(),
            store: Arc::new(NullStore),
            durability: Durability::default(),
            line_filter: Some(redacting_filter(Redactor::default())),
            cwd: cwd.into(),
        }
    }
}
