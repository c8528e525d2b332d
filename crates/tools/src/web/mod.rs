//! The tools that reach the web.

mod address;
mod brave;
mod client;
mod fetch;
mod html;
mod media;
mod page;
mod search;
mod tag;
mod tidy;

pub use brave::BraveSearch;
pub use search::{SearchBackend, SearchError, SearchHit};

pub(crate) use address::AddressPolicy;
pub(crate) use fetch::WebFetch;
pub(crate) use search::WebSearch;

pub(crate) use client::builder as client_builder;
