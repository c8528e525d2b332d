//! A subject and the model it talks to.

use std::sync::Arc;

use robota_core::{ModelEvent, ModelRequest, Provider, ProviderError};
use robota_providers::ProviderSpec;
use robota_testkit::{FakeModelServer, Gate, RecordedRequest, Rule, Script, ScriptedProvider};

use super::replaying::Replaying;
use super::subject::{Make, Subject};
use crate::api::{KEY, request, send, server};

/// A subject that has been set up, with the model behind it.
pub(crate) struct Stage {
    pub(crate) provider: Arc<dyn Provider>,
    model: Model,
}

enum Model {
    Server(FakeModelServer),
    Script(Arc<ScriptedProvider>),
}

impl Subject {
    /// The subject in front of a model that plays `script`.
    pub(crate) async fn plays(&self, script: impl Into<Script>) -> Stage {
        self.plays_with(script, |_| {}).await
    }

    /// The same with other settings, where the subject has any.
    pub(crate) async fn plays_with(
        &self,
        script: impl Into<Script>,
        settings: impl FnOnce(&mut ProviderSpec),
    ) -> Stage {
        if !self.has_http() {
            let script = Arc::new(ScriptedProvider::new(script));
            let provider: Arc<dyn Provider> = match self.make {
                Make::Recording => Arc::new(Replaying(Arc::clone(&script))),
                _ => script.clone(),
            };
            return Stage { provider, model: Model::Script(script) };
        }
        let server = server(script).await;
        let mut spec = self.spec(server.base_url());
        settings(&mut spec);
        Stage { provider: Arc::new(spec.connect().unwrap()), model: Model::Server(server) }
    }
}

impl Stage {
    /// All events of one call, and the error when it fails.
    pub(crate) async fn call(&self) -> (Vec<ModelEvent>, Option<ProviderError>) {
        self.send(request()).await
    }

    /// All events of the call `request`, and the error when it fails. The key is in none of them.
    pub(crate) async fn send(&self, request: ModelRequest) -> (Vec<ModelEvent>, Option<ProviderError>) {
        let (events, error) = send(&*self.provider, request).await;
        if let Some(error) = &error {
            let shown = format!("{error} {error:?} {:?}", error.hint());
            assert!(!shown.contains(KEY), "{shown}");
        }
        (events, error)
    }

    /// The events of a call that must succeed.
    pub(crate) async fn answer(&self) -> Vec<ModelEvent> {
        self.answer_to(request()).await
    }

    /// The events of the call `request`, which must succeed and break no rule of the API.
    pub(crate) async fn answer_to(&self, request: ModelRequest) -> Vec<ModelEvent> {
        let (events, error) = self.send(request).await;
        assert!(error.is_none(), "{error:?} after {events:?}");
        self.assert_clean();
        events
    }

    /// The error of a call that must fail.
    pub(crate) async fn failure(&self) -> ProviderError {
        let (events, error) = self.call().await;
        error.unwrap_or_else(|| panic!("an error was expected after {events:?}"))
    }

    pub(crate) fn gate(&self, name: &str) -> Gate {
        match &self.model {
            Model::Server(server) => server.gate(name),
            Model::Script(script) => script.gate(name),
        }
    }

    /// All requests so far.
    pub(crate) fn requests(&self) -> Vec<Arc<RecordedRequest>> {
        match &self.model {
            Model::Server(server) => server.requests(),
            Model::Script(script) => script.recorded(),
        }
    }

    pub(crate) fn assert_clean(&self) {
        match &self.model {
            Model::Server(server) => server.assert_clean(),
            Model::Script(script) => {
                // A script gets the history as it is; making it fit an API is for those that have one.
                let own = [Rule::ToolNames, Rule::CallInput, Rule::EmptyText];
                let broken = script.violations();
                assert!(broken.iter().all(|broken| own.contains(&broken.rule)), "{broken:?}");
            }
        }
    }

    /// Waits until no request is being answered.
    pub(crate) async fn wait_idle(&self) {
        if let Model::Server(server) = &self.model {
            server.wait_idle().await;
        }
    }

    /// The address of the server.
    pub(crate) fn base_url(&self) -> String {
        match &self.model {
            Model::Server(server) => server.base_url(),
            Model::Script(_) => String::new(),
        }
    }
}
