//! What the owner of a turn does for it while it runs.

use futures_util::future::{self, BoxFuture};

use crate::{Error, Message};

/// Why a turn asks for room in the context window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Pressure {
    /// The model is about to be called; it is for the host to say whether the window is too full.
    Routine,
    /// Results of the last batch were left out, or the window is too full for a call.
    Crowded,
    /// The provider refused the request for its length.
    Refused,
}

/// The owner of a turn, as far as the turn needs it. The methods of this trait do nothing by themselves.
pub trait TurnHost: Send + Sync {
    /// Takes what the user has said since the turn began, to be shown to the model with its next call.
    ///
    /// Asked before each call, and once more where [`finished`](Self::finished) is. A turn that ends
    /// otherwise (interrupted, with a demanded closing answer, at the output limit, refused, with a full
    /// window, or with an error) does not ask again: what waits then stays with the host, for its next turn or its caller.
    fn take_input(&self) -> Vec<Message> {
        Vec::new()
    }

    /// Makes room in the context window where it is needed; true when the history is another one now.
    ///
    /// # Errors
    ///
    /// When room is needed and cannot be made: the turn ends with it.
    fn make_room(&self, _: Pressure) -> BoxFuture<'_, Result<bool, Error>> {
        Box::pin(future::ready(Ok(false)))
    }

    /// Whether the turn is to end here. Why is for the host to tell.
    ///
    /// Asked before each model call and each tool call. Calls that run come to their end, no other begins, and
    /// the turn ends as [`Stopped`](crate::TurnEnd::Stopped).
    fn stopped(&self) -> bool {
        false
    }

    /// The model has finished with the answer `text`. A message sends it on; with `None` the turn ends.
    ///
    /// Asked after an answer by which the turn would end as [`Completed`](crate::TurnEnd::Completed), when nobody
    /// has said anything meanwhile (seed `000`, Hook Lifecycle: Stop). Not asked after the closing answer that
    /// the engine demands of a model out of rounds or lost in unknown tools: the request for it is in
    /// no history, so that nothing could follow it. What the host says after an abort is not used.
    fn finished<'a>(&'a self, _text: &'a str) -> BoxFuture<'a, Option<Message>> {
        Box::pin(future::ready(None))
    }
}

/// A host that does nothing.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::exhaustive_structs, reason = "there is nothing in it")]
pub struct NoHost;

impl TurnHost for NoHost {}
