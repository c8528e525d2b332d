//! Trust: which projects the user lets set more than what they deny.
//!
//! The decision is kept in the user's own folder, never in the project, and is known before anything of the
//! project is opened (design section 6). It is about exactly one project root, by its real path: neither the
//! folders above it nor projects within it are trusted with it.

mod error;

use std::collections::BTreeMap;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use robota_core::{Clock, Timestamp};
use serde::{Deserialize, Serialize};

pub use error::TrustError;

use crate::{ProjectPaths, files};

/// The file of decisions, in the user's folder.
const FILE: &str = "trust.json";
/// Largest file of decisions, in bytes.
const MAX_FILE: u64 = 4 * 1024 * 1024;
/// The form of the file that this version writes.
const VERSION: u32 = 1;

/// The projects that the user trusts, kept in `trust.json` of the user's folder.
///
/// The file is private, replaced whole, and changed by one process at a time. One that cannot be understood is
/// an error and trusts nothing.
#[derive(Clone)]
pub struct TrustStore {
    place: Result<PathBuf, String>,
    home: Option<PathBuf>,
    clock: Arc<dyn Clock>,
}

/// A project that is trusted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct TrustedFolder {
    /// Its root, with symlinks resolved.
    pub folder: String,
    /// Since when.
    pub since: Timestamp,
}

/// The file of decisions.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Decisions {
    version: u32,
    /// Roots, and since when each is trusted.
    trusted: BTreeMap<String, Timestamp>,
}

impl TrustStore {
    /// The decisions of the user of `paths`. Reads nothing.
    ///
    /// A folder of the user that lies within the project of `paths` holds no decisions: whoever wrote the
    /// project could have written them.
    #[must_use]
    pub fn new(paths: &ProjectPaths, clock: Arc<dyn Clock>) -> Self {
        let place = match &paths.user_dir {
            None => Err("there is no home folder".to_owned()),
            Some(folder) if !is_outside(folder, paths) => {
                Err(format!("{} lies within the project", folder.display()))
            }
            Some(folder) => Ok(folder.join(FILE)),
        };
        Self { place, home: paths.home.clone(), clock }
    }

    /// Whether the user trusts the project with this root. Opens the file of decisions and nothing else.
    ///
    /// # Errors
    ///
    /// When the file of decisions cannot be read or understood.
    pub fn is_trusted(&self, root: &Path) -> Result<bool, TrustError> {
        let Ok(place) = &self.place else { return Ok(false) };
        let Some(decisions) = read(place)? else { return Ok(false) };
        let Ok(root) = real_path(root) else { return Ok(false) };
        let is_known = root.to_str().is_some_and(|root| decisions.trusted.contains_key(root));
        Ok(is_known && refusal(&root, self.home.as_deref()).is_none())
    }

    /// Trusts the project with this root from now on; false when it was trusted already.
    ///
    /// # Errors
    ///
    /// When the folder is none to trust for good (the root of the file system, the home folder, a folder above
    /// it, a folder that everybody shares), or the decision cannot be kept.
    pub fn trust(&self, root: &Path) -> Result<bool, TrustError> {
        let root = real_path(root)?;
        if let Some(reason) = refusal(&root, self.home.as_deref()) {
            return Err(TrustError::Refused { folder: root, reason });
        }
        let (key, now) = (text_of(&root)?, self.clock.now());
        self.change(|trusted| {
            let is_new = !trusted.contains_key(&key);
            trusted.entry(key).or_insert(now);
            is_new
        })
    }

    /// Takes the trust back; false when there was none. A folder that is not there any more is named by the
    /// path it had.
    ///
    /// # Errors
    ///
    /// When the decision cannot be kept.
    pub fn revoke(&self, root: &Path) -> Result<bool, TrustError> {
        let key = text_of(&real_path(root).unwrap_or_else(|_| root.to_owned()))?;
        self.change(|trusted| trusted.remove(&key).is_some())
    }

