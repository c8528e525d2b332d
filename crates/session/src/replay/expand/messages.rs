//! Entries that hold messages and histories.

use robota_core::{Event, EventKind, Message, MessageRef, RequestPurpose};
use serde_json::{Value, json};

use super::State;
use super::entry::{Entry, execution_id};
use super::request::Request;
use crate::log::LogFold;
use crate::replay::settings::sent;

impl State {
    fn messages(&self) -> &[MessageRef] {
        self.fold.as_ref().map_or(&[], |fold| fold.history().messages())
    }

    /// The message called `id`, which was added not long ago; null when it is not in the history.
    pub(super) fn message(&self, id: &str) -> Value {
        let message = self.messages().iter().rev().find(|message| message.id == id);
        message.map_or(Value::Null, |message| json!(message))
    }

    pub(super) fn pre_run(&self, entry: &mut Entry) {
        let messages = self.messages();
        let prompt = messages.last().filter(|message| message.role() == "user");
        entry.set("input", prompt.map(|message| message.text()));
        entry.set("historyLength", messages.len());
        entry.set("historyChars", characters(messages));
        entry.set("historyEstTokens", estimated_tokens(self.fold.as_ref()));
        entry.set("history", messages);
        if self.max_tokens > 0 {
            entry.set("maxTokens", self.max_tokens);
        }
    }

    /// A compaction sends a prompt of its own, which the log does not repeat: its entry says what history
    /// it was about.
    pub(super) fn provider_request(&mut self, event: &Event, entry: &mut Entry) {
        let EventKind::ProviderRequest { round, last_words, purpose, .. } = &event.kind else { return };
        self.request = Request::begin(event, *round);
        entry.executed_by(event);
        if *purpose == RequestPurpose::Compaction {
            return;
        }
        if !self.settings.system.is_empty() {
            entry.set("systemPrompt", &self.settings.system);
        }
        entry.set("messages", sent(self.messages(), *last_words));
        entry.set("tools", &self.settings.tools);
        if let Some(limit) = self.settings.max_output_tokens {
            entry.set("maxOutputTokens", limit);
        }
        if *last_words {
            entry.set("forcedSummary", true);
            entry.set("toolChoice", "none");
        }
    }

    pub(super) fn batch_started(&self, event: &Event, entry: &mut Entry) {
        let EventKind::ToolBatchStarted { tools, .. } = &event.kind else { return };
        entry.executed_by(event);
        entry.set("batchId", self.batch_id(event));
        entry.set("mode", "parallel");
        entry.set("requestCount", tools.len());
    }

    /// An entry about the call `call_id` of a batch.
    pub(super) fn in_batch(&self, event: &Event, call_id: &str, entry: &mut Entry) {
        entry.executed_by(event);
        entry.set("round", self.batch);
        entry.set("batchId", self.batch_id(event));
        entry.set(
            "ownerPath",
            [Some(event.session_id.to_string()), execution_id(event), Some(call_id.to_owned())],
        );
    }

    fn batch_id(&self, event: &Event) -> String {
        format!("{}:{}:round{}", event.session_id, event.turn, self.batch)
    }

    pub(super) fn assistant(&self, message_id: &str, entry: &mut Entry) {
        let messages = self.messages();
        let answer = messages.iter().rev().find(|message| message.id == message_id);
        entry.set("content", answer.map(|message| message.text()));
        entry.set("historyLength", messages.len());
        entry.set("estimatedChars", characters(messages));
        entry.set("history", messages);
        let structure: Vec<Value> = messages.iter().map(|message| structure(message)).collect();
        entry.set("historyStructure", structure);
    }
}

/// What `historyStructure` says of a message.
fn structure(message: &Message) -> Value {
    let names: Vec<&str> = message.tool_calls().iter().map(|call| call.name.as_str()).collect();
    json!({
        "role": message.role(),
        "contentLength": message.text().chars().count(),
        "hasToolCalls": !names.is_empty(),
        "toolCallNames": names,
        "metadata": message.metadata,
    })
}

/// Characters of what the messages say, the arguments of tool calls included.
fn characters(messages: &[MessageRef]) -> usize {
    let of_calls = |message: &Message| -> usize {
        message.tool_calls().iter().map(|call| call.arguments.chars().count()).sum()
    };
    messages.iter().map(|message| message.text().chars().count() + of_calls(message)).sum()
}

/// The messages in tokens, as the engine estimates where no provider has counted.
fn estimated_tokens(fold: Option<&LogFold>) -> u64 {
    let history = fold.map(LogFold::history);
    history.map_or(0, |history| history.calibration().tokens(history.message_bytes()))
}
