//! `robota provider test`.

use std::time::{Duration, Instant};

use robota_core::{Provider, ProviderErrorKind};
use robota_providers::HttpProvider;
use serde::Serialize;
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::call::{self, Seen};
use super::diagnosis::{About, Circumstances, Problem, diagnose, tools_refused};
use super::{Named, Setup};
use crate::exit::{Exit, Failure, chain};
use crate::harmless::one_line;
use crate::model_setup::{not_built, spec_of};
use crate::print::runtime;
use crate::provider_args::ProviderTestArgs;
use crate::report::print;
use crate::stdout::Output;

/// How long connecting may take for the measurement.
const CONNECT: Duration = Duration::from_secs(5);

/// What a test found out.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    ok: bool,
    name: String,
    r#type: String,
    model: Option<String>,
    url: String,
    /// Where the key is; never the key.
    key: Option<String>,
    /// How many models the service lists; `None` when it lists none.
    models: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    models_problem: Option<String>,
    #[serde(skip)]
    list_missing: bool,
    #[serde(skip)]
    address_source: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    connect_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_byte_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    total_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    input_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_tokens: Option<u64>,
    /// `called`, `accepted` when the model made no call although it was asked to, `refused`.
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<Problem>,
}

pub(super) fn run(args: &ProviderTestArgs) -> Result<Exit, Failure> {
    let setup = Setup::of(&args.folder)?;
    let Named { provider: resolved, has_model } = setup.provider(args.name.as_ref(), args.model.as_ref())?;
    // Without retries: a failure is what is looked for.
    let provider = spec_of(&resolved)?.connect().map_err(|error| not_built(&error))?;
    let has_key = resolved.credential.is_some();
    let mut report = Report {
        name: resolved.name.clone(),
        r#type: resolved.kind.clone(),
        model: has_model.then(|| resolved.model.clone()),
        url: provider.url().to_owned(),
        key: resolved.credential_source.clone().filter(|_| has_key),
        address_source: resolved.base_url_source,
        ..Report::default()
    };
    runtime()?.block_on(report.examine(&provider));
    report.ok = report.problem.is_none();
    let told = print(&report, args.folder.json, |output| report.tell(output))?;
    Ok(report.problem.as_ref().map_or(told, |problem| problem.about.exit()))
}

impl Report {
    async fn examine(&mut self, provider: &HttpProvider) {
        self.connect_ms = connect_time(provider.url()).await.map(millis);
        let models = self.list(provider).await;
        let Some(model) = self.model.clone() else {
            self.problem = self.problem.take().or_else(|| Some(no_model(models.as_deref())));
            return;
        };
        if self.problem.is_some() {
            return;
        }
        let seen = call::make(provider, call::word(&model)).await;
        self.first_byte_ms = seen.first_byte.map(millis);
        self.total_ms = Some(millis(seen.total));
        self.problem = self.failure_of(&seen, &model, models.as_deref());
        if self.problem.is_some() {
            return;
        }
        self.answer = Some(one_line(seen.text.trim())).filter(|text| !text.is_empty());
        (self.input_tokens, self.output_tokens) =
            seen.usage.map(|usage| (usage.total_input(), usage.output_tokens)).unzip();
        if provider.info().capabilities.tools {
            self.try_tools(provider, &model, models.as_deref()).await;
        }
    }

    /// Asks for the models. That there is no list is no problem, but that the key is wrong or nobody answers is.
    async fn list(&mut self, provider: &HttpProvider) -> Option<Vec<String>> {
        match provider.models().await {
            Ok(models) => {
                self.models = Some(models.len());
                Some(models.into_iter().map(|model| model.id).collect())
            }
            Err(error) => {
                let kind = error.kind();
                if matches!(kind, ProviderErrorKind::Authentication | ProviderErrorKind::Network) {
                    self.problem = Some(diagnose(&error, &Circumstances::default()));
                } else {
                    self.list_missing = error.status() == Some(404);
                    self.models_problem = Some(one_line(&chain(&error)));
                }
                None
            }
        }
    }

    async fn try_tools(&mut self, provider: &HttpProvider, model: &str, models: Option<&[String]>) {
        let seen = call::make(provider, call::tool_call(model)).await;
        self.tools = Some(match &seen.error {
            None if seen.called_tool => "called",
            None => "accepted",
            Some(error) if error.kind() == ProviderErrorKind::InvalidRequest => {
                self.problem = Some(tools_refused(error));
                "refused"
            }
            Some(_) => {
                self.problem = self.failure_of(&seen, model, models);
                return;
            }
        });
    }

    fn failure_of(&self, seen: &Seen, model: &str, models: Option<&[String]>) -> Option<Problem> {
        let error = seen.error.as_ref()?;
        let (list_missing, address_source) = (self.list_missing, self.address_source.as_deref());
        let body = seen.body.as_ref();
        Some(diagnose(error, &Circumstances { model, models, list_missing, address_source, body }))
    }

    fn tell(&self, output: &mut Output) {
        let mut detail = |name: &str, text: &str| output.line(&one_line(&format!("{name:<8} {text}")));
        let model = self.model.as_deref().unwrap_or("no model");
        detail("provider", &format!("{} ({}), {model}", self.name, self.r#type));
        detail("address", &self.url);
        detail("key", self.key.as_deref().unwrap_or("none"));
        match (self.models, &self.models_problem) {
            (Some(count), _) => detail("models", &format!("{count} listed")),
            (None, Some(problem)) => detail("models", &format!("not listed: {problem}")),
            (None, None) => {}
        }
        let times = [
            ("connected after", self.connect_ms),
            ("first byte after", self.first_byte_ms),
            ("whole answer after", self.total_ms),
        ];
        let times = times.iter().filter_map(|(name, time)| Some(format!("{name} {} ms", (*time)?)));
        let times = times.collect::<Vec<_>>().join(", ");
        if !times.is_empty() {
            detail("time", &times);
        }
        if let Some(answer) = &self.answer {
            detail("answer", answer);
        }
        if let (Some(input), Some(tokens)) = (self.input_tokens, self.output_tokens) {
            detail("tokens", &format!("{input} in, {tokens} out"));
        }
        match self.tools {
            Some("called") => detail("tools", "called"),
            Some("accepted") => detail("tools", "taken, but the model called none although it was asked to"),
            _ => {}
        }
        match &self.problem {
            None => output.line("It works."),
            Some(Problem { message, hint, .. }) => {
                output.line(&format!("error: {}", one_line(message)));
                if let Some(hint) = hint {
                    output.line(&format!("  hint: {}", one_line(hint)));
                }
            }
        }
    }
}

fn no_model(models: Option<&[String]>) -> Problem {
    let hint = match models.and_then(<[String]>::first) {
        Some(first) => format!("give --model, such as {first}, or add \"model\" to the profile"),
        None => "give --model, set ROBOTA_MODEL, or add \"model\" to the profile".to_owned(),
    };
    Problem { about: About::Model, message: "no model is named".to_owned(), hint: Some(hint) }
}

/// How long a connection to the host of `url` takes; `None` when it cannot be had, which the call will tell, for example
/// because there is a proxy on the way.
async fn connect_time(url: &str) -> Option<Duration> {
    let (scheme, rest) = url.split_once("://")?;
    let host = rest.split('/').next()?;
    let has_port =
        host.rsplit_once(':').is_some_and(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()));
    let port = if scheme == "https" { ":443" } else { ":80" };
    let address = format!("{host}{}", if has_port { "" } else { port });
    let started = Instant::now();
    timeout(CONNECT, TcpStream::connect(address)).await.ok()?.ok()?;
    Some(started.elapsed())
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
