//! The model calls of a compaction.

use futures_util::StreamExt;
use robota_core::{
    EventKind, EventSink, FinishReason, HistoryRef, MessageRef, ModelEvent, ModelStream, ProviderError,
    ProviderErrorKind, RawPayloads, RequestPurpose, Usage,
};
use tokio_util::sync::CancellationToken;

use super::CompactionError;
use super::excerpt::shorten;
use super::prompt::Brief;
use super::transcript::{Transcript, TranscriptPart};

/// How many times a provider may refuse a request for its length before the compaction fails. Each time,
/// the next request is half as long.
const MAX_REFUSALS: u32 = 4;

/// Stands at the end of a summary that the model was not allowed to finish.
const CUT_OFF: &str = "\n[The summary was cut off here.]";

/// Least bytes that a summary may have: enough for what is cut, and for the words that say so. So a summary
/// that was kept is one that would be kept as it is, and a replay can give it for the model's answer.
pub(super) const SHORTEST_SUMMARY: usize = 256;

/// Summarises a history part by part: each call has the summary so far and the next messages.
pub(super) struct Summariser<'a> {
    pub(super) brief: Brief<'a>,
    pub(super) sink: &'a dyn EventSink,
    pub(super) cancel: &'a CancellationToken,
    /// Stands in the log before the first call.
    pub(super) opening: Option<EventKind>,
    /// The history that is summarised, for the log.
    pub(super) history: HistoryRef,
    /// Most bytes of text in one request.
    pub(super) request_bytes: usize,
    /// Most bytes of the summary; at least [`SHORTEST_SUMMARY`].
    pub(super) summary_bytes: usize,
    pub(super) progress: Progress,
}

/// What has come together so far.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// The summary of everything taken in.
    pub(super) summary: String,
    /// Model calls that gave a summary.
    pub(super) parts: u32,
    /// Tokens of these calls.
    pub(super) usage: Usage,
    refusals: u32,
}

/// What a call gave.
#[derive(Default)]
struct Answer {
    text: String,
    usage: Usage,
    finish: Option<FinishReason>,
}

impl Summariser<'_> {
    /// Takes the next messages of the history into the summary.
    pub(super) async fn take(&mut self, messages: &[MessageRef]) -> Result<(), CompactionError> {
        let mut transcript = Transcript::new(messages);
        loop {
            let others = self.brief.bytes(&self.progress.summary, self.request_bytes);
            let room = self.request_bytes.saturating_sub(others).max(self.request_bytes / 4);
            let Some(part) = transcript.next_part(room) else { return Ok(()) };
            match self.call(&part).await {
                Err(CompactionError::Provider(error)) if self.may_halve(&error) => {
                    let sent = others + part.bytes();
                    self.request_bytes = self.request_bytes.min(sent) / 2;
                    transcript.put_back(part);
                }
                outcome => outcome?,
            }
        }
    }

    fn may_halve(&mut self, error: &ProviderError) -> bool {
        let refused = error.kind() == ProviderErrorKind::ContextLength;
        self.progress.refusals += u32::from(refused);
        refused && self.progress.refusals <= MAX_REFUSALS
    }

    /// One model call, which gives the summary of everything so far and of `part`.
    async fn call(&mut self, part: &TranscriptPart) -> Result<(), CompactionError> {
        let number = self.progress.parts + 1;
        let request = self.brief.request(&self.progress.summary, &part.text(), self.request_bytes);
        let config = self.brief.agent.config();
        if let Some(opening) = self.opening.take() {
            self.sink.emit(opening);
        }
        self.sink.emit(EventKind::ProviderRequest {
            round: number,
            provider: config.provider.info().id.clone(),
            model: config.model.to_string(),
            history: self.history,
            last_words: false,
            purpose: RequestPurpose::Compaction,
            digest: Some(request.digest()),
        });
        // As in a turn, what the model is shown is in the log first.
        let written = self.cancel.run_until_cancelled(self.sink.written()).await;
        written.ok_or(CompactionError::Cancelled)?.map_err(CompactionError::Log)?;
        let stream = config.provider.stream(request, self.cancel.child_token());
        let answer = self.receive(stream, number).await?;
        let usage = answer.usage;
        let summary = self.summary_of(&answer)?;
        self.progress.usage += usage;
        self.progress.parts = number;
        self.progress.summary.clone_from(&summary);
        self.sink.emit(EventKind::CompactSummary { part: number, summary, usage });
        Ok(())
    }

    async fn receive(&self, mut stream: ModelStream, number: u32) -> Result<Answer, CompactionError> {
        let mut answer = Answer::default();
        let provider = self.brief.agent.config().provider.info().id.clone();
        let mut raw = RawPayloads::new(provider, number, self.sink);
        loop {
            let next = self.cancel.run_until_cancelled(stream.next()).await;
            match next.ok_or(CompactionError::Cancelled)? {
                Some(Ok(ModelEvent::Raw { kind, payload })) => raw.take(kind, payload),
                Some(Ok(event)) => {
                    if let ModelEvent::Fallback { provider, .. } = &event {
                        raw.go_on_with(provider);
                    }
                    self.take_event(event, &mut answer);
                }
                Some(Err(_)) if self.cancel.is_cancelled() => return Err(CompactionError::Cancelled),
                Some(Err(error)) => return Err(CompactionError::Provider(error)),
                None => return Ok(answer),
            }
        }
    }

    /// Only the text counts; it is no answer to the user, so nobody is shown how it comes.
    fn take_event(&self, event: ModelEvent, answer: &mut Answer) {
        match event {
            ModelEvent::TextDelta(delta) => answer.text.push_str(&delta),
            ModelEvent::Usage(usage) => answer.usage = usage,
            ModelEvent::Finish(reason) => answer.finish = Some(reason),
            void @ (ModelEvent::Retry { .. } | ModelEvent::Fallback { .. }) => {
                *answer = Answer::default();
                if let Some(kind) = EventKind::of_model(void) {
                    self.sink.emit(kind);
                }
            }
            _ => {}
        }
    }

    fn summary_of(&self, answer: &Answer) -> Result<String, CompactionError> {
        let text = answer.text.trim();
        let failed = |kind, message: &str| Err(CompactionError::Provider(ProviderError::new(kind, message)));
        let cut_off = match &answer.finish {
            None => return failed(ProviderErrorKind::Protocol, "the summary stopped without an end"),
            Some(FinishReason::Refusal | FinishReason::ContentFilter) => {
                return failed(
                    ProviderErrorKind::ContentFilter,
                    "the model declined to summarise the history",
                );
            }
            Some(FinishReason::ContextWindow) if text.is_empty() => {
                return failed(
                    ProviderErrorKind::ContextLength,
                    "the context window left no room for a summary",
                );
            }
            Some(FinishReason::MaxTokens | FinishReason::ContextWindow) => CUT_OFF,
            Some(_) => "",
        };
        if text.is_empty() {
            return Err(CompactionError::EmptySummary);
        }
        let room = self.summary_bytes.saturating_sub(cut_off.len());
        Ok(format!("{}{cut_off}", shorten(text, room)))
    }
}
