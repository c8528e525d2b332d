//! Snapshots: taken when the log has grown by a share since the last one, so that they cost a
//! constant number of bytes per turn however long the session lives.

use std::sync::atomic::Ordering;

use robota_core::{Message, MessageRef};

use super::{Session, lock};
use crate::Error;
use crate::store::{PROMPT_ID, RecordLog, SessionRecord};

/// In place of an offset: there is something to show in listings, so take one at the next occasion.
pub(super) const NEVER: u64 = u64::MAX;
/// Less growth than this is not worth a snapshot while the session is open.
const WORTH: u64 = 64 * 1024;

impl Session {
    /// Takes a snapshot when it is time. A failure costs the next resume some time, and nothing else.
    pub(super) async fn save_snapshot_if_due(&self) {
        // By half, and then by half again: all snapshots together are a fixed multiple of the log.
        if self.has_grown_by(|taken_at| WORTH.max(taken_at / 2))
            && let Err(error) = self.save_snapshot().await
        {
            tracing::warn!(%error, session = %self.id, "no snapshot was taken");
        }
    }

    /// Takes the last snapshot of an open session.
    ///
    /// Also at the end a large session needs some growth for one: a session that is resumed for
    /// single turns would otherwise pay for its whole history each time.
    pub(super) async fn save_last_snapshot(&self) -> Result<(), Error> {
        if self.has_grown_by(|taken_at| (taken_at / 16).max(1)) { self.save_snapshot().await } else { Ok(()) }
    }

    fn has_grown_by(&self, least: impl FnOnce(u64) -> u64) -> bool {
        let taken_at = self.snapshot_offset.load(Ordering::Relaxed);
        let due = taken_at == NEVER || self.journal.mark().offset.saturating_sub(taken_at) >= least(taken_at);
        self.facts.persistent && due
    }

    async fn save_snapshot(&self) -> Result<(), Error> {
        let (record, log) = self.record();
        // A snapshot must never know more than the log.
        self.journal.flush().await?;
        let filter = self.facts.line_filter.clone();
        let encode = move || record.into_snapshot(filter.as_ref());
        let snapshot = tokio::task::spawn_blocking(encode)
            .await
            .map_err(|error| Error::storage("cannot encode the snapshot", error))??;
        self.store.save(snapshot).await?;
        self.snapshot_offset.store(log.offset, Ordering::Relaxed);
        Ok(())
    }

    /// The session as a record, and the place in the log it stands for.
    fn record(&self) -> (SessionRecord, RecordLog) {
        // Mutations are emitted under the lock of the history, so the two belong together here.
        let (history, mark) = {
            let history = self.lock_history();
            (history.clone(), self.journal.mark())
        };
        // Taken while no model is called, so that the log up to the mark tells the same.
        let usage = self.conversation.token_info().unwrap_or_default().usage();
        let log = RecordLog::new(mark, self.conversation.last_turn(), &history).with_usage(usage);
        let system = &self.agent.config().system;
        let first_prompt = history.messages().iter().find(|message| message.role() == "user");
        let mut messages: Vec<MessageRef> = Vec::with_capacity(history.messages().len() + 1);
        if !system.is_empty() {
            messages.push(Message::system(PROMPT_ID, self.facts.created_at, &**system).into());
        }
        messages.extend_from_slice(history.messages());
        let record = SessionRecord {
            id: self.id.clone(),
            name: lock(&self.name).clone(),
            cwd: self.facts.cwd.clone(),
            created_at: self.facts.created_at,
            updated_at: self.ambient().now(),
            message_count: Some(history.messages().len()),
            preview: first_prompt.map(|message| crate::store::preview(message.text())),
            log: Some(log),
            forked_from: self.facts.forked_from.clone(),
            system_prompt: (!system.is_empty()).then(|| system.clone()),
            tool_schemas: Some(self.facts.tool_schemas.clone()),
            extra: self.facts.extra.clone(),
            history: history.entries().to_vec(),
            messages,
        };
        (record, log)
    }
}
