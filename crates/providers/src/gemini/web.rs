//! Web tools that the service runs by itself.

use robota_core::{NativeWebTool, NativeWebTools, NativeWebToolsReport};

use super::generation::Generation;
use super::spoken::Spoken;

/// Which web tools are sent with a request that has functions or not.
pub(super) fn sent(
    generation: Generation,
    spoken: Spoken,
    wanted: NativeWebTools,
    with_functions: bool,
) -> NativeWebTools {
    let combined = generation.combines_tools() && !spoken.has(Spoken::NO_WEB);
    if with_functions && !combined { NativeWebTools::default() } else { wanted.and(had(generation)) }
}

/// Those that models of the generation have.
const fn had(generation: Generation) -> NativeWebTools {
    match generation {
        Generation::Unknown => NativeWebTools { web_search: false, web_fetch: false },
        Generation::Early => NativeWebTools { web_search: true, web_fetch: false },
        Generation::TwoFive | Generation::Three => NativeWebTools::ALL,
    }
}

/// What a session is told, which always has functions.
pub(super) fn report(
    generation: Generation,
    spoken: Spoken,
    wanted: NativeWebTools,
    allowed: NativeWebTools,
) -> NativeWebToolsReport {
    let had = had(generation);
    let tool = |supported: bool, wanted: bool, allowed: bool, source: &str| {
        let reason = if !supported {
            Some("the model has no such tool")
        } else if !wanted {
            None
        } else if !allowed {
            Some("`builtInWebTools` in the options of the provider does not switch it on")
        } else if !generation.combines_tools() {
            Some("models before Gemini 3 refuse it together with other tools")
        } else if spoken.has(Spoken::NO_WEB) {
            Some("the service refused it together with other tools")
        } else {
            None
        };
        NativeWebTool {
            supported,
            enabled: supported && wanted && reason.is_none(),
            source: supported.then(|| source.to_owned()),
            reason: reason.map(str::to_owned),
        }
    };
    NativeWebToolsReport {
        web_search: tool(had.web_search, wanted.web_search, allowed.web_search, "googleSearch"),
        web_fetch: tool(had.web_fetch, wanted.web_fetch, allowed.web_fetch, "urlContext"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_say_what_is_on_and_why_not() {
        let search = NativeWebTools { web_search: true, web_fetch: false };
        let on = report(Generation::Three, Spoken::default(), NativeWebTools::ALL, NativeWebTools::ALL);
        assert_eq!(on.enabled(), NativeWebTools::ALL);
        assert_eq!(on.web_search.source.as_deref(), Some("googleSearch"));
        let half = report(Generation::Three, Spoken::default(), NativeWebTools::ALL, search);
        assert_eq!(half.enabled(), search);
        assert!(half.web_fetch.reason.is_some_and(|reason| reason.contains("builtInWebTools")));
        let older = report(Generation::TwoFive, Spoken::default(), search, NativeWebTools::ALL);
        assert!(older.web_search.supported && !older.web_search.enabled);
        assert!(older.web_search.reason.is_some_and(|reason| reason.contains("before Gemini 3")));
        assert_eq!(older.web_fetch.reason, None);
        let refused = report(Generation::Three, Spoken::NO_WEB, search, NativeWebTools::ALL);
        assert!(refused.enabled().is_empty() && refused.web_search.reason.is_some());
        let none = report(Generation::Unknown, Spoken::default(), NativeWebTools::ALL, NativeWebTools::ALL);
        assert!(!none.web_search.supported && !none.web_fetch.supported);
    }
}
