//! Session identifiers, safe to use as file names.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// The longest allowed id, in characters.
const MAX_LENGTH: usize = 128;

/// The identifier of a session: `[A-Za-z0-9][A-Za-z0-9._-]{0,127}` (design section 4).
///
/// Only such ids ever reach the file system. Fresh sessions get a UUID of version 7.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(Arc<str>);

impl SessionId {
    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The text is not a session id.
#[derive(Debug, thiserror::Error)]
#[error(
    "`{shown}` is not a session id: use 1 to 128 of A-Z, a-z, 0-9, `.`, `_` and `-`, beginning with a letter or a digit"
)]
pub struct InvalidSessionId {
    shown: String,
}

impl FromStr for SessionId {
    type Err = InvalidSessionId;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let starts_well = text.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
        if starts_well && text.len() <= MAX_LENGTH && text.bytes().all(allowed) {
            Ok(Self(text.into()))
        } else {
            Err(InvalidSessionId { shown: text.chars().take(MAX_LENGTH).collect() })
        }
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for SessionId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for SessionId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_that_could_leave_the_folder_are_refused() {
        for bad in ["", ".hidden", "-x", "a/b", "../x", "a\0b", "ä", &"x".repeat(129)] {
            assert!(bad.parse::<SessionId>().is_err(), "{bad:?} must be refused");
        }
        for good in ["a", "019aa6b2-0000-7000-8000-000000000000", "fix.login_2", &"x".repeat(128)] {
            assert_eq!(good.parse::<SessionId>().unwrap().as_str(), good);
        }
    }
}
