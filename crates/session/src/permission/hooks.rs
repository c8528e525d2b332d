//! What hooks say of tool calls, as the gate needs it (seed `000`, Hook Lifecycle and Error Taxonomy).

use std::sync::Arc;
use std::time::Duration;

use robota_core::{
    After, Authorization, Before, EndedCall, GateRequest, HookCall, HookDecision, HookPermission, ToolCall,
    ToolClass, ToolSpec, Verdict,
};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::lifecycle_hooks::LifecycleHooks;

/// How long hooks of a call may take that an abort has ended.
const AFTER_ABORT: Duration = Duration::from_secs(3);

/// How long Notification hooks may take; nobody waits for them.
const NOTIFICATION: Duration = Duration::from_secs(60);

/// What is said where a hook gives no reason.
const NO_REASON: &str = "it gave no reason";

/// What PreToolUse hooks say of a call.
pub(super) async fn before(hooks: &LifecycleHooks, request: GateRequest<'_>) -> Before {
    let mut said = Before::default();
    if !hooks.listen() {
        return said;
    }
    let call = request.call;
    let told = HookCall::PreToolUse {
        tool_name: call.name.clone(),
        tool_input: told_arguments(call, request.spec),
        tool_use_id: call.id.clone(),
    };
    let outcome = hooks.fire(told, request.cancel).await;
    said.context = outcome.additional_context;
    let denied = outcome.permission.as_ref().filter(|said| said.decision == HookDecision::Deny);
    said.refusal = outcome.block.or_else(|| denied.map(reason_of));
    said.arguments = outcome.updated_input.map(|input| input.to_string());
    said.permission = outcome.permission;
    said
}

/// What hooks say of a call that has run: their text for the model, and what PostToolUse hooks object to.
pub(super) async fn after(hooks: &LifecycleHooks, ended: EndedCall<'_>) -> After {
    let mut said = After::default();
    if !hooks.listen() {
        return said;
    }
    let told = told_of_end(&ended);
    let name = told.name();
    let outcome = if ended.cancel.is_cancelled() {
        // Its token would end them before they are told.
        let cancel = CancellationToken::new();
        let _on_drop = cancel.clone().drop_guard();
        tokio::time::timeout(AFTER_ABORT, hooks.fire(told, &cancel)).await.unwrap_or_default()
    } else {
        hooks.fire(told, ended.cancel).await
    };
    said.context = outcome.additional_context;
    said.context.extend(outcome.block.map(|reason| format!("A {name} hook objects: {reason}")));
    said
}

fn told_of_end(ended: &EndedCall<'_>) -> HookCall {
    let (call, outcome) = (ended.call, ended.outcome);
    let (tool_name, tool_use_id) = (call.name.clone(), call.id.clone());
    let (tool_input, text) = (told_arguments(call, ended.spec), outcome.content.clone());
    if outcome.is_error {
        let is_interrupt = ended.cancel.is_cancelled();
        return HookCall::PostToolUseFailure {
            tool_name,
            tool_input,
            tool_use_id,
            error: text,
            is_interrupt,
        };
    }
    let tool_response = response_of(ended, &tool_input);
    HookCall::PostToolUse { tool_name, tool_input, tool_response, tool_output: text, tool_use_id }
}

/// What the tool gave back, with the fields that scripts for Claude Code look for: output and interruption of a
/// command, the path of a file.
fn response_of(ended: &EndedCall<'_>, input: &Value) -> Value {
    let (outcome, text) = (ended.outcome, ended.outcome.content.as_str());
    let Some(Value::Object(mut fields)) = outcome.structured.clone() else {
        return outcome.structured.clone().unwrap_or_else(|| Value::from(text));
    };
    if ended.spec.class == ToolClass::Execute {
        // Both streams are one, in the order in which they were written.
        fields.insert("stdout".into(), Value::from(text));
        fields.insert("stderr".into(), Value::from(""));
        fields.insert("interrupted".into(), Value::from(ended.cancel.is_cancelled()));
    }
    if let Some(path) = input.get("file_path") {
        fields.entry("filePath").or_insert_with(|| path.clone());
    }
    Value::Object(fields)
}

