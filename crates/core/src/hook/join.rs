//! What several hooks have said, as one.

use super::{HookDecision, HookOutcome};

/// Joins what hooks said, in the order of their configuration: the strongest decision with its own reason,
/// the first reason to block and to stop, the last changed arguments, and all texts.
///
/// Consent is for the arguments that it was given to: where another hook has the last word on them, it is none.
pub(super) fn join(outcomes: impl IntoIterator<Item = HookOutcome>) -> HookOutcome {
    let mut joined = HookOutcome::default();
    let mut changed_with_consent = false;
    for outcome in outcomes {
        let decision = outcome.permission.as_ref().map(|permission| permission.decision);
        let strongest = joined.permission.as_ref().map(|permission| permission.decision);
        // `None` is below every decision; of equal ones the first gives the reason.
        if decision > strongest {
            joined.permission = outcome.permission;
        }
        let may_change = !matches!(decision, Some(HookDecision::Deny | HookDecision::Defer));
        if may_change && outcome.updated_input.is_some() {
            joined.updated_input = outcome.updated_input;
            changed_with_consent = decision == Some(HookDecision::Allow);
        }
        joined.block = joined.block.or(outcome.block);
        joined.stop = joined.stop.or(outcome.stop);
        joined.additional_context.extend(outcome.additional_context);
        joined.system_messages.extend(outcome.system_messages);
        joined.failures.extend(outcome.failures);
    }
    match joined.permission.as_ref().map(|permission| permission.decision) {
        Some(HookDecision::Deny) => joined.updated_input = None,
        Some(HookDecision::Allow) if joined.updated_input.is_some() && !changed_with_consent => {
            joined.permission = None;
        }
        _ => {}
    }
    joined
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn decides(decision: HookDecision, reason: &str, input: i32) -> HookOutcome {
        let updated_input = Some(json!({"from": input}));
        HookOutcome { updated_input, ..HookOutcome::decided(decision, reason) }
    }

    #[test]
    fn the_strongest_decision_counts_with_its_reason() {
        let [allow, ask, defer, deny] =
            [HookDecision::Allow, HookDecision::Ask, HookDecision::Defer, HookDecision::Deny];
        let joined = join([decides(allow, "a", 1), decides(ask, "b", 2), decides(ask, "c", 3)]);
        assert_eq!(joined, decides(ask, "b", 3));
        let joined = join([decides(defer, "d", 1), decides(allow, "a", 2)]);
        assert_eq!(joined, decides(defer, "d", 2));
        let joined = join([decides(deny, "no", 1), decides(allow, "a", 2)]);
        assert_eq!(joined, HookOutcome::decided(deny, "no"));
        let only_input = HookOutcome { updated_input: Some(json!({})), ..HookOutcome::default() };
        assert_eq!(join([only_input.clone(), HookOutcome::default()]), only_input);
        assert_eq!(join([]), HookOutcome::default());
    }

    #[test]
    fn consent_is_not_for_arguments_that_another_hook_gives() {
        let allow = || HookOutcome::decided(HookDecision::Allow, "fine");
        let changes = || HookOutcome { updated_input: Some(json!({"from": 1})), ..HookOutcome::default() };
        assert_eq!(join([allow(), changes()]), changes());
        assert_eq!(join([decides(HookDecision::Allow, "a", 1), changes()]), changes());
        let own = decides(HookDecision::Allow, "fine", 2);
        assert_eq!(join([allow(), changes(), own.clone()]), own);
        let asked = join([HookOutcome::decided(HookDecision::Ask, "look"), changes()]);
        assert_eq!(asked, decides(HookDecision::Ask, "look", 1));
    }

    #[test]
    fn the_first_block_and_stop_count_and_texts_are_kept_in_order() {
        let said = |text: &str| HookOutcome {
            block: Some(text.into()),
            stop: Some(text.into()),
            additional_context: vec![text.into()],
            system_messages: vec![text.into()],
            failures: vec![text.into()],
            ..HookOutcome::default()
        };
        let both = vec!["1".to_owned(), "2".to_owned()];
        let expected = HookOutcome {
            additional_context: both.clone(),
            system_messages: both.clone(),
            failures: both,
            ..said("1")
        };
        assert_eq!(join([HookOutcome::default(), said("1"), said("2")]), expected);
    }
}
