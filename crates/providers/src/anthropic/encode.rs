//! The body of a Messages request.

use robota_core::{Body, MessageRef, ModelRequest, NativeWebTools, Part, ToolChoice, ToolSpec};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::encoded::{self, BlockEnd};
use super::tuning::Tuned;
use super::{FORMAT, blocks, breakpoints, native, web_tools};
use crate::{carried, json, phrasing};

/// Fields of the body that this module writes, and extra ones therefore must not. Those for thinking and output are
/// not among them: there, what users write themselves wins.
pub(super) const OWN_FIELDS: [&str; 7] =
    ["model", "max_tokens", "stream", "tools", "tool_choice", "system", "messages"];

/// What a body says besides the conversation.
pub(super) struct Fields<'a> {
    pub(super) tuned: Tuned,
    pub(super) web_tools: NativeWebTools,
    pub(super) extra: &'a Map<String, Value>,
    /// The mark of a breakpoint.
    pub(super) mark: &'static [u8],
}

/// What a body is written for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// To be answered.
    Answer,
    /// To be counted: without what only answers have.
    Count,
}

/// Writes the body: what stays the same between requests first, the messages last.
pub(super) fn body(request: &ModelRequest, fields: &Fields<'_>, purpose: Purpose) -> Vec<u8> {
    let Fields { tuned, extra, mark, .. } = fields;
    let mut out = Vec::with_capacity(json::room_for_body(request));
    out.extend_from_slice(b"{\"model\":");
    json::push(&mut out, &*request.model);
    if purpose == Purpose::Answer {
        json::push_field(&mut out, "max_tokens", &tuned.max_tokens);
        json::push_field(&mut out, "stream", &true);
        for (name, value) in extra.iter().filter(|(name, _)| !is_tuned(name)) {
            json::push_field(&mut out, name, value);
        }
    }
    if let Some(thinking) = &tuned.thinking {
        json::push_field(&mut out, "thinking", thinking);
    }
    if let Some(config) = &tuned.output_config {
        json::push_field(&mut out, "output_config", config);
    }
    let mark: &[u8] = if purpose == Purpose::Answer { mark } else { b"" };
    let system = !phrasing::is_blank(&request.system);
    // There are four breakpoints. The one after the system prompt covers the tools as well, so where the messages need
    // one more, it is theirs.
    let crowded = breakpoints::is_far(new_blocks(&request.messages));
    push_tools(&mut out, request, fields.web_tools, if crowded && system { b"" } else { mark });
    if system {
        out.extend_from_slice(b",\"system\":[");
        json::push(&mut out, &json!({"type": "text", "text": &*request.system}));
        let end = out.len();
        breakpoints::set(&mut out, end, mark);
        out.push(b']');
    }
    push_messages(&mut out, &request.messages, mark, crowded);
    out.push(b'}');
    out
}

fn is_tuned(name: &str) -> bool {
    matches!(name, "thinking" | "output_config")
}

/// Blocks since the last request, which ended before the last answer: about, and rather too many than too few.
fn new_blocks(messages: &[MessageRef]) -> usize {
    let parts = |parts: &[Part]| {
        let native =
            parts.iter().map(|part| if let Part::Native { items, .. } = part { items.len() } else { 1 });
        native.sum::<usize>()
    };
    let blocks = |message: &MessageRef| match &message.body {
        Body::System { .. } | Body::Tool { .. } => 1,
        Body::User { parts: others, .. } => 1 + parts(others),
        Body::Assistant { parts: others, tool_calls, reasoning, .. } => {
            1 + parts(others) + tool_calls.len() + reasoning.len()
        }
    };
    let last_answer = messages.iter().rposition(is_answer).unwrap_or(0);
    messages.iter().skip(last_answer).map(blocks).sum()
}

#[derive(Serialize)]
struct Tool<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    description: &'a str,
    input_schema: &'a Value,
}

/// Writes the tools, those of the service after those of the caller.
fn push_tools(out: &mut Vec<u8>, request: &ModelRequest, native: NativeWebTools, mark: &[u8]) {
    if request.tools.is_empty() && native.is_empty() {
        return;
    }
    out.extend_from_slice(b",\"tools\":[");
    for tool in request.tools.iter() {
        push_tool(out, tool);
        out.push(b',');
    }
    for tool in web_tools::entries(native) {
        json::push(out, &tool);
        out.push(b',');
    }
    out.pop_if(|last| *last == b',');
    let end = out.len();
    breakpoints::set(out, end, mark);
    out.push(b']');
    let choice = match &request.tool_choice {
        ToolChoice::None => json!({"type": "none"}),
        ToolChoice::Required => json!({"type": "any"}),
        ToolChoice::Tool(name) => json!({"type": "tool", "name": name}),
        // What the API does unasked.
        _ => return,
    };
    json::push_field(out, "tool_choice", &choice);
}

