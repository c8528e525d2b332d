//! The whole output on its way to a file, while the program runs.

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use robota_core::{OutputSpill, SpillFile};
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::timeout;

/// Bytes written at once. As many again may wait while the disk is slower than the program.
const BLOCK: usize = 256 * 1024;
/// How long the last bytes may take.
const LAST: Duration = Duration::from_secs(5);

/// Where the whole output of a program is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Spilled {
    /// The file, readable with Read. It holds the bytes as they came.
    pub path: PathBuf,
    /// Bytes from the end of the output that it had no room for.
    pub left_out: u64,
}

/// Keeps output once it has begun to, on threads that may block; the program waits when they do.
pub(super) struct Spilling {
    place: Option<(Arc<dyn OutputSpill>, Arc<str>)>,
    begun: bool,
    waiting: Vec<u8>,
    file: Option<Open>,
    /// The file while it is written to.
    writing: Option<JoinHandle<io::Result<Open>>>,
    failed: Option<io::Error>,
}

struct Open {
    file: Box<dyn SpillFile>,
    room: u64,
    left_out: u64,
}

impl Spilling {
    /// Keeps the output of a call in a file of `place`, when it has to be kept.
    pub(super) fn new(place: Option<(Arc<dyn OutputSpill>, Arc<str>)>) -> Self {
        Self { place, begun: false, waiting: Vec::new(), file: None, writing: None, failed: None }
    }

    pub(super) fn is_begun(&self) -> bool {
        self.begun
    }

    /// Begins with all that came so far.
    pub(super) fn begin(&mut self, pieces: [&[u8]; 2]) {
        let Some((spill, call)) = self.place.take() else { return };
        self.begun = true;
        self.waiting = pieces.concat();
        self.writing = Some(spawn_blocking(move || Open::begin(&*spill, &call)));
    }

    /// Keeps `bytes`, too.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        match &mut self.file {
            Some(open) if open.room == 0 => open.left_out += bytes.len() as u64,
            _ if self.begun && self.failed.is_none() => self.waiting.extend_from_slice(bytes),
            _ => {}
        }
    }

    /// Waits until there is room for more. Nothing is lost when it is dropped.
    pub(super) async fn room(&mut self) {
        while self.waiting.len() >= BLOCK {
            self.settle().await;
            self.write();
        }
    }

    /// The end of the output: writes what waits, and says where it all is.
    pub(super) async fn finish(mut self) -> Option<io::Result<Spilled>> {
        if !self.begun {
            return None;
        }
        let last = async {
            self.settle().await;
            match (self.failed.take(), self.file.take()) {
                (Some(error), _) => Err(error),
                (None, None) => Err(io::Error::other("it has no file")),
                (None, Some(open)) => {
                    let bytes = std::mem::take(&mut self.waiting);
                    let finishing = spawn_blocking(move || open.write(&bytes)?.finish());
                    finishing.await.unwrap_or_else(|error| Err(io::Error::other(error)))
                }
            }
        };
        Some(timeout(LAST, last).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())))
    }

    /// Waits for the file while it is written to.
    async fn settle(&mut self) {
        let Some(writing) = &mut self.writing else { return };
        let written = writing.await.unwrap_or_else(|error| Err(io::Error::other(error)));
        self.writing = None;
        match written {
            Ok(open) => self.file = Some(open),
            Err(error) => {
                self.failed = Some(error);
                self.waiting = Vec::new();
            }
        }
    }

    /// Gives what waits to a thread that may block.
    fn write(&mut self) {
        let Some(open) = self.file.take() else { return };
        let bytes = std::mem::take(&mut self.waiting);
        if open.room > 0 {
            self.writing = Some(spawn_blocking(move || open.write(&bytes)));
        } else {
            self.file = Some(Open { left_out: open.left_out + bytes.len() as u64, ..open });
        }
    }
}

impl Open {
    fn begin(spill: &dyn OutputSpill, call: &str) -> io::Result<Self> {
        let file = spill.begin(call)?;
        let room = file.capacity();
        Ok(Self { file, room, left_out: 0 })
    }

    fn write(mut self, bytes: &[u8]) -> io::Result<Self> {
        let room = usize::try_from(self.room).unwrap_or(usize::MAX).min(bytes.len());
        let (kept, left_out) = bytes.split_at(room);
        self.file.write_all(kept)?;
        self.room -= kept.len() as u64;
        self.left_out += left_out.len() as u64;
        Ok(self)
    }

    fn finish(self) -> io::Result<Spilled> {
        let (path, left_out) = (self.file.path().to_owned(), self.left_out);
        self.file.finish()?;
        Ok(Spilled { path, left_out })
    }
}
