//! Definitions of functions.

use super::{RESERVED, Reader, Step};
use crate::permission::command::script::Function;

/// The most functions in one command line.
const MOST: usize = 32;

impl Reader<'_> {
    /// `function name { …; }`
    pub(super) fn function_keyword(&mut self) -> Step {
        self.at += "function".len();
        self.blanks();
        let name = self.bare_word();
        self.at += name.len();
        self.blanks();
        if self.eat("(") {
            self.blanks();
            self.eat_required(")")?;
        }
        self.function_body(name)
    }

    /// What follows `name ()`.
    pub(super) fn function_body(&mut self, name: &str) -> Step {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        if name.is_empty() || name.starts_with('-') || !name.bytes().all(is_plain) || RESERVED.contains(&name)
        {
            return Err(self.misread("the name of the function is not understood"));
        }
        if self.script.functions.len() >= MOST {
            return Err(self.misread("it defines too many functions to be understood"));
        }
        let is_certain = self.conditions == 0 && self.shell == 0 && !self.repeats;
        let outer = (self.context, self.repeats, self.conditions);
        self.enter("function", true);
        self.line_breaks()?;
        let begins = self.starts_with("(")
            || matches!(self.bare_word(), "{" | "if" | "for" | "while" | "until" | "case");
        if !begins || !self.compound()? {
            return Err(self.misread("the body of the function is not understood"));
        }
        self.redirections()?;
        (self.context, self.repeats, self.conditions) = outer;
        let certain_from = is_certain.then_some(self.at);
        self.script.functions.push(Function { name: name.to_owned(), certain_from });
        Ok(())
    }

    /// What was defined since the part `first` does not reach what follows for certain.
    pub(super) fn forget_functions(&mut self, first: usize) {
        let from = self.script.parts.get(first).map_or(self.at, |part| part.range.start);
        for function in &mut self.script.functions {
            function.certain_from = function.certain_from.filter(|at| *at < from);
        }
    }
}
