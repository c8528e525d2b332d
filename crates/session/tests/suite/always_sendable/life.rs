//! What happens to a session between its turns.

use std::pin::pin;

use robota_core::{Ambient, Body, HistoryEntry, Message, Timestamp, ToolCall};
use robota_session::archive::{ExportOptions, ImportId, ImportOptions, export, import_from};
use robota_session::{
    Conversation, ConversationExport, ConversationOptions, Durability, ErrorKind, InjectedRole, Session,
};
use serde_json::json;

use super::steps::{Odd, Step, Summary, Way};
use super::world::{Kept, World};

impl World {
    pub(crate) async fn take(&mut self, step: &Step) {
        match step {
            Step::Turn(plan) => self.turn(plan).await,
            Step::Compact(summary) => self.compact(*summary).await,
            Step::Clear => {
                self.session().clear_history().unwrap();
                self.model.forget();
                self.forget_after(None);
            }
            Step::Rewind(turn) => self.rewind(*turn).await,
            Step::Inject(odd) => self.inject(*odd),
            Step::Reopen(way) => self.reopen(*way).await,
            Step::Fork(at) => self.fork(*at).await,
            Step::Import { log, fresh } => self.import(*log, *fresh).await,
            Step::Conversation => self.conversation(),
            Step::Rename => {
                let name = self.fresh("name");
                self.session().set_name(Some(&name)).unwrap();
            }
        }
    }

    async fn compact(&mut self, summary: Summary) {
        let name = self.fresh("gate");
        let gate = self.model.summarises(summary, &name);
        self.objects(false, matches!(summary, Summary::Blocked), false);
        let done = {
            let mut running = pin!(self.session().compact(None));
            let outcome = match summary {
                Summary::Aborted | Summary::Dropped => tokio::select! {
                    biased;
                    outcome = &mut running => Some(outcome),
                    () = gate.reached() => None,
                },
                _ => Some((&mut running).await),
            };
            let outcome = match outcome {
                None if matches!(summary, Summary::Aborted) => {
                    self.session().abort();
                    Some(running.await)
                }
                other => other,
            };
            if let Some(Err(error)) = &outcome {
                assert!(matches!(error.kind(), ErrorKind::Compaction | ErrorKind::Engine(_)), "{error}");
            }
            matches!(outcome, Some(Ok(_)))
        };
        self.objects(false, false, false);
        self.model.summarises(Summary::Works, "none");
        self.shortened = true;
        if done {
            self.acknowledge();
        }
    }

    async fn rewind(&mut self, turn: u32) {
        let turn = turn % (self.last_turn() + 1);
        match self.session().rewind(turn).await {
            Ok(report) => {
                assert_eq!(report.messages_after, self.session().history().len());
                self.forget_after(Some(turn));
                self.acknowledge();
                self.model.forget();
            }
            Err(error) => assert_eq!(error.kind(), ErrorKind::InvalidTurn, "{error}"),
        }
    }

    async fn reopen(&mut self, way: Way) {
        match way {
            Way::Shutdown => {
                self.shut_down().await;
                return self.open_same().await;
            }
            Way::Dropped => self.drop_session().await,
            Way::Killed(cut) => {
                let copy = self.copy().await;
                self.kill(cut, copy).await;
            }
        }
        self.open().await;
    }

    async fn fork(&mut self, at: Option<u32>) {
        let (source, name) = (self.id.clone(), self.fresh("fork"));
        let mut options = self.options.clone();
        options.session_id = Some(name.parse().unwrap());
        // A fork begins with what is written.
        self.session().flush().await.unwrap();
        self.acknowledge();
        let forked = match at {
            None => Session::fork(options, &source).await,
            Some(turn) => {
                let turn = turn % (self.last_turn() + 1);
                let forked = Session::fork_at(options, &source, turn).await;
                if forked.is_ok() {
                    self.forget_after(Some(turn));
                }
                forked
            }
        };
        let forked = match forked {
            Ok(forked) => forked,
            Err(error) => return assert_eq!(error.kind(), ErrorKind::InvalidTurn, "{error}"),
        };
        let source = self.replace_session(forked);
        source.shutdown("other").await.unwrap();
        self.check_log().await;
        self.id = name.parse().unwrap();
        self.count_anew();
        self.acknowledge();
    }

