//! OpenAI Responses (protocols F2).

use robota_core::ProviderError;

use crate::{HttpProvider, ProviderSpec};

/// A provider for the API.
pub(crate) fn provider(spec: ProviderSpec) -> Result<HttpProvider, ProviderError> {
    crate::openai::provider(spec)
}
