//! What all requests of an agent have in common besides model, prompt and tools.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{Effort, ModelRequest, NativeWebTools, NativeWebToolsReport, ResponseFormat, Thinking};

/// How the model answers all requests of an agent. As JSON, what changes the bytes of a request: enough to make the
/// same ones again.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[expect(clippy::exhaustive_structs, reason = "plain data, built with `..Default::default()`")]
pub struct RequestTuning {
    /// How much effort it puts into an answer; `None` leaves it to the provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
    /// Whether it thinks before it answers.
    #[serde(skip_serializing_if = "Thinking::is_default")]
    pub thinking: Thinking,
    /// The form of its answers; `None` for free text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_format: Option<ResponseFormat>,
    /// What the provider said of its own web tools; those that are on are asked for. `None` where it was not asked.
    #[serde(skip_serializing_if = "none_enabled")]
    pub native_web_tools: Option<NativeWebToolsReport>,
    /// Names the conversation to the provider's cache.
    #[serde(skip)]
    pub cache_key: Option<Arc<str>>,
}

impl RequestTuning {
    /// Sets in `request` what all requests have in common.
    pub fn apply(&self, request: &mut ModelRequest) {
        request.effort = self.effort;
        request.thinking = self.thinking;
        request.response_format.clone_from(&self.response_format);
        request.native_web_tools = enabled(self.native_web_tools.as_ref());
        request.cache_key.clone_from(&self.cache_key);
    }

    /// Whether requests are as they are without any tuning.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.effort.is_none()
            && self.thinking.is_default()
            && self.response_format.is_none()
            && none_enabled(&self.native_web_tools)
    }
}

fn enabled(report: Option<&NativeWebToolsReport>) -> NativeWebTools {
    report.map(NativeWebToolsReport::enabled).unwrap_or_default()
}

fn none_enabled(report: &Option<NativeWebToolsReport>) -> bool {
    enabled(report.as_ref()).is_empty()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::NativeWebTool;

    #[test]
    fn its_json_makes_the_same_requests_and_is_empty_where_there_is_nothing_to_say() {
        let plain = RequestTuning {
            native_web_tools: Some(NativeWebToolsReport::unsupported()),
            cache_key: Some("s".into()),
            ..RequestTuning::default()
        };
        assert!(plain.is_plain());
        assert_eq!(serde_json::to_value(&plain).unwrap(), json!({}));

        let on = NativeWebTool { supported: true, enabled: true, ..NativeWebTool::default() };
        let tuned = RequestTuning {
            effort: Some(Effort::High),
            thinking: Thinking::Budget(2_000),
            response_format: Some(ResponseFormat::new("answer", json!({"type": "object"}))),
            native_web_tools: Some(NativeWebToolsReport {
                web_search: on,
                ..NativeWebToolsReport::unsupported()
            }),
            cache_key: None,
        };
        assert!(!tuned.is_plain());
        let json = serde_json::to_value(&tuned).unwrap();
        assert_eq!(serde_json::from_value::<RequestTuning>(json).unwrap(), tuned);
    }
}
