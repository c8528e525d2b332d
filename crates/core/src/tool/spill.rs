//! Where output goes that a result has no room for.

use std::fmt;
use std::io;
use std::path::Path;

/// Keeps whole outputs that the model sees only in part, in files that it can page through with Read.
///
/// The host implements it; a tool that produces output as it runs writes to it as it goes, and the host itself
/// keeps what it cuts from other results (design section 4, `Tool`).
pub trait OutputSpill: Send + Sync {
    /// Begins the file of the call `call_id`; one that is there already is replaced.
    ///
    /// # Errors
    ///
    /// When the file cannot be made. The output is then shown in part without a file to page through.
    fn begin(&self, call_id: &str) -> io::Result<Box<dyn SpillFile>>;
}

impl fmt::Debug for dyn OutputSpill {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OutputSpill")
    }
}

/// An output that is being kept. One that is dropped without [`SpillFile::finish`] is removed.
pub trait SpillFile: io::Write + Send {
    /// Where it is kept: absolute, readable with Read.
    fn path(&self) -> &Path;

    /// Bytes it has room for in all; what is written beyond is left out, and the tool says so.
    fn capacity(&self) -> u64;

    /// Keeps it.
    ///
    /// # Errors
    ///
    /// When the last bytes cannot be written; the file is then removed.
    fn finish(self: Box<Self>) -> io::Result<()>;
}
