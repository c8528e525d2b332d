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
        HookReply::Output { code, stderr, .. } => read_code(code, &stderr),
    }
}

/// A program that ended with an error: one that could not decide, or one that only reports.
fn read_code(code: i32, stderr: &str) -> Result<HookOutcome, String> {
    let said = match one_line(stderr) {
        said if said.is_empty() => said,
        said => format!(": {said}"),
    };
    match code {
        126 => Err(format!("cannot be executed (code 126){said}")),
        127 => Err(format!("was not found (code 127){said}")),
        // What a shell makes of a program that a signal ended.
        129..=159 => Err(format!("was ended by signal {} (code {code}){said}", code - 128)),
        _ => {
            let failure = format!("ended with code {code}, which stops nothing{said}");
            Ok(HookOutcome { failures: vec![failure], ..HookOutcome::default() })
        }
    }
}

/// What is printed with code 0.
fn read_output(event: HookEvent, stdout: &str) -> Result<HookOutcome, String> {
    let text = stdout.trim();
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
