//! Where the methods of the API are.

use reqwest::Url;

/// The version of the API when the base URL names none.
const VERSION: &str = "v1beta";

/// The API below one base URL.
pub(super) struct Address(Url);

impl Address {
    /// Takes a base URL with or without version, `/models` and slashes at its end.
    pub(super) fn new(mut base: Url) -> Self {
        let path = base.path().trim_end_matches('/');
        let path = path.strip_suffix("/models").unwrap_or(path).trim_end_matches('/');
        let last = path.rsplit('/').next().unwrap_or_default();
        let path = if is_version(last) { path.to_owned() } else { format!("{path}/{VERSION}") };
        base.set_path(&path);
        Self(base)
    }

    /// Where all models are.
    pub(super) fn models(&self) -> Url {
        self.at(&["models"], "")
    }

    /// Where `model` answers as a stream.
    pub(super) fn stream(&self, model: &str) -> Url {
        let mut url = self.method(model, ":streamGenerateContent");
        url.query_pairs_mut().append_pair("alt", "sse");
        url
    }

    /// Where the tokens of a request to `model` are counted.
    pub(super) fn count(&self, model: &str) -> Url {
        self.method(model, ":countTokens")
    }

    /// Where the part of the list of models is that `page` names.
    pub(super) fn list(&self, page: Option<&str>) -> Url {
        let mut url = self.models();
        url.query_pairs_mut().append_pair("pageSize", "1000");
        if let Some(page) = page {
            url.query_pairs_mut().append_pair("pageToken", page);
        }
        url
    }

    fn method(&self, model: &str, method: &str) -> Url {
        let resource = resource(model);
        self.at(&resource.split('/').collect::<Vec<_>>(), method)
    }

    fn at(&self, steps: &[&str], method: &str) -> Url {
        let mut url = self.0.clone();
        if let (Ok(mut path), [before @ .., last]) = (url.path_segments_mut(), steps) {
            path.extend(before).push(&format!("{last}{method}"));
        }
        url
    }
}

/// The name of a model among the resources of the API, such as `models/gemini-3-pro`.
pub(super) fn resource(model: &str) -> String {
    let model = model.trim_matches('/');
    let named = ["models/", "tunedModels/"].iter().any(|collection| model.starts_with(collection));
    if named { model.to_owned() } else { format!("models/{model}") }
}

/// Whether a step of a path is a version, such as `v1`, `v1beta` or `v1alpha2`.
fn is_version(step: &str) -> bool {
    let mut rest = step.strip_prefix('v').unwrap_or_default().chars();
    rest.next().is_some_and(|first| first.is_ascii_digit()) && rest.all(|c| c.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(base: &str) -> Address {
        Address::new(Url::parse(base).unwrap())
    }

    #[test]
    fn base_urls_and_models_may_be_written_in_several_ways() {
        let expected = "https://a.example/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse";
        for base in ["", "/", "/v1beta", "/v1beta//", "/v1beta/models/"] {
            for model in ["gemini-3-pro", "models/gemini-3-pro", "/models/gemini-3-pro"] {
                let url = address(&format!("https://a.example{base}")).stream(model);
                assert_eq!(url.as_str(), expected, "{base} {model}");
            }
        }
        let proxy = address("http://localhost:4000/gemini/v1?tenant=t");
        let url = proxy.stream("tunedModels/mine");
        let expected =
            "http://localhost:4000/gemini/v1/tunedModels/mine:streamGenerateContent?tenant=t&alt=sse";
        assert_eq!(url.as_str(), expected);
        assert_eq!(
            proxy.count("a?b#c/../d").as_str(),
            "http://localhost:4000/gemini/v1/models/a%3Fb%23c/d:countTokens?tenant=t"
        );
        let list = address("https://a.example").list(Some("p=2"));
        assert_eq!(list.as_str(), "https://a.example/v1beta/models?pageSize=1000&pageToken=p%3D2");
    }
}
