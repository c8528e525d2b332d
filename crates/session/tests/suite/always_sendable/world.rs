//! The session and all around it, with what must be true at any time.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use robota_core::{
    Body, EntryData, HistoryEntry, Message, MessageRef, PermissionMode, SessionId, Timestamp, sendable,
};
use robota_session::{
    AutoCompactThreshold, Defect, DefectKind, Durability, FileStore, LogItem, MemoryStore, Session,
    SessionOptions, SessionStore, replay, validate_session_replay_log_entries,
};
use robota_testkit::{FixedClock, Gate, TempWorkspace, check_sendable, fixed_ambient};

use serde::Serialize;

use super::model::{Hooks, Model, Runs, Tool};
use super::steps::{Cut, Life};
use crate::scene::id;

/// Where sessions are kept.
pub(crate) enum Kept {
    Files(TempWorkspace, FileStore),
    Memory(Arc<MemoryStore>),
}

impl Kept {
    pub(crate) fn new(files: bool) -> Self {
        if !files {
            return Self::Memory(Arc::new(MemoryStore::new()));
        }
        let workspace = TempWorkspace::new();
        let store = FileStore::with_clock(workspace.path(".robota"), Arc::new(FixedClock::default()));
        Self::Files(workspace, store)
    }

    pub(crate) fn store(&self) -> Arc<dyn SessionStore> {
        match self {
            Self::Files(_, store) => Arc::new(store.clone()),
            Self::Memory(store) => store.clone(),
        }
    }

    /// Log and snapshot of a session, from files.
    fn copy(&self, id: &SessionId) -> Option<(Vec<u8>, Option<Vec<u8>>)> {
        let Self::Files(_, store) = self else { return None };
        let log = std::fs::read(store.log_path(id)).unwrap();
        Some((log, std::fs::read(store.record_path(id)).ok()))
    }

    fn log_length(&self, id: &SessionId) -> usize {
        let Self::Files(_, store) = self else { return 0 };
        std::fs::metadata(store.log_path(id)).unwrap().len().try_into().unwrap()
    }
}

/// What a crash may not take away.
#[derive(Default)]
struct Acknowledged {
    messages: Vec<MessageRef>,
    log_length: usize,
    /// Prompts in the timeline, with the turn they began.
    prompts: Vec<(u32, String)>,
}

pub(crate) struct World {
    pub(crate) kept: Kept,
    pub(crate) options: SessionOptions,
    pub(crate) model: Arc<Model>,
    pub(crate) hooks: Arc<Hooks>,
    pub(crate) waits: Arc<Mutex<Gate>>,
    pub(crate) id: SessionId,
    /// Always there between two steps.
    session: Option<Session>,
    runs: Runs,
    /// Ids that the model gives a second time, which may come after the first one was compacted away.
    pub(crate) repeated: BTreeSet<String>,
    /// All prompts of this session, with the turn they began; `u32::MAX` where it is not known.
    pub(crate) said: Vec<(u32, String)>,
    acknowledged: Acknowledged,
    /// Whether something was done since that takes messages away.
    pub(crate) shortened: bool,
    count: u32,
}

impl World {
    pub(crate) async fn new(life: &Life) -> Self {
        let kept = Kept::new(life.files);
        let (model, hooks) = (Arc::new(Model::new()), Arc::new(Hooks::default()));
        let (runs, waits) = (Runs::default(), Arc::new(Mutex::new(Gate::new("none"))));
        let mut options = SessionOptions::new(model.clone(), "model-1", "/p");
        options.system_prompt = "Be brief.".into();
        options.permissions.mode = PermissionMode::BypassPermissions;
        options.permissions.rules.deny = vec!["Forbidden".parse().unwrap()];
        options.tools = Tool::all(&runs, &waits);
        options.store = kept.store();
        options.ambient = fixed_ambient();
        options.session_id = Some(id("s"));
        options.context_window = life.window;
        options.auto_compact_threshold = Some(AutoCompactThreshold::default());
        options.hooks = Some(hooks.clone());
        options.output_budget = 0;
        options.durability = Durability::None;
        let session = Session::create(options.clone()).await.unwrap();
        let mut world = Self {
            kept,
            options,
            model,
            hooks,
            waits,
            id: id("s"),
            session: Some(session),
            runs,
            repeated: BTreeSet::new(),
            said: Vec::new(),
            acknowledged: Acknowledged::default(),
            shortened: false,
            count: 0,
        };
        world.acknowledge();
        world
    }

