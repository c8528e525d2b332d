//! Where entries of a manifest may lie.

use super::super::error::{SandboxError, SandboxErrorKind};

/// `written` as names below the root, with `\` taken for `/` and `.` left out.
///
/// # Errors
///
/// When it is empty, absolute, the root itself, contains a NUL or climbs by `..`.
pub(super) fn relative(written: &str) -> Result<Vec<String>, SandboxError> {
    let refused = |why: &str| {
        let message = format!("the manifest's path {written:?} {why}");
        Err(SandboxError::new(SandboxErrorKind::InvalidManifest, message))
    };
    if written.is_empty() {
        return refused("is empty");
    }
    if written.contains('\0') {
        return refused("contains a NUL character");
    }
    let plain = written.replace('\\', "/");
    if plain.starts_with('/') {
        return refused("is absolute; paths are relative to the root of the sandbox");
    }
    let names: Vec<String> =
        plain.split('/').filter(|name| !name.is_empty() && *name != ".").map(str::to_owned).collect();
    if names.iter().any(|name| name == "..") {
        return refused("climbs by `..`");
    }
    if names.is_empty() {
        return refused("is the root itself");
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lie_below_the_root() {
        let names = |written: &str| relative(written).ok().map(|names| names.join("/"));
        assert_eq!(names(r"a\b//./c/").as_deref(), Some("a/b/c"));
        for bad in ["", ".", "./", "/a", r"\a", "a/../b", "..", "a\0", r"a\..\b"] {
            assert_eq!(names(bad), None, "{bad:?}");
        }
    }
}
