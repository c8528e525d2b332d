//! The task that writes the log of one session.

use std::io;
use std::sync::Arc;

use super::LogWriter;
use super::bus::{Bus, Step};

/// A buffer that has grown beyond this is given back after use.
const KEEP_BUFFER: usize = 1024 * 1024;

/// Writes what the journal queues until it closes. All that waits is written at once, and one
/// fsync answers everyone who asked for it meanwhile.
pub(super) fn write_log(bus: Arc<Bus>, writer: Box<dyn LogWriter>) -> impl Future<Output = ()> {
    // Outside of the future, so that it speaks up also when the future is dropped before its first poll.
    let guard = TaskGuard { bus, writer: Some(writer) };
    write_until_closed(guard)
}

async fn write_until_closed(mut guard: TaskGuard) {
    let mut lines = Vec::new();
    while let Some(writer) = guard.writer.as_deref_mut() {
        match guard.bus.next_step(&mut lines) {
            Step::Wait => guard.bus.wake.notified().await,
            Step::WaitUntil(due) => {
                let _ = tokio::time::timeout_at(due, guard.bus.wake.notified()).await;
            }
            Step::Write { payloads, end, sync } => {
                let outcome = async {
                    if !payloads.is_empty() {
                        writer.put_payloads(payloads).await?;
                    }
                    if !lines.is_empty() {
                        writer.append(&lines).await?;
                    }
                    guard.bus.written(end);
                    if sync {
                        writer.sync().await?;
                        guard.bus.synced(end);
                    }
                    Ok(())
                };
                if let Err(error) = outcome.await {
                    guard.bus.failed(error);
                }
                lines.clear();
                lines.shrink_to(KEEP_BUFFER);
            }
            Step::Fail(error) => guard.bus.failed(error),
            Step::End => guard.writer = None,
        }
    }
}

/// Tells everyone who waits when the task ends, also when its runtime drops it.
struct TaskGuard {
    bus: Arc<Bus>,
    writer: Option<Box<dyn LogWriter>>,
}

impl Drop for TaskGuard {
    fn drop(&mut self) {
        if self.writer.take().is_some() {
            self.bus.failed(io::Error::other("the runtime that wrote it was shut down"));
        }
        self.bus.ended();
    }
}
