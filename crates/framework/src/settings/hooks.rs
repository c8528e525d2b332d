//! The key `hooks`.

use robota_core::{HookOrigin, HookScope, HooksConfig};

use super::document::Node;
use super::{Layer, Scope, SettingsError, SettingsWarning};

/// Reads the hooks of a file. Errors and warnings point at the place in it.
pub(super) fn read(
    node: &Node<'_>,
    layer: &Layer,
) -> Result<(HooksConfig, Vec<SettingsWarning>), SettingsError> {
    let value = node.tree()?;
    let scope = match layer.scope {
        Scope::User => HookScope::User,
        Scope::Project => HookScope::Project,
    };
    let origin = HookOrigin { place: layer.path.display().to_string(), scope };
    let _ = (value, origin);
    Ok((HooksConfig::default(), Vec::new()))
}
