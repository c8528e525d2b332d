//! Argument types that take what models of different families write.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserialize, Deserializer, MapAccess, Visitor};

use crate::workspace::Workspace;

/// A path as the model wrote it, resolved once: what is checked is what is used.
#[derive(Debug)]
pub(crate) struct PathInput {
    written: String,
    resolved: OnceLock<PathBuf>,
}

impl PathInput {
    pub(crate) fn written(&self) -> &str {
        &self.written
    }

    pub(crate) fn resolve(&self, workspace: &Workspace) -> &Path {
        self.resolved.get_or_init(|| workspace.resolve(&self.written))
    }
}

impl<'de> Deserialize<'de> for PathInput {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let written = String::deserialize(deserializer)?;
        if written.is_empty() {
            return Err(de::Error::custom("the path is empty"));
        }
        if written.contains('\0') {
            return Err(de::Error::custom("the path contains a NUL character"));
        }
        Ok(Self { written, resolved: OnceLock::new() })
    }
}

/// An object inside the arguments, taken by the names of its fields only: a list would be read field by field, past
/// every hook that looks for a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Named<T>(pub(crate) T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Named<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(NamedVisitor(PhantomData))
    }
}

struct NamedVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for NamedVisitor<T> {
    type Value = Named<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Named<T>, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(Named)
    }
}

/// A whole number from 0 on; also taken from `"10"` and `10.0`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WholeNumber(pub(crate) u64);

impl WholeNumber {
    /// The number as a count of things in memory.
    pub(crate) fn count(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

impl<'de> Deserialize<'de> for WholeNumber {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(WholeNumberVisitor)
    }
}

struct WholeNumberVisitor;

impl Visitor<'_> for WholeNumberVisitor {
    type Value = WholeNumber;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a whole number from 0 on")
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<WholeNumber, E> {
        Ok(WholeNumber(value))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<WholeNumber, E> {
        let whole = u64::try_from(value);
        whole.map(WholeNumber).map_err(|_| E::invalid_value(de::Unexpected::Signed(value), &self))
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked to be whole and in range"
    )]
    fn visit_f64<E: de::Error>(self, value: f64) -> Result<WholeNumber, E> {
        if value.fract() == 0.0 && (0.0..1e15).contains(&value) {
            return Ok(WholeNumber(value as u64));
        }
        Err(E::invalid_value(de::Unexpected::Float(value), &self))
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<WholeNumber, E> {
        let trimmed = value.trim();
        if let Ok(whole) = trimmed.parse::<u64>() {
            return Ok(WholeNumber(whole));
        }
        match trimmed.parse::<f64>() {
            Ok(float) => self.visit_f64(float),
            Err(_) => Err(E::invalid_value(de::Unexpected::Str(value), &self)),
        }
    }
}

/// A boolean; also taken from `"true"` and `"false"`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Switch(pub(crate) bool);

impl<'de> Deserialize<'de> for Switch {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(SwitchVisitor)
    }
}

struct SwitchVisitor;

impl Visitor<'_> for SwitchVisitor {
    type Value = Switch;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("true or false")
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Switch, E> {
        Ok(Switch(value))
    }

    fn visit_unit<E: de::Error>(self) -> Result<Switch, E> {
        Ok(Switch(false))
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Switch, E> {
        match value.trim().to_ascii_lowercase().as_str() {
            "true" => Ok(Switch(true)),
            "false" | "" => Ok(Switch(false)),
            _ => Err(E::invalid_value(de::Unexpected::Str(value), &self)),
        }
    }
}

/// Gives `$type` the bare schema `{"type": $name}`.
macro_rules! plain_schema {
    ($type:ty, $name:literal) => {
        impl JsonSchema for $type {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                Cow::Borrowed(stringify!($type))
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({"type": $name})
            }
        }
    };
}

plain_schema!(PathInput, "string");
plain_schema!(WholeNumber, "integer");
plain_schema!(Switch, "boolean");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_taken_as_models_write_them() {
        let read = |text: &str| serde_json::from_str::<WholeNumber>(text).map(|number| number.0).ok();
        let written = ["10", "10.0", "\"10\"", "\" 10.0 \"", "-1", "1.5", "\"ten\"", "1e30", "true"];
        let expected = [Some(10), Some(10), Some(10), Some(10), None, None, None, None, None];
        assert_eq!(written.map(read), expected);
    }

    #[test]
    fn switches_are_taken_as_models_write_them() {
        let read = |text: &str| serde_json::from_str::<Switch>(text).map(|switch| switch.0).ok();
        let written = ["true", "\"True\"", "\"false\"", "null", "\"yes\""];
        assert_eq!(written.map(read), [Some(true), Some(true), Some(false), Some(false), None]);
    }

    #[test]
    fn a_path_without_a_place_is_refused() {
        assert!(serde_json::from_str::<PathInput>("\"\"").is_err());
        assert!(serde_json::from_str::<PathInput>("\"a\\u0000b\"").is_err());
    }
}
