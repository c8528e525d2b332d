//! The text of PDF files, page by page.
//!
//! A PDF is a program for drawing pages, and may be written to do harm. It is therefore read on a thread of its
//! own with a deep stack, for a limited time, after a look at how far its streams unpack; when the reader fails or
//! is given up, the pages it had finished are kept.

mod chains;
mod disarm;
mod layout;
mod unpacked;

use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use hayro_interpret::hayro_syntax::{DecryptionError, LoadPdfError, Pdf};
use tokio_util::sync::CancellationToken;

use layout::{PageReader, Pause};

/// Pages read by one call.
pub(crate) const MAX_PAGES: usize = 20;
/// Bytes of a file.
pub(crate) const MAX_BYTES: u64 = 32 * 1024 * 1024;
/// Bytes of an encrypted file, of which nobody can say how far it unpacks.
const MAX_ENCRYPTED: usize = 4 * 1024 * 1024;
/// How long one call may take.
const TIME: Duration = Duration::from_secs(20);
/// How often the one who waits looks whether the call was cancelled.
const TICK: Duration = Duration::from_millis(20);
/// Objects may be nested in each other some hundred levels deep.
const STACK: usize = 32 * 1024 * 1024;
/// Readers at work at the same time, those given up included.
const MAX_READERS: usize = 4;

/// Pages of a PDF as text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PdfText {
    /// How many pages the file has.
    pub(crate) total_pages: usize,
    /// Number, from 1, and text of each page; empty for a page without text.
    pub(crate) pages: Vec<(usize, String)>,
    /// Why the last of the pages asked for are missing.
    pub(crate) missing: Option<PdfError>,
}

/// Why there is no text of a PDF.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PdfError {
    #[error("it is not a PDF, or too damaged to be read")]
    Invalid,
    #[error("it is protected by a password; make an open copy, such as with `qpdf --decrypt --password=…`")]
    Encrypted,
    #[error("it is encrypted in a way that is not supported")]
    UnknownEncryption,
    #[error("it has only {total} pages; there is no page {first}")]
    NoSuchPage { first: usize, total: usize },
    #[error("it has {bytes} bytes; at most {most} can be read")]
    TooLarge { bytes: usize, most: usize },
    #[error(
        "it unpacks to far more than its size or hides what it is made of, which no ordinary document does"
    )]
    Bomb,
    #[error("its objects stand on each other without end, which those of no ordinary document do")]
    Endless,
    #[error("reading it took longer than {} s", TIME.as_secs())]
    TooSlow,
    #[error("the reader failed on it; it may be damaged")]
    Crashed,
    #[error("too many other PDF files are being read")]
    Busy,
    #[error("cancelled before it was done")]
    Cancelled,
}

/// Whether a file that begins with `start` says that it is a PDF.
pub(crate) fn is_pdf(start: &[u8]) -> bool {
    let start = start.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(start);
    start.trim_ascii_start().starts_with(b"%PDF-")
}

/// The text of `pages`, from 1, of a PDF; without them of its first [`MAX_PAGES`]. More pages than that are not
/// read in one call. Takes up to 20 seconds.
///
/// # Errors
///
/// When no page could be read.
pub(crate) fn pdf_text(bytes: &[u8], pages: Option<RangeInclusive<usize>>) -> Result<PdfText, PdfError> {
    read_pdf(bytes.to_vec(), pages, &CancellationToken::new())
}

/// The same, until `stop` fires.
///
/// # Errors
///
/// As [`pdf_text`].
pub(crate) fn read_pdf(
    bytes: Vec<u8>,
    pages: Option<RangeInclusive<usize>>,
    stop: &CancellationToken,
) -> Result<PdfText, PdfError> {
    let encrypted = memchr::memmem::find(&bytes, b"/Encrypt").is_some();
    let most = if encrypted { MAX_ENCRYPTED } else { usize::try_from(MAX_BYTES).unwrap_or(usize::MAX) };
    if bytes.len() > most {
        return Err(PdfError::TooLarge { bytes: bytes.len(), most });
    }
    let permit = Permit::take().ok_or(PdfError::Busy)?;
    let (sender, receiver) = channel();
    let pause = Pause { stop: stop.child_token(), deadline: Instant::now() + TIME };
    let give_up = pause.stop.clone().drop_guard();
    let pages = pages.unwrap_or(1..=MAX_PAGES);
    let worker = thread::Builder::new().name("pdf".to_owned()).stack_size(STACK).spawn({
        let pause = pause.clone();
        move || {
            let _permit = permit;
            read_pages(bytes, pages, &pause, &sender);
        }
    });
    worker.map_err(|_| PdfError::Busy)?;
    let read = collect(&receiver, &pause);
    drop(give_up);
    read
}

