//! What a response is, by its media type and its first bytes.

/// How the body of a response becomes text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Html,
    Json,
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

/// The form of a media type; `None` for one that is not text.
pub(super) fn form_of(essence: &str) -> Option<Form> {
    match essence {
        "text/html" | "application/xhtml+xml" => Some(Form::Html),
        "application/json" | "text/json" => Some(Form::Json),
        _ if essence.ends_with("+json") => Some(Form::Json),
        "application/xml"
        | "application/javascript"
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
        _ if essence.starts_with("text/") || essence.ends_with("+xml") => Some(Form::Text),
        _ => None,
    }
}

/// The form of a body whose type is not told; `None` when it is not text.
pub(super) fn guess_form(body: &[u8]) -> Option<Form> {
    let start = body.get(..body.len().min(1024)).unwrap_or_default();
    if start.contains(&0) {
        return None;
    }
    let start = String::from_utf8_lossy(start).trim_start().to_ascii_lowercase();
    let html = start.starts_with("<!doctype html") || start.starts_with("<html");
    Some(if html { Form::Html } else { Form::Text })
}

/// The body as text: UTF-8, or Latin-1 where the charset says so.
pub(super) fn decode(body: Vec<u8>, charset: Option<&str>) -> String {
    match charset {
        Some("iso-8859-1" | "latin1" | "us-ascii" | "windows-1252")
            if std::str::from_utf8(&body).is_err() =>
        {
            body.into_iter().map(char::from).collect()
        }
        _ => {
            let text = String::from_utf8(body)
                .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
            text.strip_prefix('\u{FEFF}').map(str::to_owned).unwrap_or(text)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_read_as_servers_write_them() {
        let (essence, charset) = split_type("Text/HTML; boundary=x; Charset=\"ISO-8859-1\"");
        assert_eq!((essence.as_str(), charset.as_deref()), ("text/html", Some("iso-8859-1")));
        let types = ["text/html", "application/ld+json", "image/svg+xml", "text/css", "application/pdf", ""];
        let forms = [Some(Form::Html), Some(Form::Json), Some(Form::Text), Some(Form::Text), None, None];
        assert_eq!(types.map(form_of), forms);
        assert_eq!(decode(b"caf\xE9".to_vec(), Some("iso-8859-1")), "café");
        assert_eq!(decode("\u{FEFF}café".into(), None), "café");
    }
}
