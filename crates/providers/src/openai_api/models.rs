//! The list of models, `GET {base}/models`, in the shapes that OpenAI and the servers after its pattern have for it.

use serde_json::Value;

use crate::listed_model::{ListedModel, ModelPage};

/// Reads `{"data": [..]}`, `{"models": [..]}` or a bare list. What is no model is left out.
pub(crate) fn read(answer: &Value) -> Option<ModelPage> {
    let list = answer.get("data").or_else(|| answer.get("models")).unwrap_or(answer).as_array()?;
    let models = list.iter().filter_map(model).collect();
    Some(ModelPage { models, next: None })
}

/// OpenAI says no more than the id; the other fields are those of servers that say more.
fn model(entry: &Value) -> Option<ListedModel> {
    let text = |field: &str| entry.get(field).and_then(Value::as_str).filter(|text| !text.is_empty());
    let number = |place: &&str| entry.pointer(place).and_then(Value::as_u64).filter(|number| *number > 0);
    let first = |places: &[&str]| places.iter().find_map(number);
    let id = text("id").or_else(|| text("model")).or_else(|| text("name"))?.to_owned();
    let name = text("display_name").or_else(|| text("name")).filter(|name| *name != id);
    Some(ListedModel {
        name: name.map(str::to_owned),
        context_window: first(&[
            // What is loaded counts more than what could be.
            "/loaded_context_length",
            "/context_length",
            "/context_window",
            "/max_model_len",
            "/max_context_length",
            "/top_provider/context_length",
            "/meta/n_ctx",
            "/meta/n_ctx_train",
        ]),
        max_output_tokens: first(&[
            "/top_provider/max_completion_tokens",
            "/max_completion_tokens",
            "/max_output_tokens",
            "/max_output_length",
        ]),
        id,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn windows_are_found_under_the_names_in_use() {
        let listed = |id: &str, name: Option<&str>, window, output| ListedModel {
            id: id.into(),
            name: name.map(Into::into),
            context_window: window,
            max_output_tokens: output,
        };
        let answer = json!({"object": "list", "data": [
            {"id": "gpt-5", "object": "model", "owned_by": "openai"},
            {"id": "z/glm", "name": "GLM", "context_length": 131_072, "top_provider": {"max_completion_tokens": 8192}},
            {"id": "llama", "context_window": 8000, "max_completion_tokens": 4000},
            {"id": "vllm", "max_model_len": 32_768},
            {"id": "mistral", "name": "mistral", "max_context_length": 128_000},
            {"id": "gguf", "meta": {"n_ctx_train": 4096}},
            {"no": "id", "context_window": 1},
            {"id": "unsaid", "context_length": 0},
            7,
        ]});
        let expected = vec![
            listed("gpt-5", None, None, None),
            listed("z/glm", Some("GLM"), Some(131_072), Some(8192)),
            listed("llama", None, Some(8000), Some(4000)),
            listed("vllm", None, Some(32_768), None),
            listed("mistral", None, Some(128_000), None),
            listed("gguf", None, Some(4096), None),
            listed("unsaid", None, None, None),
        ];
        assert_eq!(read(&answer), Some(ModelPage { models: expected, next: None }));
        assert_eq!(
            read(&json!({"models": [{"name": "a", "model": "a"}]})).unwrap().models,
            [listed("a", None, None, None)]
        );
        assert_eq!(read(&json!([{"id": "a"}])).unwrap().models, [listed("a", None, None, None)]);
        assert_eq!(read(&json!({"error": "no"})), None);
    }
}
