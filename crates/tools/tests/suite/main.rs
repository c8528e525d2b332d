//! The tools as a host calls them: by name, with the JSON a model writes.

#![cfg(test)]
#![expect(clippy::disallowed_methods, reason = "the tests make the files the tools work on")]

mod ask;
mod bash;
mod edit;
mod edit_changed;
mod edit_many;
mod glob;
mod grep;
mod hidden;
mod hooks;
mod hooks_http;
mod path_corpus;
mod read;
mod read_document;
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
