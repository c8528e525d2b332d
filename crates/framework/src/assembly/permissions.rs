//! Rules and mode: settings and flags joined.

use std::path::PathBuf;
use std::sync::Arc;

use robota_core::{DynTool, PermissionMode, PermissionPolicy, Rule, RuleSet};

use super::{AssemblyError, SessionBlueprint};
use crate::Variable;
use crate::settings::SourcedRule;

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
}

/// The policy of a session. Relative patterns refer to the project root.
pub(super) fn policy(
    blueprint: &SessionBlueprint,
    folders: &[PathBuf],
) -> Result<PermissionPolicy, AssemblyError> {
    let settings = &blueprint.settings.permissions;
    let overrides = &blueprint.permissions;
    let rules = |list: &[SourcedRule]| list.iter().map(|sourced| sourced.rule.clone()).collect();
    let of_settings =
        RuleSet { deny: rules(&settings.deny), ask: rules(&settings.ask), allow: rules(&settings.allow) };
    let of_host =
        RuleSet { deny: parsed(&overrides.denied)?, ask: Vec::new(), allow: parsed(&overrides.allowed)? };
    let rules = RuleSet::join([RuleSet::seed_defaults(), of_settings, of_host]);
    let variable = blueprint.environment.get(Variable::ROBOTA_PERMISSION_MODE);
    let mode = match (overrides.mode, variable) {
        (Some(mode), _) => Some(mode),
        (None, Some(text)) => Some(text.parse()?),
        (None, None) => settings.default_mode,
    };
    let state_dir = &blueprint.paths.state_dir;
    let mut roots = vec![blueprint.paths.root.clone()];
    roots.extend_from_slice(folders);
    Ok(PermissionPolicy {
        mode: mode.unwrap_or_default(),
        rules,
        roots,
        cwd: blueprint.paths.cwd.clone(),
        home: blueprint.paths.home.clone(),
        protected_dirs: blueprint.paths.user_dir.iter().chain([state_dir]).cloned().collect(),
    })
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
