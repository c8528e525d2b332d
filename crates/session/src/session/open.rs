//! How a session comes to be: made, resumed or forked.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::sync::{Mutex, OnceLock};

use robota_core::{
    Agent, AgentConfig, EventKind, EventSink, History, OutputSpill, Rule, SessionId, SessionSource, ToolSpec,
    Usage,
};
use serde_json::{Map, Value};

use super::half_done::PROCESS_STOPPED;
use super::sink::SessionSink;
use super::{Facts, Session, SessionOptions, lock, reminder, web_tools};
use crate::conversation::Attached;
use crate::lifecycle_hooks::{HookFacts, LifecycleHooks};
use crate::log::JournalOptions;
use crate::outputs::SessionOutputs;
use crate::permission::{Deciders, PermissionEnforcer};
use crate::restate::restated;
use crate::{
    Conversation, ConversationOptions, Defects, Error, Journal, OpenLog, StoredSession, session_name,
};

/// The tools, as events carry them.
type Specs = Arc<[Arc<ToolSpec>]>;

impl Session {
    /// Makes a session.
    ///
    /// # Errors
    ///
    /// [`Exists`](crate::ErrorKind::Exists) when `options.session_id` names a session,
    /// [`InvalidId`](crate::ErrorKind::InvalidId) when `options.ambient` makes no valid ids,
    /// [`InvalidName`](crate::ErrorKind::InvalidName) for `options.name`,
    /// [`Storage`](crate::ErrorKind::Storage) when nothing can be written.
    pub async fn create(mut options: SessionOptions) -> Result<Self, Error> {
        options.name = session_name::kept(options.name.as_deref())?;
        let id = new_id(&options)?;
        let log = options.store.create(&id).await?;
        let session = Self::assemble(&options, Origin::new(id, &options), log);
        session.announce(options.permissions.mode);
        session.born(SessionSource::Startup).await
    }

    /// Opens the session `id` again, with the provider, prompt and tools of `options`.
    ///
    /// Tool calls that were cut off are answered with "outcome unknown" or "not run", and never run
    /// again by themselves. What could not be read is in [`defects`](Session::defects).
    ///
    /// # Errors
    ///
    /// [`NotFound`](crate::ErrorKind::NotFound); [`Locked`](crate::ErrorKind::Locked) when another
    /// program has it open; [`InvalidName`](crate::ErrorKind::InvalidName) for `options.name`;
    /// [`Storage`](crate::ErrorKind::Storage) when it cannot be read or written.
    pub async fn resume(mut options: SessionOptions, id: &SessionId) -> Result<Self, Error> {
        options.name = session_name::kept(options.name.as_deref())?;
        let (mut stored, log) = options.store.open(id).await?;
        let history = std::mem::take(&mut stored.history);
        let started = std::mem::take(&mut stored.started_calls);
        let has_gaps = stored.has_gaps;
        let restate = stored.outside_log.then_some(log.offset > 0);
        let (prompt, tools) = changed(&options, &stored);
        let skipped_lines = stored.defects.in_log();
        let session = Self::assemble(&options, Origin::of(stored), Some(log));
        match restate {
            Some(log_has_lines) => {
                session.announce(options.permissions.mode);
                session.restate(&history, log_has_lines);
                session.announce_resume(None, None, skipped_lines);
            }
            None => {
                *session.lock_history() = history;
                session.announce_resume(prompt, tools, skipped_lines);
            }
        }
        if has_gaps {
            // Positions in the log have moved; from here on they count anew.
            session.mutate(|history| history.replace(history.messages().to_vec()));
        }
        session.settle(&started);
        if options.name.is_some() {
            session.set_name(options.name.as_deref())?;
        }
        session.journal.written().await?;
        session.fire_opened(SessionSource::Resume).await;
        Ok(session)
    }