    async fn import(&mut self, log: bool, fresh: bool) {
        self.shut_down().await;
        self.check_log().await;
        let options = if log { ExportOptions::default() } else { ExportOptions::without_log() };
        let mut artifact = Vec::new();
        let report = export(&*self.kept.store(), &self.id, &options, &mut artifact).await.unwrap();
        assert_eq!(report.left_out, 0, "{report:?}");
        let mut options = ImportOptions::default();
        options.ambient = self.options.ambient.clone();
        if fresh {
            options.id = ImportId::As(self.fresh("import").parse().unwrap());
        } else {
            let other = Kept::new(matches!(self.kept, Kept::Memory(_)));
            self.kept = other;
        }
        self.options.store = self.kept.store();
        let report = import_from(&*self.kept.store(), &*artifact, &options).await.unwrap();
        assert!(report.unused.is_empty() && report.restated != log, "{report:?}");
        self.id = report.session_id;
        if !log {
            self.count_anew();
        }
        self.open_same().await;
    }

    /// The conversation goes out and in again, and can be sent from there.
    fn conversation(&mut self) {
        let exported = self.session().export_conversation();
        // The format asks for ids; requests give one to calls that have none.
        if self.session().history().iter().any(|message| message.answers() == Some("")) {
            return;
        }
        let json = serde_json::to_vec(&exported).unwrap();
        let read = ConversationExport::from_json(&json).unwrap();
        assert_eq!(read, exported);
        let mut options = ConversationOptions::new("model-1", "/p");
        options.ambient = self.options.ambient.clone();
        options.durability = Durability::None;
        options.session_id = Some("c".parse().unwrap());
        let conversation = Conversation::import(read, options).unwrap();
        let history: Vec<_> = conversation.conversation_history().iter().cloned().collect();
        assert_eq!(history, self.session().history());
    }

    fn inject(&mut self, odd: Odd) {
        let session = self.session();
        let said = match odd {
            Odd::User => session.inject_message(InjectedRole::User, "By the way."),
            Odd::Assistant => session.inject_message(InjectedRole::Assistant, "I see."),
            Odd::System => session.inject_message(InjectedRole::System, "The folder has changed."),
            Odd::Large => session.inject_message(InjectedRole::User, "x".repeat(40_000)),
            odd => {
                let ambient = &self.options.ambient;
                let entries = entries(odd, ambient);
                entries.into_iter().try_for_each(|entry| session.add_history_entry(entry))
            }
        };
        said.unwrap();
    }
}

fn entries(odd: Odd, ambient: &Ambient) -> Vec<HistoryEntry> {
    let fresh = ambient.next_id();
    let calls = |ids: &[&str]| {
        let call = |id: &&str| ToolCall { id: (*id).to_owned(), name: "Look".into(), arguments: "{}".into() };
        let tool_calls = ids.iter().map(call).collect();
        Body::Assistant { content: None, parts: Vec::new(), tool_calls, reasoning: Vec::new() }
    };
    let result = |id: &str, content: &str| Body::Tool {
        content: content.to_owned(),
        tool_call_id: id.to_owned(),
        name: Some("Look".into()),
        is_error: false,
        parts: Vec::new(),
    };
    let (one, two) = (format!("{fresh}-1"), format!("{fresh}-2"));
    let bodies = match odd {
        Odd::EmptyAnswer => vec![calls(&[])],
        Odd::OpenCalls => vec![calls(&[&one, &two]), result(&two, "two")],
        Odd::SameIds => vec![calls(&["same", "same"]), result("same", "one"), result("same", "two")],
        Odd::OldIds => vec![calls(&["c1"]), result("c1", "one")],
        Odd::NoIds => vec![calls(&["", ""]), result("", "one"), result("", "two")],
        Odd::StrayResult => vec![result("c1", "stray"), result(&one, "stray")],
        Odd::ResultsInDisorder => vec![calls(&[&one, &two]), result(&two, "two"), result(&one, "one")],
        _ => {
            let note = HistoryEntry::event(fresh, Timestamp::default(), "note", json!({"text": "shown"}));
            return vec![note];
        }
    };
    let entry = |body| HistoryEntry::chat(Message::with_body(ambient.next_id(), ambient.now(), body).into());
    bodies.into_iter().map(entry).collect()
}
