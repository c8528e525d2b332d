//! However a history has changed: what was open, what a snapshot and the rest of the log tell, and what the log
//! alone tells, are the same.

use std::io::Cursor;

use proptest::prelude::*;
use robota_core::{Event, EventKind, History, HistoryEntry, Message, MessageRef, Timestamp};
use robota_session::{LogMark, RecordLog, SessionRecord, StoredSession};
use serde_json::json;

use crate::cases::cases;
use crate::scene::id;

/// A change of a history.
#[derive(Clone, Debug)]
enum Step {
    Prompt(String),
    Answer(String, u64),
    Note(String),
    Rewind(usize),
    /// Keeps the last so many messages, after a summary or without; with another text in them or not.
    Compact {
        keep: usize,
        summary: Option<bool>,
        shortened: bool,
    },
    Clear,
    Snapshot,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let text = || "[a-z\"\\\\\n\u{1b}ほ🎉]{0,12}";
    let step = prop_oneof![
        5 => text().prop_map(Step::Prompt),
        5 => (text(), 0..9_000_u64).prop_map(|(text, tokens)| Step::Answer(text, tokens)),
        2 => text().prop_map(Step::Note),
        1 => (0..8_usize).prop_map(Step::Rewind),
        1 => (0..5_usize, any::<Option<bool>>(), any::<bool>())
            .prop_map(|(keep, summary, shortened)| Step::Compact { keep, summary, shortened }),
        1 => Just(Step::Clear),
        2 => Just(Step::Snapshot),
    ];
    prop::collection::vec(step, 0..40)
}

/// A session that is open, with its files.
struct Open {
    history: History,
    log: Vec<u8>,
    mark: LogMark,
    snapshots: Vec<Vec<u8>>,
    made: usize,
    system_prompt: Option<&'static str>,
}

impl Open {
    fn tell(&mut self, kind: EventKind) {
        let seq = self.mark.seq + 1;
        let timestamp = Timestamp::default();
        let event = Event { seq, timestamp, session_id: id("s"), turn: 1, redacted: false, kind };
        serde_json::to_writer(&mut self.log, &event).unwrap();
        self.log.push(b'\n');
        self.mark = LogMark { seq, offset: self.log.len() as u64 };
    }

    fn take(&mut self, step: Step) {
        self.made += 1;
        let (name, time) = (format!("m{}", self.made), Timestamp::from_millis(self.made as i64));
        let history = &mut self.history;
        let mutation = match step {
            Step::Prompt(text) => history.append(Message::user(name, time, text)),
            Step::Answer(text, tokens) => {
                let mut message = Message::assistant(name, time, text);
                message.metadata.insert("usage".into(), json!({"inputTokens": tokens}));
                history.append(message)
            }
            Step::Note(text) => {
                history.append_entry(HistoryEntry::event(name, time, "note", json!({"text": text})))
            }
            Step::Rewind(length) => history.truncate(length),
            Step::Compact { keep, summary, shortened } => {
                history.replace(compacted(history.messages(), keep, summary, shortened))
            }
            Step::Clear => history.clear(),
            Step::Snapshot => return self.snapshots.push(self.snapshot()),
        };
        self.tell(EventKind::HistoryMutation(mutation));
    }

    fn snapshot(&self) -> Vec<u8> {
        let system =
            self.system_prompt.map(|text| Message::system("system", Timestamp::default(), text).into());
        let messages: Vec<MessageRef> = system.into_iter().chain(self.history.messages().to_vec()).collect();
        let record = json!({
            "id": "s", "cwd": "/p", "createdAt": 0, "updatedAt": 0,
            "log": RecordLog::new(self.mark, 1, &self.history),
            "systemPrompt": self.system_prompt, "messages": messages, "history": self.history.entries(),
        });
        let (mut record, defects) = SessionRecord::decode(record.to_string().as_bytes()).unwrap();
        assert_eq!(defects, []);
        record.messages = messages;
        record.encode(None).unwrap()
    }

    /// That `snapshot` and the log tell what is open.
    fn is_told(&self, snapshot: Option<&[u8]>) {
        let stored = StoredSession::read(
            &id("s"),
            "memory",
            snapshot.map(Cursor::new),
            Some(Cursor::new(&self.log)),
            None,
        );
        let (stored, _) = stored.unwrap();
        assert_eq!(stored.defects.listed(), []);
        assert_eq!((stored.mark, snapshot.is_some()), (self.mark, stored.snapshot_offset > 0));
        let (told, open) = (&stored.history, &self.history);
        assert_eq!(told.messages(), open.messages());
        assert_eq!(told.entries(), open.entries());
        assert_eq!(told.reference(), open.reference());
        assert_eq!(
            (told.message_bytes(), told.counted_tokens()),
            (open.message_bytes(), open.counted_tokens())
        );
        for length in 0..open.messages().len() {
            let (mut told, mut open) = (told.clone(), open.clone());
            told.truncate(length);
            open.truncate(length);
            assert_eq!(told.counted_tokens(), open.counted_tokens(), "rewound to {length}");
        }
    }
}

fn compacted(
    messages: &[MessageRef],
    keep: usize,
    summary: Option<bool>,
    shortened: bool,
) -> Vec<MessageRef> {
    let summary = summary.map(|of_host| match of_host {
        true => Message::system("summary", Timestamp::default(), "what was said").into(),
        false => Message::user("summary", Timestamp::default(), "what was said").into(),
    });
    let kept = messages.iter().skip(messages.len().saturating_sub(keep)).map(|message| match shortened {
        true => MessageRef::new(Message::user(message.id.clone(), message.timestamp, "[shortened]")),
        false => message.clone(),
    });
    summary.into_iter().chain(kept).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(300), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn snapshot_and_rest_log_alone_and_the_open_session_are_the_same(
        steps in steps(),
        prompted in any::<bool>(),
    ) {
        let mut open = Open {
            history: History::default(),
            log: Vec::new(),
            mark: LogMark::default(),
            snapshots: Vec::new(),
            made: 0,
            system_prompt: prompted.then_some("Be brief."),
        };
        open.tell(EventKind::User { content: "hi".into(), steering: false });
        for step in steps {
            open.take(step);
        }
        open.snapshots.push(open.snapshot());
        open.is_told(None);
        for snapshot in &open.snapshots {
            open.is_told(Some(snapshot));
        }
    }
}

#[test]
fn numbers_with_a_fraction_come_back_as_they_were() {
    // The text of this number is read as another one by parsers that hurry.
    let share = 11_906.0 / 6_000.0 * 100.0;
    let mut history = History::default();
    let mutation = history.append_entry(HistoryEntry::event(
        "n".into(),
        Timestamp::default(),
        "note",
        json!({"share": share}),
    ));
    let mut read = History::default();
    read.apply(&serde_json::from_str(&serde_json::to_string(&mutation).unwrap()).unwrap()).unwrap();
    assert_eq!(read.reference(), history.reference());
    assert_eq!(read.entries(), history.entries());
}
