//! The answer that the events of a stream build.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use robota_core::{Citation, ModelEvent};
use serde_json::Value;

use super::call::{Call, as_function_call};
use super::places::{ItemKind, Place, Places};
use crate::responses::native;
use crate::wire::Events;

/// Everything heard of one answer so far.
#[derive(Default)]
pub(super) struct Answer {
    places: Places,
    items: BTreeMap<usize, Item>,
    /// Calls shown so far.
    started: usize,
    /// The item whose text came last, and whether the text ended with white space.
    said: Option<(usize, bool)>,
    /// The item whose thinking is being shown.
    thinking: Option<usize>,
    thought: bool,
    refused: bool,
    /// Tools of the service have been shown.
    served: bool,
    cited: HashSet<(String, String)>,
}

#[derive(Default)]
struct Item {
    call: Call,
    /// Parts of the text or the thinking that have been shown.
    parts: BTreeSet<u64>,
    /// Whether summaries are shown of the thinking, or the thinking itself; and which part of it came last.
    thought: Option<(bool, u64)>,
    /// The whole, once it is complete.
    done: Option<Value>,
}

impl Answer {
    pub(super) fn called(&self) -> bool {
        self.started > 0
    }

    pub(super) fn refused(&self) -> bool {
        self.refused
    }

    pub(super) fn item_added(&mut self, place: Place<'_>, item: &Value, out: &mut Events) {
        let kind = kind(item);
        if !item.is_object() {
            return;
        }
        let Some(at) = self.places.announce(kind, named(place, item)) else { return };
        self.end_thinking(out);
        let call = &mut self.items.entry(at).or_default().call;
        if kind == ItemKind::Call {
            call.announce(item, &mut self.started, out);
        }
    }

    pub(super) fn item_done(&mut self, place: Place<'_>, item: Value, out: &mut Events) {
        if item.is_object() {
            let at = self.places.find(kind(&item), named(place, &item));
            self.finish_item(at, item, out);
        }
    }

    /// The whole of an item: shows what has not been shown of it.
    fn finish_item(&mut self, at: usize, item: Value, out: &mut Events) {
        if !self.places.finish(at) {
            return;
        }
        match kind(&item) {
            ItemKind::Message => self.finish_message(at, &item, out),
            ItemKind::Call => {
                self.end_thinking(out);
                let call = &mut self.items.entry(at).or_default().call;
                call.announce(&item, &mut self.started, out);
                call.end(&mut self.started, out);
            }
            ItemKind::Reasoning => self.finish_reasoning(at, &item, out),
            ItemKind::Other => self.show_server_tool(&item, out),
        }
        self.items.entry(at).or_default().done = Some(as_function_call(item));
    }

    fn finish_message(&mut self, at: usize, item: &Value, out: &mut Events) {
        let parts = item.get("content").and_then(Value::as_array).into_iter().flatten();
        let silent = self.items.entry(at).or_default().parts.is_empty();
        for (index, part) in (0..).zip(parts) {
            if silent {
                self.show_part(at, index, part, out);
            }
            for annotation in part.get("annotations").and_then(Value::as_array).into_iter().flatten() {
                self.cite(annotation, out);
            }
        }
    }

    fn finish_reasoning(&mut self, at: usize, item: &Value, out: &mut Events) {
        if self.items.entry(at).or_default().thought.is_none() {
            for (field, summary) in [("summary", true), ("content", false)] {
                let parts = item.get(field).and_then(Value::as_array).into_iter().flatten();
                for (index, part) in (0..).zip(parts) {
                    let text = part.get("text").and_then(Value::as_str).unwrap_or_default();
                    self.think_at(at, summary, index, text.to_owned(), out);
                }
            }
        }
        if self.thinking == Some(at) {
            self.end_thinking(out);
        }
    }

    fn show_server_tool(&mut self, item: &Value, out: &mut Events) {
        let Some(tool) = item.get("type").and_then(Value::as_str).and_then(|kind| kind.strip_suffix("_call"))
        else {
            return;
        };
        self.served = true;
        self.end_thinking(out);
        out.push_back(ModelEvent::ServerTool { tool: tool.to_owned(), query: query(item) });
    }

    /// More text, of an answer or of a refusal.
    pub(super) fn text(&mut self, place: Place<'_>, delta: String, refusal: bool, out: &mut Events) {
        let at = self.places.find(ItemKind::Message, place);
        if self.places.is_open(at) {
            self.say(at, place.part.unwrap_or(0), delta, refusal, out);
        }
    }

