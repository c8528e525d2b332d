//! The built-in tools of robota: shell, files, search, web, and talking with the user.
//!
//! [`builtin_tools`] hands out the ten tools a coding session works with, erased to
//! [`robota_core::DynTool`]. Each call states what it would touch ([`robota_core::Access`]) with
//! paths resolved by the [`Workspace`], and then touches exactly that; whether it may is decided
//! by the host. The tools read no environment variable, home folder or current directory: those
//! arrive in [`ToolOptions`].
//!
//! Programs are started by [`process`] only, and files are replaced as a whole or not at all.

mod ask;
mod bash;
mod blocking;
mod builtin;
pub mod confine;
mod document;
mod failure;
mod files;
mod hook;
mod input;
pub mod process;
mod proxy;
pub mod sandbox;
mod search;
mod todo;
mod web;
mod workspace;

pub use ask::{Answer, Asked, Question, QuestionAsker, QuestionOption};
pub use builtin::{PathFilter, ToolOptions, builtin_tools};
pub use hook::{CommandHook, HttpHook};
pub use proxy::{DomainAllowList, NetworkProxy, NotADomain, ProxyListener, RefusedHost};
pub use todo::{Todo, TodoList, TodoStatus};
pub use web::{
    AddressPolicy, BraveSearch, Destination, NameService, NotAHost, Redirect, Refused, RouteVerdict,
    SearchBackend, SearchConfig, SearchConfigError, SearchError, SearchHit, SearchProvider, SearxngSearch,
    SpecialRange, SystemNames, TableNames, TavilySearch, UrlRowError, UrlRowVerdict, UrlVerdict,
    WebFetchOptions, check_route, check_url_row, search_backend,
};
pub use workspace::Workspace;
