//! Whether a request is the one that was made then, and in what it differs.

use std::fmt::Debug;
use std::sync::Arc;

use robota_core::{Message, MessageRef, ModelRequest, ResponseFormat, ToolSpec};

use crate::replay::recording::RecordedTurn;
use crate::replay::settings::Settings;

/// What is said of a request.
pub(super) enum Verdict {
    /// It is byte for byte the recorded one.
    Same,
    /// It is the one that the log tells, but the log does not tell letter by letter what was sent.
    AsFarAsTold,
    /// It is another one.
    Different(String),
}

/// A request that came out as it was recorded, and vouches for what it held.
pub(super) struct Witness {
    settings: Arc<Settings>,
    messages: Vec<MessageRef>,
}

impl Witness {
    pub(super) fn of(settings: &Arc<Settings>, request: &ModelRequest) -> Self {
        Self { settings: Arc::clone(settings), messages: request.messages.clone() }
    }
}

/// Compares `made` with the request number `index`, from 0, of `recorded`.
pub(super) fn check(
    recorded: &RecordedTurn,
    index: usize,
    made: &ModelRequest,
    witness: Option<&Witness>,
) -> Verdict {
    let (Some(request), Some(told)) = (recorded.requests.get(index), recorded.as_told(index)) else {
        return Verdict::AsFarAsTold;
    };
    let (was_made, was_told) = match request.digest {
        Some(digest) => (made.digest() == digest, told.digest() == digest),
        None => (false, false),
    };
    match (was_made, was_told) {
        (true, _) if request.redacted => Verdict::Same,
        (true, true) => Verdict::Same,
        (true, false) => Verdict::Different(otherwise_told(&told, made)),
        (false, _) => match difference(&told, made) {
            None if request.redacted || request.digest.is_none() => Verdict::AsFarAsTold,
            None => Verdict::Different(suspicion(&recorded.settings, made, witness)),
            Some(difference) => Verdict::Different(difference),
        },
    }
}

/// The request came out as it was sent, and the log tells it otherwise.
fn otherwise_told(told: &ModelRequest, made: &ModelRequest) -> String {
    let difference = difference(made, told).unwrap_or_else(|| "in something that is not shown".to_owned());
    format!("it is what was sent, but the log tells it otherwise: {difference}")
}

/// Where the log must be wrong: the request is made as it tells, and its digest is another one. What an
/// earlier request has shown to be right is left out.
fn suspicion(settings: &Arc<Settings>, made: &ModelRequest, witness: Option<&Witness>) -> String {
    let witness = witness.filter(|witness| Arc::ptr_eq(&witness.settings, settings));
    let vouched = witness.map_or(0, |witness| {
        let pairs = made.messages.iter().zip(&witness.messages);
        pairs.take_while(|(one, other)| same(one, other)).count()
    });
    let last = made.messages.len().saturating_sub(1);
    let messages =
        if vouched < last { format!("messages {vouched} to {last}") } else { format!("message {last}") };
    let place = match witness {
        Some(_) => messages,
        None => format!("the system prompt, the tools, the model, the output limit, or {messages}"),
    };
    format!("the log does not tell what was sent then; what has changed is in {place}")
}

/// The first thing in which `made` differs from `told`.
fn difference(told: &ModelRequest, made: &ModelRequest) -> Option<String> {
    fn differs<T: PartialEq + Debug>(what: &str, was: &T, is: &T) -> Option<String> {
        (was != is).then(|| format!("{what} was {was:?} and is {is:?}"))
    }
    differs("the model", &told.model, &made.model)
        .or_else(|| {
            (told.system != made.system).then(|| text("the system prompt", &told.system, &made.system))
        })
        .or_else(|| tools(&told.tools, &made.tools))
        .or_else(|| differs("the tool choice", &told.tool_choice, &made.tool_choice))
        .or_else(|| differs("the output limit", &told.max_output_tokens, &made.max_output_tokens))
        .or_else(|| differs("the effort", &told.effort, &made.effort))
        .or_else(|| differs("the thinking", &told.thinking, &made.thinking))
        .or_else(|| differs("the web tools", &told.native_web_tools, &made.native_web_tools))
        .or_else(|| form(told.response_format.as_ref(), made.response_format.as_ref()))
        .or_else(|| messages(&told.messages, &made.messages))
}

/// Schemas are too long to be shown.
fn form(told: Option<&ResponseFormat>, made: Option<&ResponseFormat>) -> Option<String> {
    let name =
        |form: Option<&ResponseFormat>| form.map_or_else(|| "none".to_owned(), |form| form.name.clone());
    let (was, is) = (name(told), name(made));
    (told != made).then(|| match was == is {
        true => format!("the schema of the answer's form {was} is another one"),
        false => format!("the form of the answer was {was} and is {is}"),
    })
}

fn tools(told: &[Arc<ToolSpec>], made: &[Arc<ToolSpec>]) -> Option<String> {
    let name =
        |spec: Option<&Arc<ToolSpec>>| spec.map_or_else(|| "none".to_owned(), |spec| spec.name.clone());
    let at = (0..told.len().max(made.len())).find(|at| told.get(*at) != made.get(*at))?;
    let (was, is) = (name(told.get(at)), name(made.get(at)));
    Some(match was == is {
        true => format!("the schema of the tool {was} is another one"),
        false => format!("tool {at} was {was} and is {is}"),
    })
}

/// The first thing in which the messages `made` differ from those that were `told`.
pub(super) fn messages(told: &[MessageRef], made: &[MessageRef]) -> Option<String> {
    let pairs = told.iter().zip(made).enumerate();
    let differing = pairs.into_iter().find(|(_, (was, is))| !same(was, is));
    if let Some((place, (was, is))) = differing {
        let what = format!("message {place}");
        return Some(match was.role() == is.role() && was.text() != is.text() {
            true => text(&what, was.text(), is.text()),
            false => format!("{what} was {} and is {}", shown(was), shown(is)),
        });
    }
    let (were, are) = (told.len(), made.len());
    (were != are).then(|| format!("there were {were} messages and are {are}"))
}

/// Whether a provider would write both messages alike: ids, times and metadata are never sent.
fn same(one: &Message, other: &Message) -> bool {
    one.body == other.body && one.state == other.state
}

fn shown(message: &Message) -> String {
    let calls: Vec<&str> = message.tool_calls().iter().map(|call| call.name.as_str()).collect();
    format!("{} {:?} {calls:?}", message.role(), beginning(message.text()))
}

/// Says in what two texts differ, from the first difference on.
fn text(what: &str, was: &str, is: &str) -> String {
    let at = was.char_indices().zip(is.chars()).find(|((_, one), other)| one != other).map(|((at, _), _)| at);
    let at = at.unwrap_or_else(|| was.len().min(is.len()));
    let rest = |text: &str| beginning(text.get(at..).unwrap_or_default());
    format!("{what} was {:?} from byte {at} on and is {:?}", rest(was), rest(is))
}

fn beginning(text: &str) -> String {
    text.chars().take(60).collect()
}
