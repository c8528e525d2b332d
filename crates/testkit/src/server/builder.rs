//! Settings of a server, and its start.

use std::net::{Ipv4Addr, TcpListener};
use std::{fmt, io};

use tokio_util::sync::CancellationToken;

use super::{FakeModelServer, runner};
use crate::director::{Director, Options};
use crate::{RecordedRequest, Rule, Script, Violation};

/// Settings of a [`FakeModelServer`] that is not started yet.
#[must_use = "a builder does nothing until it is started"]
pub struct FakeModelServerBuilder {
    script: Script,
    port: u16,
    options: Options,
}

impl FakeModelServerBuilder {
    pub(super) fn new(script: Script) -> Self {
        Self { script, port: 0, options: Options::default() }
    }

    /// Listens on `port`; 0, the default, takes a free one.
    pub fn port(mut self, port: u16) -> Self {
        self.port = port;
        self
    }

    /// Whether a request that breaks a rule is refused with status 400, as by default. If not, the
    /// violation is only recorded.
    pub fn strict(mut self, strict: bool) -> Self {
        self.options.strict = strict;
        self
    }

    /// Does not check `rule`, for a test that breaks it on purpose.
    pub fn ignore(mut self, rule: Rule) -> Self {
        self.options.ignored.push(rule);
        self
    }

    /// Neither keeps nor checks requests, for benchmarks with long histories.
    pub fn light(mut self) -> Self {
        self.options.light = true;
        self
    }

    /// Hands every model call to `observer` as it arrives, with the rules it breaks.
    ///
    /// The observer runs on the server's only thread and must not ask the server for anything.
    pub fn observe(
        mut self,
        observer: impl Fn(&RecordedRequest, &[Violation]) + Send + Sync + 'static,
    ) -> Self {
        self.options.observer = Some(Box::new(observer));
        self
    }

    /// Starts the server. It listens when this returns.
    ///
    /// # Errors
    ///
    /// When the port cannot be opened, or no thread can be started.
    pub fn start(self) -> Result<FakeModelServer, StartError> {
        let port = self.port;
        let failed = |source| StartError { port, source };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let director = Director::new(self.script, self.options);
        let stop = CancellationToken::new();
        let thread = runner::spawn(listener, director.clone(), stop.clone()).map_err(failed)?;
        Ok(FakeModelServer { director, address, stop, thread: Some(thread) })
    }
}

impl fmt::Debug for FakeModelServerBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FakeModelServerBuilder").field("port", &self.port).finish_non_exhaustive()
    }
}

/// The server could not be started.
#[derive(Debug, thiserror::Error)]
#[error("the fake model server cannot listen on 127.0.0.1 port {port}; is it in use?")]
pub struct StartError {
    port: u16,
    source: io::Error,
}
