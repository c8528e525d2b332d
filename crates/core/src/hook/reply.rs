//! What one hook has said, by the rules of its event.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::wording::{bounded, harmless, one_line};
use super::{HookDecision, HookEvent, HookOutcome, HookPermission, HookReply};

/// What a hook said, or why it counts as one that did not do its work.
///
/// `failures` of the outcome are the codes that stop nothing.
pub(super) fn read_reply(event: HookEvent, reply: HookReply) -> Result<HookOutcome, String> {
    match reply {
        HookReply::Context(text) => Ok(context(&text)),
        HookReply::Judgement { ok: true, .. } => Ok(HookOutcome::default()),
        HookReply::Judgement { ok: false, reason } => Ok(objection(event, &reason)),
        HookReply::Output { code: 0, stdout, .. } => read_output(event, &stdout),
        HookReply::Output { code: 2, stderr, .. } => Ok(objection(event, &stderr)),
        HookReply::Output { code, stdout, stderr } => read_code(event, code, &stdout, &stderr),
    }
}

/// A program that ended with an error: one that could not decide, one that has printed what it decided all the
/// same, or one that only reports.
fn read_code(event: HookEvent, code: i32, stdout: &str, stderr: &str) -> Result<HookOutcome, String> {
    let said = match one_line(stderr) {
        said if said.is_empty() => said,
        said => format!(": {said}"),
    };
    match code {
        126 => Err(format!("cannot be executed (code 126){said}")),
        127 => Err(format!("was not found (code 127){said}")),
        // What a shell makes of a program that a signal ended.
        129..=159 => Err(format!("was ended by signal {} (code {code}){said}", code - 128)),
        _ => Ok(in_spite_of_error(event, stdout).unwrap_or_else(|| {
            let failure = format!("ended with code {code}, which stops nothing{said}");
            HookOutcome { failures: vec![failure], ..HookOutcome::default() }
        })),
    }
}

/// The valid JSON of a program that ended with an error. Its consent, and its arguments, do not count.
fn in_spite_of_error(event: HookEvent, stdout: &str) -> Option<HookOutcome> {
    let mut outcome = serde_json::from_str::<Output>(text_of(stdout)).ok()?.outcome(event).ok()?;
    outcome.permission.take_if(|permission| permission.decision == HookDecision::Allow);
    outcome.updated_input = None;
    (!outcome.is_empty()).then_some(outcome)
}

/// What was printed; a byte order mark in front, as some shells write it, must not hide a decision.
fn text_of(stdout: &str) -> &str {
    stdout.trim_start_matches(|c: char| c == '\u{feff}' || c.is_whitespace()).trim_end()
}

/// What is printed with code 0.
fn read_output(event: HookEvent, stdout: &str) -> Result<HookOutcome, String> {
    let text = text_of(stdout);
    if text.starts_with('{') {
        let output = serde_json::from_str::<Output>(text);
        return output.map_err(|error| format!("printed JSON that cannot be read: {error}"))?.outcome(event);
    }
    let is_context = matches!(event, HookEvent::SessionStart | HookEvent::UserPromptSubmit);
    if is_context && !text.is_empty() { Ok(context(text)) } else { Ok(HookOutcome::default()) }
}

fn context(text: &str) -> HookOutcome {
    match bounded(text) {
        text if text.is_empty() => HookOutcome::default(),
        text => HookOutcome::context(text),
    }
}

/// A hook is against what happens. What has happened already it cannot stop: the model or the person is told.
fn objection(event: HookEvent, reason: &str) -> HookOutcome {
    let reason = match harmless(reason) {
        reason if reason.is_empty() => format!("A {event} hook is against it and gives no reason."),
        reason => reason,
    };
    match event {
        HookEvent::PreToolUse | HookEvent::PermissionRequest => {
            HookOutcome::decided(HookDecision::Deny, reason)
        }
        HookEvent::UserPromptSubmit | HookEvent::Stop | HookEvent::SubagentStop | HookEvent::PreCompact => {
            HookOutcome::blocked(reason)
        }
        HookEvent::PostToolUse | HookEvent::PostToolUseFailure => HookOutcome::context(reason),
        HookEvent::SessionStart
        | HookEvent::SessionEnd
        | HookEvent::StopFailure
        | HookEvent::SubagentStart
        | HookEvent::PostCompact
        | HookEvent::WorktreeCreate
        | HookEvent::WorktreeRemove
        | HookEvent::Notification => HookOutcome { system_messages: vec![reason], ..HookOutcome::default() },
    }
}

/// JSON that a hook prints or a server answers. Fields that are not here have no effect.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Output {
    r#continue: Option<bool>,
    stop_reason: Option<String>,
    decision: Option<OldDecision>,
    reason: Option<String>,
    system_message: Option<String>,
    hook_specific_output: Option<Specific>,
    /// The short form of judgements.
    ok: Option<bool>,
}

#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum OldDecision {
    #[serde(alias = "allow")]
    Approve,
    #[serde(alias = "deny")]
    Block,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Specific {
    hook_event_name: Option<String>,
    permission_decision: Option<HookDecision>,
    permission_decision_reason: Option<String>,
    updated_input: Option<Map<String, Value>>,
    additional_context: Option<String>,
    decision: Option<Answer>,
}

