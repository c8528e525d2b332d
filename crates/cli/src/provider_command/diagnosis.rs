//! What is wrong with a provider, and what to do about it.

use robota_core::{ProviderError, ProviderErrorKind as Kind};
use serde::Serialize;
use serde_json::Value;

use super::nearest::nearest;
use crate::exit::{Exit, chain};

/// Something that is wrong.
#[derive(Debug, Serialize)]
pub(super) struct Problem {
    /// What it is about.
    pub(super) about: About,
    pub(super) message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) hint: Option<String>,
}

/// What a problem is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum About {
    /// The key is wrong, missing, or may not do this.
    Key,
    /// There is no such API at the address.
    Address,
    /// The service has no such model.
    Model,
    /// The service answers at once instead of streaming.
    Streaming,
    /// The service takes no tools.
    Tools,
    /// The service cannot be reached.
    Network,
    /// The service refuses or fails for now.
    Service,
    /// The service does not take the request.
    Request,
}

impl About {
    /// Settings are wrong, or the world is.
    pub(super) const fn exit(self) -> Exit {
        match self {
            Self::Key | Self::Address | Self::Model => Exit::Configuration,
            Self::Streaming | Self::Tools | Self::Network | Self::Service | Self::Request => Exit::Failed,
        }
    }
}

/// What is known when a call has failed.
#[derive(Clone, Copy, Default)]
pub(super) struct Circumstances<'a> {
    pub(super) model: &'a str,
    /// The models that the service lists; `None` when it does not.
    pub(super) models: Option<&'a [String]>,
    /// There is nothing either where the list of models would be.
    pub(super) list_missing: bool,
    /// Where the address stands, for a person; `None` for the vendor's own.
    pub(super) address_source: Option<&'a str>,
    /// An answer that came in the place of a stream.
    pub(super) body: Option<&'a Value>,
}

/// What the failure of a call comes from.
pub(super) fn diagnose(error: &ProviderError, around: &Circumstances<'_>) -> Problem {
    let problem = |about| Problem {
        about,
        message: chain(error),
        hint: error.hint().map(str::to_owned).or_else(|| usual_hint(about)),
    };
    let unlisted = around.models.is_some_and(|models| !models.iter().any(|model| model == around.model));
    match error.kind() {
        Kind::Authentication | Kind::Permission | Kind::Configuration => problem(About::Key),
        // Where models are listed, or the service says which one it has not, the address is right.
        Kind::NotFound if around.models.is_some() || says_model(error) => unknown_model(error, around),
        Kind::NotFound if around.list_missing => Problem {
            hint: Some(format!(
                "neither a list of models nor calls are there: check {}",
                around.address_source.unwrap_or("the address, and whether the service has this API")
            )),
            ..problem(About::Address)
        },
        Kind::NotFound => problem(About::Address),
        Kind::InvalidRequest if unlisted => unknown_model(error, around),
        Kind::Protocol if around.body.is_some_and(is_answer) => Problem {
            about: About::Streaming,
            message: "the service answered in one piece instead of streaming".to_owned(),
            hint: usual_hint(About::Streaming),
        },
        Kind::Protocol => problem(About::Address),
        Kind::Network | Kind::Timeout => problem(About::Network),
        Kind::InvalidRequest | Kind::ContextLength | Kind::ContentFilter => problem(About::Request),
        _ => problem(About::Service),
    }
}

/// The service does not take a request with tools, although it takes one without.
pub(super) fn tools_refused(error: &ProviderError) -> Problem {
    let hint = error.hint().unwrap_or(
        "robota needs tool calls: choose a model that has them, or switch them on in the server \
         (llama.cpp: --jinja; vLLM: --enable-auto-tool-choice and --tool-call-parser)",
    );
    Problem { about: About::Tools, message: chain(error), hint: Some(hint.to_owned()) }
}

fn unknown_model(error: &ProviderError, around: &Circumstances<'_>) -> Problem {
    let known = around.models.unwrap_or_default();
    let near = nearest(around.model, known.iter().map(String::as_str));
    let hint = match (near.is_empty(), around.models) {
        (false, _) => format!("the nearest are: {}", near.join(", ")),
        (true, Some(known)) if known.len() <= FEW && !known.is_empty() => {
            format!("there are: {}", known.join(", "))
        }
        (true, Some(_)) => "`robota provider models` lists what there is".to_owned(),
        (true, None) => {
            error.hint().unwrap_or("check the name of the model, and whether the key may use it").to_owned()
        }
    };
    Problem { about: About::Model, message: chain(error), hint: Some(hint) }
}

/// So many models are named at once.
const FEW: usize = 8;

fn says_model(error: &ProviderError) -> bool {
    error.to_string().contains("does not know the model")
}

/// Whether the body is that of an answer that was not streamed, in any of the APIs.
fn is_answer(body: &Value) -> bool {
    ["choices", "content", "candidates", "output"]
        .iter()
        .any(|field| body.get(field).is_some_and(Value::is_array))
}

fn usual_hint(about: About) -> Option<String> {
    let hint = match about {
        About::Streaming => {
            "robota needs streamed answers: switch streaming on in the server or gateway, or use another one"
        }
        About::Service => "try again later",
        About::Network => "check whether the service runs, and its address",
        About::Key | About::Address | About::Model | About::Tools | About::Request => return None,
    };
    Some(hint.to_owned())
}
