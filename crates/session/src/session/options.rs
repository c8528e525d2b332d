//! What a session is made of.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use robota_core::{
    Ambient, DynTool, HookRunner, Part, PermissionMode, PermissionPolicy, Provider, RawCapture, Redactor,
    RequestTuning, RuleSet, SessionId,
};

use crate::{
    AutoCompactThreshold, Durability, LineFilter, NullStore, OutputSchema, PermissionHandler, RuleKeeper,
    SessionObserver, SessionStore, redacting_filter,
};

/// Most characters of one tool result, by default.
const OUTPUT_BUDGET: usize = 30_000;

/// What a session is made of: `ISessionOptions` of seed `000`.
///
/// Made by [`SessionOptions::new`]; every field may be changed before the session is.
#[derive(Clone)]
#[non_exhaustive]
pub struct SessionOptions {
    /// The model API.
    pub provider: Arc<dyn Provider>,
    /// Model id.
    pub model: Arc<str>,
    /// System prompt; empty for none.
    pub system_prompt: Arc<str>,
    /// Tools, in the order the model sees them.
    pub tools: Vec<Arc<dyn DynTool>>,
    /// Working directory, absolute; recorded with the session.
    pub cwd: PathBuf,
    /// Name for people, of at most 200 characters; a blank one is none. With none, a resumed session
    /// keeps its name.
    pub name: Option<String>,
    /// Id of a new session; a fresh one when `None`. Not used by `resume`.
    pub session_id: Option<SessionId>,
    /// Rules and mode that decide about tool calls.
    pub permissions: PermissionPolicy,
    /// Who is asked where rules and mode do not decide; without one, such calls are denied.
    pub permission_handler: Option<Arc<dyn PermissionHandler>>,
    /// Who keeps rules that are allowed for good; without one they last as long as the session.
    pub rule_keeper: Option<Arc<dyn RuleKeeper>>,
    /// Who is told what happens, at once.
    pub observer: Option<Arc<dyn SessionObserver>>,
    /// Most model calls in one turn; 0 for no limit.
    pub max_turns: u32,
    /// How long a model server may send nothing at all; `None` leaves it to the provider.
    pub provider_timeout: Option<Duration>,
    /// Which native payloads of the provider are recorded.
    pub raw_capture: RawCapture,
    /// Size of the model's context window, in tokens; 0 when unknown.
    pub context_window: u64,
    /// From which share of the window on the session compacts its history by itself; `None` for never.
    pub auto_compact_threshold: Option<AutoCompactThreshold>,
    /// What a summary should pay attention to, such as the section "Compact Instructions" of the project's
    /// instructions.
    pub compact_instructions: Option<String>,
    /// What the model should know of this run and its surroundings, such as date and folder. It goes
    /// with the next prompt whenever it is another one than the history has, so that the system prompt
    /// can stay as it is.
    pub context_note: Option<String>,
    /// Who is told about the lifecycle of the session, and may have a say in it.
    pub hooks: Option<Arc<dyn HookRunner>>,
    /// Most output tokens of one model call; `None` leaves it to the provider.
    pub max_output_tokens: Option<u32>,
    /// How much effort the model puts into its answers, whether it thinks first, and the form of all answers. The
    /// session itself asks the provider for its web tools, and names itself to the provider's cache.
    pub tuning: RequestTuning,
    /// Most characters of one tool result; 0 for no limit.
    pub output_budget: usize,
    /// Where the session is kept.
    pub store: Arc<dyn SessionStore>,
    /// Where whole outputs are kept of a session whose store keeps no files: a private folder in this one, removed
    /// with the session. With neither, a result that is too long loses its middle for good.
    pub temporary_outputs: Option<PathBuf>,
    /// Time and ids.
    pub ambient: Ambient,
    /// When the log is made to survive the death of the machine.
    pub durability: Durability,
    /// Goes over every log line and snapshot before it is stored; by default it takes out what stands under
    /// the key of a secret.
    pub line_filter: Option<LineFilter>,
}

impl SessionOptions {
    /// A session of `provider` and `model` that works in `cwd`: no system prompt, no tools, no
    /// persistence, permission mode `default` with `cwd` as the workspace, no limits but 30,000
    /// characters per tool result.
    #[must_use]
    pub fn new(provider: Arc<dyn Provider>, model: impl Into<Arc<str>>, cwd: impl Into<PathBuf>) -> Self {
        let cwd = cwd.into();
        let permissions = PermissionPolicy {
            mode: PermissionMode::Default,
            rules: RuleSet::default(),
            roots: vec![cwd.clone()],
            cwd: cwd.clone(),
            home: None,
            protected_dirs: Vec::new(),
            confinement: None,
        };
        Self {
            provider,
            model: model.into(),
            system_prompt: "".into(),
            tools: Vec::new(),
            cwd,
            name: None,
            session_id: None,
            permissions,
            permission_handler: None,
            rule_keeper: None,
            observer: None,
            max_turns: 0,
            provider_timeout: None,
            raw_capture: RawCapture::Off,
            context_window: 0,
            auto_compact_threshold: Some(AutoCompactThreshold::default()),
            compact_instructions: None,
            context_note: None,
            hooks: None,
            max_output_tokens: None,
            tuning: RequestTuning::default(),
            output_budget: OUTPUT_BUDGET,
            store: Arc::new(NullStore),
            temporary_outputs: None,
            ambient: Ambient::default(),
            durability: Durability::default(),
            line_filter: Some(redacting_filter(Redactor::default())),
        }
    }
}

/// What a user says in one turn.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Prompt {
    /// The text.
    pub text: String,
    /// Further parts, such as images.
    pub parts: Vec<Part>,
    /// The schema that the answer has to be valid against; `None` for an answer in words.
    pub output_schema: Option<OutputSchema>,
}

impl Prompt {
    /// A prompt of plain text.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), parts: Vec::new(), output_schema: None }
    }

    /// The same prompt, to be answered with JSON that is valid against `schema`:
    /// [`TurnOutcome::structured`](crate::TurnOutcome::structured).
    #[must_use]
    pub fn with_output_schema(mut self, schema: OutputSchema) -> Self {
        self.output_schema = Some(schema);
        self
    }

    /// The same prompt with a further part.
    #[must_use]
    pub fn with_part(mut self, part: Part) -> Self {
        self.parts.push(part);
        self
    }
}

impl From<&str> for Prompt {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl From<String> for Prompt {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}
