//! Where the APIs are, after what users write as their address.
//!
//! An address that has a path is respected: what is missing of it is added. Without one it gets that of the vendor, or
//! else `/v1`. In Azure, `https://NAME.openai.azure.com` means the API without versions, `…/openai/v1/…`; with a dated
//! `apiVersion` it means the one before that, where the deployment, by the name of the model, is part of the address
//! of Chat Completions: `…/openai/deployments/{model}/chat/completions?api-version=…`.

use reqwest::Url;
use robota_core::ProviderDefinition;

use crate::connection::owns;
use crate::kind::ProviderKind;
use crate::options::ApiSurface;

/// The addresses of one of the APIs at one server.
pub(crate) struct Addresses {
    base: Url,
    surface: ApiSurface,
    /// The deployments of Azure stand in the address, by the name of the model.
    deployments: bool,
}

impl Addresses {
    /// The addresses of `surface` at `base`. With Azure, `api_version` joins the query unless `base` has one.
    pub(crate) fn new(
        surface: ApiSurface,
        kind: ProviderKind,
        mut base: Url,
        api_version: Option<&str>,
    ) -> Self {
        let path = base.path().trim_end_matches('/');
        let path = CALLS.iter().find_map(|calls| path.strip_suffix(calls)).unwrap_or(path);
        let path = match (surface, path.split_once("/deployments/")) {
            (ApiSurface::Responses, Some((resource, _))) => resource,
            _ => path,
        };
        let azure = kind == ProviderKind::Azure;
        let dated = azure && is_dated(api_version) && is_resource(path);
        let path = match path {
            "" | "/openai" if dated => "/openai".to_owned(),
            "" | "/openai" if azure => "/openai/v1".to_owned(),
            "" => own_path(kind.definition(), &base).unwrap_or_else(|| "/v1".to_owned()),
            _ => path.to_owned(),
        };
        base.set_path(&path);
        if let Some(version) = api_version.filter(|_| azure) {
            let given = base.query_pairs().any(|(name, _)| name == "api-version");
            if !given {
                base.query_pairs_mut().append_pair("api-version", version);
            }
        }
        Self { base, surface, deployments: dated && surface == ApiSurface::Chat }
    }

    /// Where calls go that do not say more.
    pub(crate) fn calls(&self) -> Url {
        self.below(match self.surface {
            ApiSurface::Chat => "/chat/completions",
            ApiSurface::Responses => "/responses",
        })
    }

    /// Where calls of `model` go, when that is not where all calls go.
    pub(crate) fn calls_of(&self, model: &str) -> Option<Url> {
        let mut url = self.deployments.then(|| self.base.clone())?;
        url.path_segments_mut().ok()?.extend(["deployments", model, "chat", "completions"]);
        Some(url)
    }

    /// Where the models are listed. Deployments have no list of their own; their resource has.
    pub(crate) fn models(&self) -> Url {
        let mut url = self.below("/models");
        if let Some((resource, _)) = self.base.path().split_once("/deployments/") {
            url.set_path(&format!("{resource}/models"));
        }
        url
    }

    fn below(&self, path: &str) -> Url {
        let mut url = self.base.clone();
        let path = format!("{}{path}", self.base.path().trim_end_matches('/'));
        url.set_path(&path);
        url
    }
}

/// How addresses end that were copied whole.
const CALLS: [&str; 2] = ["/chat/completions", "/responses"];

/// Whether `base` is an address in Azure that has Chat Completions and may have nothing else: one of a deployment, or
/// a resource spoken to as before there was an API without versions.
pub(crate) fn has_chat_alone(base: &Url, api_version: Option<&str>) -> bool {
    let path = base.path().trim_end_matches('/');
    path.contains("/deployments/")
        || path.ends_with("/chat/completions")
        || (is_dated(api_version) && is_resource(path))
}

/// Versions by date belong to addresses with the deployment in them.
fn is_dated(api_version: Option<&str>) -> bool {
    api_version.is_some_and(|version| version.starts_with(|c: char| c.is_ascii_digit()))
}

/// Whether a path says no more than which resource of Azure is meant.
fn is_resource(path: &str) -> bool {
    path.is_empty() || path.ends_with("/openai")
}

/// The path of the vendor's own address, when `base` is at its host.
fn own_path(vendor: &ProviderDefinition, base: &Url) -> Option<String> {
    let own = Url::parse(vendor.base_url?).ok().filter(|_| owns(vendor, base))?;
    Some(own.path().trim_end_matches('/').to_owned())
}

#[cfg(test)]
mod tests {
    use ApiSurface::{Chat, Responses};

    use super::*;

