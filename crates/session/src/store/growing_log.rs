//! A log that somebody is writing.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

/// How much is read at once.
const CHUNK: usize = 256 * 1024;
/// Longer lines are no events, and are handed out in pieces.
const MAX_LINE: usize = 64 * 1024 * 1024;

/// Reads the whole lines of a log, as far as they are there.
///
/// [`read`](Read::read) gives 0 bytes where the log ends for now, and goes on when there is more. Half a
/// line is read anew each time: whoever opens a session takes it off and writes another in its place.
#[derive(Debug)]
pub struct GrowingLog {
    file: File,
    /// The end of the last whole line that was read.
    offset: u64,
    /// Lines that were read, and how much of them was handed out.
    lines: Vec<u8>,
    handed_out: usize,
}

impl GrowingLog {
    pub(super) fn new(file: File) -> Self {
        Self { file, offset: 0, lines: Vec::new(), handed_out: 0 }
    }

    /// Reads the next whole lines into `lines`; none when there are none.
    fn refill(&mut self) -> io::Result<()> {
        self.lines.clear();
        self.handed_out = 0;
        self.file.seek(SeekFrom::Start(self.offset))?;
        let mut searched = 0;
        loop {
            let read = self.file.by_ref().take(CHUNK as u64).read_to_end(&mut self.lines)?;
            let new = self.lines.get(searched..).unwrap_or_default();
            let end = new.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| searched + at + 1);
            if end > 0 || read == 0 || self.lines.len() >= MAX_LINE {
                let whole = if self.lines.len() >= MAX_LINE && end == 0 { self.lines.len() } else { end };
                self.lines.truncate(whole);
                self.offset += whole as u64;
                return Ok(());
            }
            searched = self.lines.len();
        }
    }
}

impl Read for GrowingLog {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.handed_out == self.lines.len() {
            self.refill()?;
        }
        let read = self.lines.get(self.handed_out..).unwrap_or_default().read(buffer)?;
        self.handed_out += read;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn lines_come_when_they_are_whole_and_as_they_are_then() {
        let mut writer = tempfile::NamedTempFile::new().unwrap();
        let mut log = GrowingLog::new(writer.reopen().unwrap());
        let mut told = |writer: &mut tempfile::NamedTempFile, more: &str| {
            writer.write_all(more.as_bytes()).unwrap();
            let mut text = String::new();
            log.read_to_string(&mut text).unwrap();
            text
        };
        assert_eq!(told(&mut writer, ""), "");
        assert_eq!(told(&mut writer, "one\ntwo"), "one\n");
        assert_eq!(told(&mut writer, ""), "");
        writer.as_file().set_len(4).unwrap();
        writer.seek(SeekFrom::End(0)).unwrap();
        assert_eq!(told(&mut writer, "three\n"), "three\n");
        let long = format!("{}\n", "x".repeat(3 * CHUNK));
        assert_eq!(told(&mut writer, &long), long);
        assert_eq!(told(&mut writer, "end"), "");
    }
}
