//! The fake model server: life cycle and inspection.

mod builder;
mod endpoint;
mod playback;
mod runner;

use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;

use tokio_util::sync::CancellationToken;

pub use builder::{FakeModelServerBuilder, StartError};

use crate::director::Director;
use crate::{Gate, RecordedRequest, Reply, Script, Violation, patience};

/// An HTTP server on loopback that speaks the model APIs and says what its [`Script`] tells it to.
///
/// | endpoint | what it is |
/// |---|---|
/// | `POST /v1/messages` | Anthropic Messages, streamed when the body says `"stream": true` |
/// | `POST /chat/completions`, `POST /v1/chat/completions` | OpenAI Chat Completions, likewise |
/// | `POST /v1/responses`, `POST /responses` | OpenAI Responses, likewise |
/// | `POST /v1beta/models/{model}:streamGenerateContent?alt=sse`, `…:generateContent` | Google Gemini, streamed and whole |
/// | `POST /v1/messages/count_tokens`, `POST /v1/responses/input_tokens`, `…:countTokens` | a token for every four bytes of the body |
/// | `GET /v1/models`, `GET /models`, `GET /v1beta/models` | the models of the script, in the shape of the client's API |
/// | `POST /fake/gates/{name}` | opens a [gate](crate::Reply::gate), for clients in other languages |
/// | `GET /fake/gates/{name}` | answers as soon as a reply waits at that gate |
///
/// Every request is recorded, but for those to gates. Model calls are checked against the
/// [rules](crate::Rule) of the API; one that breaks a rule is answered with a 400 that says which,
/// and uses up no reply. When the script has no reply left the answer is a 500 that says so.
///
/// HTTP/1.1 and, for clients that begin with it, HTTP/2 are spoken on the same port.
///
/// The server runs on a thread of its own, so it serves async tests and blocking ones alike. It
/// stops when it is dropped: open streams are cut.
#[derive(Debug)]
pub struct FakeModelServer {
    director: Arc<Director>,
    address: SocketAddr,
    stop: CancellationToken,
    thread: Option<JoinHandle<()>>,
}

impl FakeModelServer {
    /// Starts a server with the usual settings on a free port.
    ///
    /// # Errors
    ///
    /// When no port can be opened on loopback.
    pub async fn start(script: impl Into<Script>) -> Result<Self, StartError> {
        Self::start_blocking(script)
    }

    /// [`FakeModelServer::start`] for tests without a runtime.
    ///
    /// # Errors
    ///
    /// When no port can be opened on loopback.
    pub fn start_blocking(script: impl Into<Script>) -> Result<Self, StartError> {
        Self::builder(script).start()
    }

    /// A server with settings of one's own.
    pub fn builder(script: impl Into<Script>) -> FakeModelServerBuilder {
        FakeModelServerBuilder::new(script.into())
    }

    /// The address to give to a client as base URL, without a slash at its end.
    ///
    /// OpenAI clients may have `/v1` after it or not.
    #[must_use]
    pub fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Adds a reply to the end of the script.
    pub fn enqueue(&self, reply: impl Into<Reply>) {
        self.director.enqueue(reply.into());
    }

    /// The gate called `name` in the script; see [`Reply::gate`].
    #[must_use]
    pub fn gate(&self, name: &str) -> Gate {
        self.director.gate(name)
    }

    /// All requests so far, in order of arrival.
    #[must_use]
    pub fn requests(&self) -> Vec<Arc<RecordedRequest>> {
        self.director.requests()
    }

    /// Waits until the request `number`, counted from 1, has arrived.
    ///
    /// # Panics
    ///
    /// When it does not arrive within a minute.
    pub async fn request(&self, number: usize) -> Arc<RecordedRequest> {
        self.director.request(number).await
    }

    /// [`FakeModelServer::request`] for tests without a runtime.
    ///
    /// # Panics
    ///
    /// When it does not arrive within a minute.
    #[must_use]
    pub fn request_blocking(&self, number: usize) -> Arc<RecordedRequest> {
        patience::block_on(self.director.request(number))
    }

    /// Waits until no request is being answered.
    ///
    /// # Panics
    ///
    /// When that takes longer than a minute.
    pub async fn wait_idle(&self) {
        let missing = || "the server did not become idle".to_owned();
        self.director.wait_for(|progress| progress.active == 0, missing).await;
    }

    /// Waits, without any limit, until every listed reply has been given; for ever when the script
    /// computes replies.
    pub async fn played_out(&self) {
        self.director.played_out().await;
    }

    /// The rules broken so far.
    #[must_use]
    pub fn violations(&self) -> Vec<Violation> {
        self.director.violations()
    }

    /// Asserts that no request broke a rule.
    ///
    /// # Panics
    ///
    /// When one did, with all violations in the message.
    #[track_caller]
    pub fn assert_clean(&self) {
        self.director.assert_clean();
    }

    /// Stops the server and waits until its port is free.
    ///
    /// Answers that are ready to be sent still go out; streams that wait at a gate are cut.
    pub async fn shutdown(mut self) {
        self.stop.cancel();
        let Some(thread) = self.thread.take() else { return };
        let (done, is_done) = tokio::sync::oneshot::channel();
        std::thread::spawn(move || {
            let _ = thread.join();
            let _ = done.send(());
        });
        let _ = is_done.await;
    }
}

impl Drop for FakeModelServer {
    fn drop(&mut self) {
        self.stop.cancel();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
