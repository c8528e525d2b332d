//! Models and token counts, as the API tells them.

use serde_json::Value;

use super::address::resource;
use crate::json;
use crate::listed_model::{ListedModel, ModelPage};

/// Reads a part of the list of models; those that only embed, draw or speak are left out.
pub(super) fn page(answer: &Value) -> Option<ModelPage> {
    // An empty list is left out.
    let listed = match answer.as_object()?.get("models") {
        Some(models) => models.as_array()?.as_slice(),
        None => &[],
    };
    let models = listed.iter().filter(|model| generates(model)).filter_map(model).collect();
    let next = answer.get("nextPageToken").and_then(Value::as_str).filter(|token| !token.is_empty());
    Some(ModelPage { models, next: next.map(str::to_owned) })
}

fn generates(model: &Value) -> bool {
    let methods = model.get("supportedGenerationMethods").and_then(Value::as_array);
    methods.is_none_or(|methods| methods.iter().any(|method| method == "generateContent"))
}

fn model(model: &Value) -> Option<ListedModel> {
    let name = model.get("name")?.as_str()?;
    Some(ListedModel {
        id: name.strip_prefix("models/").unwrap_or(name).to_owned(),
        name: model.get("displayName").and_then(Value::as_str).map(str::to_owned),
        context_window: model.get("inputTokenLimit").and_then(Value::as_u64),
        max_output_tokens: model.get("outputTokenLimit").and_then(Value::as_u64),
    })
}

/// The question how many tokens the request `body` to `model` has.
pub(super) fn count(model: &str, body: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(body.len() + 128);
    out.extend_from_slice(b"{\"generateContentRequest\":{\"model\":");
    json::push(&mut out, &resource(model));
    out.push(b',');
    out.extend_from_slice(body.get(1..).unwrap_or_default());
    out.push(b'}');
    out
}

/// Reads the answer to it.
pub(super) fn total(answer: &Value) -> Option<u64> {
    // A count of nothing is left out.
    answer.as_object()?.get("totalTokens").map_or(Some(0), Value::as_u64)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn pages_are_read_as_far_as_they_are_of_use() {
        let answer = json!({"models": [
            {"name": "models/gemini-3-pro", "displayName": "Gemini 3 Pro", "inputTokenLimit": 1_048_576,
                "outputTokenLimit": 65_536, "supportedGenerationMethods": ["generateContent", "countTokens"]},
            {"name": "models/embedding-001", "supportedGenerationMethods": ["embedContent"]},
            {"name": "models/bare"},
        ], "nextPageToken": "p2"});
        let whole = ListedModel {
            id: "gemini-3-pro".into(),
            name: Some("Gemini 3 Pro".into()),
            context_window: Some(1_048_576),
            max_output_tokens: Some(65_536),
        };
        let bare = ListedModel { id: "bare".into(), ..ListedModel::default() };
        assert_eq!(page(&answer), Some(ModelPage { models: vec![whole, bare], next: Some("p2".into()) }));
        assert_eq!(page(&json!({})), Some(ModelPage::default()));
        assert_eq!((page(&json!([])), page(&json!({"models": 1}))), (None, None));
    }

    #[test]
    fn a_count_asks_for_the_whole_request() {
        let question: Value = serde_json::from_slice(&count("gemini-3-pro", b"{\"contents\":[]}")).unwrap();
        let request = json!({"model": "models/gemini-3-pro", "contents": []});
        assert_eq!(question, json!({"generateContentRequest": request}));
        assert_eq!((total(&json!({"totalTokens": 7})), total(&json!({}))), (Some(7), Some(0)));
        assert_eq!((total(&json!("7")), total(&json!({"totalTokens": "7"}))), (None, None));
    }
}
