//! Web tools that the service itself runs (seed `000`, Provider-native web configuration).

use robota_core::{ModelRequest, NativeWebTool, NativeWebTools, NativeWebToolsReport};

use super::Settings;
use crate::ProviderKind;

/// OpenAI's and Qwen's web search.
const WEB_SEARCH: &str = "web_search";

/// What fetches pages for Qwen; works only together with its web search.
pub(super) const WEB_EXTRACTOR: &str = "web_extractor";

/// Which of the `wanted` tools there are and are on.
pub(super) fn report(settings: &Settings, wanted: NativeWebTools) -> NativeWebToolsReport {
    let allowed = settings.web_tools;
    let search = has_search(settings.kind).then_some(WEB_SEARCH);
    let fetch = has_fetch(settings.kind).then_some(WEB_EXTRACTOR);
    let mut report = NativeWebToolsReport {
        web_search: tool(search, wanted.web_search, allowed.web_search, "webSearch"),
        web_fetch: tool(fetch, wanted.web_fetch, allowed.web_fetch, "webFetch"),
    };
    if search.is_some() && fetch.is_none() {
        report.web_fetch.reason = Some("its web search opens pages by itself".to_owned());
    }
    report
}

/// The types of the tools to declare, in a fixed order.
pub(super) fn declared(settings: &Settings, request: &ModelRequest) -> Vec<&'static str> {
    let NativeWebTools { web_search, web_fetch } = settings.web_tools.and(request.native_web_tools);
    let fetches = web_fetch && has_fetch(settings.kind);
    let searches = (web_search && has_search(settings.kind)) || fetches;
    let tools = [(searches, WEB_SEARCH), (fetches, WEB_EXTRACTOR)];
    tools.into_iter().filter_map(|(on, tool)| on.then_some(tool)).collect()
}

fn has_search(kind: ProviderKind) -> bool {
    super::is_openai(kind) || has_fetch(kind)
}

fn has_fetch(kind: ProviderKind) -> bool {
    kind == ProviderKind::Qwen
}

fn tool(source: Option<&str>, wanted: bool, allowed: bool, option: &str) -> NativeWebTool {
    let reason = match source {
        None => Some("the provider has no such tool".to_owned()),
        Some(_) if !allowed => Some(format!("builtInWebTools.{option} in the provider's options is not on")),
        Some(_) if !wanted => Some("it was not asked for".to_owned()),
        Some(_) => None,
    };
    NativeWebTool {
        supported: source.is_some(),
        enabled: reason.is_none(),
        source: source.map(str::to_owned),
        reason,
    }
}