    /// The whole text of a part; it counts only where none came before.
    pub(super) fn whole_text(&mut self, place: Place<'_>, text: String, refusal: bool, out: &mut Events) {
        let at = self.places.find(ItemKind::Message, place);
        let part = place.part.unwrap_or(0);
        if self.places.is_open(at) && !self.items.entry(at).or_default().parts.contains(&part) {
            self.say(at, part, text, refusal, out);
        }
    }

    pub(super) fn part_done(&mut self, place: Place<'_>, part: &Value, out: &mut Events) {
        // Thinking has such parts as well, and says them otherwise, too.
        if !matches!(part.get("type").and_then(Value::as_str), Some("output_text" | "refusal" | "text")) {
            return;
        }
        let at = self.places.find(ItemKind::Message, place);
        let index = place.part.unwrap_or(0);
        if self.places.is_open(at) && !self.items.entry(at).or_default().parts.contains(&index) {
            self.show_part(at, index, part, out);
        }
    }

    fn show_part(&mut self, at: usize, index: u64, part: &Value, out: &mut Events) {
        let text = |field: &str| part.get(field).and_then(Value::as_str).map(str::to_owned);
        match text("refusal") {
            Some(refusal) => self.say(at, index, refusal, true, out),
            None => self.say(at, index, text("text").unwrap_or_default(), false, out),
        }
    }

    /// Shows text. That of another message begins a paragraph where the words would run together.
    fn say(&mut self, at: usize, part: u64, text: String, refusal: bool, out: &mut Events) {
        if text.is_empty() {
            return;
        }
        self.refused |= refusal;
        self.end_thinking(out);
        let other = self.said.is_some_and(|(last, spaced)| last != at && !spaced);
        if other && !text.starts_with(char::is_whitespace) {
            out.push_back(ModelEvent::TextDelta("\n\n".to_owned()));
        }
        self.said = Some((at, text.ends_with(char::is_whitespace)));
        self.items.entry(at).or_default().parts.insert(part);
        out.push_back(ModelEvent::TextDelta(text));
    }

    /// A source of the text.
    pub(super) fn cite(&mut self, annotation: &Value, out: &mut Events) {
        let text = |field: &str| annotation.get(field).and_then(Value::as_str).map(str::to_owned);
        let is_url = annotation.get("type").is_some_and(|kind| kind == "url_citation");
        let Some(url) = text("url").filter(|_| is_url) else { return };
        let title = text("title").filter(|title| !title.is_empty());
        if self.cited.insert((url.clone(), title.clone().unwrap_or_default())) {
            out.push_back(ModelEvent::Citation(Citation { url: Some(url), title, text: None }));
        }
    }

    pub(super) fn arguments(&mut self, place: Place<'_>, delta: String, out: &mut Events) {
        let at = self.places.find(ItemKind::Call, place);
        self.end_thinking(out);
        self.items.entry(at).or_default().call.write(delta, out);
    }

    pub(super) fn whole_arguments(
        &mut self,
        place: Place<'_>,
        name: &str,
        arguments: String,
        out: &mut Events,
    ) {
        let at = self.places.find(ItemKind::Call, place);
        self.end_thinking(out);
        let call = &mut self.items.entry(at).or_default().call;
        call.call(name, &mut self.started, out);
        call.write_whole(arguments, out);
    }

    /// More, or all, of the text a custom tool is called with.
    pub(super) fn input(&mut self, place: Place<'_>, text: &str, whole: bool) {
        let at = self.places.find(ItemKind::Call, place);
        self.items.entry(at).or_default().call.input(text, whole);
    }

    /// More thinking: of a summary, or of the thinking itself.
    pub(super) fn think(&mut self, place: Place<'_>, summary: bool, delta: String, out: &mut Events) {
        let at = self.places.find(ItemKind::Reasoning, place);
        if self.places.is_open(at) {
            self.think_at(at, summary, place.part.unwrap_or(0), delta, out);
        }
    }

    /// A whole part of the thinking; it counts only where none of it came before.
    pub(super) fn whole_thought(&mut self, place: Place<'_>, summary: bool, text: String, out: &mut Events) {
        let at = self.places.find(ItemKind::Reasoning, place);
        let part = place.part.unwrap_or(0);
        if self.places.is_open(at) && !self.items.entry(at).or_default().parts.contains(&part) {
            self.think_at(at, summary, part, text, out);
        }
    }

