//! What the API is asked besides answers: its models, and the length of a request.

use reqwest::Url;
use robota_core::ModelRequest;
use serde_json::Value;

use super::encode::{self, Purpose};
use crate::ListedModel;
use crate::listed_model::ModelPage;
use crate::wire::Question;

/// Models of one page; the API gives no more.
const PAGE: &str = "1000";

/// Asks for the models behind the id `page`. `messages` is where requests are posted.
pub(super) fn models(messages: &Url, page: Option<&str>) -> Question<ModelPage> {
    let mut url = messages.clone();
    let path = url.path().strip_suffix("/messages").unwrap_or_default().to_owned();
    url.set_path(&format!("{path}/models"));
    url.query_pairs_mut().append_pair("limit", PAGE);
    if let Some(page) = page {
        url.query_pairs_mut().append_pair("after_id", page);
    }
    Question { url, body: None, read: read_models }
}

fn read_models(answer: &Value) -> Option<ModelPage> {
    let text = |value: &Value, field: &str| value.get(field)?.as_str().map(str::to_owned);
    let number = |value: &Value, field: &str| value.get(field)?.as_u64().filter(|number| *number > 0);
    let model = |model: &Value| {
        Some(ListedModel {
            id: text(model, "id")?,
            name: text(model, "display_name"),
            context_window: number(model, "max_input_tokens"),
            max_output_tokens: number(model, "max_tokens"),
        })
    };
    let models: Vec<_> = answer.get("data")?.as_array()?.iter().filter_map(model).collect();
    let more = answer.get("has_more").and_then(Value::as_bool).unwrap_or(false);
    let last = || text(answer, "last_id").or_else(|| models.last().map(|model| model.id.clone()));
    let next = if more { last() } else { None };
    Some(ModelPage { models, next })
}

/// Asks how many tokens `request` has.
pub(super) fn count(messages: &Url, request: &ModelRequest, fields: &encode::Fields<'_>) -> Question<u64> {
    let mut url = messages.clone();
    url.set_path(&format!("{}/count_tokens", messages.path()));
    let body = encode::body(request, fields, Purpose::Count);
    Question { url, body: Some(body), read: |answer| answer.get("input_tokens")?.as_u64() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn models_are_listed_page_by_page() {
        let messages = Url::parse("https://a.example/proxy/v1/messages").unwrap();
        assert_eq!(models(&messages, None).url.as_str(), "https://a.example/proxy/v1/models?limit=1000");
        let next = models(&messages, Some("b&c"));
        assert_eq!(next.url.as_str(), "https://a.example/proxy/v1/models?limit=1000&after_id=b%26c");
        let page = json!({
            "data": [
                {"id": "a", "display_name": "A", "max_input_tokens": 200_000, "max_tokens": 64_000},
                {"id": "b", "type": "model"},
            ],
            "has_more": true, "last_id": "b",
        });
        let named = ListedModel {
            id: "a".into(),
            name: Some("A".into()),
            context_window: Some(200_000),
            max_output_tokens: Some(64_000),
        };
        let bare = ListedModel { id: "b".into(), ..ListedModel::default() };
        let expected = ModelPage { models: vec![named, bare], next: Some("b".into()) };
        assert_eq!(read_models(&page), Some(expected));
        assert_eq!(read_models(&json!({"data": [], "has_more": false})), Some(ModelPage::default()));
        assert_eq!(read_models(&json!({"models": []})), None);
    }
}
