//! Waiting for signals, with a limit so that a test that waits in vain says what it waited for.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

use futures_util::future::poll_immediate;
use tokio::sync::oneshot;

/// How long a signal may take before the wait is given up.
const LIMIT: Duration = Duration::from_secs(60);

/// Waits for `signal`.
///
/// The limit runs on a thread of its own, so that it neither needs a timer in the caller's runtime nor is
/// fooled by a paused one.
#[expect(clippy::panic, reason = "a signal that never comes must fail the test that waits for it")]
pub(crate) async fn wait_for<T>(signal: impl Future<Output = T>, missing: impl FnOnce() -> String) -> T {
    let mut signal = pin!(signal);
    if let Some(value) = poll_immediate(&mut signal).await {
        return value;
    }
    let (_waiting, ended) = mpsc::channel::<()>();
    let (late, is_late) = oneshot::channel();
    thread::spawn(move || {
        if ended.recv_timeout(LIMIT) == Err(RecvTimeoutError::Timeout) {
            let _ = late.send(());
        }
    });
    let value = tokio::select! {
        value = signal => Some(value),
        Ok(()) = is_late => None,
    };
    value.unwrap_or_else(|| panic!("{} within {} seconds", missing(), LIMIT.as_secs()))
}

/// Runs `future` on this thread, which sleeps while there is nothing to do.
///
/// Only for futures that need no runtime, such as waits on channels.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(value) => return value,
            Poll::Pending => thread::park(),
        }
    }
}
