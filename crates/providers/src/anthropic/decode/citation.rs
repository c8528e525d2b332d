//! What a text rests on.

use robota_core::{Citation, ModelEvent};
use serde_json::Value;

/// The event of a citation: of a page that was found (`web_search_result_location`), of a search result or a document
/// in the request (`search_result_location`, `char_location`, `page_location`, `content_block_location`), or of a
/// kind to come. `None` when it names nothing that a person could look up.
pub(super) fn event(citation: &Value) -> Option<ModelEvent> {
    let field = |names: &[&str]| {
        let text = names.iter().find_map(|name| citation.get(name)?.as_str());
        text.filter(|text| !text.is_empty()).map(str::to_owned)
    };
    let citation = Citation {
        url: field(&["url", "source"]),
        title: field(&["title", "document_title"]),
        text: field(&["cited_text"]),
    };
    (citation != Citation::default()).then_some(ModelEvent::Citation(citation))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn cited(url: Option<&str>, title: Option<&str>, text: Option<&str>) -> Option<ModelEvent> {
        let [url, title, text] = [url, title, text].map(|text| text.map(str::to_owned));
        Some(ModelEvent::Citation(Citation { url, title, text }))
    }

    #[test]
    fn citations_of_every_kind_name_their_source() {
        let page = json!({"type": "web_search_result_location", "url": "https://a.example", "title": "A",
            "cited_text": "words", "encrypted_index": "x"});
        assert_eq!(event(&page), cited(Some("https://a.example"), Some("A"), Some("words")));
        let result = json!({"type": "search_result_location", "source": "https://b.example", "title": null,
            "cited_text": "w", "search_result_index": 0, "start_block_index": 0, "end_block_index": 1});
        assert_eq!(event(&result), cited(Some("https://b.example"), None, Some("w")));
        let document = json!({"type": "page_location", "document_index": 0, "document_title": "B.pdf",
            "cited_text": "w", "start_page_number": 1, "end_page_number": 2});
        assert_eq!(event(&document), cited(None, Some("B.pdf"), Some("w")));
        assert_eq!(event(&json!({"type": "something_new"})), None);
    }
}
