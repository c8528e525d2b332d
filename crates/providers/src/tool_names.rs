//! Names of tools in a form that every API takes, and back.
//!
//! Tools of other programs have names that no API takes: with dots, slashes, spaces, letters of any script, or longer
//! than 64 characters. Each such name has one stand-in, which depends on nothing but the name: so calls in a history,
//! which are encoded once, and the tools of a request, whatever they are, agree on it without knowing of each other.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use robota_core::{ModelEvent, ModelRequest, ToolChoice, ToolSpec};
use xxhash_rust::xxh3::xxh3_64;

use crate::wire::{Decoder, Events, Fault, Progress};

/// Most characters of a name; the least of all APIs.
const LONGEST: usize = 64;

/// Characters of a stand-in that tell it from others: `_` and eight hex digits.
const MARK: usize = 9;

/// `name` as every API takes it: 1 to 64 letters, digits, `_` and `-`, with a letter or `_` first. A name that is none
/// becomes what can be kept of it, with a mark made of the whole name behind it.
pub(crate) fn wire_name(name: &str) -> Cow<'_, str> {
    if is_carried(name) {
        return Cow::Borrowed(name);
    }
    let kept = name.chars().map(|c| if is_allowed(c) { c } else { '_' });
    let first = name.chars().next().is_some_and(|c| c.is_ascii_digit() || c == '-').then_some('_');
    let mut out: String = first.into_iter().chain(kept).take(LONGEST - MARK).collect();
    if out.is_empty() {
        out.push_str("unnamed");
    }
    // Of 64 bits, 32 are plenty to tell the tools of one session apart.
    let mark = xxh3_64(name.as_bytes()) & 0xffff_ffff;
    out.push_str(&format!("_{mark:08x}"));
    Cow::Owned(out)
}

