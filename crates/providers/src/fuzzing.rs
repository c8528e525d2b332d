//! The readers of answers, for the fuzz targets; not part of the API.

use bytes::Bytes;
use futures_util::{FutureExt, StreamExt, stream};
use robota_core::{ModelEvent, ModelRequest, ProviderError};

use crate::http::Frames;
use crate::wire::{Events, Progress};
use crate::{ProviderSpec, SecretString};

/// An event of a body: its name and its data.
pub type Frame = (Option<String>, Option<String>);

/// The events of the body that arrives as `chunks`, and whether it ends well.
pub fn frames<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> (Vec<Frame>, bool) {
    let mut frames = body(chunks);
    let mut read = Vec::new();
    while let Some(frame) = frames.next().now_or_never().flatten() {
        match frame {
            Ok(frame) => read.push((frame.event, frame.data)),
            Err(_) => return (read, false),
        }
    }
    (read, true)
}

/// What the provider of `spec` reads in the body that arrives as `chunks` in answer to `request`, and whether it is whole.
///
/// # Errors
///
/// When `spec` is none.
pub fn answer<'a>(
    mut spec: ProviderSpec,
    request: &ModelRequest,
    chunks: impl IntoIterator<Item = &'a [u8]>,
) -> Result<(Vec<ModelEvent>, bool), ProviderError> {
    spec.api_key = Some(SecretString::from("key"));
    let mut decoder = spec.connect()?.decoder(request);
    let mut frames = body(chunks);
    let mut events = Events::new();
    while let Some(frame) = frames.next().now_or_never().flatten() {
        let Ok(frame) = frame else { return Ok((events.into(), false)) };
        let Some(data) = frame.data else { continue };
        if decoder.frame(frame.event.as_deref(), &data, &mut events).is_err() {
            return Ok((events.into(), false));
        }
        if decoder.progress() == Progress::Finished {
            break;
        }
    }
    if decoder.progress() == Progress::Complete {
        decoder.end(&mut events);
    }
    Ok((events.into(), decoder.progress() == Progress::Finished))
}

fn body<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> Frames {
    let chunks: Vec<_> = chunks.into_iter().map(|chunk| Ok(Bytes::copy_from_slice(chunk))).collect();
    Frames::new(stream::iter(chunks).boxed())
}
