//! What OpenAI's two APIs, Chat Completions and Responses, have in common wherever they are served: their addresses,
//! what proves who calls, and the list of models.

mod address;
mod key;
mod models;

pub(crate) use address::{Addresses, has_chat_alone};
pub(crate) use key::sign;
pub(crate) use models::read as read_models;