/// The answer in a person's place.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    behavior: Behavior,
    updated_input: Option<Map<String, Value>>,
    message: Option<String>,
    #[serde(default)]
    interrupt: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Behavior {
    Allow,
    Deny,
}

impl Output {
    fn outcome(self, event: HookEvent) -> Result<HookOutcome, String> {
        let specific = self.hook_specific_output.unwrap_or_default();
        if let Some(named) = specific.hook_event_name.filter(|named| named != event.name()) {
            return Err(format!("answered for the event `{}`, not for {event}", one_line(&named)));
        }
        let reason = self.reason.unwrap_or_default();
        let mut outcome = match self.decision {
            Some(OldDecision::Block) => objection(event, &reason),
            _ if self.ok == Some(false) => objection(event, &reason),
            _ => HookOutcome::default(),
        };
        if matches!(event, HookEvent::PreToolUse | HookEvent::PermissionRequest) {
            let approved = self.decision.filter(|old| *old == OldDecision::Approve);
            strengthen(&mut outcome, approved.map(|_| HookDecision::Allow), Some(&reason));
            let said = specific.permission_decision_reason.as_deref();
            strengthen(&mut outcome, specific.permission_decision, said);
            outcome.updated_input = specific.updated_input.map(Value::Object);
            if let Some(answer) = specific.decision {
                answer.add_to(&mut outcome);
            }
        }
        if self.r#continue == Some(false) {
            let reason = self.stop_reason.as_deref().map(harmless).filter(|reason| !reason.is_empty());
            outcome.stop = Some(reason.unwrap_or_else(|| format!("A {event} hook ended the turn.")));
        }
        let added = specific.additional_context.as_deref().map(bounded).filter(|text| !text.is_empty());
        outcome.additional_context.extend(added);
        let message = self.system_message.as_deref().map(harmless).filter(|text| !text.is_empty());
        outcome.system_messages.extend(message);
        Ok(outcome)
    }
}

impl Answer {
    fn add_to(self, outcome: &mut HookOutcome) {
        let message = self.message.as_deref();
        match self.behavior {
            Behavior::Allow => {
                strengthen(outcome, Some(HookDecision::Allow), message);
                outcome.updated_input =
                    self.updated_input.map(Value::Object).or(outcome.updated_input.take());
            }
            Behavior::Deny => {
                strengthen(outcome, Some(HookDecision::Deny), message);
                if self.interrupt {
                    let reason = outcome.permission.as_ref().and_then(|permission| permission.reason.clone());
                    outcome.stop = Some(reason.unwrap_or_else(|| "A hook refused a call.".to_owned()));
                }
            }
        }
    }
}

