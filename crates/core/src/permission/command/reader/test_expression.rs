//! `[[ … ]]`, which runs nothing by itself.

use super::{Reader, Step};

impl Reader<'_> {
    pub(super) fn test_expression(&mut self) -> Step {
        let from = self.at;
        self.at += "[[".len();
        let mut words = String::new();
        let mut evaluates = false;
        let mut behind_match = false;
        loop {
            self.blanks();
            let bare = self.bare_word();
            if bare == "]]" {
                self.at += bare.len();
                break;
            }
            evaluates |= matches!(bare, "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge" | "-v" | "-R" | "-o");
            let is_operator = ["&&", "||"].into_iter().any(|operator| self.eat(operator));
            if is_operator {
                continue;
            }
            match self.peek() {
                Some(b'(' | b')') if !behind_match => self.at += 1,
                Some(b'<' | b'>') if self.peek_at(1) == Some(b' ') => self.at += 1,
                _ => {
                    words.clear();
                    self.required_word(&mut words)?;
                    behind_match = bare == "=~";
                }
            }
        }
        if evaluates {
            self.gap(from, "it may evaluate what variables hold");
        }
        Ok(())
    }
}
