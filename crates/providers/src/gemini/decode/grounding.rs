//! What tools of the service did for an answer.

use std::collections::BTreeSet;

use robota_core::{Citation, ModelEvent};
use serde::Deserialize;
use serde_json::Value;

use crate::wire::Events;

/// `groundingMetadata`: what was searched for, and the pages the answer rests on.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Metadata {
    web_search_queries: Option<Vec<String>>,
    grounding_chunks: Option<Vec<Chunk>>,
}

#[derive(Deserialize)]
struct Chunk {
    web: Option<Web>,
}

#[derive(Deserialize)]
struct Web {
    uri: Option<String>,
    title: Option<String>,
}

/// `urlContextMetadata`: the pages that were fetched.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct UrlContext {
    url_metadata: Option<Vec<Fetched>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Fetched {
    retrieved_url: Option<String>,
}

/// A `toolCall`: the service runs a tool of its own.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ToolCall {
    tool_type: Option<String>,
    #[serde(default)]
    args: Value,
}

/// What is known of one answer. The same comes again in later chunks, and in several places.
#[derive(Default)]
pub(super) struct Grounding {
    used: BTreeSet<(String, String)>,
    sources: Vec<Citation>,
}

impl Grounding {
    pub(super) fn take(&mut self, metadata: Metadata, out: &mut Events) {
        for query in metadata.web_search_queries.unwrap_or_default() {
            self.use_tool("google_search", query, out);
        }
        for Web { uri, title } in
            metadata.grounding_chunks.into_iter().flatten().filter_map(|chunk| chunk.web)
        {
            let source = Citation { url: uri, title, text: None };
            if !self.sources.contains(&source) {
                self.sources.push(source);
            }
        }
    }

    pub(super) fn fetched(&mut self, context: UrlContext, out: &mut Events) {
        for url in context.url_metadata.into_iter().flatten().filter_map(|fetched| fetched.retrieved_url) {
            self.use_tool("url_context", url, out);
        }
    }

    pub(super) fn called(&mut self, call: &ToolCall, out: &mut Events) {
        let kind = call.tool_type.as_deref().unwrap_or("tool").to_ascii_lowercase();
        let tool = if kind.starts_with("google_search") { "google_search" } else { &kind };
        let asked = ["queries", "urls", "query", "url"].iter().find_map(|name| call.args.get(name));
        match asked {
            Some(Value::Array(all)) => {
                for one in all.iter().filter_map(Value::as_str) {
                    self.use_tool(tool, one.to_owned(), out);
                }
            }
            Some(Value::String(one)) => self.use_tool(tool, one.clone(), out),
            _ => self.use_tool(tool, call.args.to_string(), out),
        }
    }

    fn use_tool(&mut self, tool: &str, query: String, out: &mut Events) {
        if self.used.insert((tool.to_owned(), query.clone())) {
            out.push_back(ModelEvent::ServerTool { tool: tool.to_owned(), query });
        }
    }

    /// Names the sources of the answer.
    pub(super) fn cite(&mut self, out: &mut Events) {
        out.extend(std::mem::take(&mut self.sources).into_iter().map(ModelEvent::Citation));
    }
}
