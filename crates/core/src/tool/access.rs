//! What a call would touch, in the terms permission rules are written in.

use std::path::PathBuf;

/// One thing a call would touch.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Access {
    /// A file or folder.
    Path {
        /// What would be done with it.
        kind: PathAccess,
        /// The path as the model wrote it.
        requested: String,
        /// Absolute, with symlinks and `..` resolved as far as the path exists.
        resolved: PathBuf,
    },
    /// A shell command.
    Command {
        /// The command line.
        command: String,
        /// The folder it would run in, resolved.
        cwd: PathBuf,
    },
    /// An address on the network.
    Url {
        /// The address as the model wrote it.
        url: String,
        /// Its host, in lower case.
        host: String,
    },
    /// Something that is called by its name: an agent of a type, a skill. Rules write it as
    /// `Agent(type)` and `Skill(name)`.
    Name {
        /// The name.
        name: String,
    },
}

/// What a call would do with a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PathAccess {
    /// Read one file.
    Read,
    /// Look through a folder.
    Search,
    /// Create, change or replace a file.
    Write,
}
