//! The paths of a policy, resolved.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::plan::Paths;
use super::policy::{Helper, SandboxPolicy};
use crate::process::ConfineError;

/// What only the kernel or devices have a say in.
const NOT_OURS: [&str; 3] = ["/proc", "/sys", "/dev"];
/// Where programs share memory.
const SHARED_MEMORY: &str = "/dev/shm";

/// The paths of `policy` as they are now, and those of them that stay as they are and do not exist.
pub(super) fn resolve(
    policy: &SandboxPolicy,
    helper: &Helper,
) -> Result<(Paths, Vec<PathBuf>), ConfineError> {
    let guarded = writable(&policy.writable)?;
    let mut scratch = scratch(&policy.scratch);
    scratch.extend(fs::canonicalize(SHARED_MEMORY));
    scratch.sort();
    scratch.dedup();
    scratch.retain(|folder| !guarded.contains(folder));
    let mut paths = Paths { guarded, scratch, ..Paths::default() };
    let mut missing = Vec::new();
    // A command that could change the helper would not be confined the next time.
    for path in policy.deny_write.iter().chain([&helper.program]) {
        match reached(path)? {
            Some(path) => paths.read_only.push(path),
            None => missing.extend(parent_resolved(path)),
        }
    }
    paths.read_only.extend(missing.iter().filter(|path| path.to_str().is_some()).cloned());
    paths.hidden = hidden(&policy.deny_read)?;
    Ok((paths, missing))
}

/// What of `paths` is there to be hidden now.
pub(super) fn hidden(paths: &[PathBuf]) -> Result<Vec<PathBuf>, ConfineError> {
    paths.iter().filter_map(|path| reached(path).transpose()).collect()
}

fn writable(folders: &[PathBuf]) -> Result<Vec<PathBuf>, ConfineError> {
    let mut all = Vec::new();
    for folder in folders {
        let Some(path) = existing(folder)? else { continue };
        let shown = folder.display();
        if path.parent().is_none() {
            return Err(ConfineError::new(format!(
                "the sandbox cannot make all files writable: {shown} is the root folder; name the folders that commands may change"
            )));
        }
        if NOT_OURS.iter().any(|not_ours| path.starts_with(not_ours)) && !path.starts_with(SHARED_MEMORY) {
            return Err(ConfineError::new(format!(
                "the sandbox cannot make {shown} writable: it belongs to the system"
            )));
        }
        all.push(path);
    }
    all.sort();
    all.dedup();
    Ok(all)
}

/// Folders for temporary files come from the environment; one that cannot be meant is not used.
fn scratch(folders: &[PathBuf]) -> Vec<PathBuf> {
    folders.iter().flat_map(|folder| writable(std::slice::from_ref(folder)).unwrap_or_default()).collect()
}

/// Where a path that is to be kept from commands really is; `None` also where this user cannot get to, as commands
/// cannot either. Nobody may switch the sandbox off by adding such a path.
fn reached(path: &Path) -> Result<Option<PathBuf>, ConfineError> {
    existing(path).or_else(|error| {
        let source = std::error::Error::source(&error).and_then(|source| source.downcast_ref::<io::Error>());
        match source.map(io::Error::kind) {
            Some(kind) => {
                tracing::debug!(path = %path.display(), %kind, "a path of the sandbox is out of reach");
                Ok(None)
            }
            None => Err(error),
        }
    })
}

/// Where `path` really is; `None` where there is nothing.
fn existing(path: &Path) -> Result<Option<PathBuf>, ConfineError> {
    let shown = path.display();
    if !path.is_absolute() {
        return Err(ConfineError::new(format!("the path {shown} of the sandbox is not absolute")));
    }
    match fs::canonicalize(path) {
        Ok(path) if path.to_str().is_some() => Ok(Some(path)),
        Ok(_) => Err(ConfineError::new(format!("the path {shown} of the sandbox is not UTF-8"))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => {
            Err(ConfineError::new(format!("cannot resolve the path {shown} of the sandbox: {error}"))
                .with_source(error))
        }
    }
}

/// Where `path` would be, when the folder around it exists.
fn parent_resolved(path: &Path) -> Option<PathBuf> {
    Some(fs::canonicalize(path.parent()?).ok()?.join(path.file_name()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn helper() -> Helper {
        Helper { program: "/nowhere/helper".into(), leading: Vec::new() }
    }

    #[test]
    fn links_are_followed_and_missing_folders_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let real = fs::canonicalize(folder.path()).unwrap().join("real");
        fs::create_dir(&real).unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&real, &link).unwrap();
        let mut policy = SandboxPolicy::new(vec![link.clone(), real.clone(), folder.path().join("gone")]);
        policy.deny_write = vec![link.join("settings.json")];
        let (paths, missing) = resolve(&policy, &helper()).unwrap();
        assert_eq!(missing, [real.join("settings.json")]);
        assert_eq!(paths.guarded, [real]);
    }

    #[test]
    fn what_cannot_be_reached_needs_no_protection() {
        let folder = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(folder.path()).unwrap();
        std::os::unix::fs::symlink("loop", root.join("loop")).unwrap();
        fs::OpenOptions::new().create_new(true).write(true).open(root.join("file")).unwrap();
        let odd = ["loop", "file/below", &"x".repeat(300), "gone/below"].map(|name| root.join(name));
        let mut policy = SandboxPolicy::new(vec![root]);
        policy.deny_write = odd.to_vec();
        policy.deny_read = odd.to_vec();
        policy.scratch = ["/", "/proc", "relative"].map(PathBuf::from).to_vec();
        let (paths, _) = resolve(&policy, &helper()).unwrap();
        assert!(paths.hidden.is_empty() && !paths.scratch.contains(&"/".into()), "{paths:?}");
    }

    #[test]
    fn the_root_and_the_system_are_refused() {
        for refused in ["/", "/proc/self", "/dev", "/sys", "relative"] {
            let policy = SandboxPolicy::new(vec![refused.into()]);
            assert!(resolve(&policy, &helper()).is_err(), "{refused}");
        }
    }
}