    /// Where calls of the model `my gpt/5` go.
    fn calls(surface: ApiSurface, kind: ProviderKind, base: &str, version: Option<&str>) -> String {
        let addresses = Addresses::new(surface, kind, base.parse().unwrap(), version);
        addresses.calls_of("my gpt/5").unwrap_or_else(|| addresses.calls()).to_string()
    }

    #[test]
    fn addresses_are_taken_as_users_write_them() {
        use ProviderKind::{Azure, DeepSeek, OpenAi, Zai};
        for (kind, base, below) in [
            (OpenAi, "http://h:1/", "http://h:1/v1"),
            (OpenAi, "http://h/api/v4/", "http://h/api/v4"),
            (OpenAi, "http://h/v1/responses", "http://h/v1"),
            (OpenAi, "http://h/v1/chat/completions", "http://h/v1"),
            (DeepSeek, "https://api.deepseek.com", "https://api.deepseek.com"),
            (Zai, "https://api.z.ai", "https://api.z.ai/api/paas/v4"),
            (Azure, "https://g.example/team/openai/v1", "https://g.example/team/openai/v1"),
            (Azure, "https://n.openai.azure.com", "https://n.openai.azure.com/openai/v1"),
            (Azure, "https://n.openai.azure.com/openai/", "https://n.openai.azure.com/openai/v1"),
        ] {
            assert_eq!(calls(Chat, kind, base, None), format!("{below}/chat/completions"));
            assert_eq!(calls(Responses, kind, base, None), format!("{below}/responses"));
        }
        let queried = calls(Responses, OpenAi, "http://h/v1/responses?x=1", None);
        assert_eq!(queried, "http://h/v1/responses?x=1");
    }

    #[test]
    fn a_resource_has_its_apis_where_azure_puts_them() {
        let own = "https://n.openai.azure.com";
        let old = Some("2025-04-01-preview");
        let query = "?api-version=2025-04-01-preview";
        for (surface, base, version, expected) in [
            (Responses, own, Some("preview"), format!("{own}/openai/v1/responses?api-version=preview")),
            (Responses, own, old, format!("{own}/openai/responses{query}")),
            (Chat, own, old, format!("{own}/openai/deployments/my%20gpt%2F5/chat/completions{query}")),
            (
                Chat,
                "https://g/team/openai",
                old,
                format!("https://g/team/openai/deployments/my%20gpt%2F5/chat/completions{query}"),
            ),
            (Chat, "https://g/openai/v1", old, format!("https://g/openai/v1/chat/completions{query}")),
        ] {
            assert_eq!(calls(surface, ProviderKind::Azure, base, version), expected);
        }
    }

    #[test]
    fn the_address_of_a_deployment_is_respected() {
        let deployment = "https://n.openai.azure.com/openai/deployments/d";
        let (version, query) = (Some("2024-10-21"), "?api-version=2024-10-21");
        let whole = format!("{deployment}/chat/completions?api-version=2025-01-01-preview");
        assert_eq!(calls(Chat, ProviderKind::Azure, &whole, version), whole);
        let completed = format!("{deployment}/chat/completions{query}");
        assert_eq!(calls(Chat, ProviderKind::Azure, deployment, version), completed);
        let beside = format!("https://n.openai.azure.com/openai/responses{query}");
        assert_eq!(calls(Responses, ProviderKind::Azure, deployment, version), beside);
    }

    #[test]
    fn models_are_listed_beside_the_calls() {
        let listed = |surface, kind, base: &str, version| {
            Addresses::new(surface, kind, base.parse().unwrap(), version).models().to_string()
        };
        let own = listed(Responses, ProviderKind::OpenAi, "https://a.example/v1/responses", None);
        assert_eq!(own, "https://a.example/v1/models");
        let resource = "https://x.openai.azure.com/openai/models?api-version=2024-10-21";
        for base in ["https://x.openai.azure.com", "https://x.openai.azure.com/openai/deployments/d"] {
            assert_eq!(listed(Chat, ProviderKind::Azure, base, Some("2024-10-21")), resource);
        }
    }

    #[test]
    fn addresses_that_may_have_chat_alone_are_known() {
        let alone = |base: &str, version| has_chat_alone(&base.parse().unwrap(), version);
        assert!(alone("https://n.openai.azure.com/openai/deployments/d/chat/completions", None));
        assert!(alone("https://n.openai.azure.com", Some("2024-10-21")));
        assert!(!alone("https://n.openai.azure.com/", None));
        assert!(!alone("https://n.openai.azure.com/openai", Some("preview")));
        assert!(!alone("https://n.openai.azure.com/openai/v1", Some("2024-10-21")));
    }
}
