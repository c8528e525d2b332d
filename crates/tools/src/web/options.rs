//! How WebFetch behaves, as far as a host can say.

use std::fmt;
use std::sync::Arc;

use robota_core::{Clock, SystemClock};

/// How WebFetch behaves.
#[derive(Clone)]
#[non_exhaustive]
pub struct WebFetchOptions {
    /// The `User-Agent` of every request; `robota/` and the version unless set. One that no header can hold counts
    /// as not set.
    pub user_agent: String,
    /// The time by which fetched pages grow old: for 15 minutes they are used again.
    pub clock: Arc<dyn Clock>,
    /// Whether pages of this machine and of private networks are used again too. Off unless set, because what is
    /// being worked on changes from one request to the next; reading on in a long page never fetches it again.
    pub reuse_private: bool,
}

impl Default for WebFetchOptions {
    fn default() -> Self {
        Self {
            user_agent: concat!("robota/", env!("CARGO_PKG_VERSION")).to_owned(),
            clock: Arc::new(SystemClock),
            reuse_private: false,
        }
    }
}

impl fmt::Debug for WebFetchOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebFetchOptions")
            .field("user_agent", &self.user_agent)
            .field("reuse_private", &self.reuse_private)
            .finish_non_exhaustive()
    }
}
