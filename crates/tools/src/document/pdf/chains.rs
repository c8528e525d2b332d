//! Whether the objects of a PDF that the interpreter follows from one to the next come to an end: colour spaces that
//! stand on others, and functions that consist of others. It follows them by recursion, to any depth and also in a
//! circle, which would exhaust every stack.

use std::collections::HashMap;

use hayro_interpret::hayro_syntax::Pdf;
use hayro_interpret::hayro_syntax::object::{MaybeRef, Object, ObjectIdentifier};

use super::layout::Pause;

/// Levels of the longest chain, one within the other in the same object included.
const MAX_LEVELS: usize = 600;
/// Objects of a chain, each as often as it is used.
const MAX_SIZE: u64 = 1_000_000;
/// The entries by which dictionaries and streams continue a chain.
const KEYS: [&str; 2] = ["Functions", "Alternate"];
/// How often the clock is looked at, in objects.
const LOOK: usize = 256;

/// What hangs on an object.
#[derive(Clone, Copy)]
enum Seen {
    /// It is being followed.
    Open,
    Done(Extent),
}

#[derive(Clone, Copy)]
struct Extent {
    levels: usize,
    size: u64,
}

/// An object that is being followed.
struct Step {
    id: ObjectIdentifier,
    /// How deep in the object before it the reference stands.
    level: usize,
    next: Vec<(ObjectIdentifier, usize)>,
    extent: Extent,
}

/// Whether every chain is bounded. When `pause` is over before that is known, it counts as not.
pub(super) fn are_bounded(pdf: &Pdf, pause: &Pause) -> bool {
    // A broken file is mended at the first object that is not where it should be, and is another one from then on.
    if !each(pdf, pause, |_| true) {
        return false;
    }
    let mut seen = HashMap::new();
    each(pdf, pause, |object| {
        references(object).is_some_and(|(next, _)| next.into_iter().all(|(id, _)| follow(pdf, id, &mut seen)))
    })
}

fn each<'a>(pdf: &'a Pdf, pause: &Pause, mut holds: impl FnMut(Object<'a>) -> bool) -> bool {
    let mut objects = pdf.objects().into_iter().enumerate();
    objects.all(|(at, object)| (!at.is_multiple_of(LOOK) || !pause.is_over()) && holds(object))
}

/// Follows what hangs on the object `id`, as far as that was not done; `false` when it is too much.
fn follow(pdf: &Pdf, id: ObjectIdentifier, seen: &mut HashMap<ObjectIdentifier, Seen>) -> bool {
    if seen.contains_key(&id) {
        return true;
    }
    let Some(first) = Step::begin(pdf, id, 0, seen) else { return false };
    let mut path = vec![first];
    while let Some(step) = path.last_mut() {
        let fits = match step.next.pop() {
            Some((id, level)) => match seen.get(&id) {
                Some(Seen::Done(extent)) => step.takes(*extent, level),
                Some(Seen::Open) => false,
                None => Step::begin(pdf, id, level, seen).map(|next| path.push(next)).is_some(),
            },
            None => {
                let Step { id, level, extent, .. } = path.remove(path.len() - 1);
                seen.insert(id, Seen::Done(extent));
                path.last_mut().is_none_or(|above| above.takes(extent, level))
            }
        };
        if !fits || path.len() > MAX_LEVELS {
            return false;
        }
    }
    true
}

impl Step {
    /// `None` when the object alone is too much.
    fn begin(
        pdf: &Pdf,
        id: ObjectIdentifier,
        level: usize,
        seen: &mut HashMap<ObjectIdentifier, Seen>,
    ) -> Option<Self> {
        seen.insert(id, Seen::Open);
        let found = pdf.xref().get::<Object<'_>>(id);
        let (next, levels) = found.map_or(Some((Vec::new(), 0)), references)?;
        Some(Self { id, level, next, extent: Extent { levels, size: 1 } })
    }

    /// Takes what hangs on a reference that stands at `level`; `false` when it is too much.
    fn takes(&mut self, extent: Extent, level: usize) -> bool {
        self.extent.levels = self.extent.levels.max(level + extent.levels);
        self.extent.size = self.extent.size.saturating_add(extent.size);
        self.extent.levels <= MAX_LEVELS && self.extent.size <= MAX_SIZE
    }
}

/// What `object` refers to, each with how deep in it that stands, and how deep it is itself; `None` when it is too
/// deep.
fn references(object: Object<'_>) -> Option<(Vec<(ObjectIdentifier, usize)>, usize)> {
    let (mut found, mut levels) = (Vec::new(), 0);
    let mut within = vec![(object, 1)];
    while let Some((object, level)) = within.pop() {
        levels = levels.max(level);
        if level > MAX_LEVELS {
            return None;
        }
        let mut take = |item| match item {
            MaybeRef::Ref(id) => found.push((id.into(), level)),
            MaybeRef::NotRef(object @ (Object::Array(_) | Object::Dict(_) | Object::Stream(_))) => {
                within.push((object, level + 1));
            }
            MaybeRef::NotRef(_) => {}
        };
        match &object {
            Object::Array(array) => array.raw_iter().for_each(take),
            Object::Dict(dict) => KEYS.iter().filter_map(|key| dict.get_raw(key)).for_each(take),
            Object::Stream(stream) => {
                KEYS.iter().filter_map(|key| stream.dict().get_raw(key)).for_each(&mut take);
            }
            _ => {}
        }
    }
    Some((found, levels))
}
