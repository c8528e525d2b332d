//! The body of a response, as text for the model.

use reqwest::Response;

use super::html::to_markdown;
use super::media::{Form, decode, form_of, guess_form, split_type};

/// Bytes of a body that are taken; the rest of a longer one is not fetched.
const MAX_BODY: usize = 5_000_000;
/// Characters of the text.
const MAX_CHARS: usize = 100_000;

/// A fetched page.
pub(super) struct Page {
    pub(super) text: String,
    pub(super) media_type: String,
    pub(super) bytes: usize,
}

/// Why a response has no page.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoPage {
    #[error("the transfer broke off: {0}")]
    Transfer(#[from] reqwest::Error),
    #[error("the response is {media_type}{size}, not text")]
    NotText { media_type: String, size: String },
}

/// Reads the response to its end, or to the size limit.
pub(super) async fn read(mut response: Response) -> Result<Page, NoPage> {
    let header = response.headers().get(reqwest::header::CONTENT_TYPE);
    let header = header.and_then(|value| value.to_str().ok()).unwrap_or_default();
    let (media_type, charset) = split_type(header);
    let told = form_of(&media_type);
    if told.is_none() && !media_type.is_empty() {
        let size = response.content_length().map(|size| format!(" of {size} bytes")).unwrap_or_default();
        return Err(NoPage::NotText { media_type, size });
    }
    let mut body = Vec::new();
    let mut cut = false;
    while let Some(chunk) = response.chunk().await? {
        let room = MAX_BODY - body.len();
        body.extend_from_slice(chunk.get(..room).unwrap_or(&chunk));
        if chunk.len() > room {
            cut = true;
            break;
        }
    }
    let Some(form) = told.or_else(|| guess_form(&body)) else {
        let size = format!(" of {} bytes", body.len());
        return Err(NoPage::NotText { media_type: "of unknown type".to_owned(), size });
    };
    let bytes = body.len();
    // Parsing a large page takes a while.
    let converted = tokio::task::spawn_blocking(move || convert(decode(body, charset.as_deref()), form));
    let mut text = converted.await.unwrap_or_default();
    if let Some((end, _)) = text.char_indices().nth(MAX_CHARS) {
        text.truncate(end);
        text.push_str("\n[text cut here]");
    }
    if cut {
        text.push_str(&format!("\n[only the first {MAX_BODY} bytes were fetched]"));
    }
    Ok(Page { text, media_type, bytes })
}

fn convert(text: String, form: Form) -> String {
    match form {
        Form::Html => to_markdown(&text, None).text,
        Form::Text => text,
        Form::Json => {
            let value = serde_json::from_str::<serde_json::Value>(&text);
            value.and_then(|value| serde_json::to_string_pretty(&value)).unwrap_or(text)
        }
    }
}
