//! Read for what is no plain text: images, PDF files, notebooks.

use std::io::Read as _;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use robota_core::{Part, ToolOutcome};
use serde_json::json;

use super::read::{Opened, Read};
use super::read_state::content_hash;
use super::shown::MAX_CHARS;
use super::slice::Range;
use crate::document::image::ImageHeader;
use crate::document::notebook::Notebook;
use crate::document::pdf::{self, MAX_PAGES, PdfError, PdfText, read_pdf};
use crate::failure::Failure;

/// The largest image, so that its base64 form stays under 5 MiB.
const MAX_IMAGE_BYTES: u64 = 3_932_160;
/// The longest side of an image, in pixels.
const MAX_IMAGE_SIDE: u32 = 8_000;
/// Larger notebooks are shown as the text they are.
const MAX_NOTEBOOK_BYTES: u64 = 32 * 1024 * 1024;
/// Characters kept free for what is said about a document.
const NOTICE_ROOM: usize = 600;

impl Read {
    pub(super) fn image(&self, opened: Opened<'_>, header: ImageHeader) -> Result<ToolOutcome, Failure> {
        let (shown, size, mime_type) = (opened.shown.clone(), opened.stat.size, header.mime_type);
        let Some((width, height)) = header.size else {
            let message = format!("{shown} begins like an image ({mime_type}), but its header is broken");
            return Err(Failure::new("broken_image", message));
        };
        if size > MAX_IMAGE_BYTES || width.max(height) > MAX_IMAGE_SIDE {
            let message = format!(
                "{shown} is an image of {width}x{height} pixels and {size} bytes; at most {MAX_IMAGE_SIDE} pixels a \
                 side and {MAX_IMAGE_BYTES} bytes can be shown: make a smaller copy of it with a program through \
                 Bash, such as `magick IN -resize 1500x1500 OUT`"
            );
            return Err(Failure::new("too_large", message));
        }
        let content = whole(opened, MAX_IMAGE_BYTES)?;
        let bytes = content.len();
        let part = Part::ImageInline { mime_type: mime_type.to_owned(), data: STANDARD.encode(&content) };
        let facts =
            json!({"type": "image", "mimeType": mime_type, "bytes": bytes, "width": width, "height": height});
        let text = format!("{shown}: image ({mime_type}, {width}x{height} pixels, {bytes} bytes)");
        Ok(ToolOutcome::success(text).with_part(part).with_structured(facts))
    }

    /// Pages of a PDF; `pages` are the first and the last one asked for.
    pub(super) fn pdf(
        &self,
        opened: Opened<'_>,
        pages: Option<(usize, usize)>,
    ) -> Result<ToolOutcome, Failure> {
        let (shown, stop) = (opened.shown.clone(), opened.stop);
        if let Some((first, last)) = pages
            && last != usize::MAX
            && last - first >= MAX_PAGES
        {
            let message = format!("{} pages were asked for; at most {MAX_PAGES} a call", last - first + 1);
            return Err(Failure::new("invalid_argument", message));
        }
        let content = whole(opened, pdf::MAX_BYTES)?;
        let read = read_pdf(content, pages.map(|(first, last)| first..=last), stop);
        let read = read.map_err(|error| pdf_failure(&shown, &error))?;
        Ok(pages_outcome(&shown, &read))
    }

