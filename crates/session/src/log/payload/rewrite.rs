//! One pass over JSON text that may put other values in the place of some.

/// Offers every string, list and object in `json` to `replace`, from the inside out and with what was
/// replaced within it; numbers, names and the outermost value are not offered, nor is what an outermost
/// object has under the keys `keep`. `None` when nothing was replaced, or `json` is no whole value.
///
/// Text that is not replaced comes through byte by byte.
pub(super) fn rewrite(
    json: &[u8],
    keep: &[&str],
    replace: impl FnMut(&[u8]) -> Option<Vec<u8>>,
) -> Option<Vec<u8>> {
    let json = str::from_utf8(json).ok()?;
    Pass { json, keep, replace, out: Vec::new(), copied: 0, open: Vec::new(), kept: false, changed: false }
        .run()
}

struct Pass<'a, R> {
    json: &'a str,
    keep: &'a [&'a str],
    replace: R,
    out: Vec<u8>,
    /// How much of `json` is in `out`.
    copied: usize,
    /// Where in `out` the objects and lists around the position begin.
    open: Vec<usize>,
    /// Whether the last key of the outermost object is one of `keep`.
    kept: bool,
    changed: bool,
}

impl<R: FnMut(&[u8]) -> Option<Vec<u8>>> Pass<'_, R> {
    fn run(mut self) -> Option<Vec<u8>> {
        let mut position = 0;
        while let Some(byte) = self.json.as_bytes().get(position) {
            position = match byte {
                b'"' => self.string(position)?,
                b'{' | b'[' => {
                    self.copy_to(position);
                    self.open.push(self.out.len());
                    position + 1
                }
                b'}' | b']' => {
                    self.copy_to(position + 1);
                    let start = self.open.pop()?;
                    self.offer(start);
                    position + 1
                }
                _ => position + 1,
            };
        }
        if !self.changed || !self.open.is_empty() {
            return None;
        }
        self.copy_to(self.json.len());
        Some(self.out)
    }

    /// Passes the string whose opening quote stands at `open`; gives the position behind it.
    fn string(&mut self, open: usize) -> Option<usize> {
        let close = end_of_string(self.json, open + 1)?;
        let text = self.json.get(open + 1..close)?;
        let behind = self.json.as_bytes().get(close + 1..)?;
        if behind.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b':') {
            if self.open.len() == 1 {
                self.kept = self.keep.contains(&text);
            }
        } else {
            self.copy_to(open);
            let start = self.out.len();
            self.copy_to(close + 1);
            self.offer(start);
        }
        Some(close + 1)
    }

    /// Offers the value that begins at `start` of `out` and ends there.
    fn offer(&mut self, start: usize) {
        if self.open.is_empty() || self.open.len() == 1 && self.kept {
            return;
        }
        if let Some(other) = self.out.get(start..).and_then(&mut self.replace) {
            self.out.truncate(start);
            self.out.extend_from_slice(&other);
            self.changed = true;
        }
    }

    fn copy_to(&mut self, position: usize) {
        let json = self.json.as_bytes();
        self.out.extend_from_slice(json.get(self.copied..position).unwrap_or_default());
        self.copied = position;
    }
}

/// Where the quote stands that ends the string whose text begins at `start`.
fn end_of_string(json: &str, start: usize) -> Option<usize> {
    let mut from = start;
    loop {
        let quote = from + json.get(from..)?.find('"')?;
        let before = json.as_bytes().get(start..quote)?;
        let escapes = before.iter().rev().take_while(|byte| **byte == b'\\').count();
        if escapes % 2 == 0 {
            return Some(quote);
        }
        from = quote + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is offered, and what comes out when everything longer than 12 bytes becomes a dot.
    fn shortened(json: &str) -> (Vec<String>, Option<String>) {
        let mut offered = Vec::new();
        let out = rewrite(json.as_bytes(), &["kept"], |value| {
            offered.push(String::from_utf8(value.to_vec()).unwrap());
            (value.len() > 12).then(|| b"\".\"".to_vec())
        });
        (offered, out.map(|out| String::from_utf8(out).unwrap()))
    }

    #[test]
    fn values_are_replaced_from_the_inside_out_and_the_rest_stays_byte_by_byte() {
        let json = r#" {"kept" : "0123456789 0123456789","a": {"kept":["x\"}]\\",1.50, "0123456789 012"]}, "b":[null , 1e3,true]} "#;
        let (offered, out) = shortened(json);
        let expected = [
            r#""x\"}]\\""#,
            r#""0123456789 012""#,
            r#"["x\"}]\\",1.50, "."]"#,
            r#"{"kept":"."}"#,
            "[null , 1e3,true]",
        ];
        assert_eq!(offered, expected);
        let expected = r#" {"kept" : "0123456789 0123456789","a": {"kept":"."}, "b":"."} "#;
        assert_eq!(out.unwrap(), expected);
    }

    #[test]
    fn without_a_change_or_a_whole_value_there_is_nothing_new() {
        for json in
            ["", "{}", "\"0123456789 0123456789\"", r#"{"a":"0123456789 0123456789""#, "]", r#"{"a":["b}"#]
        {
            assert_eq!(shortened(json).1, None, "{json}");
        }
    }
}
