//! `robota provider models`.

use robota_core::{Clock, ModelInfo, ModelPrices, ModelSource, ModelTable, SystemClock, Timestamp};
use robota_framework::{ModelList, ModelLists, OfferedModel, ResolvedProvider};
use robota_providers::ListedModel;
use serde::Serialize;

use super::{Named, Setup};
use crate::exit::{Exit, Failure, chain, exit_of};
use crate::harmless::one_line;
use crate::model_setup::{not_built, spec_of};
use crate::print::runtime;
use crate::provider_args::ProviderModelsArgs;
use crate::report::print;
use crate::stdout::{Output, complain};

/// How long a list is taken for the present one, in milliseconds.
const FRESH: i64 = 24 * 60 * 60 * 1000;

/// The list as it is shown.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Listing {
    provider: String,
    r#type: String,
    /// `live` when the service was asked now, `kept` when it was before.
    state: &'static str,
    fetched_at: Timestamp,
    /// Why the list is an old one.
    #[serde(skip_serializing_if = "Option::is_none")]
    stale: Option<String>,
    models: Vec<Row>,
}

/// A model, with what is known of it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    current: bool,
    context: u64,
    output: u64,
    /// Who says so: `table`, `settings`, `provider`, or `assumed`.
    limits: ModelSource,
    /// US dollars per million tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    price: Option<Price>,
}

#[derive(Serialize)]
struct Price {
    input: f64,
    output: f64,
}

pub(super) fn run(args: &ProviderModelsArgs) -> Result<Exit, Failure> {
    let setup = Setup::of(&args.folder)?;
    let Named { provider, has_model } = setup.provider(args.name.as_ref(), None)?;
    let lists = ModelLists::new(&setup.paths);
    let kept = lists.load(&provider);
    let now = SystemClock.now();
    let is_fresh = |list: &ModelList| now.as_millis() - list.fetched_at.as_millis() < FRESH;
    let (list, state, stale) = match kept {
        Some(list) if !args.refresh && is_fresh(&list) => (list, "kept", None),
        kept => match (asked(&provider, now), kept) {
            (Ok(list), _) => {
                if let Err(error) = lists.keep(&provider, &list) {
                    complain(&format!("note: the list of models cannot be kept: {error}"));
                }
                (list, "live", None)
            }
            // Of the same kind and address: never another provider's.
            (Err(failure), Some(list)) => (list, "kept", Some(failure.message)),
            (Err(failure), None) => return Err(failure),
        },
    };
    let table = ModelTable::builtin().clone().with(setup.settings.model_catalog.iter().cloned());
    let table = table.with_listed(list.entries(ASSUMED_OUTPUT));
    let current = has_model.then_some(provider.model.as_str());
    let listing = Listing {
        provider: provider.name.clone(),
        r#type: provider.kind.clone(),
        state,
        fetched_at: list.fetched_at,
        stale,
        models: list.models.iter().map(|model| Row::of(model, &table, current)).collect(),
    };
    print(&listing, args.folder.json, |output| listing.tell(output))
}

/// Most output tokens of a model whose provider tells its window and not this.
const ASSUMED_OUTPUT: u64 = 8_192;

/// What the service says now.
fn asked(provider: &ResolvedProvider, now: Timestamp) -> Result<ModelList, Failure> {
    let http = spec_of(provider)?.connect().map_err(|error| not_built(&error))?;
    let models = runtime()?.block_on(http.models()).map_err(|error| {
        let exit = exit_of(robota_core::ErrorKind::Provider(error.kind()));
        let told = format!("the models of `{}` cannot be listed: {}", provider.name, chain(&error));
        let failure = Failure::new(exit, told);
        match error.hint() {
            Some(hint) => failure.with_hint(hint),
            None => failure.with_hint("`robota provider test` says more"),
        }
    })?;
    Ok(ModelList::new(provider, now, models.into_iter().map(offered).collect()))
}

fn offered(model: ListedModel) -> OfferedModel {
    let ListedModel { id, name, context_window, max_output_tokens } = model;
    OfferedModel { id, name, context: context_window, output: max_output_tokens }
}

impl Row {
    fn of(model: &OfferedModel, table: &ModelTable, current: Option<&str>) -> Self {
        let ModelInfo { context_window, max_output_tokens, prices, source, .. } = table.lookup(&model.id);
        let price = prices.map(|ModelPrices { input, output, .. }| Price { input, output });
        Self {
            id: model.id.clone(),
            name: model.name.clone().filter(|name| *name != model.id),
            current: current == Some(&model.id),
            context: context_window,
            output: max_output_tokens,
            limits: source,
            price,
        }
    }

    fn line(&self, width: usize) -> String {
        let mark = if self.current { "*" } else { " " };
        let who = match self.limits {
            ModelSource::Table => "",
            ModelSource::Settings => "  by the settings",
            ModelSource::Provider => "  by the provider",
            _ => "  assumed",
        };
        let price = self.price.as_ref();
        let price = price.map(|price| format!("  ${} in, ${} out", price.input, price.output));
        let (context, output) = (self.context, self.output);
        let price = price.unwrap_or_default();
        one_line(&format!("{mark} {:<width$}  {context:>9}  {output:>7}{price}{who}", self.id))
    }
}

impl Listing {
    fn tell(&self, output: &mut Output) {
        let when = if self.state == "live" { "now".to_owned() } else { format!("on {}", self.fetched_at) };
        let Self { provider, r#type: kind, .. } = self;
        let count = self.models.len();
        output.line(&one_line(&format!("{count} models of {provider} ({kind}), asked {when}")));
        if let Some(problem) = &self.stale {
            output.line(&one_line(&format!("This list is old: {problem}")));
        }
        let width = self.models.iter().map(|model| model.id.chars().count()).max().unwrap_or_default();
        if count > 0 {
            output.line(&format!(
                "  {:<width$}  {:>9}  {:>7}  US dollars per million tokens",
                "model", "window", "answer"
            ));
        }
        self.models.iter().for_each(|model| output.line(&model.line(width)));
    }
}
