//! The body of a response, as text for the model.

use std::io::{self, Write};

use reqwest::header::{CONTENT_ENCODING, CONTENT_TYPE};
use reqwest::{Response, Url};
use robota_core::harmless_text;

use super::charset::{Hints, decode};
use super::html::{Markdown, to_markdown};
use super::media::{Form, form_of, guess_form, says_nothing, split_type};
use crate::document::pdf::{PdfError, pdf_text};

/// Bytes of a body that are taken, as they are when nothing is compressed; the rest of a longer one is not fetched.
const MAX_BODY: usize = 5_000_000;
/// The same for documents, which are worth nothing without their end.
const MAX_DOCUMENT: usize = 20_000_000;

/// Bytes of JSON that are written out on lines.
const MAX_INDENTED: usize = 1_000_000;

/// A fetched page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Page {
    pub(super) title: Option<String>,
    pub(super) text: String,
    pub(super) media_type: String,
    /// Of the body, as it is when nothing is compressed.
    pub(super) bytes: usize,
}

/// Why a response has no page.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoPage {
    #[error("the PDF cannot be read: {0}")]
    Pdf(#[from] PdfError),
    #[error("the transfer broke off")]
    Transfer(#[from] reqwest::Error),
    #[error("the response is {media_type}{size}, not text; to keep it, download it into a file with Bash")]
    NotText { media_type: String, size: String },
    #[error("the response is compressed as {coding}, which was not asked for")]
    Coding { coding: String },
    #[error("the document is larger than {limit} bytes; download it into a file with Bash")]
    TooLarge { limit: usize },
}

impl NoPage {
    pub(super) const fn code(&self) -> &'static str {
        match self {
            Self::Transfer(_) => "network",
            Self::NotText { .. } | Self::Coding { .. } | Self::Pdf(_) => "no_text",
            Self::TooLarge { .. } => "too_large",
        }
    }
}

/// Reads the response of `url` to its end, or to the size limit.
pub(super) async fn read(response: Response, url: &Url) -> Result<Page, NoPage> {
    let header =
        |name| response.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let (media_type, charset) = split_type(header(CONTENT_TYPE));
    // What was undone has no such header any more.
    let coding = header(CONTENT_ENCODING).trim().to_ascii_lowercase();
    if !matches!(coding.as_str(), "" | "identity") {
        return Err(NoPage::Coding { coding });
    }
    let told = form_of(&media_type);
    let not_text = |media_type: &str, size: Option<u64>| {
        let size = size.map(|size| format!(" of {size} bytes")).unwrap_or_default();
        NoPage::NotText { media_type: media_type.to_owned(), size }
    };
    if told.is_none() && !says_nothing(&media_type) {
        return Err(not_text(&media_type, response.content_length()));
    }
    let limit = if told == Some(Form::Pdf) { MAX_DOCUMENT } else { MAX_BODY };
    let (body, cut) = take(response, limit).await?;
    let Some(form) = told.or_else(|| guess_form(&body)) else {
        return Err(not_text("of unknown type", u64::try_from(body.len()).ok()));
    };
    if cut && form == Form::Pdf {
        return Err(NoPage::TooLarge { limit });
    }
    let (bytes, url) = (body.len(), url.clone());
    // Parsing a large page takes a while.
    let converted = tokio::task::spawn_blocking(move || convert(&body, form, charset.as_deref(), &url));
    let Markdown { title, mut text } = converted.await.unwrap_or_else(|_| Ok(Markdown::default()))?;
    if cut {
        text.push_str(&format!("\n[only the first {limit} bytes were fetched]"));
    }
    let title = title.map(|title| harmless(&title));
    Ok(Page { title, text: harmless(&text), media_type, bytes })
}

/// `text` without what would steer the terminal of whoever reads it; every line stays.
fn harmless(text: &str) -> String {
    let lines =
        if text.contains('\r') { text.replace("\r\n", "\n").replace('\r', "\n") } else { text.to_owned() };
    harmless_text(lines.as_bytes()).into_owned()
}

/// The body, and whether it is only its beginning.
async fn take(mut response: Response, limit: usize) -> Result<(Vec<u8>, bool), reqwest::Error> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        let room = limit - body.len();
        body.extend_from_slice(chunk.get(..room).unwrap_or(&chunk));
        if chunk.len() > room {
            return Ok((body, true));
        }
    }
    Ok((body, false))
}

fn convert(body: &[u8], form: Form, charset: Option<&str>, url: &Url) -> Result<Markdown, NoPage> {
    let is_markup = matches!(form, Form::Html | Form::Xml);
    let text = || decode(body, Hints { told: charset, is_markup, host: url.host_str() });
    let text = match form {
        Form::Html => return Ok(to_markdown(&text(), Some(url))),
        Form::Pdf => pages_of(body)?,
        Form::Xml | Form::Text => text(),
        Form::Json => indented(text()),
    };
    Ok(Markdown { title: None, text })
}

/// The same value with its parts on lines of their own; as it is when it is no JSON, is long, or would become so.
fn indented(json: String) -> String {
    if json.len() > MAX_INDENTED {
        return json;
    }
    let value = serde_json::from_str::<serde_json::Value>(&json);
    let mut indented = Bounded { bytes: Vec::with_capacity(json.len()), room: MAX_INDENTED * 4 };
    let written = value.and_then(|value| serde_json::to_writer_pretty(&mut indented, &value));
    match (written, String::from_utf8(indented.bytes)) {
        (Ok(()), Ok(text)) => text,
        _ => json,
    }
}

/// Bytes up to a limit: deep nesting takes far more room indented than on one line.
struct Bounded {
    bytes: Vec<u8>,
    room: usize,
}

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.room = self.room.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The text of a PDF, page by page.
fn pages_of(body: &[u8]) -> Result<String, NoPage> {
    let document = pdf_text(body, None)?;
    let pages = document.pages.iter().map(|(number, text)| {
        let text = if text.trim().is_empty() { "(no text)" } else { text.trim_end() };
        format!("[page {number} of {}]\n{text}", document.total_pages)
    });
    let mut text = pages.collect::<Vec<_>>().join("\n\n");
    if let Some(why) = &document.missing {
        text.push_str(&format!("\n\n[the pages after that are missing: {why}]"));
    } else if document.pages.len() < document.total_pages {
        text.push_str("\n\n[more pages follow: download the file and use Read with pages]");
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_steer_a_terminal_is_taken_out_and_lines_stay() {
        assert_eq!(harmless("a\r\nb\rc\x1b[2J\x1b]0;title\x07d\te"), "a\nb\ncd\te");
    }

    #[test]
    fn json_is_indented_where_that_does_not_make_it_huge() {
        assert_eq!(indented(r#"{"b":1,"a":[2]}"#.to_owned()), "{\n  \"b\": 1,\n  \"a\": [\n    2\n  ]\n}");
        assert_eq!(indented("{broken".to_owned()), "{broken");
        let deep = format!("{}1{}{}", "[".repeat(100), ",1".repeat(200_000), "]".repeat(100));
        assert_eq!(indented(deep.clone()), deep);
    }
}
