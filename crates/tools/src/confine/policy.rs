//! What a confined command may do, and what the host gives for it.

use std::any::Any;
use std::ffi::OsString;
use std::fmt;
use std::io;
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::Arc;

/// What a confined command may do. Everything may be read that is not listed, nothing else written.
///
/// Paths are absolute. Symbolic links in them are followed once, when the sandbox is made.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SandboxPolicy {
    /// Folders that may be changed but for what is protected in them, such as the workspace. Those that do not
    /// exist are left out.
    pub writable: Vec<PathBuf>,
    /// Folders that may be changed as they please, such as those for temporary files.
    pub scratch: Vec<PathBuf>,
    /// What stays as it is inside the folders above.
    pub deny_write: Vec<PathBuf>,
    /// What cannot be read: a folder looks forbidden, a file empty.
    pub deny_read: Vec<PathBuf>,
    /// Where commands may connect to.
    pub network: NetworkPolicy,
    /// Whether commands may reach Unix sockets, such as those of Docker, D-Bus or an ssh agent, which act outside
    /// of every sandbox. Pairs of connected sockets are always allowed.
    pub allow_unix_sockets: bool,
    /// What to do where a part of this cannot be enforced.
    pub demand: Demand,
}

impl SandboxPolicy {
    /// Changes in `writable` only, no network.
    #[must_use]
    pub fn new(writable: Vec<PathBuf>) -> Self {
        Self {
            writable,
            scratch: Vec::new(),
            deny_write: Vec::new(),
            deny_read: Vec::new(),
            network: NetworkPolicy::Off,
            allow_unix_sockets: false,
            demand: Demand::BestEffort,
        }
    }
}

/// Where a confined command may connect to.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum NetworkPolicy {
    /// Everywhere.
    Open,
    /// Nowhere but to itself: it has a loopback of its own.
    #[default]
    Off,
    /// To a proxy of the host, which the usual variables (`HTTPS_PROXY`, …) name.
    Proxy(Arc<dyn ServeProxy>),
}

/// The host's proxy.
pub trait ServeProxy: fmt::Debug + Send + Sync {
    /// Begins to serve the connections that a confined command makes to `listener`, and returns; called from a
    /// thread that belongs to no runtime. What it returns is dropped when the command and all that it started
    /// have ended.
    ///
    /// # Errors
    ///
    /// When it cannot; the command then does not run.
    fn serve(&self, listener: TcpListener) -> io::Result<Box<dyn Any + Send>>;
}

/// What to do where a part of the policy cannot be enforced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Demand {
    /// Enforce what can be.
    #[default]
    BestEffort,
    /// Run nothing.
    Required,
}

/// The program that confines itself and then becomes the command.
#[derive(Clone, Debug)]
#[expect(clippy::exhaustive_structs, reason = "a plain record that callers write out")]
pub struct Helper {
    /// The program, absolute.
    pub program: PathBuf,
    /// Arguments before those of the sandbox. The program's `main` hands what follows them to
    /// [`helper_main`](super::helper_main) before it does anything else.
    pub leading: Vec<OsString>,
}

/// How a helper ends that did not become a command.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HelperEnd {
    /// For standard error.
    pub message: Option<String>,
    /// The exit code.
    pub code: u8,
}

impl HelperEnd {
    /// The exit code of a helper that could not confine itself. Commands may end with it as well; the sandbox
    /// does not tell the two apart by it.
    pub const FAILED: u8 = 125;

    pub(super) fn failed(message: String) -> Self {
        Self { message: Some(message), code: Self::FAILED }
    }
}
