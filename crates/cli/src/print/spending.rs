//! What a turn has taken, told for each model that had a part in it.

use robota_core::{EventKind, ModelInfo, Usage};
use serde_json::{Map, Value, json};

/// A model by its name, with what is known of it.
pub(crate) type NamedModel = (String, ModelInfo);

/// Counts what the models of a turn have used.
pub(crate) struct Spending {
    /// The model of the session.
    first: NamedModel,
    /// Those that take its place when it fails, and what each has used.
    others: Vec<(NamedModel, Usage)>,
    /// Which of them gives the answer that is arriving.
    answering: Option<usize>,
}

impl Spending {
    pub(crate) fn new(first: NamedModel, others: impl IntoIterator<Item = NamedModel>) -> Self {
        let others = others.into_iter().map(|model| (model, Usage::default())).collect();
        Self { first, others, answering: None }
    }

    pub(crate) fn note(&mut self, kind: &EventKind) {
        match kind {
            EventKind::ProviderRequest { .. } => self.answering = None,
            EventKind::ProviderFallback { model, .. } => {
                self.answering = self.others.iter().position(|((name, _), _)| name == model);
            }
            EventKind::ProviderResponseNormalized { usage, .. } => {
                if let Some((_, used)) = self.answering.and_then(|at| self.others.get_mut(at)) {
                    *used += *usage;
                }
            }
            _ => {}
        }
    }

    /// The model whose answer is arriving, or came last.
    pub(crate) fn model(&self) -> &str {
        let other = self.answering.and_then(|at| self.others.get(at));
        other.map_or(self.first.0.as_str(), |((name, _), _)| name)
    }

    /// The costs of a turn that has used `total`, at list prices, and the facts of each model of it.
    pub(crate) fn of(&self, total: Usage) -> (f64, Value) {
        let others: Vec<_> = self.others.iter().filter(|(_, used)| !used.is_empty()).collect();
        let rest = others.iter().fold(total, |rest, (_, used)| without(rest, *used));
        let first = (others.is_empty() || !rest.is_empty()).then_some((&self.first, rest));
        let mut models = Map::new();
        let mut costs = 0.0;
        for ((name, info), usage) in
            first.into_iter().chain(others.iter().map(|(model, used)| (model, *used)))
        {
            let cost = info.cost(&usage).unwrap_or(0.0);
            costs += cost;
            models.insert(name.clone(), facts(info, usage, cost));
        }
        (costs, Value::Object(models))
    }
}

fn without(total: Usage, part: Usage) -> Usage {
    Usage {
        input_tokens: total.input_tokens.saturating_sub(part.input_tokens),
        output_tokens: total.output_tokens.saturating_sub(part.output_tokens),
        cache_read_tokens: total.cache_read_tokens.saturating_sub(part.cache_read_tokens),
        cache_write_tokens: total.cache_write_tokens.saturating_sub(part.cache_write_tokens),
    }
}

fn facts(info: &ModelInfo, usage: Usage, cost: f64) -> Value {
    json!({
        "inputTokens": usage.input_tokens,
        "outputTokens": usage.output_tokens,
        "cacheReadInputTokens": usage.cache_read_tokens,
        "cacheCreationInputTokens": usage.cache_write_tokens,
        "webSearchRequests": 0,
        "costUSD": cost,
        "contextWindow": info.context_window,
        "maxOutputTokens": info.max_output_tokens,
    })
}
