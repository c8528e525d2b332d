//! Writes the logs and the snapshots of the checks.

use std::io;
use std::path::PathBuf;

use robota_core::{
    Event, EventKind, History, HistoryEntry, HistoryMutation, Message, PermissionMode, RawCapture, SessionId,
    Timestamp,
};
use serde_json::{Map, Value, json};

use crate::store::{RecordLog, SessionRecord, Snapshot};
use crate::{LogMark, LogWriter, OpenLog};

/// 2001-09-09: no store may take it for the future.
const BEGIN: i64 = 1_000_000_000_000;

/// The one writer of a session, who knows what the session must be.
pub(super) struct Scribe {
    pub(super) id: SessionId,
    pub(super) history: History,
    pub(super) name: Option<String>,
    pub(super) cwd: PathBuf,
    log: Option<OpenLog>,
    mark: LogMark,
}

impl Scribe {
    pub(super) fn new(id: SessionId, log: OpenLog) -> Self {
        Self {
            id,
            history: History::default(),
            name: None,
            cwd: "/work".into(),
            log: Some(log),
            mark: LogMark::default(),
        }
    }

    /// Gives the session free.
    pub(super) fn close(&mut self) {
        self.log = None;
    }

    /// Goes on with the session opened again.
    pub(super) fn go_on(&mut self, log: OpenLog) {
        self.mark.offset = log.offset;
        self.log = Some(log);
    }

    /// Where the log ends.
    pub(super) fn mark(&self) -> LogMark {
        self.mark
    }

    /// Logs the birth of the session.
    pub(super) async fn begin(&mut self) -> io::Result<()> {
        let kind = EventKind::SessionInit {
            cwd: self.cwd.clone(),
            name: self.name.clone(),
            provider: "provider".into(),
            model: "model".into(),
            permission_mode: PermissionMode::Default,
            system_prompt: "Be brief.".into(),
            system_prompt_length: 9,
            tool_schemas: [].into(),
            forked_from: None,
            max_output_tokens: None,
            raw_capture: RawCapture::Off,
            tuning: robota_core::RequestTuning::default(),
        };
        self.tell(kind).await
    }

    /// Adds a prompt and its answer, with tokens counted, and a note between them.
    pub(super) async fn exchange(&mut self, text: &str) -> io::Result<()> {
        let time = Timestamp::from_millis(BEGIN);
        let number = self.history.entries().len();
        let prompt = self.history.append(Message::user(format!("u{number}"), time, text));
        let note = HistoryEntry::event(format!("e{number}"), time, "note", json!({"of": text}));
        let note = self.history.append_entry(note);
        let mut answer = Message::assistant(format!("a{number}"), time, format!("\"{text}\", you say?\n"));
        answer.metadata.insert("usage".into(), json!({"inputTokens": 100 + number, "outputTokens": 5}));
        let answer = self.history.append(answer);
        for mutation in [prompt, note, answer] {
            self.tell(EventKind::HistoryMutation(mutation)).await?;
        }
        Ok(())
    }

    pub(super) async fn change(&mut self, f: impl FnOnce(&mut History) -> HistoryMutation) -> io::Result<()> {
        let mutation = f(&mut self.history);
        self.tell(EventKind::HistoryMutation(mutation)).await
    }

    pub(super) async fn rename(&mut self, name: &str) -> io::Result<()> {
        self.name = Some(name.to_owned());
        self.tell(EventKind::SessionName { name: self.name.clone() }).await
    }

    /// Appends a line.
    pub(super) async fn tell(&mut self, kind: EventKind) -> io::Result<()> {
        let line = self.line(kind)?;
        self.raw(&line).await
    }

    /// The next line.
    pub(super) fn line(&mut self, kind: EventKind) -> io::Result<Vec<u8>> {
        self.mark.seq += 1;
        let (seq, session_id) = (self.mark.seq, self.id.clone());
        let timestamp = Timestamp::from_millis(BEGIN);
        let event = Event { seq, timestamp, session_id, turn: 1, redacted: false, kind };
        let mut line = serde_json::to_vec(&event)?;
        line.push(b'\n');
        Ok(line)
    }

    pub(super) async fn raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.writer()?.append(bytes).await?;
        self.mark.offset += bytes.len() as u64;
        Ok(())
    }

    pub(super) async fn sync(&mut self) -> io::Result<()> {
        self.writer()?.sync().await
    }

    fn writer(&mut self) -> io::Result<&mut dyn LogWriter> {
        match &mut self.log {
            Some(log) => Ok(&mut *log.writer),
            None => Err(io::Error::other("the check has closed this log")),
        }
    }

    /// The session as it is now, last changed `minutes` after it began.
    pub(super) fn record(&self, minutes: i64, extra: Value) -> SessionRecord {
        let created_at = Timestamp::from_millis(BEGIN);
        let system = Message::system("system", created_at, "Be brief.");
        let first = self.history.messages().first();
        SessionRecord {
            id: self.id.clone(),
            name: self.name.clone(),
            cwd: self.cwd.clone(),
            created_at,
            updated_at: Timestamp::from_millis(BEGIN + minutes * 60_000),
            message_count: Some(self.history.messages().len()),
            preview: first.map(|message| message.text().to_owned()),
            log: Some(RecordLog::new(self.mark(), 1, &self.history)),
            forked_from: None,
            system_prompt: Some("Be brief.".into()),
            tool_schemas: Some([].into()),
            extra: if let Value::Object(extra) = extra { extra } else { Map::new() },
            history: self.history.entries().to_vec(),
            messages: [system.into()].into_iter().chain(self.history.messages().iter().cloned()).collect(),
        }
    }

    pub(super) fn snapshot(&self, minutes: i64, extra: Value) -> Result<Snapshot, crate::Error> {
        let record = self.record(minutes, extra);
        let head = record.head();
        Ok(Snapshot::new(head, record.encode(None)?))
    }
}
