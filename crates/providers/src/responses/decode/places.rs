//! Which item of the answer an event is about.
//!
//! By the book every item has an id and an index. Some servers leave one of them out, give all items the same index,
//! or name an item otherwise when it is done.

use std::collections::HashMap;

/// What an event says about its place.
#[derive(Clone, Copy, Default)]
pub(super) struct Place<'a> {
    /// Id of the item; empty when the event has none.
    pub(super) id: &'a str,
    /// Index of the item.
    pub(super) index: Option<u64>,
    /// Index of the part within it.
    pub(super) part: Option<u64>,
}

/// What an item is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum ItemKind {
    Message,
    Call,
    Reasoning,
    /// A tool of the service, or something this version does not know.
    Other,
}

/// The items seen so far, by all their names.
#[derive(Default)]
pub(super) struct Places {
    items: Vec<Known>,
    by_id: HashMap<String, usize>,
    by_index: HashMap<(ItemKind, u64), usize>,
    latest: HashMap<ItemKind, usize>,
}

struct Known {
    kind: ItemKind,
    id: String,
    index: Option<u64>,
    /// The server has said that it begins.
    announced: bool,
    done: bool,
}

impl Places {
    /// The item that an event about a `kind` is about; a new one when it is none of those known.
    pub(super) fn find(&mut self, kind: ItemKind, place: Place<'_>) -> usize {
        let id = self.by_id.get(place.id).copied();
        if let Some(at) = id.filter(|at| self.is(*at, kind)) {
            return at;
        }
        let index = place.index.and_then(|index| self.by_index.get(&(kind, index)).copied());
        if let Some(at) = index.filter(|at| self.is_open(*at)) {
            return at;
        }
        let latest = self.latest.get(&kind).copied();
        if let Some(at) = latest.filter(|at| self.is_open(*at) && self.may_be(*at, kind, place)) {
            return at;
        }
        self.add(kind, place)
    }

    /// The item that the server says begins; `None` when it has said so before.
    pub(super) fn announce(&mut self, kind: ItemKind, place: Place<'_>) -> Option<usize> {
        let id = self.by_id.get(place.id).copied().filter(|at| self.is(*at, kind));
        let index = place.index.and_then(|index| self.by_index.get(&(kind, index)).copied());
        let known = id.or_else(|| index.filter(|at| self.is_open(*at)));
        let at = match known.and_then(|at| Some((at, self.items.get(at)?.announced))) {
            Some((_, true)) if id.is_some() || place.id.is_empty() => return None,
            // What was heard of before it was announced.
            Some((at, false)) => at,
            // Another item with the same index.
            _ => self.add(kind, place),
        };
        self.items.get_mut(at)?.announced = true;
        Some(at)
    }

    /// The item is complete. False when it already was.
    pub(super) fn finish(&mut self, at: usize) -> bool {
        self.items.get_mut(at).is_some_and(|known| !std::mem::replace(&mut known.done, true))
    }

    pub(super) fn is_open(&self, at: usize) -> bool {
        self.items.get(at).is_some_and(|known| !known.done)
    }

    fn is(&self, at: usize, kind: ItemKind) -> bool {
        self.items.get(at).is_some_and(|known| known.kind == kind)
    }

    /// Whether nothing speaks against it. Text goes on under a new id, which some servers give to every piece of it; a
    /// call does not.
    fn may_be(&self, at: usize, kind: ItemKind, place: Place<'_>) -> bool {
        let Some(known) = self.items.get(at) else { return false };
        let other_index = place.index.is_some() && known.index.is_some() && place.index != known.index;
        let other_id = !place.id.is_empty() && !known.id.is_empty() && place.id != known.id;
        let is_whole = matches!(kind, ItemKind::Call | ItemKind::Other);
        !(other_index || (other_id && is_whole))
    }

    fn add(&mut self, kind: ItemKind, place: Place<'_>) -> usize {
        let at = self.items.len();
        let Place { id, index, .. } = place;
        self.items.push(Known { kind, id: id.to_owned(), index, announced: false, done: false });
        if !id.is_empty() {
            self.by_id.insert(id.to_owned(), at);
        }
        if let Some(index) = index {
            self.by_index.insert((kind, index), at);
        }
        self.latest.insert(kind, at);
        at
    }
}
