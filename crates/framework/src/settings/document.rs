//! JSON text whose every value knows its place, so that an error can point at it.

use std::collections::HashSet;
use std::fmt;
use std::marker::PhantomData;
use std::path::Path;

use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use super::SettingsError;

/// Longest piece of a value shown in an error, in characters.
const SHOWN: usize = 60;

/// A value in a settings file: its text, its place, and the keys that lead to it.
#[derive(Clone)]
pub(super) struct Node<'a> {
    path: &'a Path,
    /// The file as it is, for places in it.
    source: &'a str,
    /// The same as plain JSON, byte for byte in the same place.
    document: &'a str,
    raw: &'a RawValue,
    key: String,
    secret: bool,
}

impl<'a> Node<'a> {
    /// The value of a whole file, which is plain JSON in `document`; `None` when the file is blank.
    pub(super) fn of_file(
        path: &'a Path,
        source: &'a str,
        document: &'a str,
    ) -> Result<Option<Self>, SettingsError> {
        if document.trim().is_empty() {
            return Ok(None);
        }
        let raw: &RawValue =
            serde_json::from_str(document).map_err(|error| syntax_error(path, source, &error))?;
        Ok(Some(Self { path, source, document, raw, key: String::new(), secret: false }))
    }

    /// The keys that lead here, such as `permissions.allow[2]`; empty for the file itself.
    pub(super) fn key(&self) -> &str {
        &self.key
    }

    /// Line of the value, from 1.
    pub(super) fn line(&self) -> usize {
        self.position().0
    }

    /// The same value, never shown in errors.
    pub(super) fn secret(mut self) -> Self {
        self.secret = true;
        self
    }

    /// Name and value of each member of an object, in the order of the file.
    pub(super) fn members(&self) -> Result<Vec<(String, Self)>, SettingsError> {
        let Members(members) = self.read("an object")?;
        let mut seen = HashSet::with_capacity(members.len());
        let mut nodes = Vec::with_capacity(members.len());
        for (name, raw) in members {
            let key = if self.key.is_empty() { name.clone() } else { format!("{}.{name}", self.key) };
            let node = Self { key, raw, ..self.clone() };
            if !seen.insert(name.clone()) {
                return Err(node.duplicate());
            }
            nodes.push((name, node));
        }
        Ok(nodes)
    }

    /// The elements of an array.
    pub(super) fn elements(&self) -> Result<Vec<Self>, SettingsError> {
        let elements: Vec<&RawValue> = self.read("an array")?;
        let node = |(index, raw)| Self { key: format!("{}[{index}]", self.key), raw, ..self.clone() };
        Ok(elements.into_iter().enumerate().map(node).collect())
    }

    /// The value that the keys and indexes of `path` lead to, or the last one on the way that is there.
    pub(super) fn at(&self, path: &[String]) -> Self {
        let mut node = self.clone();
        for step in path {
            let next = match node.members() {
                Ok(members) => members.into_iter().find(|(name, _)| name == step).map(|(_, node)| node),
                Err(_) => {
                    step.parse().ok().and_then(|index: usize| node.elements().ok()?.into_iter().nth(index))
                }
            };
            match next {
                Some(next) => node = next,
                None => break,
            }
        }
        node
    }

    /// The value as JSON.
    ///
    /// # Errors
    ///
    /// When it is nested too deeply, or a key anywhere in it is given twice, so that one of the values would
    /// be lost.
    pub(super) fn tree(&self) -> Result<Value, SettingsError> {
        let tree: Value = self.value("an object of less than 128 levels")?;
        self.check_keys(&tree)?;
        Ok(tree)
    }

    fn check_keys(&self, tree: &Value) -> Result<(), SettingsError> {
        match tree {
            Value::Object(fields) => self
                .members()?
                .iter()
                .filter_map(|(name, node)| Some((node, fields.get(name)?)))
                .try_for_each(|(node, tree)| node.check_keys(tree)),
            Value::Array(items) => {
                self.elements()?.iter().zip(items).try_for_each(|(node, tree)| node.check_keys(tree))
            }
            _ => Ok(()),
        }
    }

