//! The tests of `robota-framework` that need files.

#![expect(clippy::unwrap_used, reason = "a fixture that cannot be made fails its test")]

mod assembly;
mod context;
mod definitions;
mod hooks;
mod local_rules;
mod prompt;
mod provider;
mod sandbox_settings;
mod settings;
mod trust;
mod workspace;
