//! Sandboxes: other places for commands and files (seed 001, Sandbox Execution).
//!
//! [`Sandbox`] is the port. Its adapters are [`HostSandbox`], a folder of this machine, [`MemorySandbox`], for tests,
//! and [`E2bSandbox`], a machine of the provider E2B. [`apply_workspace_manifest`] fills a fresh one, its
//! [`Snapshots`] keep it beyond a session, and [`sandboxed_tools`] are the built-in tools with every command and
//! every file inside of it, Glob and Grep included.

mod bash;
mod e2b;
mod error;
mod host;
mod manifest;
mod memory;
mod output;
mod place;
mod port;
mod remote;
mod search;
mod showing;
mod tools;
mod tree;

pub use e2b::{E2bOptions, E2bSandbox};
pub use error::{SandboxError, SandboxErrorKind};
pub use host::HostSandbox;
pub use manifest::{
    AppliedManifest, EntryReport, EntryStatus, FileEncoding, ManifestApplier, ManifestEntry,
    ManifestPermissions, ManifestReport, WorkspaceManifest, apply_workspace_manifest, govern,
};
pub use memory::{MemoryFiles, MemorySandbox, RunHandler};
pub use port::{
    OutputListener, OutputStream, Sandbox, SandboxEntry, SandboxFileKind, SandboxFuture, SandboxRunOptions,
    SandboxRunResult, SandboxStat, Snapshots,
};
pub use search::{SandboxHit, SandboxLine, SandboxQuery};
pub use tools::{SandboxToolOptions, sandboxed_tools};