/// What PermissionRequest hooks say instead of a person; `None` leaves it to the person. Only where they
/// `may_allow` does their consent count.
pub(super) async fn answer(
    hooks: &LifecycleHooks,
    request: GateRequest<'_>,
    verdict: &Verdict,
    may_allow: bool,
) -> Option<Authorization> {
    if !hooks.listen() {
        return None;
    }
    let call = request.call;
    let told = HookCall::PermissionRequest {
        tool_name: call.name.clone(),
        tool_input: told_arguments(call, request.spec),
        tool_use_id: call.id.clone(),
        reason: verdict.reason.clone(),
        permission_suggestions: verdict.allow_rules.clone(),
    };
    let outcome = hooks.fire(told, request.cancel).await;
    if let Some(reason) = outcome.block.or(outcome.stop) {
        return Some(Authorization::Blocked { reason });
    }
    let permission = outcome.permission?;
    match permission.decision {
        HookDecision::Deny => Some(Authorization::Blocked { reason: reason_of(&permission) }),
        HookDecision::Allow if may_allow => Some(match outcome.updated_input {
            None => Authorization::Allowed,
            Some(input) => {
                let mut said = Before::default();
                said.arguments = Some(input.to_string());
                said.permission = Some(permission);
                Authorization::Revised(Box::new(said))
            }
        }),
        HookDecision::Allow | HookDecision::Ask | HookDecision::Defer => None,
    }
}

/// Tells Notification hooks that a person is asked about `tool_name`. Nobody waits for them; they end with the
/// turn at the latest.
pub(super) fn notify(hooks: &Arc<LifecycleHooks>, tool_name: &str, cancel: &CancellationToken) {
    if !hooks.listen() {
        return;
    }
    let told = HookCall::Notification {
        message: format!("robota needs your permission to use {tool_name}"),
        notification_type: "permission_prompt".to_owned(),
    };
    let (hooks, cancel) = (Arc::clone(hooks), cancel.clone());
    tokio::spawn(async move {
        // Out of time or not: there is nobody to tell.
        let _ = tokio::time::timeout(NOTIFICATION, hooks.fire(told, &cancel)).await;
    });
}

/// The arguments of a call, as hooks are told them.
fn told_arguments(call: &ToolCall, spec: &ToolSpec) -> Value {
    spec.as_hooks_know(call.parameters())
}

/// The reason a hook gives for its decision.
pub(super) fn reason_of(permission: &HookPermission) -> String {
    let reason = permission.reason.as_deref().map(str::trim).filter(|reason| !reason.is_empty());
    reason.unwrap_or(NO_REASON).to_owned()
}

#[cfg(test)]
mod tests {
    use robota_core::{ToolOutcome, ToolSpec};
    use serde_json::json;

    use super::*;

    #[test]
    fn responses_have_the_fields_that_scripts_look_for() {
        let response = |name: &str, class, outcome: ToolOutcome, input: Value| {
            let call = ToolCall { id: "c".into(), name: name.into(), arguments: "{}".into() };
            let (spec, cancel) = (ToolSpec::new(name, class, ""), CancellationToken::new());
            response_of(&EndedCall::new(&call, &spec, &outcome, &cancel), &input)
        };
        let ran = ToolOutcome::success("ok").with_structured(json!({"exitCode": 0}));
        let expected = json!({"exitCode": 0, "stdout": "ok", "stderr": "", "interrupted": false});
        assert_eq!(response("Bash", ToolClass::Execute, ran, json!({"command": "x"})), expected);
        let written = ToolOutcome::success("written").with_structured(json!({"lines": 3}));
        let expected = json!({"lines": 3, "filePath": "/p/a"});
        assert_eq!(response("Write", ToolClass::Modify, written, json!({"file_path": "/p/a"})), expected);
        assert_eq!(response("Act", ToolClass::Other, ToolOutcome::success("done"), json!({})), json!("done"));
    }
}
