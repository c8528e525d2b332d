//! A model's answer while it arrives, and the message it becomes.

use serde_json::{Map, Value, json};

use crate::{
    Ambient, Body, Citation, FinishReason, Message, MessageRef, MessageState, ModelEvent, Part, Reasoning,
    ToolCall, Usage,
};

/// Everything received of one answer so far.
#[derive(Debug, Default)]
pub(super) struct Answer {
    /// Id of the provider that writes it.
    provider: String,
    pub(super) text: String,
    pub(super) usage: Usage,
    pub(super) response_id: Option<String>,
    pub(super) model: Option<String>,
    pub(super) finish: Option<FinishReason>,
    reasoning: Vec<Reasoning>,
    citations: Vec<Citation>,
    /// The whole answer in the words of the API.
    native: Option<Part>,
    thinking: String,
    calls: Vec<(usize, ToolCall)>,
}

impl Answer {
    /// The answer that `provider` is about to write.
    pub(super) fn of(provider: impl Into<String>) -> Self {
        Self { provider: provider.into(), ..Self::default() }
    }

    /// Takes the next event of the stream.
    pub(super) fn take(&mut self, event: &ModelEvent) {
        match event {
            ModelEvent::Started { response_id, model } => {
                self.response_id.clone_from(response_id);
                if model.is_some() {
                    self.model.clone_from(model);
                }
            }
            ModelEvent::TextDelta(delta) => self.text.push_str(delta),
            ModelEvent::ThinkingDelta(delta) => self.thinking.push_str(delta),
            ModelEvent::ThinkingEnd { signature } => self.end_thinking(signature.clone()),
            ModelEvent::RedactedThinking(data) => self.reasoning.push(Reasoning {
                provider: self.provider.clone(),
                text: String::new(),
                signature: None,
                redacted: Some(data.clone()),
            }),
            ModelEvent::ToolCallStart { index, id, name } => {
                let call = ToolCall { id: id.clone(), name: name.clone(), arguments: String::new() };
                self.calls.push((*index, call));
            }
            ModelEvent::ToolCallArguments { index, delta } => {
                if let Some((_, call)) = self.calls.iter_mut().rev().find(|(at, _)| at == index) {
                    call.arguments.push_str(delta);
                }
            }
            ModelEvent::Usage(usage) => self.usage = *usage,
            ModelEvent::Citation(citation) if !self.citations.contains(citation) => {
                self.citations.push(citation.clone());
            }
            ModelEvent::NativeContent { format, items } => {
                self.native = Some(Part::Native { format: format.clone(), items: items.clone() });
            }
            ModelEvent::Retry { .. } => self.begin_anew(),
            ModelEvent::Fallback { provider, model, .. } => {
                *self = Self { model: Some(model.clone()), ..Self::of(provider.as_str()) };
            }
            ModelEvent::Finish(reason) => self.finish = Some(reason.clone()),
            ModelEvent::ToolCallEnd { .. }
            | ModelEvent::Citation(_)
            | ModelEvent::ServerTool { .. }
            | ModelEvent::Raw { .. } => {}
        }
    }

    /// What was received is void; who writes the answer is the same.
    fn begin_anew(&mut self) {
        let (provider, model) = (std::mem::take(&mut self.provider), self.model.take());
        *self = Self { model, ..Self::of(provider) };
    }

    fn end_thinking(&mut self, signature: Option<String>) {
        let text = std::mem::take(&mut self.thinking);
        if !text.is_empty() || signature.is_some() {
            let provider = self.provider.clone();
            self.reasoning.push(Reasoning { provider, text, signature, redacted: None });
        }
    }

    /// True when there is nothing in it that a history could keep.
    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty() && self.calls.is_empty() && self.native.is_none()
    }

    /// The same answer without its tool calls.
    pub(super) fn without_calls(mut self) -> Self {
        if !self.calls.is_empty() {
            self.calls.clear();
            self.native = None;
        }
        self
    }

    /// The message of a finished answer, and the calls that have another id in it than the provider gave:
    /// ids that are missing or already used in `history` are replaced.
    pub(super) fn into_message(
        mut self,
        round: u32,
        history: &[MessageRef],
        ambient: &Ambient,
    ) -> (Message, Map<String, Value>) {
        self.end_thinking(None);
        let mut calls: Vec<ToolCall> = self.calls.drain(..).map(|(_, call)| call).collect();
        let renamed = make_ids_unique(&mut calls, history, ambient);
        (self.message(calls, round, MessageState::Complete, ambient), renamed)
    }

    /// The message of an answer that was cut off: its text, without the calls, which may be half written.
    pub(super) fn into_partial(mut self, round: u32, ambient: &Ambient) -> Message {
        self.reasoning.clear();
        self.native = None;
        self.message(Vec::new(), round, MessageState::Interrupted, ambient)
    }

    fn message(self, calls: Vec<ToolCall>, round: u32, state: MessageState, ambient: &Ambient) -> Message {
        let body = Body::Assistant {
            content: (!self.text.is_empty()).then_some(self.text),
            parts: self.native.into_iter().collect(),
            tool_calls: calls,
            reasoning: self.reasoning,
        };
        let mut message = Message::with_body(ambient.next_id(), ambient.now(), body);
        message.state = state;
        message.metadata.insert("round".into(), json!(round));
        if !self.usage.is_empty() {
            message.metadata.insert("usage".into(), json!(self.usage));
        }
        if !self.citations.is_empty() {
            message.metadata.insert("citations".into(), json!(self.citations));
        }
        message
    }
}

/// Some providers number their calls anew in each answer, or leave the id out; results would then
/// be paired with the wrong call.
fn make_ids_unique(calls: &mut [ToolCall], history: &[MessageRef], ambient: &Ambient) -> Map<String, Value> {
    let mut renamed = Map::new();
    for at in 0..calls.len() {
        let (before, rest) = calls.split_at_mut(at);
        let Some(call) = rest.first_mut() else { break };
        let mut used = history.iter().flat_map(|message| message.tool_calls()).chain(before.iter());
        if call.id.is_empty() || used.any(|other| other.id == call.id) {
            let given =
                std::mem::replace(&mut call.id, format!("call_{}", ambient.next_id().replace('-', "")));
            renamed.insert(call.id.clone(), Value::from(given));
        }
    }
    renamed
}
