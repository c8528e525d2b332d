//! Server-sent events out of bytes that arrive in any pieces.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use bytes::Bytes;
use futures_util::stream::{self, BoxStream};
use futures_util::{StreamExt, TryStreamExt};
use robota_core::ProviderError;
use sse_stream::{Sse, SseByteStream};

/// Most bytes of one event. The largest events in use are whole answers of some megabytes.
const MAX_EVENT_BYTES: usize = 16 * 1024 * 1024;

/// Most bytes of one answer. The longest answers in use are some ten megabytes; this is what a server could make a
/// program keep.
const MAX_ANSWER_BYTES: usize = 256 * 1024 * 1024;

/// The events of one body.
///
/// An event that the body ends without the closing blank line is given out, too: some servers
/// leave that line out after the last event.
pub(crate) struct Frames {
    events: SseByteStream<BoxStream<'static, Result<Bytes, FrameFault>>>,
    meter: Arc<Meter>,
}

/// Why there is no further event.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FrameFault {
    /// The connection failed.
    #[error(transparent)]
    Connection(ProviderError),
    /// An event is larger than the limit.
    #[error("an event of more than {MAX_EVENT_BYTES} bytes")]
    TooLarge,
    /// All events together are larger than the limit.
    #[error("an answer of more than {MAX_ANSWER_BYTES} bytes")]
    AnswerTooLarge,
    /// The bytes are not text.
    #[error("an event that is not UTF-8")]
    NotText(#[source] sse_stream::Error),
}

#[derive(Default)]
struct Meter {
    /// Bytes taken since the last event was given out.
    since_event: AtomicUsize,
    /// Bytes taken in all.
    all: AtomicUsize,
    /// The body is at its end.
    ended: AtomicBool,
}

impl Frames {
    /// The events of `body`.
    pub(crate) fn new(body: BoxStream<'static, Result<Bytes, ProviderError>>) -> Self {
        let meter = Arc::new(Meter::default());
        let counter = Arc::clone(&meter);
        let counted = body.map_err(FrameFault::Connection).and_then(move |bytes| {
            let before = counter.since_event.fetch_add(bytes.len(), Ordering::Relaxed);
            let all = counter.all.fetch_add(bytes.len(), Ordering::Relaxed);
            std::future::ready(if before >= MAX_EVENT_BYTES {
                Err(FrameFault::TooLarge)
            } else if all >= MAX_ANSWER_BYTES {
                Err(FrameFault::AnswerTooLarge)
            } else {
                Ok(bytes)
            })
        });
        let end = Arc::clone(&meter);
        let closing = stream::once(async move {
            end.ended.store(true, Ordering::Relaxed);
            Ok(Bytes::from_static(b"\n\n"))
        });
        Self { events: SseByteStream::new(counted.chain(closing).boxed()), meter }
    }

    /// The next event; `None` at the end of the body. Nothing comes after a fault.
    pub(crate) async fn next(&mut self) -> Option<Result<Sse, FrameFault>> {
        let event = self.events.next().await?;
        self.meter.since_event.store(0, Ordering::Relaxed);
        Some(event.map_err(|error| match error {
            sse_stream::Error::Body(cause) => match cause.downcast::<FrameFault>() {
                Ok(fault) => *fault,
                Err(cause) => FrameFault::NotText(sse_stream::Error::Body(cause)),
            },
            error => FrameFault::NotText(error),
        }))
    }

    /// True when the body has ended, so that the last event may be half of one.
    pub(crate) fn ended(&self) -> bool {
        self.meter.ended.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read(chunks: Vec<Bytes>) -> (Vec<String>, Option<FrameFault>) {
        let mut frames = Frames::new(stream::iter(chunks.into_iter().map(Ok)).boxed());
        let mut data = Vec::new();
        while let Some(frame) = frames.next().await {
            match frame {
                Ok(sse) => data.extend(sse.data),
                Err(fault) => return (data, Some(fault)),
            }
        }
        (data, None)
    }

    #[tokio::test]
    async fn comments_crlf_and_a_missing_blank_line_at_the_end_do_no_harm() {
        let body = ": hello\r\n\r\ndata: 1\r\n\r\n: keepalive\n\nevent: x\ndata: 2\n\ndata: [DONE]";
        let (data, fault) = read(vec![Bytes::from_static(body.as_bytes())]).await;
        assert_eq!(data, ["1", "2", "[DONE]"]);
        assert!(fault.is_none());
    }

    #[tokio::test]
    async fn an_endless_event_is_stopped_and_many_small_ones_are_not() {
        let piece = Bytes::from(vec![b'x'; 1024 * 1024]);
        let mut endless = vec![Bytes::from_static(b"data: ")];
        endless.extend(std::iter::repeat_n(piece.clone(), 20));
        assert!(matches!(read(endless).await, (data, Some(FrameFault::TooLarge)) if data.is_empty()));

        let event = [b"data: ".as_slice(), &piece, b"\n\n"].concat();
        let many = vec![Bytes::from(event); 20];
        let (data, fault) = read(many).await;
        assert_eq!(data.len(), 20);
        assert!(fault.is_none());
    }

    #[tokio::test]
    async fn an_endless_answer_is_stopped() {
        let event = Bytes::from([b"data: ".as_slice(), &vec![b'x'; 1024 * 1024], b"\n\n"].concat());
        let mut frames = Frames::new(stream::repeat_with(move || Ok(event.clone())).boxed());
        let mut events = 0;
        let fault = loop {
            match frames.next().await {
                Some(Ok(_)) => events += 1,
                Some(Err(fault)) => break fault,
                None => panic!("an endless answer has no end"),
            }
        };
        assert!(matches!(fault, FrameFault::AnswerTooLarge), "{fault}");
        assert!((255..=256).contains(&events), "{events}");
    }

    #[tokio::test]
    async fn an_event_in_many_small_pieces_takes_time_in_proportion_to_its_length() {
        let read_in = |bytes: usize| async move {
            let piece = Bytes::from(vec![b'x'; 256]);
            let mut pieces = vec![Bytes::from_static(b"data: ")];
            pieces.extend(std::iter::repeat_n(piece, bytes / 256));
            let begun = std::time::Instant::now();
            let (data, fault) = read(pieces).await;
            assert!(fault.is_none() && data[0].len() == bytes);
            begun.elapsed()
        };
        let (small, large) = (read_in(1024 * 1024).await, read_in(8 * 1024 * 1024).await);
        // Eight times the bytes; sixty-four times the time if every piece were read from the beginning.
        assert!(large < small * 32, "{small:?} for 1 MiB, {large:?} for 8 MiB");
    }
}
