//! The port: what a sandbox can do.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use super::error::SandboxError;
use super::manifest::ManifestApplier;
use super::search::{SandboxHit, SandboxQuery, walk};
use crate::process::{Ending, Spilled};

/// What an operation of a sandbox gives: dropped before its end, it does no more than it has begun.
pub type SandboxFuture<'a, T> = BoxFuture<'a, Result<T, SandboxError>>;

/// A place where the tools run commands and keep files (seed 001, Sandbox Execution; `ISandboxClient`).
///
/// Paths are absolute inside of [`Sandbox::root`] or relative to it. One that contains a NUL or leads out of the
/// root is refused with [`InvalidPath`](super::SandboxErrorKind::InvalidPath) before anything is touched; so is one
/// that a symlink leads out where the adapter can see that. Commands reach what the sandbox lets them reach.
pub trait Sandbox: fmt::Debug + Send + Sync {
    /// The folder that work happens in, absolute, as commands in the sandbox know it.
    fn root(&self) -> &Path;

    /// Runs `command` in a shell to its end; `listener` sees the output as it appears.
    ///
    /// A command that ends with another code than 0, by a signal, or because its time was up or the caller
    /// cancelled is a result, not an error.
    ///
    /// # Errors
    ///
    /// When it cannot be started, or how it ended cannot be learned.
    fn run<'a>(
        &'a self,
        command: &'a str,
        options: SandboxRunOptions,
        listener: Option<OutputListener>,
        cancel: &'a CancellationToken,
    ) -> SandboxFuture<'a, SandboxRunResult>;

    /// The whole file at `path`, as bytes.
    ///
    /// # Errors
    ///
    /// When it is not there, is no file, may not be read, or is larger than the adapter holds in memory.
    fn read_file<'a>(&'a self, path: &'a Path) -> SandboxFuture<'a, Vec<u8>>;

    /// Puts `content` at `path`, as a whole or not at all, and makes missing folders. The mode of a file that is
    /// there stays.
    ///
    /// # Errors
    ///
    /// When it may not be written, there is no room, or a folder is there.
    fn write_file<'a>(&'a self, path: &'a Path, content: Vec<u8>) -> SandboxFuture<'a, SandboxStat>;

    /// What is at `path`, symlinks inside the root followed.
    ///
    /// # Errors
    ///
    /// With kind [`NotFound`](super::SandboxErrorKind::NotFound) when there is nothing.
    fn stat<'a>(&'a self, path: &'a Path) -> SandboxFuture<'a, SandboxStat>;

    /// What is in the folder `path`, in no order; symlinks are told as such.
    ///
    /// # Errors
    ///
    /// When it is not there, is no folder or may not be listed.
    fn list<'a>(&'a self, path: &'a Path) -> SandboxFuture<'a, Vec<SandboxEntry>>;

    /// The absolute path that `path` leads to with the symlinks in it followed; names that do not exist stay.
    ///
    /// # Errors
    ///
    /// When it leads out of the root.
    fn real_path<'a>(&'a self, path: &'a Path) -> SandboxFuture<'a, PathBuf>;

    /// Finds files below a folder by name, and lines in them by what they say. By default this lists and reads
    /// one after the other; an adapter that can search where the files are does.
    ///
    /// # Errors
    ///
    /// When a pattern does not parse or the folder cannot be listed; files that cannot be read are passed over.
    fn search<'a>(
        &'a self,
        query: &'a SandboxQuery,
        cancel: &'a CancellationToken,
    ) -> SandboxFuture<'a, Vec<SandboxHit>> {
        Box::pin(walk(self, query, cancel))
    }

    /// Its own way of applying manifests; without one, the [generic one](super::apply_workspace_manifest) is used.
    fn manifests(&self) -> Option<&dyn ManifestApplier> {
        None
    }

    /// Its snapshots, where it has such.
    fn snapshots(&self) -> Option<&dyn Snapshots> {
        None
    }
}

/// A sandbox that can be kept and brought back.
pub trait Snapshots: Send + Sync {
    /// Keeps what the sandbox is now, and gives the id under which it comes back. Ids belong to the provider: they
    /// are opaque, and may be stored for as long as the provider keeps the snapshot.
    ///
    /// # Errors
    ///
    /// When it cannot be kept; the sandbox is as before.
    fn snapshot<'a>(&'a self, cancel: &'a CancellationToken) -> SandboxFuture<'a, String>;

    /// Makes the sandbox what it was when `id` was taken.
    ///
    /// # Errors
    ///
    /// When there is no such snapshot or it cannot be brought back; the sandbox is then as before.
    fn restore<'a>(&'a self, id: &'a str, cancel: &'a CancellationToken) -> SandboxFuture<'a, ()>;
}

