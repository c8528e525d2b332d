//! What proves who calls.

use reqwest::Url;
use robota_core::ProviderError;
use secrecy::SecretString;

use crate::connection::{Headers, key_source, missing_key, present, wants_key};
use crate::kind::ProviderKind;

/// Adds a key, or else a token, to `headers`: Azure takes a key in a header of its own, and tokens of Entra ID as all
/// others take either.
///
/// # Errors
///
/// `Configuration`, when the key cannot be a header, or there is none and the service at `base` wants one.
pub(crate) fn sign(
    headers: &mut Headers,
    kind: ProviderKind,
    base: &Url,
    (api_key, auth_token): (Option<&SecretString>, Option<&SecretString>),
) -> Result<(), ProviderError> {
    let vendor = kind.definition();
    match (present(api_key), present(auth_token)) {
        (Some(key), _) if kind == ProviderKind::Azure => {
            headers.secret("api-key", "", key, key_source(vendor))
        }
        (Some(key), _) | (None, Some(key)) => headers.bearer(key, key_source(vendor)),
        (None, None) if wants_key(vendor, base) => Err(missing_key(vendor)),
        (None, None) => Ok(()),
    }
}
