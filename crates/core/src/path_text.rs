//! Paths in events and records.

use std::path::Path;

use serde::Serializer;

/// Writes a path as text, for `#[serde(serialize_with = "…")]`: what is not UTF-8 in it becomes U+FFFD.
///
/// A path that cannot be said exactly must not cost the event or the record that carries it. Two
/// paths are the same in a log when their texts are, so compare texts.
///
/// # Errors
///
/// Those of the serializer.
pub fn serialize<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&path.to_string_lossy())
}