/// Sees the output of a running command.
pub type OutputListener = Arc<dyn Fn(OutputStream, &str) + Send + Sync>;

/// Where a command wrote to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OutputStream {
    /// Standard output, or both where they are merged.
    Stdout,
    /// Standard error.
    Stderr,
}

/// How a command is run (seed 001; `ISandboxRunOptions`).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SandboxRunOptions {
    /// How long it may run; 120 s by default.
    pub timeout: Duration,
    /// The folder it runs in; the root by default.
    pub working_directory: Option<PathBuf>,
    /// Variables over those the sandbox has.
    pub environment: BTreeMap<String, String>,
    /// Standard error goes where standard output goes, so that their order is kept.
    pub merge_output: bool,
    /// Bytes kept of each output, beginning and end; 1 MiB by default. An adapter may keep less.
    pub output_limit: usize,
    /// Tell where the shell was when it ended, so that a session can go on from there.
    pub report_folder: bool,
    /// The file of the sandbox that the whole output goes to when it is longer than what is kept of it: absolute,
    /// not there before. An adapter may bound it, and may not do it at all.
    pub whole_output: Option<PathBuf>,
}

impl Default for SandboxRunOptions {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(120),
            working_directory: None,
            environment: BTreeMap::new(),
            merge_output: false,
            output_limit: 1024 * 1024,
            report_folder: false,
            whole_output: None,
        }
    }
}

/// A command that has ended (seed 001; `ISandboxRunResult`).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SandboxRunResult {
    /// What it wrote to standard output; bytes that are not UTF-8 are replaced, and where the middle is missing a
    /// line says so.
    pub stdout: String,
    /// What it wrote to standard error; empty when that was merged.
    pub stderr: String,
    /// How it ended.
    pub ending: Ending,
    /// Bytes missing from both outputs.
    pub omitted_bytes: u64,
    /// A program it left behind still holds the output open.
    pub left_behind: bool,
    /// Where the shell was when it ended, when that was asked for and is known: absolute, and not certainly in the
    /// sandbox's root.
    pub last_folder: Option<PathBuf>,
    /// Where the whole output is, when that was asked for and is more than what is kept here.
    pub whole_output: Option<Spilled>,
}

impl SandboxRunResult {
    /// A command that ended by itself with `code` and wrote nothing.
    #[must_use]
    pub fn exited(code: i32) -> Self {
        Self::ended(Ending::Exited(code))
    }

    /// A command that ended so and wrote nothing.
    #[must_use]
    pub fn ended(ending: Ending) -> Self {
        Self {
            stdout: String::new(),
            stderr: String::new(),
            ending,
            omitted_bytes: 0,
            left_behind: false,
            last_folder: None,
            whole_output: None,
        }
    }

    /// The same with this standard output.
    #[must_use]
    pub fn with_stdout(self, stdout: impl Into<String>) -> Self {
        Self { stdout: stdout.into(), ..self }
    }

    /// The same with this standard error.
    #[must_use]
    pub fn with_stderr(self, stderr: impl Into<String>) -> Self {
        Self { stderr: stderr.into(), ..self }
    }

    /// The same with the folder that the shell was in.
    #[must_use]
    pub fn with_last_folder(self, folder: impl Into<PathBuf>) -> Self {
        Self { last_folder: Some(folder.into()), ..self }
    }

    /// The code it ended with; `None` when a signal, the time or the caller ended it.
    #[must_use]
    pub fn exit_code(&self) -> Option<i32> {
        match self.ending {
            Ending::Exited(code) => Some(code),
            Ending::Signalled(_) | Ending::TimedOut | Ending::Cancelled => None,
        }
    }
}

/// What is known of a file or folder without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SandboxStat {
    /// What it is.
    pub kind: SandboxFileKind,
    /// Bytes; of no meaning for folders.
    pub size: u64,
    /// When its content last changed, where that is known; at least different after every change.
    pub modified: Option<SystemTime>,
}

impl SandboxStat {
    pub(crate) fn new(kind: SandboxFileKind, size: u64, modified: Option<SystemTime>) -> Self {
        Self { kind, size, modified }
    }
}

/// What kind of thing a path names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SandboxFileKind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link; only lists tell it.
    Symlink,
    /// A pipe, a socket or a device.
    Other,
}

/// One name in a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SandboxEntry {
    /// Its name, without the folder.
    pub name: OsString,
    /// What it is.
    pub kind: SandboxFileKind,
}

impl SandboxEntry {
    /// A name and what it is.
    #[must_use]
    pub fn new(name: impl Into<OsString>, kind: SandboxFileKind) -> Self {
        Self { name: name.into(), kind }
    }
}