fn is_allowed(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

fn is_carried(name: &str) -> bool {
    let first = name.chars().next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    first && name.len() <= LONGEST && name.chars().all(is_allowed)
}

/// The names of one list of tools. Lists are the same from request to request, so the last one is kept.
#[derive(Default)]
pub(crate) struct ToolNames(Mutex<Option<Arc<Carried>>>);

/// A list of tools and how it is sent.
struct Carried {
    declared: Arc<[Arc<ToolSpec>]>,
    sent: Arc<[Arc<ToolSpec>]>,
    /// Declared names by the names that are sent, where they differ.
    back: HashMap<String, String>,
}

/// Gives the model's calls the names that the host knows.
pub(crate) struct Names(Option<Arc<Carried>>);

impl ToolNames {
    /// The request with names that every API takes, and the way back.
    pub(crate) fn carry(&self, mut request: ModelRequest) -> (ModelRequest, Names) {
        if let ToolChoice::Tool(name) = &mut request.tool_choice
            && let Cow::Owned(other) = wire_name(name)
        {
            *name = other;
        }
        if request.tools.iter().all(|tool| is_carried(&tool.name)) {
            return (request, Names(None));
        }
        let carried = self.of(&request.tools);
        request.tools = Arc::clone(&carried.sent);
        (request, Names(Some(carried)))
    }

    fn of(&self, tools: &Arc<[Arc<ToolSpec>]>) -> Arc<Carried> {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = last.as_ref().filter(|last| Arc::ptr_eq(&last.declared, tools));
        let carried = known.map_or_else(|| Arc::new(Carried::new(tools)), Arc::clone);
        *last = Some(Arc::clone(&carried));
        carried
    }
}

impl Carried {
    fn new(declared: &Arc<[Arc<ToolSpec>]>) -> Self {
        let mut back = HashMap::new();
        let own = declared.iter().filter(|tool| is_carried(&tool.name)).map(|tool| tool.name.clone());
        let mut taken: HashSet<String> = own.collect();
        let sent = declared.iter().map(|tool| {
            let Cow::Owned(name) = wire_name(&tool.name) else { return Arc::clone(tool) };
            let name = free(&name, &mut taken);
            back.insert(name.clone(), tool.name.clone());
            let mut sent = ToolSpec::clone(tool);
            sent.name = name;
            Arc::new(sent)
        });
        let sent = sent.collect();
        Self { declared: Arc::clone(declared), sent, back }
    }
}

/// `name`, or where another tool has it, the name with a number.
fn free(name: &str, taken: &mut HashSet<String>) -> String {
    let mut free = name.to_owned();
    let mut number = 2_u32;
    while !taken.insert(free.clone()) {
        let end = format!("_{number}");
        let kept: String = name.chars().take(LONGEST - end.len()).collect();
        free = kept + &end;
        number += 1;
    }
    free
}

impl Names {
    /// `decoder` with the names that the host knows.
    pub(crate) fn read_by(self, decoder: Box<dyn Decoder>) -> Box<dyn Decoder> {
        match self.0 {
            None => decoder,
            Some(carried) => Box::new(Renaming { carried, decoder }),
        }
    }
}

/// Reads an answer in which tools have other names than the host knows.
struct Renaming {
    carried: Arc<Carried>,
    decoder: Box<dyn Decoder>,
}

impl Renaming {
    /// Runs `decode`, and renames the calls in what it adds to `out`.
    fn renamed<T>(&mut self, out: &mut Events, decode: impl FnOnce(&mut dyn Decoder, &mut Events) -> T) -> T {
        let before = out.len();
        let decoded = decode(&mut *self.decoder, out);
        for event in out.iter_mut().skip(before) {
            if let ModelEvent::ToolCallStart { name, .. } = event
                && let Some(declared) = self.carried.back.get(name.as_str())
            {
                name.clone_from(declared);
            }
        }
        decoded
    }
}

impl Decoder for Renaming {
    fn frame(&mut self, event: Option<&str>, data: &str, out: &mut Events) -> Result<(), Fault> {
        self.renamed(out, |decoder, out| decoder.frame(event, data, out))
    }

    fn progress(&self) -> Progress {
        self.decoder.progress()
    }

    fn end(&mut self, out: &mut Events) {
        self.renamed(out, |decoder, out| decoder.end(out));
    }
}

#[cfg(test)]
mod tests {
    use robota_core::ToolClass;

    use super::*;

    fn tools(names: &[&str]) -> Arc<[Arc<ToolSpec>]> {
        names.iter().map(|name| Arc::new(ToolSpec::new(*name, ToolClass::Other, "d"))).collect()
    }

    fn names(tools: &[Arc<ToolSpec>]) -> Vec<&str> {
        tools.iter().map(|tool| tool.name.as_str()).collect()
    }

    #[test]
    fn names_that_no_api_takes_have_one_stand_in_each() {
        for name in ["Read", "mcp__files__read-all", "_x", "a"] {
            assert_eq!(wire_name(name), name);
        }
        let odd =
            ["", "files.read", "files/read", "файл", "7zip", "-x", &"long".repeat(20), &"long".repeat(21)];
        let stand_ins: HashSet<String> = odd.iter().map(|name| wire_name(name).into_owned()).collect();
        assert_eq!(stand_ins.len(), odd.len());
        for name in &stand_ins {
            assert_eq!(wire_name(name), name.as_str(), "a stand-in needs none");
        }
        assert!(wire_name("files.read").starts_with("files_read_"));
        assert!(wire_name("7zip").starts_with("_7zip_"));
    }

    #[test]
    fn each_tool_of_a_list_has_a_name_of_its_own_and_lists_are_kept() {
        let clash = wire_name("a.b").into_owned();
        let declared = tools(&["a.b", &clash, "Read"]);
        let known = ToolNames::default();
        let mut request = ModelRequest::new("m", Vec::new());
        request.tools = Arc::clone(&declared);
        request.tool_choice = ToolChoice::Tool("a.b".into());
        let (sent, Names(carried)) = known.carry(request.clone());
        assert_eq!(names(&sent.tools), [&format!("{clash}_2"), clash.as_str(), "Read"]);
        let carried = carried.unwrap();
        assert_eq!(carried.back, HashMap::from([(format!("{clash}_2"), "a.b".to_owned())]));
        let (again, _) = known.carry(request.clone());
        assert!(Arc::ptr_eq(&sent.tools, &again.tools));
        request.tools = tools(&["Read"]);
        let (plain, Names(carried)) = known.carry(request.clone());
        assert!(Arc::ptr_eq(&plain.tools, &request.tools) && carried.is_none());
    }
}
