//! The body of a request.

use robota_core::{ModelRequest, NativeWebTools, Thinking, ToolChoice, ToolSpec};
use serde_json::{Map, Value, json};

use super::generation::Generation;
use super::parts::Form;
use super::spoken::Spoken;
use super::{contents, reference, schema, thinking, web};
use crate::options::ProviderOptions;
use crate::{json, phrasing};

/// Fields of the body that this module writes, and `body` of the options therefore must not. Fields of
/// `generationConfig` may be given: they win over those that are written here.
pub(super) const OWN_FIELDS: [&str; 4] = ["contents", "systemInstruction", "tools", "toolConfig"];

const GENERATION_CONFIG: &str = "generationConfig";

/// What holds for every request.
pub(super) struct Settings {
    pub(super) default_max_output_tokens: Option<u32>,
    pub(super) options: ProviderOptions,
}

/// Writes the body: what stays the same between requests first, the conversation last.
pub(super) fn body(
    request: &ModelRequest,
    generation: Generation,
    spoken: Spoken,
    settings: &Settings,
) -> Vec<u8> {
    let mut out = Vec::with_capacity(json::room_for_body(request));
    out.push(b'{');
    if !phrasing::is_blank(&request.system) {
        field(&mut out, "systemInstruction", &json!({"parts": [{"text": &*request.system}]}));
    }
    let form = form(request, generation, spoken);
    // Where functions and a form exclude each other, a request that forbids calls needs no functions.
    let without_functions = form == FormPlace::InsteadOfFunctions;
    let functions = if without_functions { &[][..] } else { &request.tools };
    let web = web::sent(generation, spoken, request.native_web_tools, !functions.is_empty());
    push_tools(&mut out, functions, web, spoken);
    push_tool_config(&mut out, request, functions, web);
    let config = generation_config(request, generation, spoken, form, settings);
    if !config.is_empty() {
        field(&mut out, GENERATION_CONFIG, &Value::Object(config));
    }
    for (name, value) in settings.options.body.iter().filter(|(name, _)| *name != GENERATION_CONFIG) {
        field(&mut out, name, value);
    }
    separate(&mut out);
    out.extend_from_slice(b"\"contents\":");
    contents::push(&mut out, &request.messages, Form::of(generation, spoken));
    out.push(b'}');
    out
}

/// Appends a field to the object that `out` begins with.
fn field(out: &mut Vec<u8>, name: &str, value: &Value) {
    separate(out);
    json::push(out, name);
    out.push(b':');
    json::push(out, value);
}

fn separate(out: &mut Vec<u8>) {
    if out.last().is_some_and(|last| *last != b'{') {
        out.push(b',');
    }
}

/// All functions are in one tool: the model does not find those of a second one.
fn push_tools(
    out: &mut Vec<u8>,
    functions: &[std::sync::Arc<ToolSpec>],
    web: NativeWebTools,
    spoken: Spoken,
) {
    if functions.is_empty() && web.is_empty() {
        return;
    }
    separate(out);
    out.extend_from_slice(b"\"tools\":[");
    if !functions.is_empty() {
        out.extend_from_slice(b"{\"functionDeclarations\":");
        json::push_list(out, functions, |out, tool| push_declaration(out, tool, spoken));
        out.push(b'}');
    }
    for (on, tool) in [(web.web_search, "{\"googleSearch\":{}}"), (web.web_fetch, "{\"urlContext\":{}}")] {
        if on {
            if out.last() != Some(&b'[') {
                out.push(b',');
            }
            out.extend_from_slice(tool.as_bytes());
        }
    }
    out.push(b']');
}

fn push_declaration(out: &mut Vec<u8>, tool: &ToolSpec, spoken: Spoken) {
    out.extend_from_slice(b"{\"name\":");
    json::push(out, &tool.name);
    if !tool.description.is_empty() {
        json::push_field(out, "description", &tool.description);
    }
    let inlined = reference::inlined(&tool.input_schema);
    if spoken.has(Spoken::OWN_SCHEMA) {
        let own = schema::own(&inlined);
        // An object without properties is refused there, and nothing means the same.
        if own.get("properties").is_some() {
            json::push_field(out, "parameters", &own);
        }
    } else {
        json::push_field(out, "parametersJsonSchema", &*inlined);
    }
    out.push(b'}');
}

fn push_tool_config(
    out: &mut Vec<u8>,
    request: &ModelRequest,
    functions: &[std::sync::Arc<ToolSpec>],
    web: NativeWebTools,
) {
    if functions.is_empty() {
        return;
    }
    let mut config = Map::new();
    let calling = match &request.tool_choice {
        ToolChoice::None => Some(json!({"mode": "NONE"})),
        ToolChoice::Required => Some(json!({"mode": "ANY"})),
        ToolChoice::Tool(name) => Some(json!({"mode": "ANY", "allowedFunctionNames": [name]})),
        // What the API does unasked.
        _ => None,
    };
    if let Some(calling) = calling {
        config.insert("functionCallingConfig".to_owned(), calling);
    }
    if !web.is_empty() {
        // Wanted by the service for both kinds of tools together.
        config.insert("includeServerSideToolInvocations".to_owned(), true.into());
    }
    if !config.is_empty() {
        field(out, "toolConfig", &Value::Object(config));
    }
}

/// Whether the form of the answer is sent.
#[derive(Clone, Copy, PartialEq)]
enum FormPlace {
    Sent,
    InsteadOfFunctions,
    LeftOut,
}

fn form(request: &ModelRequest, generation: Generation, spoken: Spoken) -> FormPlace {
    let together = generation.combines_tools() && !spoken.has(Spoken::NO_FORM);
    match &request.response_format {
        None => FormPlace::LeftOut,
        Some(_) if together || request.tools.is_empty() => FormPlace::Sent,
        Some(_) if request.tool_choice == ToolChoice::None => FormPlace::InsteadOfFunctions,
        Some(_) => FormPlace::LeftOut,
    }
}

fn generation_config(
    request: &ModelRequest,
    generation: Generation,
    spoken: Spoken,
    form: FormPlace,
    settings: &Settings,
) -> Map<String, Value> {
    let Settings { default_max_output_tokens, options } = settings;
    let mut config = Map::new();
    if let Some(most) = request.max_output_tokens.or(*default_max_output_tokens) {
        config.insert("maxOutputTokens".to_owned(), most.into());
    }
    let thinking = if request.thinking == Thinking::Default { options.thinking } else { request.thinking };
    let effort = request.effort.or(options.effort);
    if let Some(thinking) = thinking::config(&request.model, generation, spoken, thinking, effort) {
        config.insert("thinkingConfig".to_owned(), thinking);
    }
    if let Some(format) = request.response_format.as_ref().filter(|_| form != FormPlace::LeftOut) {
        config.insert("responseMimeType".to_owned(), "application/json".into());
        let inlined = reference::inlined(&format.schema);
        if spoken.has(Spoken::OWN_SCHEMA) {
            config.insert("responseSchema".to_owned(), schema::own(&inlined));
        } else {
            config.insert("responseJsonSchema".to_owned(), inlined.into_owned());
        }
    }
    if let Some(own) = options.body.get(GENERATION_CONFIG).and_then(Value::as_object) {
        config.extend(own.clone());
    }
    config
}