    /// Makes a session that begins with a copy of the history of session `id`, which stays as it
    /// is and may be open elsewhere.
    ///
    /// # Errors
    ///
    /// [`NotFound`](crate::ErrorKind::NotFound) for `id`; otherwise as [`create`](Session::create).
    pub async fn fork(options: SessionOptions, id: &SessionId) -> Result<Self, Error> {
        let source = options.store.load(id).await?;
        Self::fork_of(options, source).await
    }

    /// The same with the history as it was right after the turn `turn`; 0 for before the first. What
    /// `load_at` of a [`SessionStore`](crate::SessionStore) gives.
    ///
    /// # Errors
    ///
    /// As [`fork`](Session::fork), and [`InvalidTurn`](crate::ErrorKind::InvalidTurn) with the turns that
    /// there are.
    pub async fn fork_at(options: SessionOptions, id: &SessionId, turn: u32) -> Result<Self, Error> {
        let source = options.store.load_at(id, turn).await?;
        Self::fork_of(options, source).await
    }

    async fn fork_of(mut options: SessionOptions, source: StoredSession) -> Result<Self, Error> {
        options.name = session_name::kept(options.name.as_deref())?;
        let mut origin = Origin::new(new_id(&options)?, &options);
        origin.forked_from = Some(source.id);
        origin.defects = source.defects;
        let log = options.store.create(&origin.id).await?;
        let session = Self::assemble(&options, origin, log);
        session.announce(options.permissions.mode);
        session.restate(&source.history, false);
        session.settle(&source.started_calls);
        session.born(SessionSource::Resume).await
    }

    /// A new session that is in its log, or none at all.
    async fn born(self, source: SessionSource) -> Result<Self, Error> {
        let Err(error) = self.journal.written().await else {
            self.fire_opened(source).await;
            return Ok(self);
        };
        self.journal.close().await;
        if let Err(error) = self.store.delete(&self.id).await {
            tracing::warn!(%error, session = %self.id, "a session that could not be made left files behind");
        }
        Err(error.into())
    }

    fn assemble(options: &SessionOptions, origin: Origin, log: Option<OpenLog>) -> Self {
        let outputs = SessionOutputs::new(options, &origin.id);
        let reading = outputs.as_ref().and_then(SessionOutputs::reading_rule);
        let agent = agent_of(options, &origin.id, outputs);
        let persistent = log.is_some();
        let transcript = log.as_ref().map(|log| log.location.clone());
        let mut journal = JournalOptions::new(origin.id.clone());
        journal.ambient = options.ambient.clone();
        journal.last_seq = origin.last_seq;
        journal.durability = options.durability;
        journal.filter.clone_from(&options.line_filter);
        let journal = Arc::new(Journal::start(journal, log));
        let sink = Arc::new(SessionSink::new(Arc::clone(&journal), options.observer.clone()));
        let conversation = Arc::new(converse(options, &origin, &journal, &sink));
        sink.count_in(&conversation);
        let told = HookFacts { session_id: origin.id.clone(), cwd: origin.cwd.clone(), transcript };
        let (hooks, gate) = safeguards(options, reading, told, &conversation, &sink);
        Self {
            conversation,
            sink,
            journal,
            gate,
            hooks,
            store: Arc::clone(&options.store),
            name: Mutex::new(origin.name),
            threshold: Mutex::new(options.auto_compact_threshold),
            waiting_context: Mutex::default(),
            said_at_start: OnceLock::new(),
            outdated_note: OnceLock::new(),
            cleared: AtomicBool::new(false),
            unsent: Mutex::default(),
            completed_turns: AtomicUsize::new(0),
            snapshot_offset: AtomicU64::new(origin.snapshot_offset),
            shutdown: tokio::sync::Mutex::default(),
            defects: origin.defects,
            facts: Facts {
                cwd: origin.cwd,
                created_at: origin.created_at,
                forked_from: origin.forked_from,
                tool_schemas: tool_schemas(&agent),
                extra: origin.extra,
                persistent,
                line_filter: options.line_filter.clone(),
                compact_instructions: options.compact_instructions.clone(),
                context_note: options.context_note.clone(),
            },
            id: origin.id,
            agent,
        }
    }

