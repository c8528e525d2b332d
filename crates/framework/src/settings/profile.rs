//! Provider profiles as they stand in settings, before anything in them is resolved.

use std::path::PathBuf;
use std::time::Duration;

use secrecy::SecretString;
use serde_json::Value;

/// A named way to reach a model (seed `001`, Config Loading). Absent fields fall to lower layers,
/// then to defaults.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ProviderProfile {
    /// Implementation, such as `anthropic` or `openai`.
    pub kind: Option<String>,
    /// Model id.
    pub model: Option<String>,
    /// Models to go on with when that one is not to be had.
    pub fallback_models: Option<Vec<String>>,
    /// The key, or a reference to it: `$ENV:NAME`, `$KEYRING:service/account`.
    pub api_key: Option<SecretString>,
    /// A command that prints the key; counts where there is no `api_key`.
    pub api_key_helper: Option<String>,
    /// Address of the service, beginning with `http://` or `https://`.
    pub base_url: Option<String>,
    /// How long the server may send nothing.
    pub idle_timeout: Option<Duration>,
    /// Most output tokens of one answer.
    pub max_output_tokens: Option<u32>,
    /// What only the provider understands; passed on as it is.
    pub options: Option<Value>,
    /// The files that set any of it, lowest first.
    pub files: Vec<PathBuf>,
}

impl ProviderProfile {
    /// A profile that sets nothing.
    pub(crate) const EMPTY: Self = Self {
        kind: None,
        model: None,
        fallback_models: None,
        api_key: None,
        api_key_helper: None,
        base_url: None,
        idle_timeout: None,
        max_output_tokens: None,
        options: None,
        files: Vec::new(),
    };

    /// Lays the fields that `higher` sets over this profile.
    pub(super) fn overlay(&mut self, higher: Self) {
        let Self { kind, model, fallback_models, api_key, api_key_helper, base_url, .. } = higher;
        let Self { idle_timeout, max_output_tokens, options, files, .. } = higher;
        self.kind = kind.or(self.kind.take());
        self.model = model.or(self.model.take());
        self.fallback_models = fallback_models.or(self.fallback_models.take());
        if api_key.is_some() || api_key_helper.is_some() {
            // Two ways to the key: the higher layer's takes the place of the other.
            (self.api_key, self.api_key_helper) = (api_key, api_key_helper);
        }
        self.base_url = base_url.or(self.base_url.take());
        self.idle_timeout = idle_timeout.or(self.idle_timeout);
        self.max_output_tokens = max_output_tokens.or(self.max_output_tokens);
        self.options = options.or(self.options.take());
        self.files.extend(files);
    }
}
