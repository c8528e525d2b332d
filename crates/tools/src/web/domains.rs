//! Search results of some sites only.

use reqwest::Url;

use super::form;
use super::search::SearchHit;

/// Sites that results have to be of, and sites that they must not be of.
#[derive(Debug, Default)]
pub(super) struct Domains {
    allowed: Vec<String>,
    blocked: Vec<String>,
}

impl Domains {
    /// Names of hosts as models write them; what is none is an error with what it is.
    pub(super) fn new(allowed: &[String], blocked: &[String]) -> Result<Self, String> {
        let hosts = |texts: &[String]| texts.iter().map(|text| host(text)).collect::<Result<_, _>>();
        Ok(Self { allowed: hosts(allowed)?, blocked: hosts(blocked)? })
    }

    pub(super) fn is_all(&self) -> bool {
        self.allowed.is_empty() && self.blocked.is_empty()
    }

    /// The query with the sites in the operators that engines have for them.
    pub(super) fn narrow(&self, query: &str) -> String {
        let sites = |sites: &[String], mark: &str| -> Vec<String> {
            sites.iter().map(|site| format!("{mark}site:{site}")).collect()
        };
        let mut words = vec![query.to_owned()];
        if !self.allowed.is_empty() {
            words.push(sites(&self.allowed, "").join(" OR "));
        }
        words.extend(sites(&self.blocked, "-"));
        words.join(" ")
    }

    /// Whether a result may be shown; engines do not all keep to operators.
    pub(super) fn have(&self, hit: &SearchHit) -> bool {
        let Ok(url) = Url::parse(&hit.url) else { return false };
        let host = url.host_str().unwrap_or_default();
        let is_in = |sites: &[String]| {
            sites.iter().any(|site| {
                host.strip_suffix(site.as_str()).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
            })
        };
        (self.allowed.is_empty() || is_in(&self.allowed)) && !is_in(&self.blocked)
    }
}

fn host(text: &str) -> Result<String, String> {
    let bare = text.trim().split_once("://").map_or(text.trim(), |(_, rest)| rest);
    let bare = bare.split('/').next().unwrap_or_default();
    let bare = bare.strip_prefix("*.").unwrap_or(bare).trim_end_matches('.');
    let host = form::canonical_host(bare).filter(|host| !host.contains('*') && !form::has_gap(host));
    host.ok_or_else(|| format!("`{text}` is not a domain; write one like `example.com`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_of_the_sites_that_are_asked_for() {
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        let allowed = texts(&["https://Docs.Example/guide", "*.b.example"]);
        let domains = Domains::new(&allowed, &texts(&["old.docs.example"])).unwrap();
        assert_eq!(domains.narrow("q"), "q site:docs.example OR site:b.example -site:old.docs.example");
        let cases = [
            ("https://docs.example/x", true),
            ("https://www.docs.example/x", true),
            ("https://old.docs.example/x", false),
            ("https://notdocs.example/", false),
            ("https://b.example:8443/", true),
            ("no address", false),
        ];
        for (url, expected) in cases {
            let hit = SearchHit { title: String::new(), url: url.to_owned(), snippet: String::new() };
            assert_eq!(domains.have(&hit), expected, "{url}");
        }
        assert_eq!(Domains::default().narrow("q"), "q");
        assert!(Domains::new(&texts(&["a b"]), &[]).is_err());
    }
}
