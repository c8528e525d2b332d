//! Telling a log what it does not hold: the history of a record that was written without one.

use std::sync::Arc;

use robota_core::{EventKind, History, PermissionMode, RawCapture, ToolSpec};

use crate::StoredSession;
use crate::restate::restated;

/// In place of a provider and a model that nobody noted.
const UNKNOWN: &str = "unknown";

/// The events that make a log tell `stored`, whose history it does not hold. With `log_has_lines` it
/// holds something else, which is left behind.
pub(super) fn whole(stored: &StoredSession, log_has_lines: bool) -> Vec<EventKind> {
    let mut kinds = vec![init(stored)];
    kinds.extend(history(&stored.history, log_has_lines));
    kinds
}

/// The events that make a log tell the history `told`.
pub(super) fn history(told: &History, clear_first: bool) -> Vec<EventKind> {
    let (_, mutations) = restated(told, clear_first);
    mutations.into_iter().map(EventKind::HistoryMutation).collect()
}

fn init(stored: &StoredSession) -> EventKind {
    let system_prompt = stored.system_prompt.clone().unwrap_or_default();
    EventKind::SessionInit {
        cwd: stored.cwd.clone(),
        name: stored.name.clone(),
        provider: UNKNOWN.to_owned(),
        model: UNKNOWN.to_owned(),
        permission_mode: PermissionMode::Default,
        system_prompt_length: system_prompt.len(),
        system_prompt,
        tool_schemas: tools(stored),
        forked_from: stored.forked_from.clone(),
        max_output_tokens: None,
        raw_capture: RawCapture::Off,
        tuning: robota_core::RequestTuning::default(),
    }
}

/// The tools, when all of them are described as this program does it; whoever resumes the session brings
/// their own anyway.
fn tools(stored: &StoredSession) -> Arc<[Arc<ToolSpec>]> {
    let schemas = stored.tool_schemas.iter().flatten();
    let specs: Result<Vec<Arc<ToolSpec>>, _> =
        schemas.map(|schema| serde_json::from_value(schema.clone()).map(Arc::new)).collect();
    specs.unwrap_or_default().into()
}
