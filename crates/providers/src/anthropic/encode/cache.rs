//! What the service would read from its prompt cache, over a session of every kind of round.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use robota_core::{Message, Reasoning, Timestamp, ToolCall, ToolClass};

use super::*;
use crate::{CacheTtl, ProviderOptions};

/// The service's cache by its rule: written at every mark, read at the longest prefix that ends at a mark or at one of
/// the nineteen blocks before it.
#[derive(Default)]
struct Cache(HashSet<u64>);

impl Cache {
    /// Takes a request; says how many blocks are read, and how many lie before its last mark.
    fn take(&mut self, body: &Value) -> (usize, usize) {
        let mut hasher = DefaultHasher::new();
        let (mut prefixes, mut marks) = (Vec::new(), Vec::new());
        for mut block in blocks_of(body) {
            if let Some(mark) = block.as_object_mut().and_then(|block| block.shift_remove("cache_control")) {
                assert_eq!(mark, json!({"type": "ephemeral", "ttl": "1h"}));
                assert!(!block["type"].as_str().unwrap_or("").contains("thinking"), "{block}");
                marks.push(prefixes.len());
            }
            block.to_string().hash(&mut hasher);
            prefixes.push(hasher.finish());
        }
        assert!(marks.len() <= 4, "{marks:?}");
        let reach = marks.iter().flat_map(|mark| mark.saturating_sub(19)..=*mark);
        let read = reach.filter(|at| self.0.contains(&prefixes[*at])).max();
        self.0.extend(marks.iter().map(|mark| prefixes[*mark]));
        (read.map_or(0, |at| at + 1), marks.last().map_or(0, |mark| mark + 1))
    }
}

fn blocks_of(body: &Value) -> Vec<Value> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let mut blocks = [list(&body["tools"]), list(&body["system"])].concat();
    for message in list(&body["messages"]) {
        for mut block in list(&message["content"]) {
            block["role of the message"] = message["role"].clone();
            blocks.push(block);
        }
    }
    blocks
}

/// A session that sends its requests to the cache.
struct Session {
    cache: Cache,
    request: ModelRequest,
    /// Blocks before the last mark of the last request.
    written: usize,
    calls: usize,
}

impl Session {
    fn new(system: &str) -> Self {
        let mut request = ModelRequest::new("claude-sonnet-4-5", Vec::new());
        request.system = system.into();
        let tool = |name: &str| Arc::new(ToolSpec::new(name, ToolClass::Inspect, "Reads."));
        request.tools = Arc::new([tool("Read"), tool("Glob")]);
        Self { cache: Cache::default(), request, written: 0, calls: 0 }
    }

    /// Sends what there is. All that the last request has written must be read.
    fn send(&mut self) {
        let options = ProviderOptions::default();
        let fields = Fields {
            tuned: Tuned::of(&self.request, &options, None, super::super::Spoken::default()),
            web_tools: NativeWebTools::default(),
            extra: &options.body,
            mark: breakpoints::mark(Some(CacheTtl::OneHour)),
        };
        let body = body(&self.request, &fields, Purpose::Answer);
        let (read, written) = self.cache.take(&serde_json::from_slice(&body).unwrap());
        assert!(read >= self.written, "{read} of {} blocks were read", self.written);
        self.written = written;
    }

    fn add(&mut self, body: Body) {
        let id = self.request.messages.len().to_string();
        self.request.messages.push(Message::with_body(id, Timestamp::default(), body).into());
    }

    fn user(&mut self) {
        self.add(Body::User { content: "Go on.".into(), parts: Vec::new(), name: None });
    }

    /// An answer of thinking, text and `calls`.
    fn answer(&mut self, calls: usize) {
        let numbers = self.calls..self.calls + calls;
        self.calls += calls;
        let call = |number: usize| ToolCall {
            id: format!("c{number}"),
            name: "Read".into(),
            arguments: format!("{{\"number\": {number}}}"),
        };
        let thought = |text: &str| Reasoning {
            provider: "anthropic".into(),
            text: text.into(),
            signature: Some("s".into()),
            redacted: None,
        };
        self.add(Body::Assistant {
            content: Some("I look.".into()),
            parts: Vec::new(),
            tool_calls: numbers.clone().map(call).collect(),
            reasoning: vec![thought("Hm."), thought("")],
        });
        for number in numbers {
            self.add(Body::Tool {
                content: "found".into(),
                tool_call_id: format!("c{number}"),
                name: None,
                is_error: false,
                parts: Vec::new(),
            });
        }
    }

    /// A paused answer of so many searches, with thinking at its end.
    fn searches(&mut self, count: usize) {
        let search = |number| {
            let id = format!("srvtoolu_{number}");
            let call = json!({"type": "server_tool_use", "id": id, "name": "web_search", "input": {}});
            [call, json!({"type": "web_search_tool_result", "tool_use_id": id, "content": []})]
        };
        let mut items: Vec<Value> = (0..count).flat_map(search).collect();
        items.push(json!({"type": "thinking", "thinking": "", "signature": "s"}));
        self.add(Body::Assistant {
            content: None,
            parts: vec![Part::Native { format: FORMAT.into(), items }],
            tool_calls: Vec::new(),
            reasoning: Vec::new(),
        });
    }
}

#[test]
fn every_request_reads_all_that_the_one_before_has_written() {
    for system in ["You are robota.", ""] {
        let mut session = Session::new(system);
        session.user();
        session.send();
        for calls in [1, 2, 30, 1, 60, 17, 18, 19, 20, 21, 3, 100, 1] {
            session.answer(calls);
            session.send();
        }
        session.answer(0);
        session.user();
        session.send();
        for searches in [1, 25, 10] {
            session.searches(searches);
            session.send();
        }
        session.answer(40);
        session.send();
    }
}

#[test]
fn requests_that_were_never_answered_are_read_as_well() {
    let mut session = Session::new("You are robota.");
    session.user();
    session.answer(40);
    session.send();
    for messages in [1, 2, 30] {
        (0..messages).for_each(|_| session.user());
        session.send();
    }
}

#[test]
fn a_session_that_is_opened_again_reads_what_it_wrote() {
    let mut session = Session::new("You are robota.");
    session.user();
    session.send();
    session.answer(50);
    session.send();
    // The same conversation, from a log: no message has been encoded yet.
    let messages = session.request.messages.iter().map(|message| Message::clone(message).into()).collect();
    session.request.messages = messages;
    session.answer(1);
    session.send();
}
