//! JSON text that is followed without being parsed.

/// Follows JSON text far enough to know where an object ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Nesting {
    depth: u32,
    in_string: bool,
    escaped: bool,
    closed: bool,
}

impl Nesting {
    /// Reads on as far as the end of the first object. Gives how many bytes belong to it, once it is closed.
    pub(super) fn read(&mut self, text: &str) -> Option<usize> {
        for (at, byte) in text.bytes().enumerate() {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' if self.in_string => self.escaped = true,
                b'"' => self.in_string = !self.in_string,
                _ if self.in_string => {}
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.depth == 0 {
                        self.closed = true;
                        return Some(at + 1);
                    }
                }
                _ => {}
            }
        }
        None
    }

    /// Reads on to the end of the text.
    pub(super) fn read_all(&mut self, mut text: &str) {
        while let Some(rest) = self.read(text).and_then(|taken| text.get(taken..)) {
            text = rest;
        }
    }

    /// Whether an object has been closed, and none is open.
    pub(super) const fn complete(&self) -> bool {
        self.closed && self.depth == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_ends_where_its_last_brace_does_wherever_the_text_is_cut() {
        let text = r#"{"a": [{"b": "}\"{"}]} {"#;
        for cut in 0..text.len() {
            let mut nesting = Nesting::default();
            let first = nesting.read(&text[..cut]);
            let end = first.or_else(|| nesting.read(&text[cut..]).map(|end| cut + end));
            assert_eq!(end, Some(text.len() - 2), "{cut}");
            assert!(nesting.complete());
        }
        let mut nesting = Nesting::default();
        nesting.read_all(text);
        assert!(!nesting.complete());
    }
}