    /// The projects that are trusted, by path.
    ///
    /// # Errors
    ///
    /// When the file of decisions cannot be read or understood.
    pub fn list(&self) -> Result<Vec<TrustedFolder>, TrustError> {
        let decisions = match &self.place {
            Ok(place) => read(place)?,
            Err(_) => None,
        };
        let trusted = decisions.map(|decisions| decisions.trusted).unwrap_or_default();
        Ok(trusted.into_iter().map(|(folder, since)| TrustedFolder { folder, since }).collect())
    }

    /// Changes the decisions while no other process does. When `change` says that it changed nothing, nothing
    /// is written.
    fn change(
        &self,
        change: impl FnOnce(&mut BTreeMap<String, Timestamp>) -> bool,
    ) -> Result<bool, TrustError> {
        let place = self.place.as_ref().map_err(|reason| TrustError::NoPlace { reason: reason.clone() })?;
        let folder = place.parent().unwrap_or(Path::new("/"));
        files::make_folder(folder).map_err(TrustError::file(folder, "used"))?;
        let _lock = files::lock_folder(folder).map_err(TrustError::file(folder, "locked"))?;
        let mut decisions = read(place)?.unwrap_or(Decisions { version: VERSION, trusted: BTreeMap::new() });
        let changed = change(&mut decisions.trusted);
        if changed {
            let json = serde_json::to_string_pretty(&decisions)
                .map_err(|error| TrustError::file(place, "written")(error.into()))?;
            files::replace(place, format!("{json}\n").as_bytes())
                .map_err(TrustError::file(place, "written"))?;
        }
        Ok(changed)
    }
}

/// Whether `folder` of the user lies outside of the project, which may have brought along what lies within it.
/// A project that the home folder lies in has not brought that along.
pub(crate) fn is_outside(folder: &Path, paths: &ProjectPaths) -> bool {
    let is_at_home = |home: &PathBuf| home.starts_with(&paths.root) && folder.starts_with(home);
    !folder.starts_with(&paths.root) || paths.home.as_ref().is_some_and(is_at_home)
}

/// Why `root` may not be trusted for good.
fn refusal(root: &Path, home: Option<&Path>) -> Option<&'static str> {
    const SHARED: u32 = 0o1002;
    if root.parent().is_none() {
        return Some("it is the root of the file system");
    }
    if let Some(home) = home
        && home.starts_with(root)
    {
        return Some(if home == root { "it is your home folder" } else { "your home folder lies in it" });
    }
    let mode = root.metadata().map(|found| found.mode()).unwrap_or_default();
    // As /tmp is: whoever has an account can put settings there.
    (mode & SHARED == SHARED).then_some("everybody can write to it")
}

/// The decisions in the file; `None` when there is none.
fn read(path: &Path) -> Result<Option<Decisions>, TrustError> {
    let Some((file, text)) = files::read(path, MAX_FILE).map_err(TrustError::file(path, "read"))? else {
        return Ok(None);
    };
    let corrupt = |reason: String| TrustError::Corrupt { path: path.to_owned(), reason };
    let found = file.metadata().map_err(TrustError::file(path, "read"))?;
    if found.permissions().mode() & 0o022 != 0 {
        return Err(corrupt(
            "others can write to it; after a look at what it says, `chmod 600` it".to_owned(),
        ));
    }
    let folder = path.parent().unwrap_or(Path::new("/"));
    let owner = folder.metadata().map_err(TrustError::file(folder, "read"))?.uid();
    if found.uid() != owner {
        return Err(corrupt(format!("it belongs to another user than {}", folder.display())));
    }
    let decisions: Decisions = serde_json::from_str(&text).map_err(|error| corrupt(error.to_string()))?;
    if decisions.version != VERSION {
        return Err(corrupt(format!(
            "it has version {}, and this robota knows {VERSION}",
            decisions.version
        )));
    }
    Ok(Some(decisions))
}

fn real_path(folder: &Path) -> Result<PathBuf, TrustError> {
    folder.canonicalize().map_err(|source| TrustError::Folder { folder: folder.to_owned(), source })
}

/// The path as the file has it.
fn text_of(root: &Path) -> Result<String, TrustError> {
    let reason = "its path is not text";
    root.to_str().map(str::to_owned).ok_or(TrustError::Refused { folder: root.to_owned(), reason })
}
