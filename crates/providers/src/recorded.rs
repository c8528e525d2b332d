//! Recorded streams read from memory, for the tests of the decoders.

use bytes::Bytes;
use futures_util::{FutureExt, StreamExt, stream};
use robota_core::ModelEvent;

use crate::http::Frames;
use crate::wire::{Decoder, Events, Fault, Progress};

/// How reading a recorded stream ended.
#[derive(Debug)]
pub(crate) enum End {
    /// With a finish.
    Finished,
    /// Too early.
    Cut,
    /// With data that could not be taken.
    Fault(Fault),
}

/// Reads the body that arrives as `chunks`.
pub(crate) fn read<'a>(
    mut decoder: impl Decoder,
    chunks: impl IntoIterator<Item = &'a [u8]>,
) -> (Vec<ModelEvent>, End) {
    let chunks: Vec<_> = chunks.into_iter().map(|chunk| Ok(Bytes::copy_from_slice(chunk))).collect();
    let mut frames = Frames::new(stream::iter(chunks).boxed());
    let mut events = Events::new();
    let mut end = End::Cut;
    while let Some(frame) = frames.next().now_or_never().expect("memory never waits") {
        let frame = frame.expect("recorded streams are text");
        let Some(data) = frame.data else { continue };
        if let Err(fault) = decoder.frame(frame.event.as_deref(), &data, &mut events) {
            end = End::Fault(fault);
            break;
        }
        if decoder.progress() == Progress::Finished {
            break;
        }
    }
    match decoder.progress() {
        Progress::Finished => end = End::Finished,
        Progress::Complete => {
            decoder.end(&mut events);
            end = End::Finished;
        }
        Progress::Open => {}
    }
    (events.into(), end)
}

/// The events of a body that must be whole.
pub(crate) fn read_whole(decoder: impl Decoder, body: &str) -> Vec<ModelEvent> {
    match read(decoder, [body.as_bytes()]) {
        (events, End::Finished) => events,
        (events, end) => panic!("{end:?} after {events:?}"),
    }
}

/// `body` cut at the given places, in any order and possibly beyond its end.
pub(crate) fn cut(body: &str, mut places: Vec<usize>) -> Vec<&[u8]> {
    places.extend([0, body.len()]);
    places.iter_mut().for_each(|place| *place = (*place).min(body.len()));
    places.sort_unstable();
    places.windows(2).map(|pair| &body.as_bytes()[pair[0]..pair[1]]).collect()
}
