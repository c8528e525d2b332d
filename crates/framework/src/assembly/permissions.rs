//! Rules and mode: settings and flags joined.

use std::path::PathBuf;
use std::sync::Arc;

use robota_core::{DynTool, PermissionMode, PermissionPolicy, Rule, RuleSet};

use super::{AssemblyError, folders};
use crate::settings::{Settings, SourcedRule};
use crate::{Environment, ProjectPaths, Sandbox, SandboxPlan, Variable};

/// What a host says about permissions, beyond settings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "plain data, built with `..Default::default()`")]
pub struct PermissionOverrides {
    /// The mode to start in; wins over `ROBOTA_PERMISSION_MODE`, which wins over settings.
    pub mode: Option<PermissionMode>,
    /// Rules that allow, added to those of settings.
    pub allowed: Vec<String>,
    /// Rules that deny, added to those of settings.
    pub denied: Vec<String>,
    /// Folders added to the workspace; relative ones start at the working directory.
    pub additional_directories: Vec<PathBuf>,
    /// Whether commands of Bash run in the sandbox; wins over settings.
    pub sandbox: Option<bool>,
    /// The program that confines itself and becomes a command, absolute: one whose `main` begins with the sandbox's
    /// own. Without it there is no sandbox.
    pub sandbox_helper: Option<PathBuf>,
}

/// The rules, mode and folders of a session: settings, environment and what the host says, joined.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct EffectivePermissions {
    /// What decides about calls. Relative patterns refer to the project root.
    pub policy: PermissionPolicy,
    /// Who chose the mode.
    pub mode_source: ModeSource,
    /// What confines the commands of Bash.
    pub sandbox: Sandbox,
    /// What was left out: one sentence each, for a person.
    pub notices: Vec<String>,
}

/// Who chose the permission mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ModeSource {
    /// The host: [`PermissionOverrides::mode`].
    Host,
    /// The variable `ROBOTA_PERMISSION_MODE`.
    Variable,
    /// The setting `permissions.defaultMode`.
    Settings,
    /// Nobody.
    Default,
}

impl EffectivePermissions {
    /// Joins what counts for a session in `paths`, as every [`SessionBlueprint`](super::SessionBlueprint) does.
    ///
    /// # Errors
    ///
    /// When the host or the variable holds a rule, mode or folder that cannot be used.
    pub fn resolve(
        paths: &ProjectPaths,
        settings: &Settings,
        environment: &Environment,
        overrides: &PermissionOverrides,
    ) -> Result<Self, AssemblyError> {
        let mut notices = Vec::new();
        let folders = folders::additional(paths, settings, overrides, &mut notices)?;
        let (mode, mode_source) = mode(settings, environment, overrides, &mut notices)?;
        let roots: Vec<PathBuf> = std::iter::once(paths.root.clone()).chain(folders).collect();
        let plan = SandboxPlan::resolve(paths, settings, environment, &roots, overrides.sandbox);
        let sandbox = Sandbox::prepare(plan, overrides.sandbox_helper.as_ref());
        notices.extend(sandbox.notice());
        let confinement = sandbox.commands();
        let (cwd, home) = (paths.cwd.clone(), paths.home.clone());
        let protected_dirs = paths.user_dir.iter().chain([&paths.state_dir]).cloned().collect();
        let rules = rules(settings, overrides)?;
        let policy = PermissionPolicy { mode, rules, roots, cwd, home, protected_dirs, confinement };
        Ok(Self { policy, mode_source, sandbox, notices })
    }
}

fn rules(settings: &Settings, overrides: &PermissionOverrides) -> Result<RuleSet, AssemblyError> {
    let settings = &settings.permissions;
    let rules = |list: &[SourcedRule]| list.iter().map(|sourced| sourced.rule.clone()).collect();
    let of_settings =
        RuleSet { deny: rules(&settings.deny), ask: rules(&settings.ask), allow: rules(&settings.allow) };
    let of_host =
        RuleSet { deny: parsed(&overrides.denied)?, ask: Vec::new(), allow: parsed(&overrides.allowed)? };
    Ok(RuleSet::join([RuleSet::seed_defaults(), of_settings, of_host]))
}

/// The mode to start in, and who chose it. Where settings switch `bypassPermissions` off, nobody switches it on.
fn mode(
    settings: &Settings,
    environment: &Environment,
    overrides: &PermissionOverrides,
    notices: &mut Vec<String>,
) -> Result<(PermissionMode, ModeSource), AssemblyError> {
    let settings = &settings.permissions;
    let asked = match (overrides.mode, environment.get(Variable::ROBOTA_PERMISSION_MODE)) {
        (Some(mode), _) => Some((mode, ModeSource::Host)),
        (None, Some(text)) => Some((text.parse()?, ModeSource::Variable)),
        (None, None) => None,
    };
    let of_settings = settings.default_mode.map(|mode| (mode, ModeSource::Settings));
    let (mode, source) = asked.or(of_settings).unwrap_or((PermissionMode::default(), ModeSource::Default));
    match &settings.bypass_disabled {
        Some(place) if mode == PermissionMode::BypassPermissions => {
            if asked.is_some() {
                return Err(AssemblyError::BypassDisabled { place: place.clone() });
            }
            notices.push(format!("the mode bypassPermissions of the settings is switched off by {place}"));
            Ok((PermissionMode::default(), ModeSource::Default))
        }
        _ => Ok((mode, source)),
    }
}

fn parsed(texts: &[String]) -> Result<Vec<Rule>, AssemblyError> {
    texts.iter().map(|text| Ok(Rule::parse(text, "the command line")?)).collect()
}

/// Takes away the tools that are denied as a whole: the model need not see them.
pub(super) fn take_away(tools: &mut Vec<Arc<dyn DynTool>>, deny: &[Rule]) {
    let names: Vec<&str> = deny.iter().map(Rule::text).filter_map(whole_tool).collect();
    // `Edit` is about every change of a file.
    let is_denied = |tool: &str| names.contains(&tool) || (tool == "Write" && names.contains(&"Edit"));
    tools.retain(|tool| !is_denied(&tool.spec().name));
}

/// The tool of a rule that is about all its calls.
fn whole_tool(rule: &str) -> Option<&str> {
    let name = rule.strip_suffix("(*)").unwrap_or(rule).trim_end();
    (!name.contains('(')).then_some(name)
}

/// Notes rules of the host that name no tool of the session: usually a slip of the pen.
///
/// Settings are shared with other programs and may well name tools that are not there.
pub(super) fn check_names(
    overrides: &PermissionOverrides,
    tools: &[Arc<dyn DynTool>],
    notices: &mut Vec<String>,
) {
    for rule in overrides.allowed.iter().chain(&overrides.denied) {
        let name = rule.split('(').next().unwrap_or_default().trim();
        if !tools.iter().any(|tool| tool.spec().name == name) {
            notices.push(format!("the rule `{rule}` has no effect: there is no tool `{name}`"));
        }
    }
}
