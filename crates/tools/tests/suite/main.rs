//! The tools as a host calls them: by name, with the JSON a model writes.

#![cfg(test)]
#![expect(clippy::disallowed_methods, reason = "the tests make the files the tools work on")]

mod ask;
mod bash;
mod bash_folder;
mod bash_output;
#[cfg(target_os = "linux")]
mod confine_files;
#[cfg(target_os = "linux")]
mod confine_reach;
#[cfg(target_os = "linux")]
mod confine_setup;
#[cfg(target_os = "linux")]
mod confine_work;
mod edit;
mod edit_changed;
mod edit_many;
mod glob;
mod grep;
mod hidden;
mod hooks;
mod hooks_http;
mod path_corpus;
mod processes;
mod proxy;
mod read;
mod read_document;
mod sandbox;
mod search_equality;
mod search_tree;
mod server;
mod session;
mod specs;
mod swapped;
mod todo;
mod url_policy;
mod web_addresses;
mod web_fetch;
mod web_search;
mod write;
