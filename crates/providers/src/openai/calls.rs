//! Tool calls put together from deltas, however the server numbers them (protocols F4, quirks 1 to 5).

use robota_core::ModelEvent;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::nesting::Nesting;
use crate::wire::{Events, MAX_CALLS};

/// What one chunk says about one call.
#[derive(Deserialize)]
pub(super) struct CallDelta<'a> {
    index: Option<u64>,
    id: Option<String>,
    #[serde(borrow)]
    function: Option<FunctionDelta<'a>>,
}

#[derive(Deserialize)]
struct FunctionDelta<'a> {
    name: Option<String>,
    /// A string by the book, an object on some servers.
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

/// The calls of one answer.
#[derive(Default)]
pub(super) struct Calls {
    calls: Vec<Call>,
    started: usize,
    /// Ids of the calls that have ended, in the order in which they began.
    ids: Vec<String>,
}

struct Call {
    /// The number the server gave it.
    index: Option<u64>,
    id: String,
    name: String,
    /// The number it is known by in events, once it has begun there.
    number: Option<usize>,
    /// Arguments that came before the name.
    early: String,
    arguments: Nesting,
}

impl Calls {
    /// True when there is at least one call.
    pub(super) fn any(&self) -> bool {
        self.started > 0
    }

    /// Takes what a chunk says.
    ///
    /// # Errors
    ///
    /// When the arguments are a malformed JSON string, or there are too many calls to be looked through.
    pub(super) fn take(&mut self, delta: CallDelta<'_>, out: &mut Events) -> Result<(), serde_json::Error> {
        let id = delta.id.unwrap_or_default();
        let (name, arguments) = match delta.function {
            Some(function) => (function.name.unwrap_or_default(), written(function.arguments)?),
            None => (String::new(), String::new()),
        };
        if id.is_empty() && name.is_empty() && arguments.is_empty() {
            return Ok(());
        }
        let at = self.place(delta.index, &id, &name);
        if at > MAX_CALLS {
            let message = format!("an answer of more than {MAX_CALLS} tool calls");
            return Err(serde::de::Error::custom(message));
        }
        if let Some(call) = self.calls.get_mut(at) {
            call.take(id, name, &mut self.started, out);
            call.write(arguments, out);
        }
        Ok(())
    }

    /// A whole call, from a server that wrote it as text.
    pub(super) fn whole(&mut self, id: String, name: String, arguments: String, out: &mut Events) {
        let mut call = Call::new(None);
        call.take(id, name, &mut self.started, out);
        call.write(arguments, out);
        self.calls.push(call);
    }

    /// The ids the server gave the calls, once they have ended.
    pub(super) fn ids(&self) -> &[String] {
        &self.ids
    }

    /// Ends all calls.
    pub(super) fn finish(&mut self, out: &mut Events) {
        let mut ids = vec![String::new(); self.calls.len()];
        for mut call in std::mem::take(&mut self.calls) {
            if call.number.is_none() && !call.early.is_empty() {
                // Arguments for no tool: the model is told that there is none of this name.
                call.start(&mut self.started, out);
            }
            let Some(index) = call.number else { continue };
            out.push_back(ModelEvent::ToolCallEnd { index });
            if let Some(place) = ids.get_mut(index) {
                *place = call.id;
            }
        }
        ids.truncate(self.started);
        self.ids = ids;
    }

    /// Position of the call that a delta belongs to; a new call where it begins one.
    fn place(&mut self, index: Option<u64>, id: &str, name: &str) -> usize {
        let known = self.find(index, id, name);
        known.unwrap_or_else(|| {
            self.calls.push(Call::new(index));
            self.calls.len() - 1
        })
    }

    fn find(&self, index: Option<u64>, id: &str, name: &str) -> Option<usize> {
        let same_id = |call: &Call| !id.is_empty() && call.id == id;
        let same_index = |call: &Call| index.is_none() || call.index == index;
        if let Some(at) = self.calls.iter().rposition(|call| same_id(call) && same_index(call)) {
            return Some(at);
        }
        let at = self.calls.iter().rposition(same_index)?;
        let call = self.calls.get(at)?;
        let other_id = !id.is_empty() && !call.id.is_empty();
        let begins = if name.is_empty() {
            // Only a name begins a call: some servers invent a new id for every chunk.
            false
        } else if call.name.is_empty() {
            false
        } else {
            other_id || name != call.name || call.arguments.complete()
        };
        (!begins).then_some(at)
    }
}

/// The text of the arguments: the string by the book, or the JSON of anything else.
fn written(arguments: Option<&RawValue>) -> Result<String, serde_json::Error> {
    match arguments.map(RawValue::get) {
        None | Some("null") => Ok(String::new()),
        Some(text) if text.starts_with('"') => serde_json::from_str(text),
        Some(text) => Ok(text.to_owned()),
    }
}

impl Call {
    fn new(index: Option<u64>) -> Self {
        Self {
            index,
            id: String::new(),
            name: String::new(),
            number: None,
            early: String::new(),
            arguments: Nesting::default(),
        }
    }

    fn take(&mut self, id: String, name: String, started: &mut usize, out: &mut Events) {
        if self.id.is_empty() {
            self.id = id;
        }
        if self.name.is_empty() && !name.is_empty() {
            self.name = name;
            self.start(started, out);
        }
    }

    fn start(&mut self, started: &mut usize, out: &mut Events) {
        let index = *started;
        *started += 1;
        self.number = Some(index);
        out.push_back(ModelEvent::ToolCallStart { index, id: self.id.clone(), name: self.name.clone() });
        if !self.early.is_empty() {
            out.push_back(ModelEvent::ToolCallArguments { index, delta: std::mem::take(&mut self.early) });
        }
    }

    fn write(&mut self, arguments: String, out: &mut Events) {
        if arguments.is_empty() {
            return;
        }
        self.arguments.read_all(&arguments);
        match self.number {
            Some(index) => out.push_back(ModelEvent::ToolCallArguments { index, delta: arguments }),
            None => self.early.push_str(&arguments),
        }
    }
}