    /// The error that what stands here is wrong, for `reason`.
    pub(super) fn wrong(&self, reason: impl Into<String>) -> SettingsError {
        let (line, column) = self.position();
        let (path, key, reason) = (self.path.to_owned(), self.key.clone(), reason.into());
        SettingsError::Wrong { path, line, column, key, reason }
    }

    /// The value as `T`.
    pub(super) fn value<T: DeserializeOwned>(&self, expected: &str) -> Result<T, SettingsError> {
        self.read(expected)
    }

    /// The error that this value is not `expected`.
    pub(super) fn invalid(&self, expected: impl Into<String>) -> SettingsError {
        let (line, column) = self.position();
        SettingsError::Value {
            path: self.path.to_owned(),
            line,
            column,
            key: if self.key.is_empty() { "the whole file".to_owned() } else { self.key.clone() },
            found: self.shown(),
            expected: expected.into(),
        }
    }

    fn read<T: Deserialize<'a>>(&self, expected: &str) -> Result<T, SettingsError> {
        serde_json::from_str(self.raw.get()).map_err(|_| self.invalid(expected))
    }

    fn duplicate(&self) -> SettingsError {
        let (line, column) = self.position();
        SettingsError::Duplicate { path: self.path.to_owned(), line, column, key: self.key.clone() }
    }

    fn position(&self) -> (usize, usize) {
        // The raw value is a piece of the document itself, so the distance is its offset.
        let offset = self.raw.get().as_ptr().addr().saturating_sub(self.document.as_ptr().addr());
        position_of(self.source, offset)
    }

    /// The value as shown to a person.
    fn shown(&self) -> String {
        let text = self.raw.get();
        let kind = match text.as_bytes().first() {
            Some(b'{') => "an object",
            Some(b'[') => "an array",
            Some(b'"') => "a string",
            Some(b't' | b'f') => "a boolean",
            Some(b'n') => "null",
            _ => "a number",
        };
        let is_scalar = !text.starts_with(['{', '[']);
        if is_scalar && !self.secret && text.chars().nth(SHOWN).is_none() {
            text.to_owned()
        } else {
            kind.to_owned()
        }
    }
}

/// Line and column (in characters) of the byte at `offset`, both from 1.
pub(super) fn position_of(document: &str, offset: usize) -> (usize, usize) {
    let before = document.as_bytes().get(..offset).unwrap_or(document.as_bytes());
    let line_start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |newline| newline + 1);
    let line = 1 + before.iter().filter(|&&byte| byte == b'\n').count();
    let column = 1 + before[line_start..].iter().filter(|&&byte| byte & 0xC0 != 0x80).count();
    (line, column)
}

fn syntax_error(path: &Path, source: &str, error: &serde_json::Error) -> SettingsError {
    // serde_json counts columns in bytes, 0 standing for the line break itself.
    let line_start: usize =
        source.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
    let offset = line_start + error.column().saturating_sub(1);
    let (line, column) = position_of(source, offset);
    let text = error.to_string();
    let rest = source.get(offset..).unwrap_or_default();
    let reason = if rest.starts_with("/*") {
        "the comment is not closed"
    } else if rest.starts_with('#') {
        "comments begin with `//` or stand between `/*` and `*/`"
    } else if rest.starts_with(',') && text.starts_with("expected value") {
        "a value is missing before the comma"
    } else {
        text.rsplit_once(" at line ").map_or(text.as_str(), |(reason, _)| reason)
    };
    SettingsError::Syntax { path: path.to_owned(), line, column, reason: reason.to_owned() }
}

struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect<'de>(PhantomData<&'de ()>);
        impl<'de> Visitor<'de> for Collect<'de> {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Collect(PhantomData))
    }
}
