//! A model API that says what a test tells it to, and the other things a test of an agent needs.
//!
//! Programs that talk to language models are hard to test against the real thing: it costs money, it
//! never answers twice alike, and it fails only when nobody looks. This crate has a server on loopback that
//! speaks the wire formats of [Anthropic Messages](Dialect::AnthropicMessages),
//! [OpenAI Chat Completions](Dialect::OpenAiChat), [OpenAI Responses](Dialect::OpenAiResponses) and
//! [Google Gemini](Dialect::Gemini) over real HTTP, streamed and whole, and gives the
//! replies of a [`Script`]. Any client in any language can be pointed at it.
//!
//! ```
//! use robota_testkit::{FakeModelServer, Reply, Script};
//! use serde_json::json;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let script = Script::new()
//!     .reply(Reply::new().text("Let me look.").tool_call("call_1", "Read", json!({"filePath": "a.txt"})))
//!     .reply("The file says hello.");
//! let server = FakeModelServer::start(script).await?;
//!
//! // Here the client under test runs against `server.base_url()`. This one makes a single call.
//! let client = reqwest::Client::builder().no_proxy().build()?;
//! let body = json!({"model": "any", "messages": [{"role": "user", "content": "What is in a.txt?"}]});
//! let url = format!("{}/v1/chat/completions", server.base_url());
//! let answer = client.post(url).body(body.to_string()).send().await?.text().await?;
//!
//! assert!(answer.contains("Let me look.") && answer.contains("call_1"));
//! assert_eq!(server.request(1).await.last_user_text(), "What is in a.txt?");
//! server.assert_clean();
//! # Ok(())
//! # }
//! ```
//!
//! # What a reply can do
//!
//! A [`Reply`] is a list of [`Step`]s free of any wire format: text, thinking, tool calls (in odd
//! pieces, or malformed), tools of the service with sources, token counts, the reason of the end. It can also go wrong in all the
//! ways real services do: [error statuses](Reply::error), [HTML instead of JSON](Reply::body),
//! [errors within a stream](Reply::stream_error), [broken connections](Reply::cut),
//! [answers that never come](Reply::hang_up). What only looks odd must change nothing for a client:
//! [chunks of one byte](Reply::chunk_bytes), [CR LF](Reply::crlf), [comments](Reply::comments),
//! [pings](Reply::ping), [compression](Reply::gzip), [rubbish after the end](Reply::trailing).
//!
//! Nothing waits for time. A reply stops at a [gate](Reply::gate) until the test, which can wait for
//! that moment, [opens](Gate::open) it: this is how an abort in the middle of a stream is tested.
//!
//! Replies that depend on the request are computed by [`Script::respond_with`]. Scripts of plain
//! replies can be kept as [JSON plans](Script), and the program `robota-fake-model` serves such a plan to
//! clients that are not written in Rust.
//!
//! # What is checked
//!
//! Every model call is held against the [`Rule`]s of the API: calls and results are paired and in
//! place, roles and texts are valid, tools are well-formed, and whoever continues a conversation
//! repeats what the model has seen unchanged, since anything else loses the prompt cache. A call
//! that breaks a rule gets a 400 with the reason, and [`FakeModelServer::assert_clean`] shows it at
//! the end of the test.
//!
//! # Without HTTP
//!
//! [`ScriptedProvider`] plays the same scripts as a [`robota_core::Provider`] in process.
//! [`EventRecorder`], [`ScriptedGate`], [`ScriptedHooks`], [`fixed_ambient`] and [`TempWorkspace`] stand in
//! for the rest of an agent's world. [`check_sendable`] holds the messages of a request against the rules
//! before any provider has written them.

mod ambient;
mod director;
mod events;
mod gate;
mod gemini_request;
mod hooks;
mod invariants;
mod patience;
mod provider;
mod request;
mod script;
mod server;
mod tool_gate;
mod wire;
mod workspace;

pub use ambient::{CountingIds, FixedClock, fixed_ambient};
pub use events::{EventRecorder, event_name};
pub use gate::Gate;
pub use hooks::ScriptedHooks;
pub use invariants::{Rule, Violation, check_sendable};
pub use provider::ScriptedProvider;
pub use request::{Dialect, RecordedRequest, SeenResult};
pub use script::{Arguments, Pieces, PlanError, RawBytes, Reply, Script, Step};
pub use server::{FakeModelServer, FakeModelServerBuilder, StartError};
pub use tool_gate::{AllowAll, DenyAll, ScriptedGate};
pub use workspace::TempWorkspace;
