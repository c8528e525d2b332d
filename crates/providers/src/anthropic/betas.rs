//! Features that have to be asked for by name, in the header `anthropic-beta`.

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use robota_core::{ProviderError, ProviderErrorKind};

use super::spoken::Spoken;
use super::web_tools::WEB_FETCH;
use crate::api_error::ApiError;

/// The header.
pub(super) const HEADER: &str = "anthropic-beta";

/// What fetching pages is called there.
const WEB_FETCH_BETA: &str = "web-fetch-2025-09-10";

/// The place of [`WEB_FETCH_BETA`] in the list.
pub(super) const WEB_FETCH_PLACE: usize = 0;

/// The betas that requests may ask for: that of the web tools, then those of the options.
#[derive(Debug)]
pub(super) struct Betas(Vec<String>);

impl Betas {
    /// The betas of the options, each of which may be a list with commas.
    ///
    /// # Errors
    ///
    /// `Configuration`, when one of them cannot stand in a header.
    pub(super) fn new(given: impl IntoIterator<Item = String>) -> Result<Self, ProviderError> {
        let mut betas = vec![WEB_FETCH_BETA.to_owned()];
        for list in given {
            for beta in list.split(',').map(str::trim).filter(|beta| !beta.is_empty()) {
                if HeaderValue::try_from(beta).is_err() {
                    let message = "a beta in the provider's options has characters that HTTP does not allow";
                    return Err(ProviderError::new(ProviderErrorKind::Configuration, message));
                }
                // The web tools ask for theirs by themselves; who names it wants it in any case.
                if !betas.iter().skip(1).any(|known| known == beta) {
                    betas.push(beta.to_owned());
                }
            }
        }
        Ok(Self(betas))
    }

    /// The header of a request, with those that `spoken` leaves over; `web_fetch` says whether it has that tool.
    pub(super) fn headers(&self, spoken: Spoken, web_fetch: bool) -> HeaderMap {
        let wanted = |place: usize| spoken.beta(place) && (place != WEB_FETCH_PLACE || web_fetch);
        let mut asked: Vec<&str> = Vec::with_capacity(self.0.len());
        for (_, beta) in self.0.iter().enumerate().filter(|(place, _)| wanted(*place)) {
            if !asked.contains(&beta.as_str()) {
                asked.push(beta);
            }
        }
        let mut headers = HeaderMap::new();
        if let (false, Ok(value)) = (asked.is_empty(), HeaderValue::try_from(asked.join(","))) {
            headers.insert(HeaderName::from_static(HEADER), value);
        }
        headers
    }

    /// The places of those that `refusal` is about: the ones it names, or else all when it names the header.
    pub(super) fn refused(&self, refusal: &ApiError) -> Vec<usize> {
        let named = |(place, beta): (usize, &String)| {
            let tool = place == WEB_FETCH_PLACE && refusal.says(WEB_FETCH);
            (tool || refusal.says(beta)).then_some(place)
        };
        let named: Vec<usize> = self.0.iter().enumerate().filter_map(named).collect();
        if named.is_empty() && (refusal.says(HEADER) || refusal.says("anthropic_beta")) {
            return (0..self.0.len()).collect();
        }
        named
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(betas: &Betas, web_fetch: bool) -> Option<String> {
        let headers = betas.headers(Spoken::default(), web_fetch);
        headers.get(HEADER).map(|value| value.to_str().unwrap().to_owned())
    }

    #[test]
    fn betas_from_everywhere_are_joined_and_none_is_said_twice() {
        let given = ["a-1, b-2".to_owned(), "b-2".to_owned(), " ".to_owned()];
        let betas = Betas::new(given).unwrap();
        assert_eq!(header(&betas, false).as_deref(), Some("a-1,b-2"));
        assert_eq!(header(&betas, true).as_deref(), Some("web-fetch-2025-09-10,a-1,b-2"));
        let fetching = Betas::new([WEB_FETCH_BETA.to_owned()]).unwrap();
        assert_eq!(header(&fetching, true).as_deref(), Some(WEB_FETCH_BETA));
        assert_eq!(header(&fetching, false).as_deref(), Some(WEB_FETCH_BETA));
        assert_eq!(header(&Betas::new([]).unwrap(), false), None);
        assert!(Betas::new(["a\nb".to_owned()]).is_err());
    }
}
