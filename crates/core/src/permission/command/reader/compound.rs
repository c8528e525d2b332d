//! Groups, conditions and loops.

use super::{Reader, Step};

impl Reader<'_> {
    /// Reads a compound command without its redirections; `false` when none begins here.
    pub(super) fn compound(&mut self) -> Step<bool> {
        if self.starts_with("((") {
            return Err(self.misread("arithmetic can run commands"));
        }
        if self.eat("(") {
            self.in_shell("subshell", ")")?;
            return Ok(true);
        }
        let outer = (self.context, self.repeats, self.conditions);
        match self.bare_word() {
            "{" => self.group()?,
            "if" => self.condition()?,
            "while" | "until" => {
                self.enter("loop", true);
                self.at += "while".len();
                self.list(&["do"])?;
                self.body()?;
            }
            "for" => self.for_loop()?,
            "case" => self.case()?,
            "[[" => self.test_expression()?,
            "function" => self.function_keyword()?,
            "select" => return Err(self.misread("`select` is not understood")),
            "then" | "do" | "done" | "fi" | "esac" | "elif" | "else" | "}" | "!" | "]]" => {
                return Err(self.misread(format!("`{}` is not expected there", self.bare_word())));
            }
            _ => return Ok(false),
        }
        (self.context, self.repeats, self.conditions) = outer;
        Ok(true)
    }

    pub(super) fn enter(&mut self, context: &'static str, repeats: bool) {
        self.context = self.script.add_context(self.context, context);
        self.repeats |= repeats;
        self.conditions += 1;
    }

    fn group(&mut self) -> Step {
        let conditions = self.conditions;
        self.enter("group", false);
        self.conditions = conditions;
        self.at += 1;
        self.list(&["}"])?;
        self.eat_required("}")
    }

    fn condition(&mut self) -> Step {
        self.enter("condition", false);
        self.at += "if".len();
        self.list(&["then"])?;
        self.eat_required("then")?;
        loop {
            self.list(&["elif", "else", "fi"])?;
            if self.bare_word() == "elif" {
                self.at += "elif".len();
                self.list(&["then"])?;
                self.eat_required("then")?;
            } else if self.bare_word() == "else" {
                self.at += "else".len();
                self.list(&["fi"])?;
            } else {
                return self.eat_required("fi");
            }
        }
    }

    fn body(&mut self) -> Step {
        self.eat_required("do")?;
        self.list(&["done"])?;
        self.eat_required("done")
    }

    fn for_loop(&mut self) -> Step {
        self.enter("loop", true);
        self.at += "for".len();
        self.blanks();
        let from = self.at;
        let name = self.bare_word();
        self.at += name.len();
        if !is_name(name) {
            return Err(self.misread("the loop is not over the words of a list"));
        }
        if !is_harmless_variable(name) {
            self.gap(from, format!("the variable `{name}` may change how programs run"));
        }
        self.blanks();
        if self.bare_word() == "in" {
            self.at += "in".len();
            let mut words = String::new();
            while self.at_word() {
                self.word(&mut words)?;
                words.clear();
            }
        }
        self.blanks();
        self.eat(";");
        self.line_breaks()?;
        self.body()
    }

    fn case(&mut self) -> Step {
        self.enter("case", false);
        self.at += "case".len();
        let mut words = String::new();
        self.required_word(&mut words)?;
        self.line_breaks()?;
        self.eat_required("in")?;
        loop {
            self.line_breaks()?;
            if self.bare_word() == "esac" {
                return self.eat_required("esac");
            }
            self.eat("(");
            loop {
                self.required_word(&mut words)?;
                self.blanks();
                if !self.eat("|") {
                    break;
                }
            }
            self.eat_required(")")?;
            self.list(&[";;", "esac"])?;
            if self.bare_word() != "esac" && !(self.eat(";;&") || self.eat(";;") || self.eat(";&")) {
                return Err(self.misread("`;;` is missing"));
            }
        }
    }

    /// Whether, behind blanks, a word begins here.
    pub(super) fn at_word(&mut self) -> bool {
        self.blanks();
        match self.peek() {
            None | Some(b'\n' | b';' | b'&' | b'|' | b'(' | b')' | b'#') => false,
            Some(b'<' | b'>') => self.peek_at(1) == Some(b'('),
            Some(_) => true,
        }
    }

    pub(super) fn required_word(&mut self, words: &mut String) -> Step {
        if !self.at_word() {
            let found = self.peek();
            return Err(self.unexpected(found));
        }
        self.word(words).map(drop)
    }
}

pub(super) fn is_name(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes.next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Whether no program and no shell is known to heed a variable of this name.
pub(in crate::permission::command) fn is_harmless_variable(name: &str) -> bool {
    const HEEDED: [&str; 2] = ["auto_resume", "histchars"];
    const PREFIXES: [&str; 4] = ["npm_", "pnpm_", "yarn_", "nix_"];
    name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
        && !HEEDED.contains(&name)
        && !name.contains("proxy")
        && !PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}
