//! Jupyter notebooks as cells.

use std::borrow::Cow;
use std::fmt::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use robota_core::Part;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::image::image_header;

/// Characters of one source that are shown.
const MAX_SOURCE: usize = 12_000;
/// Characters of one output that are shown.
const MAX_OUTPUT: usize = 4_000;
/// Images of outputs in one result.
const MAX_IMAGES: usize = 4;
/// Bytes of one image as base64.
const MAX_IMAGE: usize = 1024 * 1024;

/// A notebook of format 4.
#[derive(Debug, Deserialize)]
pub(crate) struct Notebook {
    cells: Vec<Cell>,
}

#[derive(Debug, Deserialize)]
struct Cell {
    cell_type: String,
    #[serde(default)]
    source: Text,
    #[serde(default)]
    execution_count: Option<u64>,
    #[serde(default)]
    outputs: Vec<Output>,
}

/// A text, whole or by its lines.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Text {
    Whole(String),
    Lines(Vec<String>),
}

impl Default for Text {
    fn default() -> Self {
        Self::Whole(String::new())
    }
}

#[derive(Debug, Deserialize)]
struct Output {
    #[serde(default)]
    text: Option<Text>,
    /// By media type.
    #[serde(default)]
    data: Map<String, Value>,
    #[serde(default)]
    ename: Option<String>,
    #[serde(default)]
    evalue: Option<String>,
    #[serde(default)]
    traceback: Vec<String>,
}

/// Cells as text, and the images of their outputs.
#[derive(Debug, PartialEq)]
pub(crate) struct ShownCells {
    pub(crate) text: String,
    pub(crate) images: Vec<Part>,
    /// How many cells are shown.
    pub(crate) cells: usize,
}

impl Notebook {
    /// Takes a notebook apart; `None` when it is none.
    pub(crate) fn parse(json: &[u8]) -> Option<Self> {
        serde_json::from_slice(json.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(json)).ok()
    }

    /// How many cells it has.
    pub(crate) fn len(&self) -> usize {
        self.cells.len()
    }

    /// Shows `limit` cells from cell `first` (from 1) on, in `room` characters; one cell is shown in any case.
    pub(crate) fn show(&self, first: usize, limit: usize, room: usize) -> ShownCells {
        let mut shown = ShownCells { text: String::new(), images: Vec::new(), cells: 0 };
        let mut chars = 0;
        for (at, cell) in self.cells.iter().enumerate().skip(first - 1).take(limit) {
            let (before, images) = (shown.text.len(), shown.images.len());
            cell.show(at + 1, &mut shown);
            chars += shown.text.get(before..).unwrap_or_default().chars().count();
            if chars > room {
                if shown.cells > 0 {
                    shown.text.truncate(before);
                    shown.images.truncate(images);
                    break;
                }
                shown.text = cut(&shown.text, room).into_owned();
            }
            shown.cells += 1;
        }
        shown.text.truncate(shown.text.trim_end().len());
        shown
    }
}

impl Cell {
    fn show(&self, number: usize, shown: &mut ShownCells) {
        let count = self.execution_count.map(|count| format!(", run {count}")).unwrap_or_default();
        // Writing to a string does not fail.
        let _ = writeln!(shown.text, "--- cell {number}: {}{count} ---", self.cell_type);
        put(&mut shown.text, &cut(&self.source.joined(), MAX_SOURCE));
        for output in &self.outputs {
            output.show(shown);
        }
        shown.text.push('\n');
    }
}

impl Output {
    fn show(&self, shown: &mut ShownCells) {
        let text = if let Some(text) = &self.text {
            text.joined()
        } else if let Some(name) = &self.ename {
            let summary = format!("{name}: {}", self.evalue.as_deref().unwrap_or_default());
            if self.traceback.is_empty() { summary } else { self.traceback.join("\n") }
        } else {
            self.data.get("text/plain").map(joined).unwrap_or_default()
        };
        shown.text.push_str("[output]\n");
        put(&mut shown.text, &cut(&without_escapes(&text), MAX_OUTPUT));
        for (mime_type, value) in self.data.iter().filter(|(mime_type, _)| *mime_type != "text/plain") {
            let part = image(mime_type, value).filter(|_| shown.images.len() < MAX_IMAGES);
            let how = if part.is_some() { "shown as an image" } else { "left out" };
            let _ = writeln!(shown.text, "[{}: {how}]", cut(mime_type, 100));
            shown.images.extend(part);
        }
    }
}

