//! The receiving end of a session's events.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::Stream;
use robota_core::Event;
use tokio::sync::mpsc;

/// All events of a session from the moment of subscribing on, in order.
///
/// The queue is not bounded: a subscriber that does not keep up costs memory and never holds the
/// session up. Dropping the subscription ends it. It ends by itself after the session was closed.
/// `complete` arrives only once the log up to and including it is durable.
pub struct Subscription {
    events: mpsc::UnboundedReceiver<Arc<Event>>,
}

impl Subscription {
    pub(super) fn new() -> (mpsc::UnboundedSender<Arc<Event>>, Self) {
        let (sender, events) = mpsc::unbounded_channel();
        (sender, Self { events })
    }

    /// The next event; `None` after the session was closed.
    pub async fn recv(&mut self) -> Option<Arc<Event>> {
        self.events.recv().await
    }

    /// The next event if it is there already.
    pub fn try_recv(&mut self) -> Option<Arc<Event>> {
        self.events.try_recv().ok()
    }
}

impl Stream for Subscription {
    type Item = Arc<Event>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.events.poll_recv(cx)
    }
}