    /// Cells of a notebook; `None` when the file is none after all.
    pub(super) fn notebook(
        &self,
        opened: &mut Opened<'_>,
        range: Range,
    ) -> Result<Option<ToolOutcome>, Failure> {
        if opened.stat.size > MAX_NOTEBOOK_BYTES {
            return Ok(None);
        }
        let mut content = Vec::new();
        let read = opened.reader.by_ref().take(MAX_NOTEBOOK_BYTES).read_to_end(&mut content);
        read.map_err(|error| opened.failed(&error))?;
        let Some(notebook) = Notebook::parse(&content) else {
            std::io::Seek::rewind(&mut opened.reader).map_err(|error| opened.failed(&error))?;
            std::io::BufRead::fill_buf(&mut opened.reader)
                .map(drop)
                .map_err(|error| opened.failed(&error))?;
            return Ok(None);
        };
        let (first, total) = (range.first, notebook.len());
        if first > total.max(1) {
            let message = format!("{} has only {total} cells; there is no cell {first}", opened.shown);
            return Err(Failure::new("beyond_end", message));
        }
        let cells = notebook.show(first, range.limit, MAX_CHARS - NOTICE_ROOM);
        let last = first + cells.cells - 1;
        let mut text = cells.text;
        if cells.cells == 0 {
            text.push_str("(the notebook has no cells)");
        } else if last < total {
            text.push_str(&format!("\n[{} more cells follow: use offset {}]", total - last, last + 1));
        }
        let whole = first == 1 && last == total;
        self.workspace.reads().record(opened.path, opened.stat, whole.then(|| content_hash(&content)));
        let facts =
            json!({"type": "notebook", "startCell": first, "cells": cells.cells, "totalCells": total});
        let outcome = ToolOutcome::success(text).with_structured(facts);
        Ok(Some(cells.images.into_iter().fold(outcome, ToolOutcome::with_part)))
    }
}

/// The whole file, which has at most `most` bytes.
fn whole(opened: Opened<'_>, most: u64) -> Result<Vec<u8>, Failure> {
    let mut content = Vec::with_capacity(usize::try_from(opened.stat.size.min(most)).unwrap_or_default());
    let (shown, reader) = (opened.shown, opened.reader);
    let read = reader.take(most + 1).read_to_end(&mut content);
    read.map_err(|error| Failure::io("read", &shown, &error))?;
    if content.len() as u64 > most {
        let size = opened.stat.size;
        let message = format!(
            "{shown} has {size} bytes; at most {most} can be read of its kind: take it apart with a program through \
             Bash"
        );
        return Err(Failure::new("too_large", message));
    }
    Ok(content)
}

fn pdf_failure(shown: &str, error: &PdfError) -> Failure {
    let code = match error {
        PdfError::NoSuchPage { .. } => "beyond_end",
        PdfError::Cancelled => return Failure::cancelled(),
        PdfError::TooLarge { .. } => "too_large",
        PdfError::Encrypted | PdfError::UnknownEncryption => "encrypted",
        _ => "unreadable_pdf",
    };
    Failure::new(code, format!("cannot read {shown} as PDF: {error}"))
}

/// Pages as far as they fit into one result.
fn pages_outcome(shown: &str, read: &PdfText) -> ToolOutcome {
    let total = read.total_pages;
    let mut text = String::new();
    let (mut chars, mut last, mut cut) = (0, 0, false);
    for (number, page) in &read.pages {
        let room = (MAX_CHARS - NOTICE_ROOM).saturating_sub(chars);
        let heading = format!("--- page {number} of {total} ---\n");
        let length = heading.len() + page.chars().count() + 2;
        if length > room && last > 0 {
            break;
        }
        let end = page.char_indices().nth(room.saturating_sub(heading.len())).map(|(at, _)| at);
        cut = end.is_some();
        let content = page.get(..end.unwrap_or(page.len())).unwrap_or_default();
        text.push_str(&heading);
        text.push_str(if content.is_empty() { "(no text on this page)" } else { content });
        text.push_str("\n\n");
        (chars, last) = (chars + length, *number);
    }
    if cut {
        let quoted = shown.replace('\'', r"'\''");
        text.push_str(&format!(
            "[page {last} is cut here; for all of it: pdftotext -f {last} -l {last} '{quoted}' -]\n"
        ));
    }
    if read.pages.iter().all(|(_, page)| page.is_empty()) {
        text.push_str(
            "[no text on these pages: they may be scanned or drawn. Render them as images, such as with \
             `pdftoppm -png -r 100`, and read those]\n",
        );
    }
    if let Some(error) = &read.missing {
        text.push_str(&format!("[further pages were not read: {error}]\n"));
    }
    if last < total {
        text.push_str(&format!(
            "[{total} pages in all: use pages {}-{}]\n",
            last + 1,
            (last + 10).min(total)
        ));
    }
    text.truncate(text.trim_end().len());
    let first = read.pages.first().map_or(0, |(number, _)| *number);
    let facts = json!({"type": "pdf", "firstPage": first, "lastPage": last, "totalPages": total});
    ToolOutcome::success(text).with_structured(facts)
}