/// The outcome with `decision`, where it does not have a stronger one.
fn strengthen(outcome: &mut HookOutcome, decision: Option<HookDecision>, reason: Option<&str>) {
    let Some(decision) = decision else { return };
    let so_far = outcome.permission.as_ref().map(|permission| permission.decision);
    if so_far.is_none_or(|so_far| so_far < decision) {
        let reason = reason.map(harmless).filter(|reason| !reason.is_empty());
        outcome.permission = Some(HookPermission::new(decision, reason));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const PRE: HookEvent = HookEvent::PreToolUse;
    const ASK: HookEvent = HookEvent::PermissionRequest;

    fn ends(event: HookEvent, code: i32, stdout: &str, stderr: &str) -> Result<HookOutcome, String> {
        read_reply(event, HookReply::Output { code, stdout: stdout.into(), stderr: stderr.into() })
    }

    fn prints(event: HookEvent, output: &Value) -> HookOutcome {
        ends(event, 0, &format!("\n{output}\n"), "").unwrap()
    }

    fn message(text: &str) -> HookOutcome {
        HookOutcome { system_messages: vec![text.into()], ..HookOutcome::default() }
    }

    #[test]
    fn code_2_objects_as_far_as_the_event_lets_it() {
        for event in HookEvent::ALL {
            let expected = match event {
                PRE | ASK => HookOutcome::decided(HookDecision::Deny, "no"),
                HookEvent::UserPromptSubmit
                | HookEvent::Stop
                | HookEvent::SubagentStop
                | HookEvent::PreCompact => HookOutcome::blocked("no"),
                HookEvent::PostToolUse | HookEvent::PostToolUseFailure => HookOutcome::context("no"),
                _ => message("no"),
            };
            assert_eq!(ends(event, 2, "{\"continue\": false}", "no\n").unwrap(), expected, "{event}");
            assert_eq!(prints(event, &json!({"decision": "block", "reason": "no"})), expected, "{event}");
            assert_eq!(prints(event, &json!({"ok": false, "reason": "no"})), expected, "{event}");
            let judgement = HookReply::Judgement { ok: false, reason: "no".into() };
            assert_eq!(read_reply(event, judgement).unwrap(), expected, "{event}");
            assert!(ends(event, 0, "", "noise").unwrap().is_empty());
        }
        let unexplained = ends(HookEvent::Stop, 2, "", " ").unwrap();
        assert_eq!(unexplained, HookOutcome::blocked("A Stop hook is against it and gives no reason."));
    }

    #[test]
    fn plain_text_is_context_where_a_prompt_follows() {
        for event in HookEvent::ALL {
            let expected = match event {
                HookEvent::SessionStart | HookEvent::UserPromptSubmit => HookOutcome::context("be brief"),
                _ => HookOutcome::default(),
            };
            assert_eq!(ends(event, 0, "be brief\n", "").unwrap(), expected);
        }
    }

    #[test]
    fn json_decides_about_calls() {
        let specific = |fields: Value| json!({"hookSpecificOutput": fields});
        let output = json!({"hookEventName": "PreToolUse", "permissionDecision": "allow",
            "permissionDecisionReason": "fine", "updatedInput": {"command": "ls"}, "additionalContext": "c"});
        let mut expected = HookOutcome::decided(HookDecision::Allow, "fine");
        expected.updated_input = Some(json!({"command": "ls"}));
        expected.additional_context = vec!["c".into()];
        assert_eq!(prints(PRE, &specific(output)), expected);

        let output = specific(json!({"permissionDecision": "defer"}));
        assert_eq!(prints(PRE, &output).permission, Some(HookPermission::new(HookDecision::Defer, None)));
        let output = json!({"decision": "approve", "reason": "r",
            "hookSpecificOutput": {"permissionDecision": "ask", "permissionDecisionReason": "look"}});
        assert_eq!(prints(PRE, &output), HookOutcome::decided(HookDecision::Ask, "look"));
        let output = json!({"decision": "block", "reason": "r", "hookSpecificOutput": {"permissionDecision": "allow"}});
        assert_eq!(prints(PRE, &output), HookOutcome::decided(HookDecision::Deny, "r"));

        let answer = json!({"decision": {"behavior": "allow", "updatedInput": {"a": 1}}});
        let expected = HookOutcome {
            permission: Some(HookPermission::new(HookDecision::Allow, None)),
            updated_input: Some(json!({"a": 1})),
            ..HookOutcome::default()
        };
        assert_eq!(prints(ASK, &specific(answer)), expected);
        let answer = json!({"decision": {"behavior": "deny", "message": "no", "interrupt": true}});
        let expected =
            HookOutcome { stop: Some("no".into()), ..HookOutcome::decided(HookDecision::Deny, "no") };
        assert_eq!(prints(ASK, &specific(answer)), expected);
    }

    #[test]
    fn json_ends_turns_and_speaks_to_people() {
        let output = json!({"continue": false, "stopReason": "enough\u{1b}[1m", "systemMessage": "hi",
            "suppressOutput": true, "reason": null, "terminalSequence": "\u{7}"});
        let mut expected = message("hi");
        expected.stop = Some("enough\u{fffd}[1m".into());
        assert_eq!(prints(HookEvent::PostToolUse, &output), expected);
        assert_eq!(ends(PRE, 0, "\u{feff}\n{\"systemMessage\": \"hi\"}", "").unwrap(), message("hi"));
        let unexplained = prints(PRE, &json!({"continue": false}));
        assert_eq!(unexplained.stop.as_deref(), Some("A PreToolUse hook ended the turn."));
        assert!(prints(PRE, &json!({"continue": true, "ok": true})).is_empty());
    }

    #[test]
    fn what_cannot_be_understood_is_a_failure() {
        let fails = |code: i32, stdout: &str| ends(PRE, code, stdout, "oh\nno").unwrap_err();
        assert!(fails(0, "{\"continue\": fal").starts_with("printed JSON that cannot be read"));
        assert!(fails(0, "{\"continue\": \"false\"}").starts_with("printed JSON that cannot be read"));
        assert!(fails(0, "{\"decision\": \"maybe\"}").starts_with("printed JSON that cannot be read"));
        let wrong = "{\"hookSpecificOutput\": {\"updatedInput\": [1]}}";
        assert!(fails(0, wrong).starts_with("printed JSON that cannot be read"));
        let other = "{\"hookSpecificOutput\": {\"hookEventName\": \"Stop\"}}";
        assert_eq!(fails(0, other), "answered for the event `Stop`, not for PreToolUse");
        assert_eq!(fails(126, ""), "cannot be executed (code 126): oh no");
        assert_eq!(fails(127, ""), "was not found (code 127): oh no");
        assert_eq!(fails(137, ""), "was ended by signal 9 (code 137): oh no");
        assert_eq!(
            ends(PRE, 1, "{\"decision\": \"block\", \"reason\": \"no\"}", "oh").unwrap(),
            HookOutcome::decided(HookDecision::Deny, "no")
        );
        for stdout in ["", "{\"decision\": \"approve\"}", "{\"decision\": \"blo", "[]"] {
            assert_eq!(ends(PRE, 1, stdout, "oh").unwrap().failures.len(), 1, "{stdout}");
        }
        let other = ends(PRE, 1, "", "oh").unwrap();
        let expected = vec!["ended with code 1, which stops nothing: oh".to_owned()];
        assert_eq!(other, HookOutcome { failures: expected, ..HookOutcome::default() });
    }
}
