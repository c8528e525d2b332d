//! Web tools that the provider runs by itself: asked for where no rule speaks against them.
//!
//! The provider runs them without asking, on its own machines, so no rule can look at a single call. Where the user
//! wants a call denied or asked about, the tool as a whole stays off.

use robota_core::{NativeWebTool, NativeWebTools, NativeWebToolsReport, Rule, RuleSet};

use super::SessionOptions;

/// Sets the provider's own web tools up for a session of `options` (seed `000`, Provider-native web configuration).
pub(super) fn configured(options: &SessionOptions) -> NativeWebToolsReport {
    let rules = &options.permissions.rules;
    let (search, fetch) = (objection(rules, "WebSearch"), objection(rules, "WebFetch"));
    let wanted = NativeWebTools { web_search: search.is_none(), web_fetch: fetch.is_none() };
    let mut report = options.provider.configure_native_web_tools(&options.model, wanted);
    object(&mut report.web_search, search);
    object(&mut report.web_fetch, fetch);
    tracing::debug!(model = %options.model, ?report, "web tools of the provider");
    report
}

/// Keeps `tool` off for the reason `objection`.
fn object(tool: &mut NativeWebTool, objection: Option<String>) {
    if let Some(objection) = objection.filter(|_| tool.supported) {
        tool.enabled = false;
        tool.reason = Some(objection);
    }
}

/// Why the rules do not let the provider run its own `tool`.
fn objection(rules: &RuleSet, tool: &str) -> Option<String> {
    let about = |rule: &&Rule| rule.text().split('(').next().is_some_and(|name| name.trim() == tool);
    if let Some(rule) = rules.deny.iter().find(about) {
        return Some(match whole(rule) {
            true => format!("the rule `{rule}` denies it"),
            false => format!("the rule `{rule}` denies some calls, and the provider cannot be held to it"),
        });
    }
    let rule = rules.ask.iter().find(about)?;
    Some(format!("the rule `{rule}` wants to be asked, and the provider does not ask"))
}

/// Whether a rule is about all calls of its tool.
fn whole(rule: &Rule) -> bool {
    !rule.text().strip_suffix("(*)").unwrap_or(rule.text()).contains('(')
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use futures_util::{StreamExt, stream};
    use robota_core::{Capabilities, ModelRequest, ModelStream, Provider, ProviderInfo};
    use tokio_util::sync::CancellationToken;

    use super::*;

    /// Has what it is asked for.
    struct Willing(ProviderInfo);

    impl Provider for Willing {
        fn info(&self) -> &ProviderInfo {
            &self.0
        }

        fn configure_native_web_tools(&self, _: &str, wanted: NativeWebTools) -> NativeWebToolsReport {
            let tool = |enabled| NativeWebTool { supported: true, enabled, source: None, reason: None };
            NativeWebToolsReport { web_search: tool(wanted.web_search), web_fetch: tool(wanted.web_fetch) }
        }

        fn stream(&self, _: ModelRequest, _: CancellationToken) -> ModelStream {
            stream::empty().boxed()
        }
    }

    fn report(deny: &[&str], ask: &[&str]) -> NativeWebToolsReport {
        let provider = Willing(ProviderInfo::new("willing", Capabilities::default()));
        let mut options = SessionOptions::new(Arc::new(provider), "m", "/p");
        let parsed = |rules: &[&str]| rules.iter().map(|rule| rule.parse().unwrap()).collect();
        (options.permissions.rules.deny, options.permissions.rules.ask) = (parsed(deny), parsed(ask));
        configured(&options)
    }

    #[test]
    fn rules_about_a_web_tool_keep_the_providers_own_off() {
        assert_eq!(report(&["Bash"], &["Read(*.env)"]).enabled(), NativeWebTools::ALL);
        for rule in ["WebSearch", "WebSearch(*)"] {
            let denied = report(&[rule], &[]);
            assert_eq!(denied.enabled(), NativeWebTools { web_search: false, web_fetch: true });
            assert_eq!(denied.web_search.reason.unwrap(), format!("the rule `{rule}` denies it"));
        }
        let some = report(&["WebFetch(domain:example.com)"], &["WebSearch"]);
        assert!(some.enabled().is_empty());
        assert_eq!(
            [some.web_fetch.reason.unwrap(), some.web_search.reason.unwrap()],
            [
                "the rule `WebFetch(domain:example.com)` denies some calls, and the provider cannot be held to it",
                "the rule `WebSearch` wants to be asked, and the provider does not ask",
            ]
        );
    }
}
