//! Model providers of robota: APIs over HTTP behind the [`Provider`](robota_core::Provider) port.
//!
//! Each API is a *wire*: it writes a request as bytes and reads an answer one server-sent event at a
//! time, without touching a socket. [`HttpProvider`] carries one wire over HTTP to one endpoint: it checks what kind
//! of answer came, bounds every wait for bytes by an idle timeout, ends with the cancel token, and
//! turns whatever goes wrong into a typed error that says what happened, where, and what to do.
//! [`Retrying`] is the one place where failed calls are tried again, inside it a [`CircuitBreaker`] spares endpoints
//! that are dead, and around it a [`Fallback`] asks other models. [`ReplayProvider`] answers from a recording.
//!
//! Programs that take the choice from a user start with [`ProviderSpec`] and [`build`]. Keys and
//! addresses arrive as values; this crate reads no environment variable of its own, but connections
//! to other machines go through the proxy of the system.

mod anthropic;
mod api_error;
mod bytedance;
mod capture;
mod carried;
mod compatible_error;
mod connection;
mod counts;
mod endpoint;
mod excerpt;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
mod gemini;
mod google_error;
mod http;
mod http_provider;
mod json;
mod kind;
mod learned;
mod listed_model;
mod openai;
mod openai_api;
mod options;
mod phrasing;
#[cfg(test)]
mod recorded;
mod replay;
mod report;
mod resilience;
mod responses;
mod spec;
mod tool_names;
mod wire;

pub use bytedance::{
    ArkVideo, GenerateVideo, Video, VideoDeadline, VideoGenerator, VideoRequest, VideoStatus, VideoTask,
};
pub use connection::ConnectionOptions;
pub use http_provider::HttpProvider;
pub use kind::{ProviderKind, UnknownProvider, definitions};
pub use listed_model::ListedModel;
pub use options::{ApiSurface, CacheTtl, InvalidProviderOptions, ProviderOptions};
pub use replay::ReplayProvider;
pub use resilience::{CircuitBreaker, CircuitPolicy, Fallback, FallbackPolicy, RetryPolicy, Retrying};
pub use secrecy::SecretString;
pub use spec::{ProviderSpec, build};