    pub(crate) fn session(&self) -> &Session {
        self.session.as_ref().unwrap()
    }

    /// A name that nothing else has.
    pub(crate) fn fresh(&mut self, what: &str) -> String {
        self.count += 1;
        format!("{what}{}", self.count)
    }

    /// What is there now was acknowledged.
    pub(crate) fn acknowledge(&mut self) {
        let told = timeline(self.session());
        let mut prompts = std::mem::take(&mut self.acknowledged.prompts);
        let more = self.said.iter().filter(|said| told.contains(&said.1) && !prompts.contains(said));
        prompts.extend(more.cloned().collect::<Vec<_>>());
        self.acknowledged = Acknowledged {
            messages: self.session().history(),
            log_length: self.kept.log_length(&self.id),
            prompts,
        };
        self.shortened = false;
    }

    /// Only prompts of turns up to `turn` have to be there from now on.
    pub(crate) fn forget_after(&mut self, turn: Option<u32>) {
        let stays = |(number, _): &(u32, String)| turn.is_some_and(|turn| *number <= turn);
        self.acknowledged.prompts.retain(stays);
        self.said.retain(stays);
        self.shortened = true;
    }

    /// What was said so far comes before the first turn of the session there is now.
    pub(crate) fn count_anew(&mut self) {
        self.acknowledged.prompts.iter_mut().for_each(|(turn, _)| *turn = 0);
        self.said.clone_from(&self.acknowledged.prompts);
    }

    pub(crate) fn last_turn(&self) -> u32 {
        self.said.iter().map(|(turn, _)| *turn).filter(|turn| *turn < u32::MAX).max().unwrap_or(0)
    }

    /// What must be true at any time.
    pub(crate) fn check(&self) {
        let mut next = self.session().history();
        next.push(Message::user("next", Timestamp::default(), "And now?").into());
        check_sendable(&sendable(&next)).unwrap();
        self.model.assert_clean();
        let told = timeline(self.session());
        for (turn, prompt) in &self.acknowledged.prompts {
            assert!(told.contains(prompt), "{prompt} of turn {turn} is lost; there are {told:?}");
        }
        let runs = self.runs.lock().unwrap();
        let once = |(id, count): (&String, &u32)| *count == 1 || self.repeated.contains(id);
        assert!(runs.iter().all(once), "a call has run twice: {runs:?}");
    }

    pub(crate) async fn shut_down(&mut self) {
        self.session().shutdown("other").await.unwrap();
        self.acknowledge();
    }

    /// Opens the session again after it was shut down.
    pub(crate) async fn open_same(&mut self) {
        let before = self.session.take().unwrap();
        let (messages, entries) = (before.history(), before.full_history());
        drop(before);
        self.open().await;
        assert_same(&self.session().history(), &messages);
        assert_same(&self.session().full_history(), &entries);
    }

    /// Opens the session again, whatever happened to it.
    pub(crate) async fn open(&mut self) {
        self.model.forget();
        let session = Session::resume(self.options.clone(), &self.id).await.unwrap();
        let defects = session.defects();
        let torn = |defect: &Defect| defect.kind == DefectKind::TornTail;
        assert!(defects.total() <= 1 && defects.listed().iter().all(torn), "{defects}");
        let messages = session.history();
        if !self.shortened {
            let expected = &self.acknowledged.messages;
            assert!(messages.starts_with(expected), "lost of {expected:#?}\nin {messages:#?}");
        }
        self.session = Some(session);
        self.acknowledge();
    }

