//! Variables of the user's settings that robota itself reads.

use robota_core::ProviderDefinition;
use secrecy::ExposeSecret;

use super::Settings;
use crate::{Environment, Variable};

/// Variables that stand for themselves.
const ALONE: [Variable; 3] = [Variable::BRAVE_API_KEY, Variable::TAVILY_API_KEY, Variable::SEARXNG_URL];

impl Settings {
    /// `host` with the variables of models and services that the user's own `env` sets and `host` does not, as
    /// Claude Code takes them. Of keys and address of one of `definitions` either all come from here, or none, so
    /// that a key goes only to the address it was given with. A project's `env` is for its commands and never
    /// among them.
    #[must_use]
    pub fn environment(&self, host: &Environment, definitions: &[ProviderDefinition]) -> Environment {
        let mut environment = host.clone();
        let alone = ALONE.iter().map(|variable| vec![variable.name]);
        let models = definitions.iter().map(|definition| vec![definition.model_variable]);
        for group in definitions.iter().map(key_and_address).chain(models).chain(alone) {
            if group.iter().any(|variable| host.lookup(variable).is_some()) {
                continue;
            }
            for variable in group {
                if let Some(value) = self.user_env.get(variable) {
                    environment.set(variable, value.expose_secret());
                }
            }
        }
        environment
    }
}

fn key_and_address(definition: &ProviderDefinition) -> Vec<&'static str> {
    let keys = definition.key_variables.iter().copied().chain(definition.token_variable);
    keys.chain([definition.base_url_variable]).collect()
}
