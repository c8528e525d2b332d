//! The body of a Responses request.

use robota_core::{Body, ModelRequest, ToolChoice, ToolSpec};
use serde_json::{Map, Value, json};

use super::dialect::Spoken;
use super::reasoning::{self, Reasons};
use super::{Settings, items, native, schema, web_tools};
use crate::{ProviderKind, carried, json, phrasing};

/// Fields of the body that only this module may write; all others are overruled by the provider's own `body`.
pub(super) const OWN_FIELDS: [&str; 6] = ["model", "stream", "instructions", "tools", "tool_choice", "input"];

/// The least that the API takes as `max_output_tokens`.
const LEAST_OUTPUT: u32 = 16;

/// The most bytes of a `prompt_cache_key`.
const CACHE_KEY_BYTES: usize = 64;

/// Writes the body: what stays the same between requests first, the messages last.
pub(super) fn body(request: &ModelRequest, settings: &Settings, spoken: Spoken) -> Vec<u8> {
    write(request, settings, spoken, |_| true)
}

/// Writes the body of the question how many tokens `request` has, with the fields that count.
pub(super) fn counted(request: &ModelRequest, settings: &Settings, spoken: Spoken) -> Vec<u8> {
    write(request, settings, spoken, |field| matches!(field, "reasoning" | "text" | "parallel_tool_calls"))
}

fn write(
    request: &ModelRequest,
    settings: &Settings,
    spoken: Spoken,
    is_wanted: impl Fn(&str) -> bool,
) -> Vec<u8> {
    let web_tools = web_tools::declared(settings, request);
    let mut out = Vec::with_capacity(json::room_for_body(request));
    out.extend_from_slice(b"{\"model\":");
    json::push(&mut out, &*request.model);
    if is_wanted("stream") {
        json::push_field(&mut out, "stream", &true);
    }
    let fields = optional_fields(request, settings, spoken, &web_tools);
    for (name, value) in fields.iter().filter(|(name, _)| is_wanted(name)) {
        json::push_field(&mut out, name, value);
    }
    // Qwen reads no instructions.
    let in_input = settings.kind == ProviderKind::Qwen;
    if !in_input && !phrasing::is_blank(&request.system) {
        json::push_field(&mut out, "instructions", &*request.system);
    }
    push_tools(&mut out, request, &web_tools);
    push_input(&mut out, request, native::format(settings.kind), spoken, in_input);
    out.push(b'}');
    out
}

/// The settings of the answer, as the provider's `body` leaves them.
fn optional_fields(
    request: &ModelRequest,
    settings: &Settings,
    spoken: Spoken,
    web_tools: &[&str],
) -> Map<String, Value> {
    let mut fields = Map::new();
    fields.insert("store".to_owned(), false.into());
    let reasons = settings.kind != ProviderKind::Qwen && reasoning::of(&request.model) != Reasons::Never;
    if spoken.include && reasons {
        fields.insert("include".to_owned(), json!(["reasoning.encrypted_content"]));
    }
    reasoning::push(&mut fields, request, settings, spoken, web_tools);
    if let Some(limit) = request.max_output_tokens.or(settings.default_max_output_tokens)
        && spoken.output_limit
    {
        fields.insert("max_output_tokens".to_owned(), limit.max(LEAST_OUTPUT).into());
    }
    if let Some(format) = &request.response_format {
        let strict = if spoken.strict { schema::strict(&format.schema) } else { None };
        let is_strict = strict.is_some();
        let schema = strict.unwrap_or_else(|| Value::clone(&format.schema));
        let format =
            json!({"type": "json_schema", "name": format.name, "schema": schema, "strict": is_strict});
        fields.insert("text".to_owned(), json!({"format": format}));
    }
    if let (true, Some(key)) = (spoken.cache_key, &request.cache_key) {
        // The end is what tells keys apart.
        let from = key.ceil_char_boundary(key.len().saturating_sub(CACHE_KEY_BYTES));
        fields.insert("prompt_cache_key".to_owned(), key.get(from..).unwrap_or_default().into());
    }
    for (name, value) in &settings.extra_body {
        match (fields.get_mut(name), value) {
            (Some(Value::Object(own)), Value::Object(more)) => own.extend(more.clone()),
            _ => _ = fields.insert(name.clone(), value.clone()),
        }
    }
    fields
}

fn push_tools(out: &mut Vec<u8>, request: &ModelRequest, web_tools: &[&str]) {
    if request.tools.is_empty() && web_tools.is_empty() {
        return;
    }
    out.extend_from_slice(b",\"tools\":[");
    for (at, tool) in request.tools.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        push_tool(out, tool);
    }
    for (at, tool) in web_tools.iter().enumerate() {
        if at > 0 || !request.tools.is_empty() {
            out.push(b',');
        }
        json::push(out, &json!({"type": tool}));
    }
    out.push(b']');
    let choice = match &request.tool_choice {
        ToolChoice::None => json!("none"),
        ToolChoice::Required => json!("required"),
        ToolChoice::Tool(name) => json!({"type": "function", "name": name}),
        // What the API does unasked.
        _ => return,
    };
    json::push_field(out, "tool_choice", &choice);
}

/// `strict` has to be said: the API would rewrite the schema unasked.
fn push_tool(out: &mut Vec<u8>, tool: &ToolSpec) {
    out.extend_from_slice(b"{\"type\":\"function\",\"name\":");
    json::push(out, &tool.name);
    if !tool.description.is_empty() {
        json::push_field(out, "description", &tool.description);
    }
    json::push_field(out, "parameters", &carried::parameters(tool));
    json::push_field(out, "strict", &false);
    out.push(b'}');
}

/// Writes the messages. A conversation that begins with an answer gets a user message before it, which the chat
/// templates of many servers insist on.
fn push_input(
    out: &mut Vec<u8>,
    request: &ModelRequest,
    format: &'static str,
    spoken: Spoken,
    with_system: bool,
) {
    let usual = Spoken::default();
    let same_items = (spoken.item_ids, spoken.reasoning_items) == (usual.item_ids, usual.reasoning_items);
    out.extend_from_slice(b",\"input\":[");
    let start = out.len();
    let mut push = |items: &[u8]| {
        if !items.is_empty() {
            if out.len() > start {
                out.push(b',');
            }
            out.extend_from_slice(items);
        }
    };
    if with_system && !phrasing::is_blank(&request.system) {
        push(&items::system(&request.system));
    }
    let mut begun = false;
    for message in &request.messages {
        let mut begin = |items: &[u8]| {
            let first = !begun && !items.is_empty();
            begun |= first;
            if first && matches!(message.body, Body::Assistant { .. }) {
                push(&items::beginning_missing());
            }
            push(items);
        };
        if same_items || items::native_items(message, format).is_none() {
            message.encoded(format, |message| items::encode(message, format, usual), begin);
        } else {
            // The kept form is the usual one, which this server does not take.
            begin(&items::encode(message, format, spoken));
        }
    }
    out.push(b']');
}
