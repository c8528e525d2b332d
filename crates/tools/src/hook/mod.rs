//! What runs hooks that are commands or servers.

mod command;
mod http;

pub use command::CommandHook;
pub use http::HttpHook;
