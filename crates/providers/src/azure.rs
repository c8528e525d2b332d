//! Addresses of OpenAI's APIs in Azure, where the name of the model may be part of them.
//!
//! `https://NAME.openai.azure.com` alone means the API without versions, `…/openai/v1/…`. With a dated `apiVersion`
//! it means the one before that, `…/openai/deployments/{model}/chat/completions?api-version=…`. An address that has a
//! path is respected: what is missing of it is added.

use reqwest::Url;
use robota_core::ProviderError;
use secrecy::SecretString;

use crate::connection::{Headers, key_source, present};
use crate::kind::ProviderKind;

/// Which API of a resource is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Surface {
    Chat,
    Responses,
}

/// Where a resource has its APIs.
#[derive(Clone, Debug)]
pub(crate) struct Resource {
    base: Url,
    api_version: Option<String>,
}

impl Resource {
    /// The resource at `base`; `api_version` joins the query unless `base` has one.
    pub(crate) fn new(base: Url, api_version: Option<&str>) -> Self {
        Self { base, api_version: api_version.map(str::to_owned) }
    }

    /// Whether this is the API before there was one without versions, or the address of one deployment. Chat
    /// Completions are what all of those have.
    pub(crate) fn is_legacy(&self) -> bool {
        let path = self.base.path();
        let dated = self.api_version.as_deref().is_some_and(|version| version.starts_with("20"));
        path.contains("/deployments/") || path.ends_with("/chat/completions") || (dated && !self.has_path())
    }

    /// Where calls of `model` are posted.
    pub(crate) fn url(&self, surface: Surface, model: &str) -> Url {
        let mut url = self.base.clone();
        let path = self.base.path().trim_end_matches('/');
        let path = path.strip_suffix(surface.path()).unwrap_or(path);
        url.set_path(path);
        if let Ok(mut steps) = url.path_segments_mut() {
            steps.pop_if_empty();
            if !self.has_path() {
                if !path.ends_with("/openai") {
                    steps.push("openai");
                }
                match surface {
                    Surface::Chat if self.is_legacy() => steps.extend(["deployments", model]),
                    Surface::Responses if self.is_legacy() => &mut steps,
                    _ => steps.push("v1"),
                };
            }
            steps.extend(surface.path().split('/').skip(1));
        }
        let versioned = url.query_pairs().any(|(name, _)| name == "api-version");
        if let (false, Some(version)) = (versioned, &self.api_version) {
            url.query_pairs_mut().append_pair("api-version", version);
        }
        url
    }

    /// Whether the address says more than which resource it is.
    fn has_path(&self) -> bool {
        !matches!(self.base.path().trim_end_matches('/'), "" | "/openai")
    }
}

impl Surface {
    const fn path(self) -> &'static str {
        match self {
            Self::Chat => "/chat/completions",
            Self::Responses => "/responses",
        }
    }
}

/// Adds what proves who calls: a key in `api-key`, or a token of Entra ID. False when there is neither.
///
/// # Errors
///
/// `Configuration`, when the key cannot be a header.
pub(crate) fn sign(
    headers: &mut Headers,
    api_key: Option<&SecretString>,
    auth_token: Option<&SecretString>,
) -> Result<bool, ProviderError> {
    let source = key_source(ProviderKind::Azure.definition());
    if let Some(key) = present(api_key) {
        headers.secret("api-key", "", key, source)?;
    } else if let Some(token) = present(auth_token) {
        headers.bearer(token, source)?;
    } else {
        return Ok(false);
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(base: &str, version: Option<&str>, surface: Surface) -> String {
        Resource::new(Url::parse(base).unwrap(), version).url(surface, "my gpt/5").to_string()
    }

    #[test]
    fn a_resource_has_its_apis_where_azure_puts_them() {
        use Surface::{Chat, Responses};
        let own = "https://n.openai.azure.com";
        for base in [own, "https://n.openai.azure.com/", "https://n.openai.azure.com/openai/"] {
            assert_eq!(url(base, None, Responses), format!("{own}/openai/v1/responses"));
            assert_eq!(url(base, None, Chat), format!("{own}/openai/v1/chat/completions"));
        }
        assert_eq!(
            url(own, Some("preview"), Responses),
            format!("{own}/openai/v1/responses?api-version=preview")
        );
        assert_eq!(
            url(own, Some("2024-10-21"), Chat),
            format!("{own}/openai/deployments/my%20gpt%2F5/chat/completions?api-version=2024-10-21")
        );
        assert_eq!(
            url(own, Some("2025-04-01-preview"), Responses),
            format!("{own}/openai/responses?api-version=2025-04-01-preview")
        );
    }

    #[test]
    fn an_address_with_a_path_is_respected() {
        use Surface::{Chat, Responses};
        let gateway = "https://g.example/team/openai/v1";
        assert_eq!(url(gateway, None, Responses), format!("{gateway}/responses"));
        assert_eq!(url(&format!("{gateway}/responses"), None, Responses), format!("{gateway}/responses"));
        let copied =
            "https://n.openai.azure.com/openai/deployments/d/chat/completions?api-version=2025-01-01-preview";
        assert_eq!(url(copied, Some("2024-10-21"), Chat), copied);
        assert!(Resource::new(Url::parse(copied).unwrap(), None).is_legacy());
        let deployment = "https://n.openai.azure.com/openai/deployments/d";
        assert_eq!(
            url(deployment, Some("2024-10-21"), Chat),
            format!("{deployment}/chat/completions?api-version=2024-10-21")
        );
    }
}
