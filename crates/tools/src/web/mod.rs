//! The tools that reach the web.
//!
//! Every address that a model chooses, and every redirect from there, is judged by the one [`AddressPolicy`].

mod address;
mod allowed;
mod brave;
mod cache;
mod charset;
mod client;
mod domains;
mod element;
mod engine;
mod fetch;
mod form;
mod html;
mod media;
mod names;
mod options;
mod page;
mod plain;
mod readable;
mod request_headers;
mod route;
mod search;
mod search_config;
mod searxng;
mod section;
mod special;
mod tag;
mod tavily;
mod tidy;
mod unreached;
mod url_row;

pub use address::{AddressPolicy, Destination, Refused};
pub use allowed::NotAHost;
pub use brave::BraveSearch;
pub use names::{NameService, SystemNames, TableNames};
pub use options::WebFetchOptions;
pub use route::{Redirect, RouteVerdict, check_route};
pub use search::{SearchBackend, SearchError, SearchHit};
pub use search_config::{SearchConfig, SearchConfigError, SearchProvider, search_backend};
pub use searxng::SearxngSearch;
pub use special::SpecialRange;
pub use tavily::TavilySearch;
pub use url_row::{UrlRowError, UrlRowVerdict, UrlVerdict, check_url_row};

pub(crate) use fetch::WebFetch;
pub(crate) use form::{canonical_host, has_gap, is_for_another_protocol, is_local_name, literal};
pub(crate) use search::WebSearch;

pub(crate) use client::builder as client_builder;
