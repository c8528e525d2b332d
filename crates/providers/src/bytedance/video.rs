//! Videos from words and images: a task that is begun, asked about until it is done, and fetched from an address.

use std::time::Duration;

use futures_util::future::BoxFuture;
use robota_core::{ProviderError, ProviderErrorKind};
use tokio::time::{Instant, sleep, timeout_at};
use tokio_util::sync::CancellationToken;

/// A service that makes videos (seed `001`, package list).
pub trait VideoGenerator: Send + Sync {
    /// Begins a video and gives the id of its task.
    ///
    /// # Errors
    ///
    /// As model calls fail. A request that may have reached the service is not sent again: it would be paid twice.
    fn create<'a>(&'a self, request: &'a VideoRequest) -> BoxFuture<'a, Result<String, ProviderError>>;

    /// How far a task has come.
    ///
    /// # Errors
    ///
    /// As model calls fail; that the task has failed is no error of the question.
    fn poll<'a>(&'a self, task: &'a str) -> BoxFuture<'a, Result<VideoTask, ProviderError>>;

    /// Takes a task back that has not begun yet. Services refuse it for one that runs.
    ///
    /// # Errors
    ///
    /// As model calls fail.
    fn cancel<'a>(&'a self, task: &'a str) -> BoxFuture<'a, Result<(), ProviderError>>;
}

/// What the video shows and how.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "plain data, built with `..Default::default()`")]
pub struct VideoRequest {
    /// The model, such as `seedance-1-0-pro-250528`.
    pub model: String,
    /// What happens in the video.
    pub prompt: String,
    /// An image it begins with: an address, or a `data:` URL.
    pub image_url: Option<String>,
    /// Width to height, such as `16:9`; `None` leaves it to the service.
    pub ratio: Option<String>,
    /// Length in seconds.
    pub duration: Option<u32>,
    /// Such as `720p`.
    pub resolution: Option<String>,
}

/// A task and what has become of it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct VideoTask {
    /// Its id.
    pub id: String,
    /// How far it is.
    pub status: VideoStatus,
    /// Where the video is, once it has succeeded. Services keep it for a day.
    pub url: Option<String>,
    /// Why it failed: the code of the service and its words.
    pub failure: Option<(String, String)>,
}

impl VideoTask {
    /// A task in `status`.
    #[must_use]
    pub fn new(id: impl Into<String>, status: VideoStatus) -> Self {
        Self { id: id.into(), status, url: None, failure: None }
    }
}

/// How far a task is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum VideoStatus {
    /// It waits.
    Queued,
    /// It is being made.
    Running,
    /// The video is there.
    Succeeded,
    /// There will be none.
    Failed,
    /// It was taken back.
    Cancelled,
    /// It waited, or was kept, too long.
    Expired,
    /// Something this version does not know, in the service's word; taken for running.
    Other(String),
}

/// A finished video.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Video {
    /// The task that made it.
    pub task: String,
    /// Where it is.
    pub url: String,
}

/// How long a video is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "plain data, built with `..Default::default()`")]
pub struct VideoDeadline {
    /// From the beginning to the video; 10 minutes.
    pub deadline: Duration,
    /// Between two questions; 5 s.
    pub poll_every: Duration,
}

impl Default for VideoDeadline {
    fn default() -> Self {
        Self { deadline: Duration::from_secs(600), poll_every: Duration::from_secs(5) }
    }
}

/// Questions in a row that may fail in passing before the task is given up.
const MAX_FAILED_POLLS: u32 = 5;

