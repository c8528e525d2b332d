//! The JSON of a manifest.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// What a fresh workspace is to contain, and what holds in it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct WorkspaceManifest {
    /// By path, relative to the root of the sandbox.
    #[serde(default, deserialize_with = "entries")]
    pub entries: BTreeMap<String, ManifestEntry>,
    /// Variables of every command that runs in the sandbox.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub environment: BTreeMap<String, String>,
    /// What the file tools may reach; everything by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permissions: Option<ManifestPermissions>,
}

/// Paths, relative to the root, that may be reached with all that lies below them. A list that is absent allows
/// everything, an empty one nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct ManifestPermissions {
    /// What may be read and listed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<Vec<String>>,
    /// What may be written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write: Option<Vec<String>>,
}

/// What is to be at a path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub enum ManifestEntry {
    /// A file.
    File {
        /// What it contains.
        content: String,
        /// How `content` is written; UTF-8 by default.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        encoding: Option<FileEncoding>,
    },
    /// A folder; it may exist.
    Dir {},
    /// A copy of a file of this machine.
    LocalFile {
        /// Where it is, relative to the host root.
        src: String,
    },
    /// A copy of a folder of this machine.
    LocalDir {
        /// Where it is, relative to the host root.
        src: String,
    },
    /// A clone of a git repository, without submodules and hooks.
    GitRepo {
        /// `https:`, `ssh:`, `git:`, `file:` or `user@host:path`.
        url: String,
        /// Branch or tag; the default branch without it.
        #[serde(rename = "ref", default, skip_serializing_if = "Option::is_none")]
        reference: Option<String>,
        /// `false` takes the whole history.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        shallow: Option<bool>,
        /// Commits taken of a shallow one; 1 by default.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        depth: Option<u32>,
    },
    /// A bucket of Amazon S3; not supported yet.
    S3Mount {
        /// Its name.
        bucket: String,
        /// What is mounted of it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prefix: Option<String>,
        /// Where it is.
        region: String,
    },
    /// A bucket of Google Cloud Storage; not supported yet.
    GcsMount {
        /// Its name.
        bucket: String,
        /// What is mounted of it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prefix: Option<String>,
    },
    /// A bucket of Cloudflare R2; not supported yet.
    R2Mount {
        /// Its name.
        bucket: String,
        /// Whose it is.
        account_id: String,
        /// What is mounted of it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prefix: Option<String>,
    },
    /// A container of Azure Blob Storage; not supported yet.
    AzureBlobMount {
        /// Its name.
        container: String,
        /// Whose it is.
        account: String,
        /// What is mounted of it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prefix: Option<String>,
    },
}

/// How the content of a file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum FileEncoding {
    /// As text.
    Utf8,
    /// In base 64 with padding, for bytes that are no text.
    Base64,
}

impl ManifestEntry {
    /// Its `type` in JSON.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::File { .. } => "file",
            Self::Dir {} => "dir",
            Self::LocalFile { .. } => "localFile",
            Self::LocalDir { .. } => "localDir",
            Self::GitRepo { .. } => "gitRepo",
            Self::S3Mount { .. } => "s3Mount",
            Self::GcsMount { .. } => "gcsMount",
            Self::R2Mount { .. } => "r2Mount",
            Self::AzureBlobMount { .. } => "azureBlobMount",
        }
    }
}

/// Reads the entries so that what is wrong with one is told with its path, and none is lost to another of its name.
fn entries<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<String, ManifestEntry>, D::Error> {
    struct Entries;

    impl<'de> Visitor<'de> for Entries {
        type Value = BTreeMap<String, ManifestEntry>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object with an entry for each path")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut entries = BTreeMap::new();
            while let Some((path, value)) = map.next_entry::<String, Value>()? {
                let entry = ManifestEntry::deserialize(value)
                    .map_err(|error| de::Error::custom(format!("entries.{path:?}: {error}")))?;
                if entries.insert(path.clone(), entry).is_some() {
                    return Err(de::Error::custom(format!("entries.{path:?}: the path is given twice")));
                }
            }
            Ok(entries)
        }
    }

    from.deserialize_map(Entries)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_kind_reads_and_writes_as_the_original_has_it() {
        let written = json!({
            "entries": {
                "a": {"type": "file", "content": "x"},
                "b": {"type": "file", "content": "eA==", "encoding": "base64"},
                "c": {"type": "dir"},
                "d": {"type": "localFile", "src": "x"},
                "e": {"type": "localDir", "src": "x"},
                "f": {"type": "gitRepo", "url": "https://x/y", "ref": "main", "shallow": false},
                "g": {"type": "s3Mount", "bucket": "b", "prefix": "p", "region": "r"},
                "h": {"type": "gcsMount", "bucket": "b"},
                "i": {"type": "r2Mount", "bucket": "b", "accountId": "a"},
                "j": {"type": "azureBlobMount", "container": "c", "account": "a"},
            },
            "environment": {"A": "1"},
            "permissions": {"read": ["src"], "write": []},
        });
        let manifest: WorkspaceManifest = serde_json::from_value(written.clone()).unwrap();
        assert_eq!(serde_json::to_value(&manifest).unwrap(), written);
        let kinds: Vec<_> =
            written["entries"].as_object().unwrap().values().map(|entry| &entry["type"]).collect();
        let told: Vec<_> = manifest.entries.values().map(ManifestEntry::kind).collect();
        assert_eq!(told, kinds);
    }

    #[test]
    fn what_is_not_known_is_refused_with_its_place() {
        let cases = [
            (
                r#"{"entries": {"a": {"type": "file", "content": "", "mode": 1}}}"#,
                "entries.\"a\": unknown field `mode`",
            ),
            (r#"{"entries": {"a": {"type": "dir", "x": 1}}}"#, "entries.\"a\": unknown field `x`"),
            (r#"{"entries": {"a": {"type": "socket"}}}"#, "entries.\"a\": unknown variant `socket`"),
            (r#"{"entries": {"a": {"kind": "dir"}}}"#, "entries.\"a\": missing field `type`"),
            (
                r#"{"entries": {"a": {"type": "dir"}, "a": {"type": "dir"}}}"#,
                "entries.\"a\": the path is given twice",
            ),
            (r#"{"version": 1}"#, "unknown field `version`"),
            (r#"{"permissions": {"exec": []}}"#, "unknown field `exec`"),
        ];
        for (text, expected) in cases {
            let error = serde_json::from_str::<WorkspaceManifest>(text).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{text}: {error}");
        }
    }
}
