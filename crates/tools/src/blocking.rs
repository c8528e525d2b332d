//! File work off the async threads.

use robota_core::{ToolContext, ToolOutcome, ToolResult};
use tokio_util::sync::CancellationToken;

use crate::failure::Failure;

type Work = Result<ToolOutcome, Failure>;

/// Runs `work`, which changes nothing, on a thread that may block.
///
/// The answer comes at once when the call is cancelled; `work` sees the token it is given fire, also
/// when the call is dropped, and ends soon after.
pub(crate) async fn look(
    context: &ToolContext,
    work: impl FnOnce(&CancellationToken) -> Work + Send + 'static,
) -> ToolResult {
    let stop = context.cancel.child_token();
    let _stop_when_dropped = stop.clone().drop_guard();
    let running = tokio::task::spawn_blocking(move || work(&stop));
    tokio::select! {
        biased;
        () = context.cancel.cancelled() => Ok(Failure::cancelled().into()),
        done = running => Ok(outcome(done)),
    }
}

/// Runs `work`, which changes files, on a thread that may block, to its end.
pub(crate) async fn change(
    context: &ToolContext,
    work: impl FnOnce() -> Work + Send + 'static,
) -> ToolResult {
    if context.cancel.is_cancelled() {
        return Ok(Failure::cancelled().into());
    }
    Ok(outcome(tokio::task::spawn_blocking(work).await))
}

fn outcome(done: Result<Work, tokio::task::JoinError>) -> ToolOutcome {
    match done {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(failure)) => failure.into(),
        Err(error) => {
            tracing::error!(%error, "a tool did not end as it should");
            Failure::new("internal", "the tool failed inside; nothing is known about its effect").into()
        }
    }
}
