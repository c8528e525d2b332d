//! Response bodies that wait at gates and break where the script says so.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use tokio_util::sync::CancellationToken;

use crate::director::{Active, Director};
use crate::wire::Frame;

pub(super) type Body = UnsyncBoxBody<Bytes, Cut>;

/// The connection is to be broken.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cut;

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the script breaks the connection here")
    }
}

impl std::error::Error for Cut {}

pub(super) fn full(bytes: Bytes) -> Body {
    Full::new(bytes).map_err(|never: Infallible| match never {}).boxed_unsync()
}

/// Plays one reply; the request counts as active while it lives.
pub(super) struct Player {
    director: Arc<Director>,
    stop: CancellationToken,
    _active: Active,
}

impl Player {
    pub(super) fn new(director: Arc<Director>, stop: CancellationToken, active: Active) -> Self {
        Self { director, stop, _active: active }
    }

    /// Waits until the gate is open; breaks off when the server stops.
    pub(super) async fn wait_at(&self, gate: &str) -> Result<(), Cut> {
        let gate = self.director.gate(gate);
        self.stop.run_until_cancelled(gate.pass()).await.ok_or(Cut)
    }

    pub(super) async fn rest(&self, millis: u64) -> Result<(), Cut> {
        let rest = tokio::time::sleep(Duration::from_millis(millis));
        self.stop.run_until_cancelled(rest).await.ok_or(Cut)
    }

    /// The body. With `apart`, every chunk is handed to the network before the next one is made.
    pub(super) fn into_body(self, frames: Vec<Frame>, apart: bool) -> Body {
        let frames = VecDeque::from(frames);
        let chunks = stream::unfold((self, frames), move |(player, mut frames)| async move {
            loop {
                match frames.pop_front()? {
                    Frame::Chunk(bytes) => {
                        if apart {
                            tokio::task::yield_now().await;
                        }
                        return Some((Ok(hyper::body::Frame::data(bytes)), (player, frames)));
                    }
                    signal => {
                        if player.obey(signal).await.is_err() {
                            frames.clear();
                            return Some((Err(Cut), (player, frames)));
                        }
                    }
                }
            }
        });
        StreamBody::new(chunks).boxed_unsync()
    }

    async fn obey(&self, signal: Frame) -> Result<(), Cut> {
        match signal {
            Frame::Chunk(_) => Ok(()),
            Frame::Gate(name) => self.wait_at(&name).await,
            Frame::Pause(millis) => self.rest(millis).await,
            Frame::Cut => {
                // Gives what was written so far the time to leave.
                tokio::task::yield_now().await;
                Err(Cut)
            }
        }
    }
}
