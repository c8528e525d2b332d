//! What a response is, by its media type and its first bytes.

/// How the body of a response becomes text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Html,
    Json,
    Pdf,
    Xml,
    Text,
}

/// The media type without parameters, in lower case, and its charset.
pub(super) fn split_type(content_type: &str) -> (String, Option<String>) {
    let mut parts = content_type.split(';');
    let essence = parts.next().unwrap_or_default().trim().to_ascii_lowercase();
    let charset = parts.find_map(|part| {
        let (name, value) = part.split_once('=')?;
        let value = value.trim().trim_matches('"').to_ascii_lowercase();
        name.trim().eq_ignore_ascii_case("charset").then_some(value)
    });
    (essence, charset)
}

/// Whether a media type says nothing of the body: servers have it for what they do not know.
pub(super) fn says_nothing(essence: &str) -> bool {
    matches!(essence, "" | "application/octet-stream" | "binary/octet-stream" | "application/binary")
}

/// The form of a media type; `None` for one that is not text.
pub(super) fn form_of(essence: &str) -> Option<Form> {
    match essence {
        "text/html" | "application/xhtml+xml" => Some(Form::Html),
        "application/json" | "text/json" => Some(Form::Json),
        "application/pdf" | "application/x-pdf" => Some(Form::Pdf),
        _ if essence.ends_with("+json") => Some(Form::Json),
        "application/xml" | "text/xml" => Some(Form::Xml),
        "application/javascript"
        | "application/x-javascript"
        | "application/ecmascript"
        | "application/yaml"
        | "application/x-yaml"
        | "application/toml"
        | "application/x-sh"
        | "application/sql"
        | "application/x-ndjson"
        | "application/jsonl"
        | "application/graphql" => Some(Form::Text),
        _ if essence.ends_with("+xml") => Some(Form::Xml),
        _ if essence.starts_with("text/") => Some(Form::Text),
        _ => None,
    }
}

/// The form of a body whose type is not told; `None` when it is not text.
pub(super) fn guess_form(body: &[u8]) -> Option<Form> {
    if body.starts_with(b"%PDF-") {
        return Some(Form::Pdf);
    }
    let start = body.get(..body.len().min(1024)).unwrap_or_default();
    let is_wide = start.starts_with(b"\xFF\xFE") || start.starts_with(b"\xFE\xFF");
    if !is_wide && start.contains(&0) {
        return None;
    }
    let start = String::from_utf8_lossy(start).trim_start().to_ascii_lowercase();
    let html = start.starts_with("<!doctype html") || start.starts_with("<html");
    Some(if html { Form::Html } else { Form::Text })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_read_as_servers_write_them() {
        let (essence, charset) = split_type("Text/HTML; boundary=x; Charset=\"ISO-8859-1\"");
        assert_eq!((essence.as_str(), charset.as_deref()), ("text/html", Some("iso-8859-1")));
        let cases = [
            ("text/html", Some(Form::Html)),
            ("application/ld+json", Some(Form::Json)),
            ("image/svg+xml", Some(Form::Xml)),
            ("text/css", Some(Form::Text)),
            ("application/pdf", Some(Form::Pdf)),
            ("image/png", None),
            ("", None),
        ];
        for (essence, form) in cases {
            assert_eq!(form_of(essence), form, "{essence}");
        }
    }

    #[test]
    fn bodies_without_a_type_are_known_by_their_beginning() {
        let cases: [(&[u8], Option<Form>); 6] = [
            (b"%PDF-1.7\n\0", Some(Form::Pdf)),
            (b"\n<!DOCTYPE HTML>", Some(Form::Html)),
            (b"# Heading", Some(Form::Text)),
            (b"\xFF\xFEa\0", Some(Form::Text)),
            (b"\x7FELF\x02\x01\0", None),
            (b"", Some(Form::Text)),
        ];
        for (body, form) in cases {
            assert_eq!(guess_form(body), form, "{body:?}");
        }
    }
}
