//! What a run is told about how its model answers.

use std::str::FromStr;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use robota_core::{Effort, RequestTuning, Thinking};

/// Flags about effort, thinking, and what models go on with.
#[derive(Debug, Default, Args)]
pub(crate) struct TuningArgs {
    /// How much effort the model puts into its answers: low, medium, high, xhigh or max
    #[arg(long, value_name = "LEVEL", value_parser = efforts())]
    effort: Option<Effort>,

    /// Whether the model thinks before it answers: adaptive (as much as it finds right) or disabled
    #[arg(long, value_enum, value_name = "MODE", hide_possible_values = true)]
    thinking: Option<ThinkingMode>,

    /// Let the model think with at most this many tokens; 0 for not at all
    #[arg(long, value_name = "N", conflicts_with = "thinking")]
    max_thinking_tokens: Option<u32>,

    /// A model to go on with when the first is overloaded or not to be had; several separated by commas
    #[arg(long = "fallback-model", value_name = "MODELS", value_delimiter = ',')]
    pub(crate) fallback_models: Vec<String>,

    /// Features of the Anthropic API that have to be asked for by name, separated by commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) betas: Vec<String>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ThinkingMode {
    Adaptive,
    Disabled,
}

impl TuningArgs {
    /// What all requests of a run have in common.
    pub(crate) fn of_requests(&self) -> RequestTuning {
        let thinking = match (self.max_thinking_tokens, self.thinking) {
            (Some(0), _) | (None, Some(ThinkingMode::Disabled)) => Thinking::Disabled,
            (Some(tokens), _) => Thinking::Budget(tokens),
            (None, Some(ThinkingMode::Adaptive)) => Thinking::Adaptive,
            (None, None) => Thinking::Default,
        };
        RequestTuning { effort: self.effort, thinking, ..RequestTuning::default() }
    }
}

fn efforts() -> impl TypedValueParser<Value = Effort> {
    PossibleValuesParser::new(Effort::ALL.map(Effort::name)).try_map(|name| Effort::from_str(&name))
}
