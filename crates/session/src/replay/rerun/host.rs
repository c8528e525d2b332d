//! A host that does to the history what was done to it then.

use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::{self, BoxFuture};
use robota_core::{Error, ErrorKind, History, Message, Pressure, TurnHost};

use super::progress::Progress;
use crate::replay::recording::Change;

/// Says what the user and the hooks said, and puts the recorded messages in the place of compacted ones,
/// each before the request that first showed it.
pub(super) struct RecordedHost<'a> {
    pub(super) progress: Arc<Progress>,
    pub(super) history: &'a Mutex<History>,
}

impl RecordedHost<'_> {
    /// Makes the changes that come next and are `wanted`; true when there were some.
    fn make_changes(&self, wanted: impl Fn(&Change) -> bool) -> bool {
        let changes = self.progress.take_changes(wanted);
        let some = !changes.is_empty();
        let mut history = self.history.lock().unwrap_or_else(PoisonError::into_inner);
        for change in changes {
            match change {
                Change::Own(message) | Change::Said(message) => history.append(message),
                Change::Become(messages) => history.replace(messages),
            };
        }
        some
    }
}

impl TurnHost for RecordedHost<'_> {
    fn take_input(&self) -> Vec<Message> {
        let said = self.progress.take_changes(|change| matches!(change, Change::Said(_)));
        let message = |change| match change {
            Change::Own(message) | Change::Said(message) => Some(Message::clone(&message)),
            Change::Become(_) => None,
        };
        said.into_iter().filter_map(message).collect()
    }

    fn make_room(&self, pressure: Pressure) -> BoxFuture<'_, Result<bool, Error>> {
        let made = if self.progress.goes_on() {
            // After a refusal the engine asks for input and room once more; before a call this is the last
            // occasion.
            let changed = self
                .make_changes(|change| pressure != Pressure::Refused || matches!(change, Change::Become(_)));
            Ok(changed || pressure == Pressure::Refused)
        } else {
            if pressure != Pressure::Refused {
                self.progress.ends_early();
            }
            Err(Error::new(ErrorKind::Validation, "the recording ends here"))
        };
        Box::pin(future::ready(made))
    }

    fn finished<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Option<Message>> {
        self.make_changes(|change| matches!(change, Change::Become(_)));
        // The engine takes the rest as input.
        Box::pin(future::ready(None))
    }
}