impl Text {
    fn joined(&self) -> String {
        match self {
            Self::Whole(text) => text.clone(),
            Self::Lines(lines) => lines.concat(),
        }
    }
}

fn joined(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(lines) => lines.iter().filter_map(Value::as_str).collect(),
        _ => String::new(),
    }
}

/// The image of an output, when it is one that models take.
fn image(mime_type: &str, value: &Value) -> Option<Part> {
    if !matches!(mime_type, "image/png" | "image/jpeg" | "image/gif" | "image/webp") {
        return None;
    }
    let mut data = joined(value);
    data.retain(|c| !c.is_ascii_whitespace());
    let bytes = STANDARD.decode(&data).ok().filter(|_| data.len() <= MAX_IMAGE)?;
    let header = image_header(&bytes)?;
    header.size?;
    Some(Part::ImageInline { mime_type: header.mime_type.to_owned(), data })
}

/// Appends `text` with a line end, when there is any.
fn put(to: &mut String, text: &str) {
    to.push_str(text);
    if !text.is_empty() && !text.ends_with('\n') {
        to.push('\n');
    }
}

/// The first `most` characters, and a word about the rest.
fn cut(text: &str, most: usize) -> Cow<'_, str> {
    match text.char_indices().nth(most) {
        Some((at, _)) => {
            let left = text.get(at..).unwrap_or_default().chars().count();
            Cow::Owned(format!("{}\n[{left} more characters]", text.get(..at).unwrap_or_default()))
        }
        None => Cow::Borrowed(text),
    }
}

/// The text without the colours of a terminal.
fn without_escapes(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut parts = text.split("\x1B[");
    plain.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let end = part.find(|c: char| ('\x40'..='\x7E').contains(&c)).map_or(part.len(), |at| at + 1);
        plain.push_str(part.get(end..).unwrap_or_default());
    }
    plain
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const PIXEL: &str =
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

    fn notebook() -> Notebook {
        let json = json!({"nbformat": 4, "metadata": {}, "cells": [
            {"cell_type": "markdown", "source": ["# Title\n", "text"]},
            {"cell_type": "code", "execution_count": 3, "source": "print(1)\n", "outputs": [
                {"output_type": "stream", "name": "stdout", "text": ["1\n"]},
                {"output_type": "display_data", "data": {"image/png": PIXEL, "text/plain": ["<Figure>"],
                    "text/html": "<b>x</b>"}},
                {"output_type": "error", "ename": "E", "evalue": "v", "traceback": ["\u{1B}[0;31mE\u{1B}[0m: v"]},
            ]},
            {"cell_type": "code", "execution_count": null, "source": []},
        ]});
        Notebook::parse(json.to_string().as_bytes()).unwrap()
    }

    #[test]
    fn cells_come_with_their_outputs() {
        let shown = notebook().show(1, 9, 9_000);
        assert_eq!(
            shown.text,
            "--- cell 1: markdown ---\n# Title\ntext\n\n--- cell 2: code, run 3 ---\nprint(1)\n[output]\n1\n[output]\n\
             <Figure>\n[image/png: shown as an image]\n[text/html: left out]\n[output]\nE: v\n\n--- cell 3: code ---"
        );
        let part = Part::ImageInline { mime_type: "image/png".to_owned(), data: PIXEL.to_owned() };
        assert_eq!((shown.images, shown.cells), (vec![part], 3));
    }

    #[test]
    fn cells_that_do_not_fit_are_left_for_the_next_call() {
        let shown = notebook().show(1, 9, 60);
        assert_eq!((shown.text.as_str(), shown.cells), ("--- cell 1: markdown ---\n# Title\ntext", 1));
        assert!(shown.images.is_empty());
        let next = notebook().show(2, 1, 30);
        assert_eq!(next.text, "--- cell 2: code, run 3 ---\npr\n[104 more characters]");
    }

    #[test]
    fn what_is_no_notebook_is_none() {
        for broken in ["", "{", "[]", r#"{"worksheets": []}"#, r#"{"cells": 1}"#, r#"{"cells": [{}]}"#] {
            assert!(Notebook::parse(broken.as_bytes()).is_none(), "{broken}");
        }
    }
}
