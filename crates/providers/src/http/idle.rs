//! A limit for how long a server may send nothing.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{self, BoxStream};
use futures_util::{Stream, StreamExt};
use robota_core::ProviderError;
use tokio::time::timeout;

use crate::report::Reporter;

/// The bytes of `body`, each wait for the next ones bounded by `idle`. Whatever arrives restarts the
/// time: text, arguments of a tool call, a ping, or half a line of them.
pub(super) fn within_idle_time(
    body: impl Stream<Item = reqwest::Result<Bytes>> + Send + 'static,
    idle: Duration,
    reporter: Arc<Reporter>,
) -> BoxStream<'static, Result<Bytes, ProviderError>> {
    stream::unfold(Some(body.boxed()), move |body| {
        let reporter = Arc::clone(&reporter);
        async move {
            let mut body = body?;
            match timeout(idle, body.next()).await {
                Ok(Some(Ok(bytes))) => Some((Ok(bytes), Some(body))),
                Ok(Some(Err(error))) => Some((Err(reporter.unreachable(error)), None)),
                Ok(None) => None,
                Err(_) => Some((Err(reporter.idle(idle)), None)),
            }
        }
    })
    .boxed()
}

#[cfg(test)]
mod tests {
    use robota_core::ProviderErrorKind;
    use tokio::time::sleep;

    use super::*;

    /// How a body fares whose single bytes come after these many seconds each.
    async fn read(pauses: Vec<u64>) -> (usize, Option<ProviderErrorKind>) {
        let body = stream::iter(pauses).then(|pause| async move {
            sleep(Duration::from_secs(pause)).await;
            Ok(Bytes::from_static(b":"))
        });
        let url = "http://127.0.0.1/v1".parse().unwrap();
        let reporter = Arc::new(Reporter::new(crate::ProviderKind::OpenAi.definition(), &url, Vec::new()));
        let mut body = within_idle_time(body, Duration::from_secs(120), reporter);
        let mut count = 0;
        while let Some(step) = body.next().await {
            match step {
                Ok(bytes) => count += bytes.len(),
                Err(error) => return (count, Some(error.kind())),
            }
        }
        (count, None)
    }

    /// How the event stream `pieces` fares when each of them comes after 119 of the 120 seconds that a server may be
    /// silent: the events that were made of it.
    async fn slow_events(pieces: Vec<&'static str>) -> usize {
        let body = stream::iter(pieces).then(|piece| async move {
            sleep(Duration::from_secs(119)).await;
            Ok(Bytes::from_static(piece.as_bytes()))
        });
        let url = "http://127.0.0.1/v1".parse().unwrap();
        let reporter = Arc::new(Reporter::new(crate::ProviderKind::OpenAi.definition(), &url, Vec::new()));
        let mut frames = crate::http::Frames::new(within_idle_time(body, Duration::from_secs(120), reporter));
        let mut count = 0;
        while let Some(frame) = frames.next().await {
            count += usize::from(frame.unwrap().data.is_some());
        }
        count
    }

    #[tokio::test(start_paused = true)]
    async fn arguments_comments_and_half_lines_are_signs_of_life() {
        let begin = "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"name\":\"W\"}}]}}]}\n\n";
        let arguments =
            "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"function\":{\"arguments\":\"x\"}}]}}]}\n\n";
        assert_eq!(slow_events(vec![begin, arguments, arguments, arguments]).await, 4);
        assert_eq!(slow_events(vec![begin, ": ping\n\n", ": ping\n", ":", "\n", "\n", arguments]).await, 2);
        let (half, rest) = arguments.split_at(20);
        assert_eq!(slow_events(vec![begin, half, rest]).await, 2);
    }

    #[tokio::test(start_paused = true)]
    async fn a_trickle_of_bytes_keeps_a_stream_alive_and_silence_ends_it() {
        assert_eq!(read(vec![119; 50]).await, (50, None));
        assert_eq!(read(vec![119, 119, 121, 1]).await, (2, Some(ProviderErrorKind::Timeout)));
    }
}
