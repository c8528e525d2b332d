//! Help for a path that does not exist.

use std::path::Path;

use similar::get_close_matches;

use super::stat::Kind;
use crate::failure::Failure;
use crate::workspace::Workspace;

/// Names looked at in the folder.
const MAX_NAMES: usize = 2_000;
/// Names suggested.
const MAX_SUGGESTIONS: usize = 3;

/// The failure for a path that does not exist, with similar names of the same folder or the part
/// of the path that does exist. Names of what rules deny reading are not given away.
pub(crate) fn missing_path(workspace: &Workspace, path: &Path) -> Failure {
    let shown = workspace.display(path);
    let hint = match path.parent() {
        Some(folder) if workspace.is_folder(folder) => similar_names(workspace, path),
        _ => path
            .ancestors()
            .find(|above| workspace.is_folder(above))
            .map(|above| format!("the path exists only up to {}", workspace.display(above))),
    };
    let hint = hint.map(|hint| format!("; {hint}")).unwrap_or_default();
    Failure::new("not_found", format!("{shown} does not exist{hint}"))
}

fn similar_names(workspace: &Workspace, path: &Path) -> Option<String> {
    let (folder, wanted) = (path.parent()?, path.file_name()?.to_string_lossy().to_lowercase());
    let listed = workspace.entries(folder, MAX_NAMES).ok()?.into_iter();
    let open = listed.filter(|(name, kind)| !is_hidden(workspace, &folder.join(name), *kind));
    let names: Vec<String> = open.map(|(name, _)| name.to_string_lossy().into_owned()).collect();
    let lower: Vec<String> = names.iter().map(|name| name.to_lowercase()).collect();
    let candidates: Vec<&str> = lower.iter().map(String::as_str).collect();
    let mut close = get_close_matches(wanted.as_str(), &candidates, MAX_SUGGESTIONS, 0.6);
    close.dedup();
    let found = close.iter().filter_map(|close| lower.iter().position(|name| name == close));
    let found = found.filter_map(|at| names.get(at)).map(|name| workspace.display(&folder.join(name)));
    let found: Vec<String> = found.collect();
    if found.is_empty() { None } else { Some(format!("did you mean {}?", found.join(" or "))) }
}

/// Whether rules deny reading it, under its own name or where it leads.
fn is_hidden(workspace: &Workspace, path: &Path, kind: Option<Kind>) -> bool {
    // Some file systems do not say what an entry is.
    let may_lead_away = matches!(kind, Some(Kind::Symlink) | None);
    workspace.is_left_out(path) || (may_lead_away && workspace.is_left_out(&workspace.resolve_path(path)))
}
