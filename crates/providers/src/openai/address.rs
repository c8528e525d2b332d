//! Where the API is, after what users write as its address.

use reqwest::Url;
use robota_core::ProviderDefinition;

use crate::connection::owns;
use crate::kind::ProviderKind;

/// The addresses of one server.
pub(super) struct Addresses {
    base: Url,
    /// The deployments of Azure stand in the address, by the name of the model.
    deployments: bool,
}

impl Addresses {
    /// The addresses below `base`. Without a path it gets that of the vendor, or else `/v1`.
    pub(super) fn new(kind: ProviderKind, mut base: Url, api_version: Option<&str>) -> Self {
        let path = base.path().trim_end_matches('/');
        let path = path.strip_suffix("/chat/completions").unwrap_or(path).to_owned();
        let azure = kind == ProviderKind::Azure;
        // Versions by date belong to addresses with the deployment in them.
        let dated = api_version.is_some_and(|version| version.starts_with(|c: char| c.is_ascii_digit()));
        let deployments = azure && dated && !path.contains("/deployments/");
        let path = match path.as_str() {
            "" if deployments => "/openai".to_owned(),
            "" if azure => "/openai/v1".to_owned(),
            "" => own_path(kind.definition(), &base).unwrap_or_else(|| "/v1".to_owned()),
            _ => path,
        };
        base.set_path(&path);
        if let Some(version) = api_version.filter(|_| azure) {
            let given = base.query_pairs().any(|(name, _)| name == "api-version");
            if !given {
                base.query_pairs_mut().append_pair("api-version", version);
            }
        }
        Self { base, deployments }
    }

    /// Where calls go that do not say more.
    pub(super) fn completions(&self) -> Url {
        self.below("chat/completions")
    }

    /// Where calls of `model` go, when that is not where all calls go.
    pub(super) fn completions_of(&self, model: &str) -> Option<Url> {
        let mut url = self.deployments.then(|| self.base.clone())?;
        url.path_segments_mut().ok()?.extend(["deployments", model, "chat", "completions"]);
        Some(url)
    }

    /// Where the models are listed.
    pub(super) fn models(&self) -> Url {
        self.below("models")
    }

    fn below(&self, path: &str) -> Url {
        let mut url = self.base.clone();
        let path = format!("{}/{path}", self.base.path().trim_end_matches('/'));
        url.set_path(&path);
        url
    }
}

/// The path of the vendor's own address, when `base` is at its host.
fn own_path(vendor: &ProviderDefinition, base: &Url) -> Option<String> {
    let own = Url::parse(vendor.base_url?).ok().filter(|_| owns(vendor, base))?;
    Some(own.path().trim_end_matches('/').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_taken_as_users_write_them() {
        let of = |kind, base: &str, version| Addresses::new(kind, base.parse().unwrap(), version);
        let plain = |kind, base| of(kind, base, None).completions().to_string();
        for (kind, base, expected) in [
            (ProviderKind::OpenAi, "http://h:1/", "http://h:1/v1/chat/completions"),
            (ProviderKind::OpenAi, "http://h/api/v4", "http://h/api/v4/chat/completions"),
            (ProviderKind::DeepSeek, "https://api.deepseek.com", "https://api.deepseek.com/chat/completions"),
            (ProviderKind::Zai, "https://api.z.ai", "https://api.z.ai/api/paas/v4/chat/completions"),
            (ProviderKind::Azure, "https://x.openai.azure.com", "https://x.openai.azure.com/openai/v1/chat/completions"),
        ] {
            assert_eq!(plain(kind, base), expected);
        }
        let azure = |base| of(ProviderKind::Azure, base, Some("2024-10-21"));
        let classic = azure("https://x.openai.azure.com");
        assert_eq!(
            classic.completions_of("my gpt").unwrap().as_str(),
            "https://x.openai.azure.com/openai/deployments/my%20gpt/chat/completions?api-version=2024-10-21"
        );
        assert_eq!(classic.models().as_str(), "https://x.openai.azure.com/openai/models?api-version=2024-10-21");
        let whole = azure("https://x/openai/deployments/d/chat/completions?api-version=1");
        assert_eq!(whole.completions_of("m"), None);
        assert_eq!(whole.completions().as_str(), "https://x/openai/deployments/d/chat/completions?api-version=1");
    }
}
