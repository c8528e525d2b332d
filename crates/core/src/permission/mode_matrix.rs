//! What a mode makes of a call that no rule decides (facts sheet 2.6, design section 6).
//!
//! | class | plan | default | acceptEdits | bypassPermissions |
//! |---|---|---|---|---|
//! | inspect | inside the workspace: allow, outside: ask | same | same | allow |
//! | modify | deny | ask | inside: allow, outside: ask | allow |
//! | network | ask | ask | ask | allow |
//! | execute, other | deny | ask | ask | allow |

use super::call::{Call, Target};
use super::{Decision, PermissionMode};
use crate::ToolClass;

/// The decision about `target`, with its reason; `gap` says why no allow rule covers it.
pub(super) fn by_mode(
    mode: PermissionMode,
    call: &Call<'_>,
    target: &Target<'_>,
    gap: &str,
) -> (Decision, String) {
    let tool = &call.spec.name;
    let inside = match target {
        Target::Path(path) => Some(path.is_inside(&call.places)),
        _ => None,
    };
    let decision = decide(mode, target.class(call.spec.class), inside);
    let reason = match decision {
        Decision::Allow if mode == PermissionMode::BypassPermissions => {
            format!("In {mode} mode everything runs that no rule denies or asks for.")
        }
        Decision::Allow if inside == Some(true) => {
            format!("In {mode} mode {tool} runs without asking inside the workspace.")
        }
        Decision::Allow => format!("In {mode} mode {tool} runs without asking."),
        Decision::Deny => format!("In {mode} mode nothing is changed or run, and {gap}."),
        Decision::Ask if inside == Some(false) => {
            let what = target.describe(tool);
            format!("{what} lies outside the workspace, so in {mode} mode {tool} needs consent, and {gap}.")
        }
        Decision::Ask => format!("In {mode} mode {tool} needs consent, and {gap}."),
    };
    (decision, reason)
}

/// `inside` says whether a path lies in the workspace; `None` when the target is no path.
fn decide(mode: PermissionMode, class: ToolClass, inside: Option<bool>) -> Decision {
    use PermissionMode::{AcceptEdits, BypassPermissions, Plan};
    match class {
        _ if mode == BypassPermissions => Decision::Allow,
        ToolClass::Inspect if inside == Some(false) => Decision::Ask,
        ToolClass::Inspect => Decision::Allow,
        ToolClass::Network => Decision::Ask,
        ToolClass::Modify | ToolClass::Execute | ToolClass::Other if mode == Plan => Decision::Deny,
        ToolClass::Modify if mode == AcceptEdits && inside == Some(true) => Decision::Allow,
        ToolClass::Modify | ToolClass::Execute | ToolClass::Other => Decision::Ask,
    }
}
