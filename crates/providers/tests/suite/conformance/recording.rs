//! Answers as bytes, so that a case can lay them out in another way.

use robota_core::{ModelEvent, ProviderError};
use robota_testkit::{FakeModelServer, Reply, Script};

use super::events::content;
use super::subject::Subject;
use crate::api::{request, send, server};

/// The bytes of an answer, and what they mean.
pub(crate) struct Recording {
    pub(crate) text: String,
    pub(crate) content: Vec<ModelEvent>,
    content_type: String,
}

impl Recording {
    /// What the fake server sends for `reply` when the subject calls it.
    pub(crate) async fn of(subject: &Subject, reply: Reply) -> Self {
        let server = server(Script::from_iter([reply.clone(), reply])).await;
        let (events, error) = send(&subject.connect(server.base_url()), request()).await;
        assert!(error.is_none(), "{error:?}");
        let sent = server.request(1).await;
        let query = sent.query.as_ref().map_or_else(String::new, |query| format!("?{query}"));
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        let mut again =
            client.post(format!("{}{}{query}", server.base_url(), sent.path)).body(sent.body.clone());
        for (name, value) in &sent.headers {
            if !matches!(name.as_str(), "host" | "content-length" | "accept-encoding") {
                again = again.header(name, value);
            }
        }
        let answer = again.send().await.unwrap();
        let content_type = answer.headers()["content-type"].to_str().unwrap().to_owned();
        Self { text: answer.text().await.unwrap(), content: content(&events), content_type }
    }

    /// The events, each with its blank line.
    pub(crate) fn events(&self) -> Vec<&str> {
        self.text.split_inclusive("\n\n").collect()
    }

    /// The same answer with other bytes.
    pub(crate) fn reply(&self, bytes: impl Into<Vec<u8>>) -> Reply {
        Reply::body(200, self.content_type.as_str(), bytes.into())
    }

    /// Asserts that `bytes` mean the same to the subject.
    pub(crate) async fn means_the_same(&self, subject: &Subject, bytes: impl Into<Vec<u8>>) {
        self.is_meant_by(subject, self.reply(bytes)).await;
    }

    /// Asserts that `reply` means the same to the subject.
    pub(crate) async fn is_meant_by(&self, subject: &Subject, reply: Reply) {
        let (events, error) = hears(subject, reply).await;
        assert!(error.is_none(), "{error:?}");
        assert_eq!(content(&events), self.content);
    }
}

/// A server for many answers to the same question, which keeps and checks no requests.
pub(crate) fn light_server(script: Script) -> FakeModelServer {
    FakeModelServer::builder(script).light().start().unwrap()
}

/// What the subject makes of `reply`.
pub(crate) async fn hears(subject: &Subject, reply: Reply) -> (Vec<ModelEvent>, Option<ProviderError>) {
    let server = server(reply).await;
    send(&subject.connect(server.base_url()), request()).await
}