impl Video {
    /// Makes a video and waits for it. When `cancel` fires, or the time is up, the task is taken back.
    ///
    /// # Errors
    ///
    /// As [`VideoGenerator::create`]; `Cancelled`; `Timeout` at the deadline; `ContentFilter`, `InvalidRequest` or
    /// `Server` when the service gives the task up.
    pub async fn generate(
        generator: &dyn VideoGenerator,
        request: &VideoRequest,
        wait: VideoDeadline,
        cancel: &CancellationToken,
    ) -> Result<Self, ProviderError> {
        let deadline = Instant::now() + wait.deadline;
        let begun = cancel.run_until_cancelled(timeout_at(deadline, generator.create(request))).await;
        let task = match begun {
            None => return Err(cancelled()),
            Some(Err(_)) => return Err(too_late(wait.deadline)),
            Some(Ok(created)) => created?,
        };
        let finished = cancel
            .run_until_cancelled(timeout_at(deadline, until_finished(generator, &task, wait.poll_every)))
            .await;
        let failure = match finished {
            Some(Ok(finished)) => return finished,
            Some(Err(_)) => too_late(wait.deadline),
            None => cancelled(),
        };
        // A task that runs already cannot be taken back; that changes nothing here.
        let _ = tokio::time::timeout(Duration::from_secs(5), generator.cancel(&task)).await;
        Err(failure)
    }
}

async fn until_finished(
    generator: &dyn VideoGenerator,
    task: &str,
    poll_every: Duration,
) -> Result<Video, ProviderError> {
    let mut failed = 0;
    loop {
        let pause = match generator.poll(task).await {
            Ok(state) => {
                if let Some(finished) = finished(state) {
                    return finished;
                }
                failed = 0;
                poll_every
            }
            Err(error) if error.is_retryable() && failed < MAX_FAILED_POLLS => {
                failed += 1;
                error.retry_after().unwrap_or(poll_every).max(poll_every)
            }
            Err(error) => return Err(error),
        };
        sleep(pause).await;
    }
}

/// The end of a task; `None` as long as it goes on.
fn finished(task: VideoTask) -> Option<Result<Video, ProviderError>> {
    let failed = |kind, message: String| Some(Err(ProviderError::new(kind, message)));
    let VideoTask { id, status, url, failure } = task;
    match (status, url) {
        (VideoStatus::Queued | VideoStatus::Running | VideoStatus::Other(_), _) => None,
        (VideoStatus::Succeeded, Some(url)) => Some(Ok(Video { task: id, url })),
        (VideoStatus::Succeeded, None) => {
            failed(ProviderErrorKind::Protocol, format!("the video task {id} succeeded without a video"))
        }
        (VideoStatus::Cancelled, _) => {
            failed(ProviderErrorKind::Cancelled, format!("the video task {id} was cancelled"))
        }
        (VideoStatus::Expired, _) => {
            failed(ProviderErrorKind::Timeout, format!("the video task {id} waited too long and has expired"))
        }
        (VideoStatus::Failed, _) => {
            let (code, message) = failure.unwrap_or_default();
            let kind = kind_of(&code);
            failed(kind, format!("the video task {id} failed: {message} ({code})"))
        }
    }
}

/// The kind of failure, by the code of the service.
fn kind_of(code: &str) -> ProviderErrorKind {
    match code {
        _ if code.contains("Sensitive") || code.contains("RiskDetection") => ProviderErrorKind::ContentFilter,
        _ if code.starts_with("Internal") || code.is_empty() => ProviderErrorKind::Server,
        _ => ProviderErrorKind::InvalidRequest,
    }
}

fn cancelled() -> ProviderError {
    ProviderError::new(ProviderErrorKind::Cancelled, "the video was cancelled")
}

