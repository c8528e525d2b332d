//! The one vocabulary of what happens in a session: what is logged is what is streamed is what is replayed.

mod abort;
mod kind;
mod of_model;
mod terms;

use futures_util::future::BoxFuture;
use serde::{Deserialize, Deserializer, Serialize, de};
use serde_json::value::RawValue;

pub use abort::TurnAbortReason;
pub use kind::EventKind;
pub use terms::{CompactTrigger, ContextState, PayloadKind, PermissionResolution, RequestPurpose, TurnEnd};

use crate::{Error, SessionId, Timestamp};

/// Something that happened in a session.
///
/// As JSON, one flat object: the envelope, then `event` with the name of the kind and the fields of
/// the kind beside it (facts sheet 4.2), all in camelCase.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Event {
    /// Number of the event in its session, from 1. A log line that joins several deltas has the number
    /// of the last; events that are not logged leave gaps.
    pub seq: u64,
    /// When it happened.
    pub timestamp: Timestamp,
    /// The session.
    pub session_id: SessionId,
    /// Number of the turn, from 1; 0 outside of turns.
    pub turn: u32,
    /// True for a line of a log from which secrets were taken out: what it says is not, letter by letter,
    /// what was said. Never set on events as they are streamed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub redacted: bool,
    /// What happened.
    #[serde(flatten)]
    pub kind: EventKind,
}

impl<'de> Deserialize<'de> for Event {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Envelope {
            seq: u64,
            timestamp: Timestamp,
            session_id: SessionId,
            #[serde(default)]
            turn: u32,
            #[serde(default)]
            redacted: bool,
        }
        let line = <&RawValue>::deserialize(deserializer)?.get();
        let envelope: Envelope = serde_json::from_str(line).map_err(de::Error::custom)?;
        let mut kind: EventKind = serde_json::from_str(line).map_err(de::Error::custom)?;
        if let EventKind::Unknown(fields) = &mut kind {
            for key in ["seq", "timestamp", "sessionId", "turn", "redacted"] {
                fields.shift_remove(key);
            }
        }
        let Envelope { seq, timestamp, session_id, turn, redacted } = envelope;
        Ok(Self { seq, timestamp, session_id, turn, redacted, kind })
    }
}

/// Where everything that happens in a turn goes.
///
/// The session's implementation stamps each kind, and hands it to the log and to all subscribers.
pub trait EventSink: Send + Sync {
    /// Takes an event. Never blocks.
    fn emit(&self, kind: EventKind);

    /// Waits until everything emitted so far has been handed to the operating system, so that it
    /// survives the death of this process.
    ///
    /// # Errors
    ///
    /// When the log cannot be written; the turn must not go on.
    fn written(&self) -> BoxFuture<'_, Result<(), Error>>;
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{HistoryMutation, Message, PermissionMode, RawCapture};

    fn read(line: &str) -> Event {
        serde_json::from_str(line).unwrap()
    }

    #[test]
    fn an_event_is_one_flat_object_and_reads_back() {
        let message = Message::user("m1", Timestamp::from_millis(0), "hi");
        let event = Event {
            seq: 7,
            timestamp: Timestamp::from_millis(0),
            session_id: "s1".parse().unwrap(),
            turn: 2,
            redacted: false,
            kind: EventKind::HistoryMutation(HistoryMutation::AppendMessage {
                index: 0,
                message: message.into(),
            }),
        };
        let line = serde_json::to_string(&event).unwrap();
        let expected = r#"{"seq":7,"timestamp":"1970-01-01T00:00:00.000Z","sessionId":"s1","turn":2,"event":"history_mutation","mutation":"append_message","index":0,"message":{"id":"m1","timestamp":"1970-01-01T00:00:00.000Z","state":"complete","role":"user","content":"hi"}}"#;
        assert_eq!(line, expected);
        assert_eq!(serde_json::to_string(&read(&line)).unwrap(), expected);
    }

    #[test]
    fn an_event_of_a_later_version_is_kept_whole() {
        let line = r#"{"seq":1,"timestamp":"1970-01-01T00:00:00.000Z","sessionId":"s1","turn":0,"event":"moon_phase","phase":"full"}"#;
        let event = read(line);
        let EventKind::Unknown(fields) = &event.kind else { panic!("{event:?}") };
        assert_eq!(json!(fields), json!({"event": "moon_phase", "phase": "full"}));
        assert_eq!(serde_json::to_string(&event).unwrap(), line);
    }

    #[cfg(unix)]
    #[test]
    fn a_working_directory_that_is_not_utf8_is_written_as_far_as_text_can() {
        use std::os::unix::ffi::OsStrExt;
        let kind = EventKind::SessionInit {
            cwd: std::ffi::OsStr::from_bytes(b"/p/caf\xe9").into(),
            name: None,
            provider: "p".into(),
            model: "m".into(),
            permission_mode: PermissionMode::Default,
            system_prompt: "".into(),
            system_prompt_length: 0,
            tool_schemas: [].into(),
            forked_from: None,
            max_output_tokens: None,
            raw_capture: RawCapture::Off,
            tuning: crate::RequestTuning::default(),
        };
        assert_eq!(serde_json::to_value(kind).unwrap()["cwd"], "/p/caf\u{fffd}");
    }

    #[test]
    fn a_line_without_its_envelope_is_an_error() {
        let error = serde_json::from_str::<Event>(r#"{"event":"user","content":"x"}"#).unwrap_err();
        assert!(error.to_string().contains("missing field `seq`"), "{error}");
    }
}
