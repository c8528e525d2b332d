//! What a machine says, as it is shown: harmless, and never much of it at once.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use robota_core::{ToolContext, harmless_text, is_binary};
use tokio::time::{Instant, sleep};

use super::error::SandboxError;
use super::port::{OutputListener, Sandbox, SandboxRunOptions, SandboxRunResult};
use crate::process::Live;

/// How often it is looked whether output waits to be shown.
const LOOK: Duration = Duration::from_millis(100);

/// Runs `command`; what it says is shown as it appears, but never much of it.
pub(super) async fn run_and_show(
    sandbox: &dyn Sandbox,
    command: &str,
    options: SandboxRunOptions,
    context: &ToolContext,
) -> Result<SandboxRunResult, SandboxError> {
    let progress = context.clone();
    let live = Arc::new(Mutex::new(Some(Live::new(move |text: &str| progress.progress(text)))));
    let told = Arc::clone(&live);
    let listener: OutputListener = Arc::new(move |_, text: &str| {
        if let Some(live) = told.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
            live.push(text.as_bytes());
        }
    });
    let running = sandbox.run(command, options, Some(listener), &context.cancel);
    tokio::pin!(running);
    let result = loop {
        tokio::select! {
            biased;
            result = &mut running => break result,
            () = sleep(LOOK) => {
                if let Some(live) = live.lock().unwrap_or_else(PoisonError::into_inner).as_mut()
                    && live.due().is_some_and(|due| due <= Instant::now())
                {
                    live.show();
                }
            }
        }
    };
    if let Some(live) = live.lock().unwrap_or_else(PoisonError::into_inner).take() {
        live.finish();
    }
    result
}

/// The output of a machine that may say anything, for the model.
pub(super) fn shown(output: String) -> String {
    // What was no text has become a character that is.
    if is_binary(output.replace(char::REPLACEMENT_CHARACTER, "\0").as_bytes()) {
        return "[binary output, not shown]".to_owned();
    }
    match harmless_text(output.as_bytes()) {
        Cow::Borrowed(_) => output,
        Cow::Owned(harmless) => harmless,
    }
}