fn too_late(deadline: Duration) -> ProviderError {
    ProviderError::new(ProviderErrorKind::Timeout, format!("the video was not finished within {deadline:?}"))
        .with_hint("ask for a shorter one or a lower resolution, or allow more time")
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::sync::Mutex;

    use super::*;

    /// Answers from a list, the last one again and again; remembers what was asked.
    struct Scripted {
        polls: Mutex<VecDeque<Result<VideoTask, ProviderErrorKind>>>,
        asked: Mutex<Vec<&'static str>>,
    }

    impl Scripted {
        fn new(polls: impl IntoIterator<Item = Result<VideoTask, ProviderErrorKind>>) -> Self {
            Self { polls: Mutex::new(polls.into_iter().collect()), asked: Mutex::default() }
        }

        fn note(&self, what: &'static str) {
            self.asked.lock().unwrap().push(what);
        }
    }

    impl VideoGenerator for Scripted {
        fn create<'a>(&'a self, _: &'a VideoRequest) -> BoxFuture<'a, Result<String, ProviderError>> {
            self.note("create");
            Box::pin(async { Ok("t1".to_owned()) })
        }

        fn poll<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<VideoTask, ProviderError>> {
            self.note("poll");
            let mut polls = self.polls.lock().unwrap();
            let next = if polls.len() > 1 { polls.pop_front() } else { polls.front().cloned() };
            let answer = next.expect("an answer").map_err(|kind| ProviderError::new(kind, "no"));
            Box::pin(async { answer })
        }

        fn cancel<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<(), ProviderError>> {
            self.note("cancel");
            Box::pin(async { Ok(()) })
        }
    }

    fn task(status: VideoStatus) -> Result<VideoTask, ProviderErrorKind> {
        Ok(VideoTask::new("t1", status))
    }

    fn done() -> Result<VideoTask, ProviderErrorKind> {
        Ok(VideoTask { url: Some("https://v".into()), ..VideoTask::new("t1", VideoStatus::Succeeded) })
    }

    async fn generate(scripted: &Scripted, cancel: &CancellationToken) -> Result<Video, ProviderError> {
        Video::generate(scripted, &VideoRequest::default(), VideoDeadline::default(), cancel).await
    }

    #[tokio::test(start_paused = true)]
    async fn a_video_is_waited_for_past_failures_in_passing() {
        let scripted = Scripted::new([
            task(VideoStatus::Queued),
            Err(ProviderErrorKind::Overloaded),
            task(VideoStatus::Running),
            done(),
        ]);
        let video = generate(&scripted, &CancellationToken::new()).await.unwrap();
        assert_eq!(video, Video { task: "t1".into(), url: "https://v".into() });
        assert_eq!(*scripted.asked.lock().unwrap(), ["create", "poll", "poll", "poll", "poll"]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_task_that_takes_too_long_is_taken_back() {
        let scripted = Scripted::new([task(VideoStatus::Running)]);
        let error = generate(&scripted, &CancellationToken::new()).await.unwrap_err();
        assert_eq!(error.kind(), ProviderErrorKind::Timeout);
        assert_eq!(scripted.asked.lock().unwrap().last(), Some(&"cancel"));
    }

    #[tokio::test(start_paused = true)]
    async fn an_abort_takes_the_task_back() {
        let scripted = Scripted::new([task(VideoStatus::Running)]);
        let cancel = CancellationToken::new();
        let abort = async {
            sleep(Duration::from_secs(12)).await;
            cancel.cancel();
        };
        let (result, ()) = tokio::join!(generate(&scripted, &cancel), abort);
        assert_eq!(result.unwrap_err().kind(), ProviderErrorKind::Cancelled);
        assert_eq!(*scripted.asked.lock().unwrap(), ["create", "poll", "poll", "poll", "cancel"]);
    }

    #[tokio::test(start_paused = true)]
    async fn failures_of_the_task_are_typed() {
        let failed = |code: &str| {
            Ok(VideoTask {
                failure: Some((code.into(), "why".into())),
                ..VideoTask::new("t1", VideoStatus::Failed)
            })
        };
        for (end, kind) in [
            (failed("OutputVideoSensitiveContentDetected"), ProviderErrorKind::ContentFilter),
            (failed("InvalidParameter"), ProviderErrorKind::InvalidRequest),
            (failed("InternalServiceError"), ProviderErrorKind::Server),
            (task(VideoStatus::Expired), ProviderErrorKind::Timeout),
            (task(VideoStatus::Succeeded), ProviderErrorKind::Protocol),
            (Err(ProviderErrorKind::Authentication), ProviderErrorKind::Authentication),
            (Err(ProviderErrorKind::Network), ProviderErrorKind::Network),
        ] {
            let error = generate(&Scripted::new([end]), &CancellationToken::new()).await.unwrap_err();
            assert_eq!(error.kind(), kind);
        }
    }
}