    /// Shows thinking. Where there are both, only what comes first of summary and thinking is shown.
    fn think_at(&mut self, at: usize, summary: bool, part: u64, text: String, out: &mut Events) {
        let item = self.items.entry(at).or_default();
        if text.is_empty() || item.thought.is_some_and(|(shown, _)| shown != summary) {
            return;
        }
        let last = item.thought.replace((summary, part));
        item.parts.insert(part);
        if self.thinking.is_some_and(|other| other != at) {
            self.end_thinking(out);
        }
        if self.thinking == Some(at) && last.is_some_and(|(_, last)| last != part) {
            out.push_back(ModelEvent::ThinkingDelta("\n\n".to_owned()));
        }
        (self.thinking, self.thought) = (Some(at), true);
        out.push_back(ModelEvent::ThinkingDelta(text));
    }

    fn end_thinking(&mut self, out: &mut Events) {
        if self.thinking.take().is_some() {
            out.push_back(ModelEvent::ThinkingEnd { signature: None });
        }
    }

    /// The answer is complete, and `output` is the whole of it: shows of each kind of item what has not been shown,
    /// and ends what is open.
    pub(super) fn complete(&mut self, output: &[Value], out: &mut Events) {
        let (said, called, served) = (self.said.is_some(), self.called(), self.served);
        let silent = !(said || called || self.thought);
        for (index, item) in (0..).zip(output) {
            let missing = match kind(item) {
                ItemKind::Message => !said,
                ItemKind::Call => !called,
                ItemKind::Reasoning => silent,
                ItemKind::Other => !served,
            };
            if missing {
                let place = Place { index: Some(index), ..Place::default() };
                self.item_done(place, item.clone(), out);
            }
        }
        self.end_thinking(out);
        for item in self.items.values_mut() {
            item.call.end(&mut self.started, out);
        }
    }

    /// The items of the answer, where they say more than the events did. `output` is the whole answer, in case not all
    /// of its items came one by one.
    pub(super) fn native_content(&mut self, output: Vec<Value>) -> Option<Vec<Value>> {
        let numbers: Vec<usize> = self.items.values().filter_map(|item| Some(item.call.shown()?.0)).collect();
        let in_order = numbers.is_sorted();
        let came = self.items.values_mut().map(|item| item.done.take());
        let items = came.collect::<Option<Vec<Value>>>();
        let items = items.filter(|items| in_order && items.len() >= output.len());
        let items = items.unwrap_or_else(|| output.into_iter().map(as_function_call).collect());
        (native::say_more(&items) && self.calls_in(&items)).then_some(items)
    }

    /// Whether the calls in `items` are those that were shown, in their order.
    fn calls_in(&self, items: &[Value]) -> bool {
        let mut shown: Vec<(usize, &str)> =
            self.items.values().filter_map(|item| item.call.shown()).collect();
        shown.sort_unstable();
        let calls = items.iter().filter(|item| kind(item) == ItemKind::Call);
        let ids = calls.map(|item| item.get("call_id").and_then(Value::as_str).unwrap_or_default());
        ids.eq(shown.into_iter().map(|(_, id)| id))
    }
}

/// The place of an event about `item`, which has an id itself.
fn named<'a>(place: Place<'a>, item: &'a Value) -> Place<'a> {
    let id = item.get("id").and_then(Value::as_str).unwrap_or(place.id);
    Place { id, ..place }
}

fn kind(item: &Value) -> ItemKind {
    match item.get("type").and_then(Value::as_str) {
        Some("message") => ItemKind::Message,
        Some("function_call" | "custom_tool_call") => ItemKind::Call,
        Some("reasoning") => ItemKind::Reasoning,
        _ => ItemKind::Other,
    }
}

/// What a tool of the service was asked.
fn query(item: &Value) -> String {
    const FIELDS: [&str; 9] =
        ["query", "queries", "url", "urls", "pattern", "goal", "code", "name", "arguments"];
    let action = item.get("action").filter(|action| action.is_object()).unwrap_or(item);
    let words = |value: &Value| match value {
        Value::String(text) => text.clone(),
        Value::Array(list) => list.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", "),
        _ => String::new(),
    };
    let asked = FIELDS.iter().filter_map(|field| action.get(*field)).map(words);
    asked.into_iter().find(|words| !words.is_empty()).unwrap_or_default()
}
