//! The whole answer in the API's own words.

use robota_core::ModelEvent;

use super::block::{Block, Place};
use crate::anthropic::FORMAT;

/// The content of an answer that says more than thinking, then text, then calls; `None` where that is all there is.
/// A `paused` answer goes on only when it is sent back as it came.
pub(super) fn content(blocks: Vec<Block>, paused: bool) -> Option<ModelEvent> {
    let mut reached = Place::Thinking;
    let mut says_more = paused;
    for place in blocks.iter().filter_map(Block::place) {
        says_more |= place == Place::Native || place < reached;
        reached = reached.max(place);
    }
    if !says_more {
        return None;
    }
    let items: Vec<_> =
        blocks.into_iter().filter(|block| block.place().is_some()).map(Block::into_item).collect();
    (!items.is_empty()).then(|| ModelEvent::NativeContent { format: FORMAT.to_owned(), items })
}

#[cfg(test)]
mod tests;
