//! Connections over which nothing happens any more.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A stream that counts whatever passes.
#[derive(Debug)]
pub(super) struct Watched<S> {
    stream: S,
    passed: Arc<AtomicU64>,
}

/// Tells when nothing passes a [`Watched`] stream.
#[derive(Clone, Debug)]
pub(super) struct Watch(Arc<AtomicU64>);

impl<S> Watched<S> {
    pub(super) fn new(stream: S) -> (Self, Watch) {
        let passed = Arc::default();
        (Self { stream, passed: Arc::clone(&passed) }, Watch(passed))
    }

    fn note(&self, count: usize) {
        if count > 0 {
            self.passed.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Watch {
    /// Ends when nothing passed for `limit`, and at the latest after twice that time.
    pub(super) async fn idle(&self, limit: Duration) {
        loop {
            let before = self.0.load(Ordering::Relaxed);
            tokio::time::sleep(limit).await;
            if self.0.load(Ordering::Relaxed) == before {
                return;
            }
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Watched<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, buf))?;
        self.note(buf.filled().len() - before);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Watched<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.stream).poll_write(cx, buf))?;
        self.note(written);
        Poll::Ready(Ok(written))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::time::{Instant, advance};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_stream_is_idle_when_nothing_passed() {
        let limit = Duration::from_secs(60);
        let (ours, mut theirs) = tokio::io::duplex(64);
        let (mut ours, watch) = Watched::new(ours);
        let start = Instant::now();
        let idle = tokio::spawn(async move { watch.idle(limit).await });
        tokio::task::yield_now().await;
        theirs.write_all(b"x").await.unwrap();
        assert_eq!(ours.read_u8().await.unwrap(), b'x');
        advance(limit).await;
        ours.write_all(b"y").await.unwrap();
        assert!(!idle.is_finished());
        idle.await.unwrap();
        assert!(start.elapsed() >= limit * 2);
    }
}
