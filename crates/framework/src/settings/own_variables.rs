//! Variables of the user's settings that robota itself reads.

use secrecy::ExposeSecret;

use super::Settings;
use crate::{Environment, Variable};

/// Key and address of a vendor: all from one place, so that a key goes only to the address it was given with.
const TOGETHER: [&[Variable]; 2] = [
    &[Variable::ANTHROPIC_API_KEY, Variable::ANTHROPIC_AUTH_TOKEN, Variable::ANTHROPIC_BASE_URL],
    &[Variable::OPENAI_API_KEY, Variable::OPENAI_BASE_URL],
];
/// Variables that stand for themselves.
const ALONE: [&[Variable]; 5] = [
    &[Variable::ANTHROPIC_MODEL],
    &[Variable::OPENAI_MODEL],
    &[Variable::BRAVE_API_KEY],
    &[Variable::TAVILY_API_KEY],
    &[Variable::SEARXNG_URL],
];

impl Settings {
    /// `host` with the variables of models and services that the user's own `env` sets and `host` does not, as
    /// Claude Code takes them. Of key and address of a vendor either all come from here, or none. A project's
    /// `env` is for its commands and never among them.
    #[must_use]
    pub fn environment(&self, host: &Environment) -> Environment {
        let mut environment = host.clone();
        for group in TOGETHER.into_iter().chain(ALONE) {
            if group.iter().any(|variable| host.get(*variable).is_some()) {
                continue;
            }
            for variable in group {
                if let Some(value) = self.user_env.get(variable.name) {
                    environment.set(*variable, value.expose_secret());
                }
            }
        }
        environment
    }
}
