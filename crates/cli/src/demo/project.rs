//! The scratch project of the demo.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use similar::TextDiff;

use crate::exit::{Exit, Failure};
use crate::host::temp_dir;

/// Name and contents of every file.
const FILES: [(&str, &str); 3] = [
    ("README.md", include_str!("project/README.md")),
    ("src/slugify.sh", include_str!("project/src/slugify.sh")),
    ("test.sh", include_str!("project/test.sh")),
];

/// A small project with a failing test. It stays when the demo ends, for a person to look at.
pub(super) struct Project {
    pub(super) folder: PathBuf,
}

impl Project {
    /// Makes the project in `folder`, which must be empty or new, or in a fresh temporary folder.
    pub(super) fn create(folder: Option<&Path>) -> Result<Self, Failure> {
        let made = match folder {
            Some(folder) => empty_folder(folder),
            None => tempfile::Builder::new()
                .prefix("robota-demo-")
                .tempdir_in(temp_dir())
                .map(tempfile::TempDir::keep),
        };
        let folder = made.and_then(|folder| folder.canonicalize()).and_then(|folder| {
            FILES.iter().try_for_each(|(name, contents)| write_new(&folder.join(name), contents))?;
            Ok(folder)
        });
        folder.map(|folder| Self { folder }).map_err(|error| {
            Failure::new(Exit::Usage, format!("the scratch project cannot be made: {error}"))
                .with_hint("Name an empty or new folder: robota demo --dir DIR")
        })
    }

    /// What is different now, as a unified diff.
    pub(super) fn diff(&self) -> Result<String, Failure> {
        let mut diff = String::new();
        for (name, before) in FILES {
            let now = fs::read_to_string(self.folder.join(name))
                .map_err(|error| Failure::new(Exit::Failed, format!("{name} cannot be read: {error}")))?;
            if now != before {
                let lines = TextDiff::from_lines(before, &now);
                let mut unified = lines.unified_diff();
                diff.push_str(&unified.header(&format!("a/{name}"), &format!("b/{name}")).to_string());
            }
        }
        Ok(if diff.is_empty() { "(nothing)\n".to_owned() } else { diff })
    }
}

fn empty_folder(folder: &Path) -> io::Result<PathBuf> {
    fs::create_dir_all(folder)?;
    if fs::read_dir(folder)?.next().is_some() {
        return Err(io::Error::new(
            io::ErrorKind::DirectoryNotEmpty,
            format!("{} is not empty", folder.display()),
        ));
    }
    Ok(folder.to_owned())
}

fn write_new(path: &Path, contents: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    OpenOptions::new().write(true).create_new(true).open(path)?.write_all(contents.as_bytes())
}
