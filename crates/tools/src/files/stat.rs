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

impl From<&rustix::fs::Stat> for Stat {
    #[allow(
        clippy::unnecessary_cast,
        clippy::useless_conversion,
        reason = "the types differ between systems"
    )]
    fn from(found: &rustix::fs::Stat) -> Self {
        let kind = match rustix::fs::FileType::from_raw_mode(found.st_mode) {
            rustix::fs::FileType::RegularFile => Kind::File,
            rustix::fs::FileType::Directory => Kind::Folder,
            rustix::fs::FileType::Symlink => Kind::Symlink,
            rustix::fs::FileType::Fifo => Kind::Pipe,
            rustix::fs::FileType::Socket => Kind::Socket,
            _ => Kind::Device,
        };
        Self {
            kind,
            size: u64::try_from(found.st_size).unwrap_or_default(),
            modified: (found.st_mtime as i64, found.st_mtime_nsec as i64),
            identity: (found.st_dev as u64, found.st_ino as u64),
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