fn push_tool(out: &mut Vec<u8>, tool: &ToolSpec) {
    json::push(
        out,
        &Tool { name: &tool.name, description: &tool.description, input_schema: &carried::parameters(tool) },
    );
}

/// The conversation while it is written.
struct Written<'a> {
    out: &'a mut Vec<u8>,
    /// The blocks so far.
    blocks: Vec<BlockEnd>,
    /// How many there were before the last answer.
    answered: usize,
    /// Answers that can no longer be sent in the API's own words.
    plain: Vec<&'a MessageRef>,
}

/// Writes the messages. The API wants the two roles in turns, so neighbours of one role become one
/// message; in a user message the results of tools come first.
fn push_messages(out: &mut Vec<u8>, messages: &[MessageRef], mark: &[u8], crowded: bool) {
    let mut sent: Vec<&MessageRef> = messages.iter().filter(|message| blocks::has_blocks(message)).collect();
    let plain = broken_off(&sent);
    sent.retain(|message| !is_one_of(&plain, message) || blocks::has_plain_blocks(message));
    out.extend_from_slice(b",\"messages\":[");
    let blocks = Vec::with_capacity(2 * sent.len());
    let mut written = Written { out, blocks, answered: 0, plain };
    if sent.first().is_some_and(|message| is_answer(message)) {
        written.missing_beginning();
    }
    for (at, turn) in sent.chunk_by(|a, b| is_answer(a) == is_answer(b)).enumerate() {
        if at > 0 {
            written.out.push(b',');
        }
        written.turn(turn);
    }
    let Written { out, blocks, answered, .. } = written;
    out.push(b']');
    for place in breakpoints::places(&blocks, answered, crowded) {
        breakpoints::set(out, place, mark);
    }
}

/// The answers within the conversation that broke off while a tool of the service ran.
fn broken_off<'a>(sent: &[&'a MessageRef]) -> Vec<&'a MessageRef> {
    let mut broken = Vec::new();
    // The last answer may be gone on with.
    let within = sent.iter().rposition(|message| !is_answer(message)).map_or(0, |last| last + 1);
    let within = sent.get(..within).unwrap_or_default();
    for turn in within.chunk_by(|a, b| is_answer(a) == is_answer(b)) {
        let served: Vec<_> = turn.iter().map(|message| native::server_calls(message)).collect();
        let has_result = |id: &&str| served.iter().any(|(_, results)| results.contains(*id));
        let open = served.iter().map(|(calls, _)| !calls.iter().all(has_result));
        broken.extend(turn.iter().zip(open).filter_map(|(message, open)| open.then_some(*message)));
    }
    broken
}

fn is_one_of(few: &[&MessageRef], message: &MessageRef) -> bool {
    few.iter().any(|one| std::ptr::eq(*one, message))
}

impl Written<'_> {
    fn missing_beginning(&mut self) {
        self.out.extend_from_slice(b"{\"role\":\"user\",\"content\":[");
        json::push(self.out, &json!({"type": "text", "text": phrasing::BEGINNING_MISSING}));
        self.blocks.push(BlockEnd { at: self.out.len(), markable: true });
        self.out.extend_from_slice(b"]},");
    }

    fn turn(&mut self, turn: &[&MessageRef]) {
        let role = if turn.first().is_some_and(|message| is_answer(message)) { "assistant" } else { "user" };
        self.out.extend_from_slice(b"{\"role\":");
        json::push(self.out, role);
        self.out.extend_from_slice(b",\"content\":[");
        let results = turn.iter().filter(|message| is_result(message));
        let others = turn.iter().filter(|message| !is_result(message));
        for message in results.chain(others) {
            if is_answer(message) {
                self.answered = self.blocks.len();
            }
            if is_one_of(&self.plain, message) {
                encoded::append(&blocks::encode_plain(message), self.out, &mut self.blocks);
            } else {
                message.encoded(FORMAT, blocks::encode, |bytes| {
                    encoded::append(bytes, self.out, &mut self.blocks);
                });
            }
            self.out.push(b',');
        }
        self.out.pop_if(|last| *last == b',');
        self.out.extend_from_slice(b"]}");
    }
}

fn is_answer(message: &MessageRef) -> bool {
    matches!(message.body, Body::Assistant { .. })
}

fn is_result(message: &MessageRef) -> bool {
    matches!(message.body, Body::Tool { .. })
}

#[cfg(test)]
mod cache;
