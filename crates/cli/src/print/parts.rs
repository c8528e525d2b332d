//! Parts of messages that are no plain text, in words.

use robota_core::Part;
use serde_json::{Value, json};

use crate::harmless::one_line;

/// What a part is, on one line and without its data; a text is itself. `None` for what the rest of the message says, too.
pub(crate) fn part_label(part: &Part) -> Option<String> {
    match part {
        Part::Text { text } => Some(text.clone()),
        Part::ImageInline { mime_type, data } => {
            Some(format!("[image: {}, {}]", one_line(mime_type), size(data)))
        }
        Part::ImageUri { uri, .. } => Some(format!("[image: {}]", one_line(uri))),
        Part::DocumentInline { mime_type, data, name } => {
            let name = name.as_deref().map(|name| format!("{}, ", one_line(name))).unwrap_or_default();
            Some(format!("[document: {name}{}, {}]", one_line(mime_type), size(data)))
        }
        Part::Native { .. } => None,
        _ => Some("[attachment]".to_owned()),
    }
}

/// What the model sees of a result, as frames tell it: its text, and further parts by what they are.
pub(super) fn content_of(text: &str, parts: &[Part]) -> Value {
    if parts.is_empty() {
        return json!(text);
    }
    let text = (!text.is_empty()).then(|| text.to_owned());
    let texts = text.into_iter().chain(parts.iter().filter_map(part_label));
    texts.map(|text| json!({"type": "text", "text": text})).collect()
}

/// The size of what base64 `data` stands for.
fn size(data: &str) -> String {
    match data.len() / 4 * 3 {
        bytes @ 0..1_000 => format!("{bytes} bytes"),
        bytes @ 1_000..1_000_000 => format!("{} kB", bytes / 1_000),
        bytes => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_is_named_and_never_shown() {
        let (mime_type, data) = (String::from("application/pdf"), "QUJD".repeat(1_000));
        let name = Some("a\nb.pdf".to_owned());
        let pdf = Part::DocumentInline { mime_type: mime_type.clone(), data: data.clone(), name };
        assert_eq!(part_label(&pdf).unwrap(), "[document: a b.pdf, application/pdf, 3 kB]");
        let unnamed = Part::DocumentInline { mime_type, data, name: None };
        assert_eq!(part_label(&unnamed).unwrap(), "[document: application/pdf, 3 kB]");
        let image = Part::ImageInline { mime_type: "image/png".into(), data: "QUJD".into() };
        assert_eq!(part_label(&image).unwrap(), "[image: image/png, 3 bytes]");
        let native = Part::Native { format: "f".into(), items: vec![json!({"secret": "s"})] };
        assert_eq!(part_label(&native), None);
        let texts = json!([
            {"type": "text", "text": "2 pages"},
            {"type": "text", "text": "[image: image/png, 3 bytes]"},
        ]);
        assert_eq!(content_of("2 pages", &[image, native]), texts);
        assert_eq!(content_of("plain", &[]), json!("plain"));
    }
}
