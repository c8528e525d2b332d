//! The tools as a host calls them: by name, with the JSON a model writes.

#![cfg(test)]
#![expect(clippy::disallowed_methods, reason = "the tests make the files the tools work on")]

mod bash;
mod edit;
mod glob;
mod grep;
mod hidden;
mod hooks;
mod hooks_http;
mod path_corpus;
mod proxy;
mod read;
mod server;
mod session;
mod specs;
mod swapped;
mod url_policy;
mod web_addresses;
mod web_fetch;
mod web_search;
mod write;
