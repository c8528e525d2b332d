//! What a thing in the file system is, wherever that file system lies.

use std::fs::{FileType, Metadata};
use std::os::unix::fs::{FileTypeExt, MetadataExt};

/// What is known of a file or folder without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stat {
    pub(crate) kind: Kind,
    /// Bytes.
    pub(crate) size: u64,
    /// Seconds and nanoseconds since 1970.
    pub(crate) modified: (i64, i64),
    /// Device and inode; zeros where there is no such thing.
    pub(crate) identity: (u64, u64),
}

/// What kind of thing it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    File,
    Folder,
    Symlink,
    Pipe,
    Socket,
    Device,
}

impl From<&Metadata> for Stat {
    fn from(metadata: &Metadata) -> Self {
        Self {
            kind: metadata.file_type().into(),
            size: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            identity: (metadata.dev(), metadata.ino()),
        }
    }
}

impl From<FileType> for Kind {
    fn from(kind: FileType) -> Self {
        match kind {
            kind if kind.is_file() => Self::File,
            kind if kind.is_dir() => Self::Folder,
            kind if kind.is_symlink() => Self::Symlink,
            kind if kind.is_fifo() => Self::Pipe,
            kind if kind.is_socket() => Self::Socket,
            _ => Self::Device,
        }
    }
}
