//! The calls of an answer: mostly whole, on some services value by value.

use robota_core::ModelEvent;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::items::Items;
use super::partial_args::{PartialArg, PartialArgs};
use crate::wire::Events;

/// A call, or a piece of one.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FunctionCall<'a> {
    id: Option<String>,
    name: Option<String>,
    #[serde(borrow)]
    args: Option<&'a RawValue>,
    partial_args: Option<Vec<PartialArg>>,
    will_continue: Option<bool>,
}

/// The calls of one answer.
#[derive(Default)]
pub(super) struct Calls {
    started: usize,
    open: Option<Open>,
}

/// A call whose arguments are not complete.
struct Open {
    head: Map<String, Value>,
    args: PartialArgs,
    signature: Option<String>,
}

impl Calls {
    /// True when there is at least one call.
    pub(super) fn any(&self) -> bool {
        self.started > 0
    }

    /// Takes a call, or a piece of one.
    ///
    /// # Errors
    ///
    /// When arguments are a malformed JSON string.
    pub(super) fn take(
        &mut self,
        call: FunctionCall<'_>,
        signature: Option<String>,
        items: &mut Items,
        out: &mut Events,
    ) -> Result<(), serde_json::Error> {
        let FunctionCall { id, name, args, partial_args, will_continue } = call;
        let name = name.filter(|name| !name.is_empty());
        let partial_args = partial_args.unwrap_or_default();
        let will_continue = will_continue == Some(true);
        if name.is_none() && args.is_none() && partial_args.is_empty() && self.open.is_none() {
            // The mark of an end that has been seen already.
            return Ok(());
        }
        if name.is_some() || self.open.is_none() {
            self.close(items, out);
            let head = self.start(id.unwrap_or_default(), name.unwrap_or_default(), out);
            if partial_args.is_empty() && !will_continue {
                return self.whole(head, args, signature, items, out);
            }
            self.open = Some(Open { head, args: PartialArgs::default(), signature: None });
        }
        if let Some(open) = &mut self.open {
            open.signature = signature.or(open.signature.take());
            partial_args.into_iter().for_each(|partial| open.args.take(partial));
        }
        if !will_continue {
            self.close(items, out);
        }
        Ok(())
    }

    /// Ends the call in hand.
    pub(super) fn close(&mut self, items: &mut Items, out: &mut Events) {
        let Some(Open { mut head, args, signature }) = self.open.take() else { return };
        let args = Value::Object(args.finish());
        self.end(args.to_string(), out);
        head.insert("args".to_owned(), args);
        items.call(head, signature);
    }

    fn start(&mut self, id: String, name: String, out: &mut Events) -> Map<String, Value> {
        let mut head = Map::new();
        if !id.is_empty() {
            head.insert("id".to_owned(), id.as_str().into());
        }
        head.insert("name".to_owned(), name.as_str().into());
        out.push_back(ModelEvent::ToolCallStart { index: self.started, id, name });
        self.started += 1;
        head
    }

    fn whole(
        &mut self,
        mut head: Map<String, Value>,
        args: Option<&RawValue>,
        signature: Option<String>,
        items: &mut Items,
        out: &mut Events,
    ) -> Result<(), serde_json::Error> {
        let written = match args.map(RawValue::get) {
            None | Some("null") => String::new(),
            // Gateways that pass on what a model wrote malformed.
            Some(text) if text.starts_with('"') => serde_json::from_str(text)?,
            Some(text) => text.to_owned(),
        };
        let args: Map<String, Value> = serde_json::from_str(&written).unwrap_or_default();
        head.insert("args".to_owned(), args.into());
        items.call(head, signature);
        self.end(written, out);
        Ok(())
    }

    fn end(&self, arguments: String, out: &mut Events) {
        let Some(index) = self.started.checked_sub(1) else { return };
        if !arguments.is_empty() {
            out.push_back(ModelEvent::ToolCallArguments { index, delta: arguments });
        }
        out.push_back(ModelEvent::ToolCallEnd { index });
    }
}
