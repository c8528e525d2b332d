//! The program from the outside: a temp home, a temp project, a fake model server, and the binary.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

mod architecture;
mod bad_input;
mod check_url;
mod context;
mod demo;
mod docs;
mod hooks;
mod hostile;
mod json_output;
mod kills;
mod long_session;
mod permissions;
mod prompt_size;
mod provider;
mod readme;
mod sandbox_command;
mod session_archive;
mod session_commands;
mod sessions;
mod signals;
mod structured;
mod text_output;
mod tool_command;
mod trust;