/// What the reader tells as it goes.
enum Told {
    Total(usize),
    Page(usize, String),
    Failed(PdfError),
    Done,
}

/// Waits for the reader, but no longer than `pause` says.
fn collect(receiver: &Receiver<Told>, pause: &Pause) -> Result<PdfText, PdfError> {
    let mut text = PdfText { total_pages: 0, pages: Vec::new(), missing: None };
    let failed = loop {
        match receiver.recv_timeout(TICK) {
            Ok(Told::Total(total)) => text.total_pages = total,
            Ok(Told::Page(number, page)) => text.pages.push((number, page)),
            Ok(Told::Done) => return Ok(text),
            Ok(Told::Failed(error)) => break error,
            Err(_) if pause.stop.is_cancelled() => return Err(PdfError::Cancelled),
            Err(_) if pause.is_over() => break PdfError::TooSlow,
            Err(RecvTimeoutError::Timeout) => {}
            // The thread ended before it was done.
            Err(RecvTimeoutError::Disconnected) => break PdfError::Crashed,
        }
    };
    if text.pages.is_empty() {
        return Err(failed);
    }
    text.missing = Some(failed);
    Ok(text)
}

fn read_pages(mut bytes: Vec<u8>, pages: RangeInclusive<usize>, pause: &Pause, told: &Sender<Told>) {
    // Nobody listens any more when the call was given up.
    let tell = |what| told.send(what).is_ok();
    if !disarm::disarm(&mut bytes) || !unpacked::is_bounded(&bytes, pause) {
        let _ = tell(Told::Failed(PdfError::Bomb));
        return;
    }
    if pause.is_over() {
        return;
    }
    let pdf = match Pdf::new(bytes) {
        Ok(pdf) => pdf,
        Err(error) => {
            let _ = tell(Told::Failed(error.into()));
            return;
        }
    };
    if !chains::are_bounded(&pdf, pause) {
        let _ = tell(Told::Failed(if pause.is_over() { PdfError::TooSlow } else { PdfError::Endless }));
        return;
    }
    let (first, total) = (*pages.start(), pdf.pages().len());
    let last = (*pages.end()).min(total).min(first.saturating_add(MAX_PAGES - 1));
    if total == 0 {
        let _ = tell(Told::Failed(PdfError::Invalid));
        return;
    }
    if first > total || first == 0 {
        let _ = tell(Told::Failed(PdfError::NoSuchPage { first, total }));
        return;
    }
    let _ = tell(Told::Total(total));
    let reader = PageReader::new(&pdf);
    for number in first..=last {
        let Some(page) = pdf.pages().get(number - 1) else { break };
        if pause.is_over() {
            let _ = tell(Told::Failed(PdfError::TooSlow));
            return;
        }
        if !tell(Told::Page(number, reader.text(page, pause))) {
            return;
        }
    }
    let _ = tell(Told::Done);
}

impl From<LoadPdfError> for PdfError {
    fn from(error: LoadPdfError) -> Self {
        match error {
            LoadPdfError::Decryption(DecryptionError::PasswordProtected) => Self::Encrypted,
            LoadPdfError::Decryption(_) => Self::UnknownEncryption,
            LoadPdfError::Invalid => Self::Invalid,
        }
    }
}

/// One of the places for readers.
struct Permit;

static READERS: AtomicUsize = AtomicUsize::new(0);

impl Permit {
    fn take() -> Option<Self> {
        let more = |count: usize| (count < MAX_READERS).then_some(count + 1);
        READERS.fetch_update(Ordering::AcqRel, Ordering::Acquire, more).ok().map(|_| Self)
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        READERS.fetch_sub(1, Ordering::AcqRel);
    }
}
