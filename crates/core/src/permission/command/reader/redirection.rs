//! Redirections.

use super::{Reader, Step};
use crate::permission::command::script::PartKind;
use crate::permission::command::words::has_marks;

impl Reader<'_> {
    /// Redirections behind a compound command.
    pub(super) fn redirections(&mut self) -> Step {
        loop {
            self.blanks();
            let from = self.at;
            let digits = self.rest().bytes().take_while(u8::is_ascii_digit).count();
            if !matches!(self.peek_at(digits), Some(b'<' | b'>')) && !self.starts_with("&>") {
                return Ok(());
            }
            self.at += digits;
            self.redirection(from)?;
        }
    }

    /// One redirection, whose operator stands here; `from` is where the number before it begins.
    pub(super) fn redirection(&mut self, from: usize) -> Step {
        if self.eat("<<<") {
            self.script.is_deep = true;
            return self.required_word(&mut String::new());
        }
        if self.starts_with("<<") {
            self.at += 2;
            let strips_tabs = self.eat("-");
            return self.here_document(strips_tabs);
        }
        let operators = ["&>>", "&>", ">>", ">|", ">&", "<>", "<&", ">", "<"];
        let Some(operator) = operators.into_iter().find(|operator| self.eat(operator)) else {
            let found = self.peek();
            return Err(self.unexpected(found));
        };
        let mut target = String::new();
        self.blanks();
        if matches!(operator, "<" | ">") && (self.starts_with("<(") || self.starts_with(">(")) {
            return self.required_word(&mut target);
        }
        self.required_word(&mut target)?;
        let is_descriptor =
            target.strip_suffix('-').unwrap_or(&target).bytes().all(|byte| byte.is_ascii_digit());
        if matches!(operator, ">&" | "<&") && is_descriptor {
            return Ok(());
        }
        if has_marks(&target) {
            self.gap(from, "the shell decides which file it is");
        } else if operator == "<" {
            self.script.is_deep |= target != "/dev/null";
            let name = self.script.add_words(&target);
            self.add(from, PartKind::Input(name));
        } else if target != "/dev/null" || operator == "<&" {
            self.gap(from, "it writes a file");
        }
        Ok(())
    }
}
