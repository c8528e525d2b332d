//! Web tools that the service runs itself.

use robota_core::{ModelRequest, NativeWebTool, NativeWebTools, NativeWebToolsReport};
use serde_json::{Value, json};

use super::abilities::Abilities;
use super::betas::WEB_FETCH_PLACE;
use super::spoken::Spoken;

/// The type of the tool that searches.
pub(super) const WEB_SEARCH: &str = "web_search_20250305";

/// The type of the tool that fetches pages; it needs a beta.
pub(super) const WEB_FETCH: &str = "web_fetch_20250910";

/// Which web tools `model` has, and which of those that are `wanted` the options have `allowed`.
pub(super) fn report(model: &str, wanted: NativeWebTools, allowed: NativeWebTools) -> NativeWebToolsReport {
    let able = Abilities::of(model).web_tools;
    let tool = |source: &str, option: &str, wanted: bool, allowed: bool| {
        let reason = match (able, allowed, wanted) {
            (false, ..) => Some(format!("the model {model} cannot use it")),
            (_, false, _) => {
                Some(format!("`builtInWebTools.{option}` in the provider's options does not allow it"))
            }
            (.., false) => Some("it was not asked for".to_owned()),
            (true, true, true) => None,
        };
        NativeWebTool {
            supported: able,
            enabled: reason.is_none(),
            source: able.then(|| source.to_owned()),
            reason,
        }
    };
    NativeWebToolsReport {
        web_search: tool(WEB_SEARCH, "webSearch", wanted.web_search, allowed.web_search),
        web_fetch: tool(WEB_FETCH, "webFetch", wanted.web_fetch, allowed.web_fetch),
    }
}

/// The web tools that go with `request`: those it asks for, as far as they are allowed and no tool of the caller's has
/// the same name.
pub(super) fn of(request: &ModelRequest, allowed: NativeWebTools, spoken: Spoken) -> NativeWebTools {
    let free = |name: &str| !request.tools.iter().any(|tool| tool.name == name);
    let able = Abilities::of(&request.model).web_tools;
    let asked = request.native_web_tools.and(allowed);
    NativeWebTools {
        web_search: able && asked.web_search && free("web_search"),
        web_fetch: able && asked.web_fetch && spoken.beta(WEB_FETCH_PLACE) && free("web_fetch"),
    }
}

/// How they stand in the list of tools.
pub(super) fn entries(tools: NativeWebTools) -> impl Iterator<Item = Value> {
    let search = tools.web_search.then(|| json!({"type": WEB_SEARCH, "name": "web_search"}));
    let fetch = tools.web_fetch.then(|| json!({"type": WEB_FETCH, "name": "web_fetch"}));
    search.into_iter().chain(fetch)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_report_says_what_runs_and_why_something_does_not() {
        let allowed = NativeWebTools { web_search: true, web_fetch: false };
        let NativeWebToolsReport { web_search, web_fetch } =
            report("claude-sonnet-4-5", NativeWebTools::ALL, allowed);
        let on = NativeWebTool {
            supported: true,
            enabled: true,
            source: Some("web_search_20250305".into()),
            reason: None,
        };
        assert_eq!(web_search, on);
        let off = NativeWebTool {
            supported: true,
            enabled: false,
            source: Some("web_fetch_20250910".into()),
            reason: Some("`builtInWebTools.webFetch` in the provider's options does not allow it".into()),
        };
        assert_eq!(web_fetch, off);
        let unwanted = report("claude-sonnet-4-5", NativeWebTools::default(), allowed);
        assert_eq!(unwanted.web_search.reason.as_deref(), Some("it was not asked for"));
        let unable = report("claude-3-haiku-20240307", NativeWebTools::ALL, NativeWebTools::ALL);
        assert!(unable.enabled().is_empty() && !unable.web_search.supported);
    }
}
