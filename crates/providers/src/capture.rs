//! Native payloads on their way out of a call, as far as the request asks for them.

use robota_core::{ModelEvent, PayloadKind, RawCapture};
use serde_json::Value;

use crate::wire::Events;

/// Which payloads one call hands over. What is not asked for is not even parsed.
///
/// Payloads are bodies: no header is ever part of one. What they say is not looked at; a key that stands in
/// a conversation, or that a server repeats, is for the log to redact.
#[derive(Clone, Copy)]
pub(crate) struct Capture(RawCapture);

impl Capture {
    pub(crate) fn new(asked: RawCapture) -> Self {
        Self(asked)
    }

    /// A request, as it is about to be sent.
    pub(crate) fn request(self, body: &[u8], out: &mut Events) {
        if self.0 == RawCapture::Full {
            out.push_back(raw(PayloadKind::Request, body));
        }
    }

    /// The data of one server-sent event.
    pub(crate) fn stream_event(self, data: &str, out: &mut Events) {
        if self.0 != RawCapture::Off {
            out.push_back(raw(PayloadKind::StreamEvent, data.as_bytes()));
        }
    }

    /// An answer in one piece.
    pub(crate) fn response(self, body: &[u8], out: &mut Events) {
        if self.0 != RawCapture::Off {
            out.push_back(raw(PayloadKind::Response, body));
        }
    }
}

/// What is no JSON is handed over as a string.
fn raw(kind: PayloadKind, bytes: &[u8]) -> ModelEvent {
    let text = || Value::String(String::from_utf8_lossy(bytes).into_owned());
    ModelEvent::Raw { kind, payload: serde_json::from_slice(bytes).unwrap_or_else(|_| text()) }
}
