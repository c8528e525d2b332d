//! Hooks that are servers.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::OnceLock;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use reqwest::header::{self, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Response};
use robota_core::{HookAction, HookExecutor, HookFailure, HookReply, HookTask};
use tokio_util::sync::CancellationToken;

use crate::web;

/// Bytes of an answer that are read.
const MAX_BODY: usize = 1024 * 1024;

/// Runs hooks of the type `http`: posts the input as JSON, and takes the body of a successful answer for what
/// a command would have printed.
///
/// The address is the word of whoever wrote the settings, so that loopback and private networks are in reach.
/// Redirects are not followed, and no proxy is used.
pub struct HttpHook {
    variables: BTreeMap<String, String>,
    client: OnceLock<Client>,
}

impl HttpHook {
    /// Runs hooks whose headers may name those of `variables` that the hook itself lists as allowed.
    #[must_use]
    pub fn new(variables: impl IntoIterator<Item = (String, String)>) -> Self {
        Self { variables: variables.into_iter().collect(), client: OnceLock::new() }
    }

    async fn run(&self, task: HookTask<'_>) -> Result<HookReply, HookFailure> {
        let HookAction::Http { url, headers, allowed_variables } = task.action else {
            return Err(HookFailure::new("is not an address"));
        };
        let headers = self.headers(headers, allowed_variables)?;
        let failed =
            |error: reqwest::Error| HookFailure::new("cannot be reached").because(error.without_url());
        let request = self.client()?.post(url).headers(headers).body(task.json.to_owned());
        let response = request.send().await.map_err(failed)?;
        let status = response.status();
        if status.is_redirection() {
            return Err(HookFailure::new(format!(
                "answered with a redirect ({status}), which is not followed"
            )));
        }
        if !status.is_success() {
            return Err(HookFailure::new(format!("answered {status}")));
        }
        Ok(HookReply::Output { code: 0, stdout: body(response).await?, stderr: String::new() })
    }

    /// The client is made when the first hook needs it.
    fn client(&self) -> Result<&Client, HookFailure> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        let built = web::client_builder().no_proxy().build();
        let built = built.map_err(|error| HookFailure::new("has no HTTP client").because(error))?;
        Ok(self.client.get_or_init(|| built))
    }

    fn headers(
        &self,
        wanted: &BTreeMap<String, String>,
        allowed: &[String],
    ) -> Result<HeaderMap, HookFailure> {
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        for (name, value) in wanted {
            let invalid = || HookFailure::new(format!("has a header {name:?} that is not valid in HTTP"));
            let key = name.parse::<HeaderName>().map_err(|_| invalid())?;
            let mut value =
                self.filled_in(name, value, allowed)?.parse::<HeaderValue>().map_err(|_| invalid())?;
            value.set_sensitive(true);
            headers.insert(key, value);
        }
        Ok(headers)
    }

    /// `text` with the values of the variables that it names as `$NAME` or `${NAME}`.
    fn filled_in(&self, header: &str, text: &str, allowed: &[String]) -> Result<String, HookFailure> {
        let mut filled = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('$') {
            filled.push_str(before);
            let Some((name, behind)) = variable(after) else {
                filled.push('$');
                rest = after;
                continue;
            };
            if !allowed.iter().any(|allowed| allowed == name) {
                let message =
                    format!("has a header {header:?} with ${name}, which its allowedEnvVars do not list");
                return Err(HookFailure::new(message));
            }
            let value = self.variables.get(name);
            let missing =
                || HookFailure::new(format!("has a header {header:?} with ${name}, which is not set"));
            filled.push_str(value.ok_or_else(missing)?);
            rest = behind;
        }
        filled.push_str(rest);
        Ok(filled)
    }
}

impl HookExecutor for HttpHook {
    fn execute<'a>(
        &'a self,
        task: HookTask<'a>,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<HookReply, HookFailure>> {
        async move {
            let answered = cancel.run_until_cancelled(self.run(task)).await;
            answered.unwrap_or_else(|| Err(HookFailure::new("was cancelled")))
        }
        .boxed()
    }
}

impl fmt::Debug for HttpHook {
    /// Without the values of the variables, which are secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.variables.keys().collect();
        f.debug_struct("HttpHook").field("variables", &names).finish_non_exhaustive()
    }
}

/// The name of a variable behind a `$`, and what comes after it.
fn variable(text: &str) -> Option<(&str, &str)> {
    let in_braces = text.strip_prefix('{').and_then(|inner| inner.split_once('}'));
    let (name, rest) = match in_braces {
        Some(found) => found,
        None => {
            let end = text.find(|letter: char| !is_of_name(letter)).unwrap_or(text.len());
            text.split_at_checked(end)?
        }
    };
    let is_name = !name.is_empty() && !name.starts_with(|first: char| first.is_ascii_digit());
    (is_name && name.chars().all(is_of_name)).then_some((name, rest))
}

fn is_of_name(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}

async fn body(mut response: Response) -> Result<String, HookFailure> {
    let mut body = Vec::new();
    let broken =
        |error: reqwest::Error| HookFailure::new("did not answer in full").because(error.without_url());
    while let Some(chunk) = response.chunk().await.map_err(broken)? {
        if body.len() + chunk.len() > MAX_BODY {
            return Err(HookFailure::new(format!("answered more than {MAX_BODY} bytes")));
        }
        body.extend_from_slice(&chunk);
    }
    String::from_utf8(body).map_err(|error| HookFailure::new("did not answer with UTF-8 text").because(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_take_allowed_variables_only() {
        let hook =
            HttpHook::new([("TOKEN".to_owned(), "t1".to_owned()), ("OTHER".to_owned(), "o".to_owned())]);
        let allowed = ["TOKEN".to_owned(), "UNSET".to_owned()];
        let fill = |text| hook.filled_in("A", text, &allowed).map_err(|failure| failure.message);
        assert_eq!(fill("Bearer $TOKEN").unwrap(), "Bearer t1");
        assert_eq!(fill("${TOKEN}x$TOKEN-").unwrap(), "t1xt1-");
        assert_eq!(fill("5$ $1 ${ $").unwrap(), "5$ $1 ${ $");
        assert!(fill("$OTHER").unwrap_err().contains("allowedEnvVars"));
        assert!(fill("${UNSET}").unwrap_err().contains("not set"));
        assert_eq!(format!("{hook:?}"), r#"HttpHook { variables: ["OTHER", "TOKEN"], .. }"#);
    }
}
