//! The tools of a session, without a model.

use robota_core::HookEvent;
use robota_framework::Assembly;

use crate::compose::assembled;
use crate::exit::Failure;
use crate::harmless::one_line;
use crate::permissions_args::PolicyArgs;
use crate::unmodelled::Unmodelled;

/// Hooks of these events run around a call; those of a session and its turns do not, because there is neither.
const EVENTS: [HookEvent; 4] = [
    HookEvent::PreToolUse,
    HookEvent::PostToolUse,
    HookEvent::PostToolUseFailure,
    HookEvent::PermissionRequest,
];

/// What a session in a folder would have.
pub(super) struct Toolbox {
    pub(super) assembly: Assembly,
    /// What a person should know: one sentence each.
    pub(super) notices: Vec<String>,
}

impl Toolbox {
    /// Reads the settings as a run with `args` would.
    pub(super) fn open(args: &PolicyArgs) -> Result<Self, Failure> {
        let Unmodelled { mut blueprint, mut notices } = Unmodelled::of(args)?;
        blueprint.changes_unseen = true;
        blueprint.settings.hooks.groups.retain(|group| EVENTS.contains(&group.event));
        let assembly = assembled(&blueprint)?;
        notices.extend(assembly.notices.iter().map(|notice| one_line(notice)));
        Ok(Self { assembly, notices })
    }
}
