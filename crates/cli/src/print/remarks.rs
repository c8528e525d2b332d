//! What a person is told of a turn besides the answer: one line each.

use robota_core::EventKind;

use super::text::first_argument;
use crate::harmless::one_line;

/// The lines of an event; most have none.
pub(crate) fn remarks(kind: &EventKind) -> Vec<String> {
    match kind {
        EventKind::ProviderRetry { attempt, max_attempts, delay_ms, reason, abandoned, .. } => {
            let seconds = *delay_ms as f64 / 1000.0;
            let (reason, void) = (one_line(reason), void(*abandoned));
            vec![format!("… {reason}; {void}attempt {attempt} of {max_attempts} in {seconds:.1} s")]
        }
        EventKind::ProviderFallback { provider, model, reason, abandoned } => {
            let [provider, model, reason] = [provider, model, reason].map(|text| one_line(text));
            vec![format!("… {reason}; {}{model} ({provider}) is asked instead", void(*abandoned))]
        }
        EventKind::ContextCompact { before, after, .. } => {
            let (before, after) = (tokens(before.used_tokens), tokens(after.used_tokens));
            vec![format!("compacted: {before} → {after} tokens")]
        }
        EventKind::Hook { hook_event_name, system_messages, failures, .. } => {
            let hook = one_line(hook_event_name);
            let said = system_messages.iter().flat_map(|text| text.lines());
            let said = said.filter(|line| !line.trim().is_empty());
            let said = said.map(|line| format!("hook {hook}: {}", one_line(line)));
            let failed = failures.iter().map(|why| format!("hook {hook} failed: {}", one_line(why)));
            let done = deeds(kind).into_iter().map(|done| one_line(&done));
            said.chain(done).chain(failed).collect()
        }
        EventKind::PermissionResolved { note: Some(note), .. } => vec![format!("rule {}", one_line(note))],
        _ => Vec::new(),
    }
}

/// Says of an answer that broke off whether some of it is to be seen.
const fn void(abandoned: bool) -> &'static str {
    if abandoned { "the answer so far is void and begins anew: " } else { "" }
}

/// What hooks did to a turn that no other event tells of.
pub(super) fn deeds(kind: &EventKind) -> Vec<String> {
    let EventKind::Hook { hook_event_name: hook, blocked, updated_input, .. } = kind else {
        return Vec::new();
    };
    let objected = blocked.as_ref().and_then(|reason| match hook.as_str() {
        "Stop" | "SubagentStop" => Some(format!("hook {hook} wants the model to go on: {}", reason.trim())),
        "PreCompact" => Some(format!("hook {hook} wants no compaction now: {}", reason.trim())),
        _ => None,
    });
    let changed = updated_input.as_ref();
    let changed =
        changed.map(|input| format!("hook {hook} changed the arguments: {}", first_argument(input)));
    objected.into_iter().chain(changed).collect()
}

/// A number of tokens as short as people say it.
fn tokens(count: u64) -> String {
    match count {
        0..1_000 => count.to_string(),
        1_000..9_950 => format!("{:.1}k", count as f64 / 1_000.0),
        9_950..999_500 => format!("{:.0}k", count as f64 / 1_000.0),
        _ => format!("{:.1}M", count as f64 / 1_000_000.0),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn told(kind: Value) -> Vec<String> {
        remarks(&serde_json::from_value(kind).unwrap())
    }

    #[test]
    fn a_compaction_is_told_in_one_line() {
        let state = |used: u64| json!({"usedTokens": used, "maxTokens": 200_000, "usedPercentage": 0.0});
        let kind = json!({
            "event": "context_compact", "trigger": "auto", "before": state(168_200), "after": state(1_240),
            "summarizedMessages": 40, "keptMessages": 2, "parts": 1,
            "usage": robota_core::Usage::default(),
        });
        assert_eq!(told(kind), ["compacted: 168k → 1.2k tokens"]);
    }

    #[test]
    fn a_broken_answer_is_said_to_be_void() {
        let retry = |abandoned: bool| {
            json!({
                "event": "provider_retry", "attempt": 2, "maxAttempts": 5, "delayMs": 500, "reason": "cut\noff",
                "abandoned": abandoned,
            })
        };
        assert_eq!(told(retry(false)), ["… cut off; attempt 2 of 5 in 0.5 s"]);
        let void = "… cut off; the answer so far is void and begins anew: attempt 2 of 5 in 0.5 s";
        assert_eq!(told(retry(true)), [void]);
        let fallback =
            json!({"event": "provider_fallback", "provider": "openai", "model": "m-2", "reason": "busy"});
        assert_eq!(told(fallback), ["… busy; m-2 (openai) is asked instead"]);
    }

    #[test]
    fn numbers_of_tokens_are_short() {
        let told = [0, 999, 1_000, 9_949, 9_950, 999_499, 999_500, 1_260_000].map(tokens);
        assert_eq!(told, ["0", "999", "1.0k", "9.9k", "10k", "999k", "1.0M", "1.3M"]);
    }

    #[test]
    fn messages_of_hooks_are_told_line_by_line_and_harmless() {
        let kind = json!({
            "event": "hook", "hookEventName": "PostToolUse", "blocked": "for the model",
            "systemMessages": ["two\n\n\u{1b}[2Jlines", "  "],
        });
        assert_eq!(told(kind), ["hook PostToolUse: two", "hook PostToolUse:  [2Jlines"]);
        let kind =
            json!({"event": "hook", "hookEventName": "PreToolUse", "failures": ["`fmt` was not\nfound"]});
        assert_eq!(told(kind), ["hook PreToolUse failed: `fmt` was not found"]);
        let silent =
            json!({"event": "hook", "hookEventName": "Stop", "additionalContext": ["for the model"]});
        assert_eq!(told(silent), [""; 0]);
        let asked = json!({
            "event": "permission_request", "toolName": "Bash", "toolCallId": "c", "parameters": {}, "reason": "r",
        });
        assert_eq!(told(asked), [""; 0]);
    }

    #[test]
    fn what_hooks_did_to_a_turn_is_told() {
        let objected = |hook: &str| json!({"event": "hook", "hookEventName": hook, "blocked": "not\nyet\n"});
        assert_eq!(told(objected("Stop")), ["hook Stop wants the model to go on: not yet"]);
        assert_eq!(told(objected("PreCompact")), ["hook PreCompact wants no compaction now: not yet"]);
        // The refused call and the end of the turn tell the reasons of these.
        assert_eq!(told(objected("PreToolUse")), [""; 0]);
        assert_eq!(told(objected("UserPromptSubmit")), [""; 0]);
        let changed = json!({"event": "hook", "hookEventName": "PreToolUse", "updatedInput": {"command": "pnpm\ntest"}});
        assert_eq!(told(changed), ["hook PreToolUse changed the arguments: pnpm test"]);
    }

    #[test]
    fn where_a_rule_is_kept_is_told() {
        let kind = json!({
            "event": "permission_resolved", "toolCallId": "c", "resolution": "allowed_for_project",
            "note": "`Bash(ls)` stands in settings.local.json now",
        });
        assert_eq!(told(kind), ["rule `Bash(ls)` stands in settings.local.json now"]);
    }
}
