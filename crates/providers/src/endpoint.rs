//! Where one API is, and what goes with every request to it.

use std::time::Duration;

use reqwest::Url;
use reqwest::header::HeaderMap;
use robota_core::{ProviderDefinition, ProviderError, ProviderInfo};

use crate::connection::{ConnectionOptions, Headers};
use crate::options::ProviderOptions;
use crate::report::Reporter;

/// All of a provider but its [`Wire`](crate::wire::Wire).
pub(crate) struct Endpoint {
    /// Id and capabilities.
    pub(crate) info: ProviderInfo,
    /// Where requests are posted.
    pub(crate) url: Url,
    /// Headers of every request, keys included.
    pub(crate) headers: HeaderMap,
    /// Words its failures, and keeps keys out of them.
    pub(crate) reporter: Reporter,
    /// How long the server may send nothing at all, unless a request says otherwise.
    pub(crate) idle_timeout: Duration,
    /// How long connecting may take.
    pub(crate) connect_timeout: Duration,
    /// Plain connections begin with HTTP/2.
    pub(crate) http2: bool,
}

impl Endpoint {
    /// The API of `vendor` at `url`. `headers` are those the API asks for; those of `options` join them.
    ///
    /// # Errors
    ///
    /// `Configuration`, when a header of `options` is none.
    pub(crate) fn new(
        info: ProviderInfo,
        vendor: &ProviderDefinition,
        url: Url,
        mut headers: Headers,
        connection: &ConnectionOptions,
        options: &ProviderOptions,
    ) -> Result<Self, ProviderError> {
        headers.extra(&options.headers)?;
        let (headers, secrets) = headers.finish();
        let reporter = Reporter::new(vendor, &url, secrets).with_sources(connection);
        let ConnectionOptions { idle_timeout, connect_timeout, http2_prior_knowledge, .. } = *connection;
        let http2 = http2_prior_knowledge && url.scheme() == "http";
        Ok(Self { info, url, headers, reporter, idle_timeout, connect_timeout, http2 })
    }
}
