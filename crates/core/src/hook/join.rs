//! What several hooks have said, as one.

use super::{HookDecision, HookOutcome};

/// Joins what hooks said, in the order of their configuration: the strongest decision with its own reason,
/// the first reason to block and to stop, the last changed arguments, and all texts.
pub(super) fn join(outcomes: impl IntoIterator<Item = HookOutcome>) -> HookOutcome {
    let mut joined = HookOutcome::default();
    for outcome in outcomes {
        let decision = outcome.permission.as_ref().map(|permission| permission.decision);
        let strongest = joined.permission.as_ref().map(|permission| permission.decision);
        // `None` is below every decision; of equal ones the first gives the reason.
        if decision > strongest {
            joined.permission = outcome.permission;
        }
        if !matches!(decision, Some(HookDecision::Deny | HookDecision::Defer)) {
            joined.updated_input = outcome.updated_input.or(joined.updated_input);
        }
        joined.block = joined.block.or(outcome.block);
        joined.stop = joined.stop.or(outcome.stop);
        joined.additional_context.extend(outcome.additional_context);
        joined.system_messages.extend(outcome.system_messages);
        joined.failures.extend(outcome.failures);
    }
    if joined.permission.as_ref().is_some_and(|permission| permission.decision == HookDecision::Deny) {
        joined.updated_input = None;
    }
    joined
}
