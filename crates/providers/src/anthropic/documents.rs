//! Documents in a message.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;

/// A document block without its type.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Document<'a> {
    source: Source<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Source<'a> {
    Base64 { media_type: &'static str, data: &'a str },
    Text { media_type: &'static str, data: Cow<'a, str> },
}

/// The block of the document with `data` in Base64: a PDF file as it is, text as text. `None` for kinds the API does
/// not read, for text that is none, and for documents without anything in them, which it refuses.
pub(super) fn document<'a>(mime_type: &str, data: &'a str, name: Option<&'a str>) -> Option<Document<'a>> {
    let kind = mime_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let source = match kind.as_str() {
        _ if data.is_empty() => return None,
        "application/pdf" => Source::Base64 { media_type: "application/pdf", data },
        kind if is_text(kind) => {
            let text = String::from_utf8(STANDARD.decode(data).ok()?).ok()?;
            Source::Text {
                media_type: "text/plain",
                data: Some(text).filter(|text| !text.trim().is_empty())?.into(),
            }
        }
        _ => return None,
    };
    Some(Document { source, title: name.map(str::trim).filter(|name| !name.is_empty()) })
}

fn is_text(kind: &str) -> bool {
    kind.starts_with("text/")
        || kind.ends_with("+json")
        || kind.ends_with("+xml")
        || matches!(
            kind,
            "application/json"
                | "application/xml"
                | "application/yaml"
                | "application/toml"
                | "application/javascript"
        )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn pdf_files_go_as_they_are_and_texts_as_text() {
        let pdf = document("application/pdf", "JVBERi0=", Some("paper.pdf")).unwrap();
        let expected = json!({
            "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="}, "title": "paper.pdf",
        });
        assert_eq!(json!(pdf), expected);
        let text = document("Text/Markdown; charset=utf-8", "IyBHcsO8w59l", Some(" ")).unwrap();
        let expected = json!({"source": {"type": "text", "media_type": "text/plain", "data": "# Grüße"}});
        assert_eq!(json!(text), expected);
    }

    #[test]
    fn what_the_api_does_not_read_is_no_document() {
        for (kind, data) in
            [("application/zip", "aGk="), ("text/plain", "/w=="), ("text/plain", "?"), ("text/plain", "IA==")]
        {
            assert_eq!(document(kind, data, None), None, "{kind} {data}");
        }
    }
}
