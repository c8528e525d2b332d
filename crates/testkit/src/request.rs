//! A request as it arrived, and what it says whatever its wire format.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde_json::Value;

use crate::gemini_request;

/// The forms a model call can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Dialect {
    /// Anthropic's Messages API.
    AnthropicMessages,
    /// OpenAI's Chat Completions API.
    OpenAiChat,
    /// OpenAI's Responses API.
    OpenAiResponses,
    /// Google's Gemini API.
    Gemini,
    /// No wire at all: a call to a [`ScriptedProvider`](crate::ScriptedProvider), shown as if it
    /// had been an OpenAI Chat request, with the malformed arguments a model may have written.
    InProcess,
}

/// A request that the fake model got.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RecordedRequest {
    /// Order of arrival, from 1.
    pub number: usize,
    /// The connection it came on, from 1; 0 for a call in process.
    pub connection: usize,
    /// How the model was called; `None` for requests that are no model calls.
    pub dialect: Option<Dialect>,
    /// HTTP method, in upper case.
    pub method: String,
    /// Path without the query.
    pub path: String,
    /// The query, without the question mark.
    pub query: Option<String>,
    /// Headers with names in lower case; values of repeated ones are joined by `, `.
    pub headers: BTreeMap<String, String>,
    /// The body as it came.
    pub body: Bytes,
    /// The body as JSON, where it is JSON.
    pub json: Option<Value>,
}

/// A tool result that a request carries.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SeenResult {
    /// The call it answers.
    pub call_id: String,
    /// Its text; text blocks are joined.
    pub content: String,
    /// Whether it is marked as a failure, where the API can mark it.
    pub is_error: bool,
}

impl RecordedRequest {
    /// The value of a header; `name` in lower case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    /// A field of the JSON body; `null` when it is not there.
    #[must_use]
    pub fn field(&self, name: &str) -> &Value {
        self.json.as_ref().and_then(|json| json.get(name)).unwrap_or(&Value::Null)
    }

    /// The model that is called.
    #[must_use]
    pub fn model(&self) -> Option<&str> {
        let named = self.field("model").as_str();
        named.or_else(|| self.is_gemini().then(|| Some(gemini_request::target(&self.path)?.0))?)
    }

    /// The messages as they stand in the body; the items of the input where the API has no messages.
    #[must_use]
    pub fn messages(&self) -> &[Value] {
        let field = match self.dialect {
            Some(Dialect::OpenAiResponses) => "input",
            Some(Dialect::Gemini) => "contents",
            _ => "messages",
        };
        self.field(field).as_array().map_or(&[], Vec::as_slice)
    }

    /// The names of the offered tools, in order.
    #[must_use]
    pub fn tool_names(&self) -> Vec<&str> {
        if self.is_gemini() {
            return gemini_request::tool_names(self.field("tools"));
        }
        let tools = self.field("tools").as_array().map_or(&[][..], Vec::as_slice);
        tools.iter().filter_map(|tool| tool.get("function").unwrap_or(tool)["name"].as_str()).collect()
    }

    /// The system prompt; blocks and several system messages are joined by line feeds.
    #[must_use]
    pub fn system_text(&self) -> String {
        if self.is_gemini() {
            return gemini_request::text(self.field("systemInstruction"));
        }
        if self.dialect == Some(Dialect::AnthropicMessages) {
            return text_of(self.field("system"), "\n");
        }
        if let Value::String(instructions) = self.field("instructions") {
            return instructions.clone();
        }
        let system = |message: &&Value| matches!(message["role"].as_str(), Some("system" | "developer"));
        let texts = self.messages().iter().filter(system).map(|message| text_of(&message["content"], "\n"));
        texts.collect::<Vec<_>>().join("\n")
    }

    /// The text of the last message of the user; tool results do not count.
    #[must_use]
    pub fn last_user_text(&self) -> String {
        if let Value::String(input) = self.field("input") {
            return input.clone();
        }
        let users = self.messages().iter().rev().filter(|message| message["role"] == "user");
        users
            .map(|message| match message.get("parts") {
                Some(_) => gemini_request::text(message),
                None => text_of(&message["content"], "\n"),
            })
            .find(|text| !text.is_empty())
            .unwrap_or_default()
    }

    /// All tool results, in order.
    #[must_use]
    pub fn tool_results(&self) -> Vec<SeenResult> {
        self.messages().iter().flat_map(results_in).collect()
    }

    /// The tool results after the model's last message: those the coming reply answers to.
    #[must_use]
    pub fn new_tool_results(&self) -> Vec<SeenResult> {
        let messages = self.messages();
        let last = messages.iter().rposition(is_models);
        messages.iter().skip(last.map_or(0, |index| index + 1)).flat_map(results_in).collect()
    }

    fn is_gemini(&self) -> bool {
        self.dialect == Some(Dialect::Gemini)
    }
}

/// Whether the model said it.
pub(crate) fn is_models(message: &Value) -> bool {
    let item = message["type"].as_str().filter(|_| message.get("role").is_none());
    matches!(message["role"].as_str(), Some("assistant" | "model"))
        || item.is_some_and(|item| !item.ends_with("_output"))
}

fn results_in(message: &Value) -> Vec<SeenResult> {
    if message["type"] == "function_call_output" {
        return vec![SeenResult {
            call_id: message["call_id"].as_str().unwrap_or_default().to_owned(),
            content: text_of(&message["output"], ""),
            is_error: false,
        }];
    }
    if message["role"] == "tool" {
        return vec![SeenResult {
            call_id: message["tool_call_id"].as_str().unwrap_or_default().to_owned(),
            content: text_of(&message["content"], ""),
            is_error: false,
        }];
    }
    if message.get("parts").is_some() {
        return gemini_request::results(message).collect();
    }
    let blocks = message["content"].as_array().map_or(&[][..], Vec::as_slice);
    let results = blocks.iter().filter(|block| block["type"] == "tool_result");
    results
        .map(|block| SeenResult {
            call_id: block["tool_use_id"].as_str().unwrap_or_default().to_owned(),
            content: text_of(&block["content"], ""),
            is_error: block["is_error"].as_bool().unwrap_or(false),
        })
        .collect()
}

/// The text of a content field: a string, or the text blocks in a list.
fn text_of(content: &Value, separator: &str) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let is_text = |kind: &str| matches!(kind, "text" | "input_text" | "output_text");
            let texts = blocks.iter().filter(|block| block["type"].as_str().is_some_and(is_text));
            texts.filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join(separator)
        }
        _ => String::new(),
    }
}
