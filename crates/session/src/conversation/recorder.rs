//! The log of a conversation: the rollout recorder of seed `003` is the event log of this crate.

use std::sync::Arc;

use robota_core::{Error as CoreError, EventKind, EventSink, History, PermissionMode, RawCapture, SessionId};

use super::ConversationOptions;
use crate::log::JournalOptions;
use crate::restate::restated;
use crate::{Error, Journal, OpenLog};

/// Where the events of a conversation go.
pub(super) struct Recorder {
    journal: Arc<Journal>,
    /// The journal, or what stands in front of it.
    sink: Arc<dyn EventSink>,
}

impl Recorder {
    pub(super) fn new(journal: Arc<Journal>, sink: Arc<dyn EventSink>) -> Self {
        Self { journal, sink }
    }

    /// Starts a journal for the session `id` on `log`, after the event `last_seq`.
    pub(super) fn start(
        options: &ConversationOptions,
        id: &SessionId,
        last_seq: u64,
        log: Option<OpenLog>,
    ) -> Self {
        let mut start = JournalOptions::new(id.clone());
        start.ambient = options.ambient.clone();
        start.last_seq = last_seq;
        start.durability = options.durability;
        start.filter.clone_from(&options.line_filter);
        let journal = Arc::new(Journal::start(start, log));
        Self { sink: Arc::<Journal>::clone(&journal), journal }
    }

    pub(super) fn journal(&self) -> &Arc<Journal> {
        &self.journal
    }

    pub(super) fn emit(&self, kind: EventKind) {
        self.sink.emit(kind);
    }

    /// Logs the birth of a conversation. It has neither prompt nor tools of its own.
    pub(super) fn announce(&self, options: &ConversationOptions) {
        self.emit(EventKind::SessionInit {
            cwd: options.cwd.clone(),
            name: None,
            provider: String::new(),
            model: options.model.to_string(),
            permission_mode: PermissionMode::Default,
            system_prompt: "".into(),
            system_prompt_length: 0,
            tool_schemas: [].into(),
            forked_from: None,
            max_output_tokens: None,
            raw_capture: RawCapture::Off,
            tuning: robota_core::RequestTuning::default(),
        });
    }

    /// Tells the log a history that it does not hold, and returns it as the log has it now.
    pub(super) fn restate(&self, told: &History, clear_first: bool) -> History {
        let (history, mutations) = restated(told, clear_first);
        for mutation in mutations {
            self.emit(EventKind::HistoryMutation(mutation));
        }
        history
    }

    pub(super) async fn written(&self) -> Result<(), CoreError> {
        self.sink.written().await
    }

    /// Logs the end, waits until it is durable, and gives the session free. With `flush`, everything is
    /// on disk before, whatever the durability.
    pub(super) async fn end(&self, reason: &str, flush: bool) -> Result<(), Error> {
        let mut ended = self.journal.acknowledge(EventKind::SessionShutdown { reason: reason.into() }).await;
        if flush && ended.is_ok() {
            ended = self.journal.flush().await;
        }
        self.journal.close().await;
        Ok(ended?)
    }
}
