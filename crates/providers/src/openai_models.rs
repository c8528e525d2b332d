//! The list of models that OpenAI's APIs and the servers after their pattern have: `GET {base}/models`.

use reqwest::Url;
use serde_json::Value;

use crate::listed_model::{ListedModel, ModelPage};
use crate::wire::Question;

/// Asks for the models of the service whose model calls go to `calls`, such as `https://…/v1/chat/completions`
/// or `https://…/v1/responses`. The query of that address is kept.
pub(crate) fn list_models(calls: &Url) -> Question<ModelPage> {
    let path = calls.path().trim_end_matches('/');
    let base = ["/chat/completions", "/responses"].iter().find_map(|end| path.strip_suffix(end));
    let base = base.unwrap_or(path);
    // Deployments in Azure have no list of their own; the resource has.
    let base = base.split_once("/deployments/").map_or(base, |(resource, _)| resource);
    let mut url = calls.clone();
    url.set_path(&format!("{base}/models"));
    Question { url, body: None, read }
}

/// Reads `{"data": [..]}`, `{"models": [..]}` or a bare list. What is no model is left out.
fn read(answer: &Value) -> Option<ModelPage> {
    let list = answer.get("data").or_else(|| answer.get("models")).unwrap_or(answer).as_array()?;
    Some(ModelPage { models: list.iter().filter_map(model).collect(), next: None })
}

/// OpenAI says no more than the id; the other fields are those of servers that say more.
fn model(entry: &Value) -> Option<ListedModel> {
    let text = |field: &str| entry.get(field).and_then(Value::as_str).filter(|text| !text.is_empty());
    let number = |field: &str| {
        let place = field.split('.').try_fold(entry, |value, step| value.get(step));
        place.and_then(Value::as_u64).filter(|number| *number > 0)
    };
    let first = |fields: &[&str]| fields.iter().find_map(|field| number(field));
    let id = text("id").or_else(|| text("model")).or_else(|| text("name"))?;
    let name = text("display_name").or_else(|| text("name")).filter(|name| *name != id);
    Some(ListedModel {
        id: id.to_owned(),
        name: name.map(str::to_owned),
        context_window: first(&[
            "context_length",
            "context_window",
            "max_context_length",
            "max_model_len",
            "top_provider.context_length",
            "meta.n_ctx",
        ]),
        max_output_tokens: first(&[
            "max_output_tokens",
            "max_completion_tokens",
            "top_provider.max_completion_tokens",
        ]),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn asked(calls: &str) -> String {
        list_models(&Url::parse(calls).unwrap()).url.to_string()
    }

    #[test]
    fn the_list_stands_beside_the_calls() {
        assert_eq!(asked("https://a.example/v1/chat/completions"), "https://a.example/v1/models");
        assert_eq!(asked("https://a.example/v1/responses"), "https://a.example/v1/models");
        assert_eq!(
            asked("https://a.example/openai/deployments/d/chat/completions?api-version=2024-10-21"),
            "https://a.example/openai/models?api-version=2024-10-21"
        );
    }

    #[test]
    fn what_a_list_says_is_read_in_any_shape() {
        let id = |id: &str| ListedModel { id: id.into(), ..ListedModel::default() };
        let openai =
            json!({"object": "list", "data": [{"id": "gpt-5", "object": "model"}, {"object": "model"}, 7]});
        assert_eq!(read(&openai).unwrap().models, [id("gpt-5")]);
        let router = json!({"data": [{
            "id": "a/b", "name": "A: B", "context_length": 200_000, "top_provider": {"max_completion_tokens": 64_000},
        }]});
        let whole = ListedModel {
            id: "a/b".into(),
            name: Some("A: B".into()),
            context_window: Some(200_000),
            max_output_tokens: Some(64_000),
        };
        assert_eq!(read(&router).unwrap().models, [whole]);
        let vllm = json!([{"id": "m", "max_model_len": 32_768}]);
        assert_eq!(read(&vllm).unwrap().models[0].context_window, Some(32_768));
        assert_eq!(read(&json!({"models": [{"name": "m", "model": "m"}]})).unwrap().models, [id("m")]);
        assert_eq!(read(&json!({"error": "no"})), None);
    }
}
