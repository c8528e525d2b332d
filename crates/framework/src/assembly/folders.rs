//! The folders of a workspace besides the project.

use std::io;
use std::path::{Path, PathBuf};

use super::{AssemblyError, PermissionOverrides};
use crate::ProjectPaths;
use crate::settings::Settings;

/// The additional folders, resolved, those of settings first. One that settings name and that is not
/// there is noted; one that the host names is an error.
pub(super) fn additional(
    paths: &ProjectPaths,
    settings: &Settings,
    overrides: &PermissionOverrides,
    notices: &mut Vec<String>,
) -> Result<Vec<PathBuf>, AssemblyError> {
    let mut folders: Vec<PathBuf> = Vec::new();
    let mut add = |folder: PathBuf| {
        if folder != paths.root && !folders.contains(&folder) {
            folders.push(folder);
        }
    };
    for path in &settings.permissions.additional_directories {
        match existing(path) {
            Ok(folder) => add(folder),
            Err(error) => {
                notices.push(format!("the additional folder {} is left out: {error}", path.display()));
            }
        }
    }
    for path in &overrides.additional_directories {
        let folder = existing(&paths.cwd.join(path))
            .map_err(|source| AssemblyError::Folder { path: path.clone(), source })?;
        add(folder);
    }
    Ok(folders)
}

fn existing(path: &Path) -> io::Result<PathBuf> {
    let folder = path.canonicalize()?;
    if folder.is_dir() { Ok(folder) } else { Err(io::ErrorKind::NotADirectory.into()) }
}