    /// Logs the birth of the session.
    fn announce(&self, permission_mode: robota_core::PermissionMode) {
        let config = self.agent.config();
        self.journal.emit(EventKind::SessionInit {
            cwd: self.facts.cwd.clone(),
            name: lock(&self.name).clone(),
            provider: config.provider.info().id.clone(),
            model: config.model.to_string(),
            permission_mode,
            system_prompt: Arc::clone(&config.system),
            system_prompt_length: config.system.len(),
            tool_schemas: Arc::clone(self.agent.tool_specs()),
            forked_from: self.facts.forked_from.clone(),
            max_output_tokens: config.max_output_tokens,
            raw_capture: config.raw_capture,
            tuning: config.tuning.clone(),
        });
    }

    /// Logs that the session goes on, with what has changed about it.
    fn announce_resume(
        &self,
        system_prompt: Option<Arc<str>>,
        tool_schemas: Option<Specs>,
        skipped_lines: usize,
    ) {
        let config = self.agent.config();
        self.journal.emit(EventKind::SessionResume {
            provider: config.provider.info().id.clone(),
            model: config.model.to_string(),
            history: self.lock_history().reference(),
            system_prompt,
            tool_schemas,
            skipped_lines,
            max_output_tokens: config.max_output_tokens,
            raw_capture: config.raw_capture,
            tuning: config.tuning.clone(),
        });
    }

    /// Tells the log a history that it does not hold.
    fn restate(&self, told: &History, clear_first: bool) {
        let mut history = self.lock_history();
        let (now, mutations) = restated(told, clear_first);
        for mutation in mutations {
            self.sink.emit(EventKind::HistoryMutation(mutation));
        }
        *history = now;
    }

    /// Brings what an earlier run has left to an end.
    fn settle(&self, started: &BTreeSet<String>) {
        self.sink.seen().started.clone_from(started);
        self.answer_half_done(PROCESS_STOPPED);
        let specs = self.agent.tool_specs();
        let is_command = |name: &str| {
            specs.iter().any(|spec| spec.name == name && spec.class == robota_core::ToolClass::Execute)
        };
        let outdated = reminder::note_before_calls(self.lock_history().messages(), is_command);
        if let Some(id) = outdated {
            self.outdated_note.get_or_init(|| id);
        }
    }
}

/// What a session starts from.
struct Origin {
    id: SessionId,
    name: Option<String>,
    cwd: std::path::PathBuf,
    created_at: robota_core::Timestamp,
    forked_from: Option<SessionId>,
    last_seq: u64,
    turn: u32,
    usage: Usage,
    snapshot_offset: u64,
    extra: Map<String, Value>,
    defects: Defects,
}

impl Origin {
    fn new(id: SessionId, options: &SessionOptions) -> Self {
        Self {
            id,
            name: options.name.clone(),
            cwd: options.cwd.clone(),
            created_at: options.ambient.now(),
            forked_from: None,
            last_seq: 0,
            turn: 0,
            usage: Usage::default(),
            snapshot_offset: 0,
            extra: Map::new(),
            defects: Defects::default(),
        }
    }

    fn of(stored: StoredSession) -> Self {
        Self {
            id: stored.id,
            name: stored.name,
            cwd: stored.cwd,
            created_at: stored.created_at,
            forked_from: stored.forked_from,
            last_seq: stored.mark.seq,
            turn: stored.turn,
            usage: stored.usage,
            snapshot_offset: stored.snapshot_offset,
            extra: stored.extra,
            defects: stored.defects,
        }
    }
}

