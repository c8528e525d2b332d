//! What a request to Gemini says, where other APIs say it in other places.

use serde_json::Value;

use crate::SeenResult;

/// Where a Gemini client goes: the model and the method that a path such as
/// `/v1beta/models/gemini-3-pro:streamGenerateContent` names.
pub(crate) fn target(path: &str) -> Option<(&str, &str)> {
    let (place, method) = path.rsplit_once(':')?;
    let (_, model) = place.rsplit_once("/models/")?;
    (!model.is_empty()).then_some((model, method))
}

/// The names of the declared functions, in order.
pub(crate) fn tool_names(tools: &Value) -> Vec<&str> {
    let tools = tools.as_array().map_or(&[][..], Vec::as_slice);
    let declarations = tools.iter().filter_map(|tool| tool["functionDeclarations"].as_array()).flatten();
    declarations.filter_map(|declaration| declaration["name"].as_str()).collect()
}

/// The text in the parts of a content.
pub(crate) fn text(content: &Value) -> String {
    let parts = content["parts"].as_array().map_or(&[][..], Vec::as_slice);
    parts.iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n")
}

/// The results in a content.
pub(crate) fn results(content: &Value) -> impl Iterator<Item = SeenResult> {
    let parts = content["parts"].as_array().map_or(&[][..], Vec::as_slice);
    let results = parts.iter().map(|part| &part["functionResponse"]).filter(|result| result.is_object());
    results.map(|result| {
        let response = &result["response"];
        let content = response.get("error").or_else(|| response.get("output")).unwrap_or(response);
        SeenResult {
            call_id: result["id"].as_str().unwrap_or_default().to_owned(),
            content: content.as_str().map_or_else(|| content.to_string(), str::to_owned),
            is_error: response.get("error").is_some(),
        }
    })
}
