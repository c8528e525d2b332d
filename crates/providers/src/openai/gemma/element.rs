//! Calls as elements, while they arrive: where the tags of a tool begin and end.

use super::super::markup::Piece;
use super::{Gemma, MAX_CALL_BYTES, State, tags};

/// Most bytes of an opening tag.
const MAX_TAG_BYTES: usize = 4096;

/// Most white space between a tag and the arguments.
const MAX_SPACE: usize = 64;

impl Gemma {
    /// Within the opening tag of `tool`.
    pub(super) fn within_tag(&mut self, rest: &str, tool: usize, out: &mut Vec<Piece>) -> Option<usize> {
        let searchable = rest.get(..rest.floor_char_boundary(MAX_TAG_BYTES)).unwrap_or(rest);
        self.count(searchable.len().saturating_sub(self.searched));
        let Some(found) = searchable.get(self.searched..).and_then(|rest| rest.find('>')) else {
            self.searched = searchable.len();
            return (rest.len() > MAX_TAG_BYTES).then(|| self.is_text(searchable, out));
        };
        let end = self.searched + found + 1;
        let tag = searchable.get(..end).unwrap_or_default();
        let spec = self.tools.get(tool).cloned();
        match (tag.strip_suffix("/>"), spec) {
            (Some(opened), Some(spec)) => {
                let attributes = opened.get(spec.name.len() + 1..).unwrap_or_default();
                let call = tags::attributes(attributes, &spec).map(|given| vec![(spec.name.clone(), given)]);
                self.settle(call, tag, out);
                Some(end)
            }
            (None, Some(spec)) if tag.len() == spec.name.len() + 2 => {
                self.state = State::Content { tool, from: end, begun: false };
                self.searched = end;
                Some(0)
            }
            _ => Some(self.is_text(tag, out)),
        }
    }

    /// Between the tags of `tool`.
    pub(super) fn within_content(
        &mut self,
        rest: &str,
        (tool, from, begun): (usize, usize, bool),
        out: &mut Vec<Piece>,
    ) -> Option<usize> {
        let Some(spec) = self.tools.get(tool).cloned() else { return Some(self.is_text(rest, out)) };
        let searchable = rest.get(..rest.floor_char_boundary(MAX_CALL_BYTES)).unwrap_or(rest);
        self.count(searchable.len().saturating_sub(self.searched));
        if !begun {
            let content = searchable.get(from..).unwrap_or_default();
            let begins = content.trim_start();
            let blank = content.len() - begins.len();
            // Arguments are an object or tags; anything else is no call. So much white space is none, either.
            if blank > MAX_SPACE || !(begins.is_empty() || begins.starts_with(['{', '<'])) {
                return Some(self.is_text(searchable.get(..from).unwrap_or_default(), out));
            }
            if begins.is_empty() {
                return None;
            }
            self.state = State::Content { tool, from, begun: true };
        }
        let close = format!("</{}>", spec.name);
        let Some(found) = searchable.get(self.searched..).and_then(|rest| rest.find(&close)) else {
            let known = searchable.len().saturating_sub(close.len() - 1).max(from);
            self.searched = searchable.floor_char_boundary(known);
            return self.too_long(rest, "", out);
        };
        let at = self.searched + found;
        let end = at + close.len();
        let given = tags::content(searchable.get(from..at).unwrap_or_default(), &spec);
        let call = given.map(|given| vec![(spec.name.clone(), given)]);
        self.settle(call, searchable.get(..end).unwrap_or_default(), out);
        Some(end)
    }
}