    pub(crate) fn replace_session(&mut self, session: Session) -> Session {
        self.model.forget();
        self.session.replace(session).unwrap()
    }

    /// Lets go of the session without a word.
    pub(crate) async fn drop_session(&mut self) {
        let session = self.session.take().unwrap();
        let mut streamed = session.subscribe();
        drop(session);
        while streamed.recv().await.is_some() {}
    }

    /// Ends the session as the death of the process does, with a cut somewhere behind what was acknowledged.
    pub(crate) async fn kill(&mut self, cut: Cut, copy: Option<(Vec<u8>, Option<Vec<u8>>)>) {
        self.drop_session().await;
        let (Some((mut log, record)), Kept::Files(workspace, _)) = (copy, &self.kept) else { return };
        let sure = self.acknowledged.log_length;
        log.truncate(sure + (log.len() - sure) * usize::from(cut.at) / 255);
        workspace.write(&format!(".robota/logs/{}.jsonl", self.id), log);
        let path = format!(".robota/sessions/{}.json", self.id);
        match record.filter(|_| cut.snapshot) {
            Some(record) => workspace.write(&path, record),
            None => drop(std::fs::remove_file(workspace.path(&path))),
        }
        // What was said since may be gone.
        self.said.clone_from(&self.acknowledged.prompts);
    }

    /// Log and snapshot as they are now.
    pub(crate) async fn copy(&self) -> Option<(Vec<u8>, Option<Vec<u8>>)> {
        self.session().flush().await.unwrap();
        self.kept.copy(&self.id)
    }

    /// A last turn, in a window with room for it, and a look at the log.
    pub(crate) async fn end(mut self) {
        self.shut_down().await;
        self.options.context_window = 0;
        self.open_same().await;
        self.check();
        self.model.says(["Final.".into()]);
        let outcome = self.session().run("The end.").await.unwrap();
        assert_eq!((outcome.ended, outcome.text.as_str()), (robota_core::TurnEnd::Completed, "Final."));
        self.check();
        self.shut_down().await;
        self.check_log().await;
        self.open_same().await;
    }

    /// The log is valid, and every request comes out the same.
    pub(crate) async fn check_log(&self) {
        let log = self.kept.store().read_log(&self.id).await.unwrap().unwrap();
        let event = |item: std::io::Result<LogItem>| match item.unwrap() {
            LogItem::Event(event) => *event,
            other => panic!("{other:?}"),
        };
        let events: Vec<_> = log.into_reader().map(event).collect();
        let validation = validate_session_replay_log_entries(&events);
        assert!(validation.ok, "{:?}", validation.issues);
        let report = replay(&events).await;
        assert_eq!(report.first_divergence(), None);
    }

    pub(crate) fn objects(&self, prompt: bool, compaction: bool, stop: bool) {
        self.hooks.prompt.store(prompt, Ordering::SeqCst);
        self.hooks.compaction.store(compaction, Ordering::SeqCst);
        self.hooks.stop.store(stop, Ordering::SeqCst);
    }
}

/// The prompts of the timeline, without what follows their first line.
fn timeline(session: &Session) -> Vec<String> {
    let prompt = |entry: HistoryEntry| match entry.data {
        EntryData::Message(message) => match &message.body {
            Body::User { content, .. } => content.lines().next().map(str::to_owned),
            _ => None,
        },
        EntryData::Event(_) => None,
    };
    session.full_history().into_iter().filter_map(prompt).collect()
}

/// As `assert_eq!`, in few words.
fn assert_same<T: PartialEq + Serialize>(are: &[T], were: &[T]) {
    let short = |one: &T| serde_json::to_string(one).unwrap().chars().take(400).collect::<String>();
    for (at, (is, was)) in are.iter().zip(were).enumerate() {
        assert!(is == was, "number {at} is {}\nand was {}", short(is), short(was));
    }
    assert_eq!(are.len(), were.len(), "{:?}", are.iter().chain(were).last().map(short));
}