/// The engine of a session.
fn agent_of(options: &SessionOptions, id: &SessionId, outputs: Option<SessionOutputs>) -> Agent {
    let mut tuning = options.tuning.clone();
    tuning.native_web_tools = Some(web_tools::configured(options));
    tuning.cache_key = Some(id.as_str().into());
    Agent::new(AgentConfig {
        provider: Arc::clone(&options.provider),
        model: Arc::clone(&options.model),
        system: Arc::clone(&options.system_prompt),
        tools: options.tools.clone(),
        max_rounds: options.max_turns,
        context_window: options.context_window,
        max_output_tokens: options.max_output_tokens,
        output_budget: options.output_budget,
        spill: outputs.map(|outputs| Arc::new(outputs) as Arc<dyn OutputSpill>),
        tuning,
        idle_timeout: options.provider_timeout,
        raw_capture: options.raw_capture,
        ambient: options.ambient.clone(),
    })
}

/// Who stands around the tool calls of a session: its hooks, and its gate.
fn safeguards(
    options: &SessionOptions,
    reading: Option<Rule>,
    told: HookFacts,
    conversation: &Arc<Conversation>,
    sink: &Arc<SessionSink>,
) -> (Arc<LifecycleHooks>, PermissionEnforcer) {
    let mut policy = options.permissions.clone();
    // What the model is told to page through it can read in any mode.
    policy.rules.allow.extend(reading);
    let policy = Arc::new(Mutex::new(policy));
    let runner = options.hooks.clone();
    let sink: Arc<dyn EventSink> = Arc::<SessionSink>::clone(sink);
    let hooks = Arc::new(LifecycleHooks::new(runner, told, Arc::clone(&policy), Arc::clone(&sink)));
    let (handler, keeper) = (options.permission_handler.clone(), options.rule_keeper.clone());
    let deciders = Deciders { handler, keeper };
    let gate = PermissionEnforcer::new(policy, deciders, Arc::clone(conversation), sink, Arc::clone(&hooks));
    (hooks, gate)
}

/// The conversation of a session, with its history still empty.
fn converse(
    options: &SessionOptions,
    origin: &Origin,
    journal: &Arc<Journal>,
    sink: &Arc<SessionSink>,
) -> Conversation {
    let mut conversation = ConversationOptions::new(Arc::clone(&options.model), &options.cwd);
    conversation.ambient = options.ambient.clone();
    conversation.store = Arc::clone(&options.store);
    conversation.durability = options.durability;
    conversation.line_filter.clone_from(&options.line_filter);
    let state = Attached {
        session_id: origin.id.clone(),
        journal: Arc::clone(journal),
        sink: Arc::<SessionSink>::clone(sink),
        history: History::default(),
        last_turn: origin.turn,
        usage: origin.usage,
        created: origin.created_at,
        defects: Defects::default(),
    };
    Conversation::attached(conversation, state)
}

fn new_id(options: &SessionOptions) -> Result<SessionId, Error> {
    match &options.session_id {
        Some(id) => Ok(id.clone()),
        None => Ok(options.ambient.next_id().parse()?),
    }
}

fn tool_schemas(agent: &Agent) -> Arc<[Value]> {
    let schema = |spec: &Arc<ToolSpec>| serde_json::to_value(spec).unwrap_or_default();
    agent.tool_specs().iter().map(schema).collect()
}

/// The prompt and the tools of `options` where they differ from those last in use.
fn changed(options: &SessionOptions, stored: &StoredSession) -> (Option<Arc<str>>, Option<Specs>) {
    let specs: Specs = options.tools.iter().map(|tool| Arc::clone(tool.spec())).collect();
    let schemas: Vec<Value> =
        specs.iter().map(|spec| serde_json::to_value(spec).unwrap_or_default()).collect();
    let same_prompt = stored.system_prompt.as_deref() == Some(&*options.system_prompt);
    let same_tools = stored.tool_schemas.as_ref() == Some(&schemas);
    ((!same_prompt).then(|| Arc::clone(&options.system_prompt)), (!same_tools).then_some(specs))
}
